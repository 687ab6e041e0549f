//! The SDK's configuration: credentials and region as every AWS tool finds them, TLS by rustls with ring.

use super::TargetOptions;
use crate::error::{Exit, Failure};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sdk_dynamodb::config::{Credentials, SharedHttpClient};
use aws_smithy_http_client::tls;
use aws_types::service_config::ServiceConfigKey;
use local::auth_by_host::is_here;
use shared::table::Access;
use std::error::Error;
use std::time::Duration;
use url::Url;

/// How often a call is tried: an ops tool may wait longer than a buyer.
const ATTEMPTS: u32 = 6;

/// The configuration that the options and the environment name.
pub(super) async fn aws(options: &TargetOptions) -> SdkConfig {
    loader(options).load().await
}

/// The access to DynamoDB by a configuration. Its address is the one that the SDK's client has. Fails if the address
/// cannot be known, for example without a region.
pub(super) async fn access(config: &SdkConfig) -> Result<Access, Failure> {
    let key =
        ServiceConfigKey::builder().service_id("DynamoDB").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let is_option = config.get_origin("endpoint_url").is_client_config();
    let special = key.ok().filter(|_| !is_option).and_then(|key| config.service_config()?.load_config(key));
    let region = config.region().map_or("", |region| region.as_ref());
    let params = Params::builder()
        .set_region(Some(region.to_owned()).filter(|region| !region.is_empty()))
        .set_endpoint(special.or_else(|| config.endpoint_url().map(str::to_owned)))
        .set_use_fips(config.use_fips())
        .set_use_dual_stack(config.use_dual_stack())
        .build();
    let params = params.map_err(|error| unknown(&error))?;
    let address = DefaultResolver::new().resolve_endpoint(&params).await.map_err(|error| unknown(error.as_ref()))?;
    let mut access = Access::new(region, Some(address.url().to_owned()), None, http());
    access.credentials = config.credentials_provider();
    access.retries = access.retries.with_max_attempts(ATTEMPTS);
    access.timeouts = timeouts();
    Ok(access)
}

fn unknown(error: &dyn Error) -> Failure {
    let what = format!("The database's address is not known: {error}.");
    Failure::new(Exit::Denied, what, "Check --region, --profile and --endpoint-url.")
}

/// The access to another database. One on this machine takes any credentials, so that none have to be set up for it.
pub(super) async fn endpoint(options: &TargetOptions, url: &str) -> Result<Access, Failure> {
    let mut loader = loader(options).endpoint_url(url);
    if Url::parse(url).is_ok_and(|url| is_here(&url)) {
        let region = options.region.clone().unwrap_or_else(|| "local".to_owned());
        loader = loader
            .region(Region::new(region))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"));
    }
    access(&loader.load().await).await
}

fn http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
        .build_https()
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(20))
        .operation_timeout(Duration::from_mins(1))
        .build()
}

fn loader(options: &TargetOptions) -> aws_config::ConfigLoader {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .timeout_config(timeouts());
    if let Some(profile) = &options.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &options.region {
        loader = loader.region(Region::new(region.clone()));
    }
    loader
}
