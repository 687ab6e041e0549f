//! How a table is reached (region, endpoint, credentials, timeouts and retries), and the parts that the SDK's orchestrator needs to run
//! an operation, and no more.
//!
//! Requests are serialised, signed, retried and read by the SDK's own parts. Its client adds parts that every service
//! and every operation might need: the rules that an endpoint's name is resolved by, and a dozen interceptors that
//! report the features in use. They are left out here.

use crate::connector;
use crate::raw_item::Unreadable;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::service_clock_skew::ServiceClockSkewInterceptor;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, ConfigBag, Credentials, IdentityCache, Region, RuntimeComponentsBuilder,
    SharedCredentialsProvider, SharedHttpClient, SharedInterceptor, StalledStreamProtectionConfig,
};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime::client::http::connection_poisoning::ConnectionPoisoningInterceptor;
use aws_smithy_runtime::client::orchestrator::endpoints::StaticUriEndpointResolver;
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime::client::retries::classifiers::HttpStatusCodeClassifier;
use aws_smithy_runtime::client::retries::strategy::StandardRetryStrategy;
use aws_smithy_runtime_api::client::auth::SharedAuthScheme;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::endpoint::{EndpointResolverParams, SharedEndpointResolver};
use aws_smithy_runtime_api::client::interceptors::context::{self, Output, OutputOrError};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::result::CreateUnhandledError;
use aws_smithy_runtime_api::client::retries::SharedRetryStrategy;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, RuntimePlugins, StaticRuntimePlugin};
use aws_smithy_runtime_api::client::ser_de::{DeserializeResponse, SharedResponseDeserializer};
use aws_smithy_types::config_bag::{FrozenLayer, Layer};
use aws_smithy_types::retry::RetrySpec;
use aws_types::SigningName;
use aws_types::region::SigningRegion;
use std::error::Error;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
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

pub(crate) const SERVICE: &str = "DynamoDB";

/// The settings that all operations on a table have in common.
pub(crate) fn common(access: &Access) -> RuntimePlugins {
    let plugin = StaticRuntimePlugin::new().with_config(config(access)).with_runtime_components(components(access));
    RuntimePlugins::new().with_client_plugin(plugin)
}

/// The common plugins, and of an operation's own only its serialiser, its deserialiser and its retry classifiers.
pub(crate) fn for_operation(common: &RuntimePlugins, operation: &impl RuntimePlugin) -> RuntimePlugins {
    let theirs = operation.runtime_components(&RuntimeComponentsBuilder::new(SERVICE)).into_owned();
    let mut components = RuntimeComponentsBuilder::new(SERVICE);
    theirs.retry_classifiers().for_each(|classifier| {
        components.push_retry_classifier(classifier.clone());
    });
    let mut plugin = StaticRuntimePlugin::new().with_runtime_components(components);
    if let Some(config) = operation.config() {
        plugin = plugin.with_config(config);
    }
    common.clone().with_operation_plugin(plugin)
}

/// The same for an operation whose successful responses are read by `read`.
pub(crate) fn for_operation_read_by<T, E>(
    common: &RuntimePlugins,
    operation: &impl RuntimePlugin,
    read: fn(&[u8]) -> Result<T, Unreadable>,
) -> RuntimePlugins
where
    T: Debug + Send + Sync + 'static,
    E: CreateUnhandledError + Error + Send + Sync + 'static,
{
    let deserializer = RawDeserializer::<T, E> { read, theirs: operation.config(), error: PhantomData };
    let mut layer = Layer::new(SERVICE);
    layer.store_put(SharedResponseDeserializer::new(deserializer));
    let plugin = StaticRuntimePlugin::new().with_config(layer.freeze());
    for_operation(common, operation).with_operation_plugin(plugin)
}

/// An operation's error as its own type, which it always has.
pub(crate) fn typed<E: CreateUnhandledError + Error + Send + Sync + 'static>(error: context::Error) -> E {
    error.downcast().unwrap_or_else(|other| E::create_unhandled_error(format!("{other:?}").into(), None))
}

/// Reads a successful response by a function of ours. Any other response is read by the SDK.
struct RawDeserializer<T, E> {
    read: fn(&[u8]) -> Result<T, Unreadable>,
    theirs: Option<FrozenLayer>,
    error: PhantomData<fn() -> E>,
}

impl<T, E> Debug for RawDeserializer<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDeserializer").finish_non_exhaustive()
    }
}

impl<T, E> DeserializeResponse for RawDeserializer<T, E>
where
    T: Debug + Send + Sync + 'static,
    E: CreateUnhandledError + Error + Send + Sync + 'static,
{
    fn deserialize_nonstreaming_with_config(&self, response: &HttpResponse, config: &ConfigBag) -> OutputOrError {
        if let Some(body) = response.body().bytes().filter(|_| response.status().is_success()) {
            // An error as the SDK's own deserialisers make it.
            let unhandled = |error: Unreadable| E::create_unhandled_error(error.into(), None);
            return (self.read)(body)
                .map(Output::erase)
                .map_err(|error| OrchestratorError::operation(context::Error::erase(unhandled(error))));
        }
        match self.theirs.as_ref().and_then(|config| config.load::<SharedResponseDeserializer>()) {
            Some(theirs) => theirs.deserialize_nonstreaming_with_config(response, config),
            None => Err(OrchestratorError::other("the operation has no deserializer")),
        }
    }
}

fn config(access: &Access) -> FrozenLayer {
    let mut layer = Layer::new(SERVICE);
    layer.store_put(SigningRegion::from(access.region.clone()));
    layer.store_put(SigningName::from_static("dynamodb"));
    layer.store_put(access.retries.clone());
    layer.store_put(TokenBucket::default());
    layer.store_put(access.timeouts.clone());
    // No body here is long enough to stall: an attempt's timeout comes first.
    layer.store_put(StalledStreamProtectionConfig::disabled());
    layer.store_put(EndpointResolverParams::new(()));
    layer.freeze()
}

fn components(access: &Access) -> RuntimeComponentsBuilder {
    let mut components = RuntimeComponentsBuilder::new(SERVICE);
    components.set_http_client(Some(access.http_client.clone()));
    let endpoint = StaticUriEndpointResolver::uri(access.endpoint.clone());
    components.set_endpoint_resolver(Some(SharedEndpointResolver::new(endpoint)));
    components.set_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID])));
    components.push_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()));
    components.set_identity_cache(Some(IdentityCache::lazy().build()));
    if let Some(credentials) = &access.credentials {
        components.set_identity_resolver(SCHEME_ID, credentials.clone());
    }
    components.set_retry_strategy(Some(SharedRetryStrategy::new(StandardRetryStrategy::new())));
    components.push_retry_classifier(HttpStatusCodeClassifier::default());
    components.push_interceptor(SharedInterceptor::permanent(ConnectionPoisoningInterceptor::new()));
    // Signs by the database's clock if this one is wrong; an operation's own classifiers then retry the refused
    // request.
    components.push_interceptor(SharedInterceptor::permanent(ServiceClockSkewInterceptor::new()));
    access.interceptors.iter().for_each(|interceptor| {
        components.push_interceptor(interceptor.clone());
    });
    components.set_sleep_impl(Some(SharedAsyncSleep::new(TokioSleep::new())));
    components.set_time_source(Some(SharedTimeSource::new(SystemTimeSource::new())));
    components
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
