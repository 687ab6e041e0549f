//! A deployment's parts in AWS: the SDK's configuration (credentials and region as every AWS tool finds them, TLS by rustls with
//! ring), outputs and parameters of the stack, and the bucket of its shop.

use super::DeploymentOptions;
use crate::error::{Exit, Failure, of_service};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
use aws_sdk_dynamodb::config::{Credentials, SharedHttpClient};
use aws_sdk_s3::Client;
use aws_smithy_http_client::tls;
use aws_types::service_config::ServiceConfigKey;
use http::Uri;
use shared::table::Access;
use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

/// How often a call is tried: an ops tool may wait longer than a buyer.
const ATTEMPTS: u32 = 6;

/// The configuration that the options and the environment name.
pub async fn config(options: &DeploymentOptions) -> SdkConfig {
    loader(options).load().await
}

/// The access to DynamoDB by a configuration. Its address is the one that the SDK's client has. Fails if the address
/// cannot be known, for example without a region.
pub async fn access(config: &SdkConfig) -> Result<Access, Failure> {
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
pub async fn endpoint(options: &DeploymentOptions, url: &str) -> Result<Access, Failure> {
    let mut loader = loader(options).endpoint_url(url);
    if is_here(url) {
        let region = options.region.clone().unwrap_or_else(|| "local".to_owned());
        loader = loader
            .region(Region::new(region))
            .credentials_provider(Credentials::new("local", "local", None, None, "local"));
    }
    access(&loader.load().await).await
}

/// Whether a URL is of this machine.
pub fn is_here(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|url| url.host().is_some_and(outgoing::is_here))
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

fn loader(options: &DeploymentOptions) -> aws_config::ConfigLoader {
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub name: String,
    /// Its table (output `TableName`).
    pub table: String,
    /// The secret with the token keys (output `TokenKeysArn`).
    pub secret: String,
    /// The secret of the chat client (output `ChatSecretArn`); `None` if it was deployed before there was one.
    pub chat_secret: Option<String>,
    /// The secret with the payment keys (output `PaymentKeysArn`); `None` if it was deployed before there was one.
    pub payment_secret: Option<String>,
    /// The secret with the addresses of notices' targets (output `NoticeKeysArn`); `None` if it was deployed before there was one.
    pub notice_secret: Option<String>,
    /// The bucket of its shop (output `ShopBucket`); `None` without a shop.
    pub shop_bucket: Option<String>,
    /// The address of its shop (output `ShopUrl`); empty without a shop.
    pub shop_url: String,
    /// Whether its functions are given the payment keys (parameter `Payments`).
    pub takes_payments: bool,
    /// Whether its notices are sent (parameter `Notices`).
    pub sends_notices: bool,
    /// The revision of its secrets (parameter `KeyRevision`).
    pub key_revision: String,
    /// Root of its API (output `ApiUrl`).
    pub api_url: String,
    /// Origins that browsers may come from (parameter `AllowedOrigins`).
    pub origins: Vec<String>,
}

impl Stack {
    /// Reads a stack's outputs and parameters. Fails if there is no such stack, or it is not one of this project's.
    pub async fn read(config: &SdkConfig, name: &str) -> Result<Self, Failure> {
        let client = aws_sdk_cloudformation::Client::new(config);
        let answer = client.describe_stacks().stack_name(name).send().await;
        let answer = answer.map_err(|error| {
            if error.code() == Some("ValidationError") {
                let what = format!("There is no stack {name} in this account and region.");
                return Failure::new(Exit::Denied, what, "Check --stack, --region and --profile, or deploy it first.");
            }
            of_service("CloudFormation", &error)
        })?;
        let stack = answer.stacks.unwrap_or_default().into_iter().next();
        let outputs = stack.as_ref().map(aws_sdk_cloudformation::types::Stack::outputs).unwrap_or_default();
        let find = |key: &str| {
            let found = outputs.iter().find(|output| output.output_key() == Some(key));
            found.and_then(|output| output.output_value()).map(str::to_owned)
        };
        let output = |key: &str| {
            find(key).ok_or_else(|| {
                let what = format!("The stack {name} has no output {key}.");
                Failure::new(Exit::Denied, what, "Wait until it is deployed, or deploy it with this template.")
            })
        };
        let parameters = stack.as_ref().map(aws_sdk_cloudformation::types::Stack::parameters).unwrap_or_default();
        let parameter = |key: &str| {
            let found = parameters.iter().find(|parameter| parameter.parameter_key() == Some(key));
            found.and_then(|parameter| parameter.parameter_value())
        };
        let origins = parameter("AllowedOrigins").unwrap_or("*");
        Ok(Self {
            name: name.to_owned(),
            table: output("TableName")?,
            secret: output("TokenKeysArn")?,
            chat_secret: find("ChatSecretArn"),
            payment_secret: find("PaymentKeysArn"),
            notice_secret: find("NoticeKeysArn"),
            shop_bucket: find("ShopBucket"),
            shop_url: find("ShopUrl").unwrap_or_default(),
            takes_payments: parameter("Payments") == Some("true"),
            sends_notices: parameter("Notices") == Some("true"),
            key_revision: parameter("KeyRevision").unwrap_or_default().to_owned(),
            api_url: output("ApiUrl")?,
            origins: origins.split(',').map(|origin| origin.trim().to_owned()).collect(),
        })
    }
}

#[derive(Debug, Clone)]
pub struct Bucket {
    client: Client,
    name: String,
    /// The address of its shop, without a slash at the end.
    pub shop_url: String,
}

impl Bucket {
    /// A bucket of the account that a configuration names, and the address of its shop.
    pub fn new(config: &SdkConfig, name: impl Into<String>, shop_url: impl Into<String>) -> Self {
        // Servers other than AWS's have no host name for each bucket.
        let by_path = config.endpoint_url().is_some();
        let client = Client::from_conf(aws_sdk_s3::config::Builder::from(config).force_path_style(by_path).build());
        Self { client, name: name.into(), shop_url: shop_url.into() }
    }

    /// The keys that begin like this.
    pub async fn keys(&self, prefix: &str) -> Result<BTreeSet<String>, Failure> {
        let mut found = BTreeSet::new();
        let mut pages = self.client.list_objects_v2().bucket(&self.name).prefix(prefix).into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| of_service("S3", &error))?;
            found.extend(page.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
        }
        Ok(found)
    }

    pub async fn get(&self, key: &str) -> Result<Vec<u8>, Failure> {
        let object = self.client.get_object().bucket(&self.name).key(key).send().await;
        let body = object.map_err(|error| of_service("S3", &error))?.body.collect().await;
        Ok(body.map_err(|error| of_service("S3", &error))?.to_vec())
    }

    pub async fn put(&self, key: &str, bytes: Vec<u8>, media_type: &str, cached: &str) -> Result<(), Failure> {
        let put = self.client.put_object().bucket(&self.name).key(key).body(bytes.into());
        let put = put.content_type(media_type).cache_control(cached).send().await;
        put.map(drop).map_err(|error| of_service("S3", &error))
    }

    pub async fn delete(&self, key: &str) -> Result<(), Failure> {
        let deleted = self.client.delete_object().bucket(&self.name).key(key).send().await;
        deleted.map(drop).map_err(|error| of_service("S3", &error))
    }
}
