//! How a table is reached: region, endpoint, credentials, timeouts and retries.

use crate::connector;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, Credentials, Region, SharedCredentialsProvider, SharedHttpClient, SharedInterceptor,
    StalledStreamProtectionConfig,
};
use aws_smithy_types::retry::RetrySpec;
use std::time::Duration;

/// The prefix of a partition's regions and the domain of its services, as in the SDK's table; a test compares the two.
const SUFFIXES: [(&str, &str); 7] = [
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("", "amazonaws.com"),
];

/// A variable that is not in the environment, or empty.
#[derive(Debug, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct MissingVariable(pub &'static str);

#[derive(Debug, Clone)]
pub struct Access {
    pub region: Region,
    pub endpoint: String,
    /// The source of credentials, asked again when they expire; without it, no request leaves the process.
    pub credentials: Option<SharedCredentialsProvider>,
    pub http_client: SharedHttpClient,
    pub retries: RetryConfig,
    /// How long connecting, an attempt, and all attempts together may take.
    pub timeouts: TimeoutConfig,
    /// Interceptors of every request; none in production.
    pub interceptors: Vec<SharedInterceptor>,
}

impl Access {
    /// An access with a function's limits: the standard three attempts, and timeouts that leave time for a response
    /// before the function's own timeout. `None` as `endpoint` is the region's own.
    pub fn new(
        region: &str,
        endpoint: Option<String>,
        credentials: Option<Credentials>,
        http_client: SharedHttpClient,
    ) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_millis(1_500))
            .operation_timeout(Duration::from_secs(4));
        // As the SDK's own client of DynamoDB; only throttling has a longer backoff.
        let backoff = RetrySpec::v2_1().with_non_throttling_initial_backoff(Duration::from_millis(25));
        Self {
            region: Region::new(region.to_owned()),
            endpoint: endpoint.unwrap_or_else(|| regional(region)),
            credentials: credentials.map(SharedCredentialsProvider::new),
            http_client,
            retries: RetryConfig::standard().with_max_attempts(3).with_retry_spec(backoff),
            timeouts: timeouts.build(),
            interceptors: Vec::new(),
        }
    }

    /// The access that the environment describes, by the variables that Lambda sets and every SDK knows; TLS by rustls
    /// with ring (see "No aws-lc" in `infra/docs/decisions.md`). Profiles, single sign-on and instance roles are not
    /// searched: they never apply in a function.
    pub fn from_env() -> Result<Self, MissingVariable> {
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.ok_or(MissingVariable("AWS_REGION"))?;
        let endpoint = variable("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| variable("AWS_ENDPOINT_URL"));
        let keys = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
        let credentials = keys
            .map(|(id, secret)| Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "the environment"));
        Ok(Self::new(&region, endpoint, credentials, connector::client(connector::roots())))
    }

    /// The same access as the configuration of the SDK's own client, which has every operation.
    pub fn sdk_config(&self) -> Builder {
        let mut config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(self.region.clone())
            .endpoint_url(&self.endpoint)
            .http_client(self.http_client.clone())
            .retry_config(self.retries.clone())
            .timeout_config(self.timeouts.clone())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        if let Some(credentials) = &self.credentials {
            config = config.credentials_provider(credentials.clone());
        }
        self.interceptors.iter().fold(config, |config, interceptor| config.interceptor(interceptor.clone()))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn regional(region: &str) -> String {
    let suffix = SUFFIXES.iter().find(|(prefix, _)| region.starts_with(prefix)).map_or("", |(_, suffix)| suffix);
    format!("https://dynamodb.{region}.{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};

    #[tokio::test]
    async fn every_partition_has_the_name_that_the_sdk_gives_it() {
        let regions = [
            "us-east-1",
            "eu-central-1",
            "ap-southeast-7",
            "il-central-1",
            "mx-central-1",
            "us-gov-west-1",
            "cn-north-1",
            "cn-northwest-1",
            "eusc-de-east-1",
            "us-iso-east-1",
            "us-isob-east-1",
            "us-isof-south-1",
            "eu-isoe-west-1",
        ];
        let resolver = DefaultResolver::new();
        for region in regions {
            let params = Params::builder().region(region).build().unwrap();
            let endpoint = resolver.resolve_endpoint(&params).await.unwrap();
            assert_eq!(regional(region), endpoint.url(), "{region}");
        }
    }
}
