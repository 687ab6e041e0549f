//! The operations that endpoints are made of, run by the SDK's orchestrator with what they need and nothing else.
//!
//! Requests are written, signed, tried again and read by the SDK's own parts. What its client has around them for every
//! service and every operation (the rules and the table that an endpoint's name is found by, a dozen interceptors that
//! report on features in use, a cache for credentials that do not change) is left out: it is a third of a call and
//! almost half of a start (see "Operations without the client" in `infra/docs/performance-notes.md`).

use super::access::Access;
use super::attributes::{RawItem, without_values};
use super::codec::{Item, Row, key_attributes};
use super::error::StoreError;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::service_clock_skew::ServiceClockSkewInterceptor;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::{ConfigBag, IdentityCache, RuntimeComponents, RuntimeComponentsBuilder};
use aws_sdk_dynamodb::error::{BoxError, BuildError, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItem, BatchGetItemError, BatchGetItemOutput};
use aws_sdk_dynamodb::operation::get_item::builders::GetItemInputBuilder;
use aws_sdk_dynamodb::operation::get_item::{GetItem, GetItemError, GetItemOutput};
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::query::{Query, QueryError, QueryOutput};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItem, UpdateItemError, UpdateItemOutput};
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime::client::http::connection_poisoning::ConnectionPoisoningInterceptor;
use aws_smithy_runtime::client::orchestrator;
use aws_smithy_runtime::client::orchestrator::endpoints::StaticUriEndpointResolver;
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime::client::retries::classifiers::HttpStatusCodeClassifier;
use aws_smithy_runtime::client::retries::strategy::StandardRetryStrategy;
use aws_smithy_runtime_api::client::auth::SharedAuthScheme;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::endpoint::{EndpointResolverParams, SharedEndpointResolver};
use aws_smithy_runtime_api::client::identity::{Identity, IdentityCacheLocation, IdentityFuture, ResolveIdentity};
use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_runtime_api::client::interceptors::context::{self, Input, Output, OutputOrError};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::result::CreateUnhandledError;
use aws_smithy_runtime_api::client::retries::SharedRetryStrategy;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, RuntimePlugins, StaticRuntimePlugin};
use aws_smithy_runtime_api::client::ser_de::{DeserializeResponse, SharedResponseDeserializer};
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::config_bag::{FrozenLayer, Layer};
use aws_types::SigningName;
use aws_types::region::SigningRegion;
use serde::Deserialize;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::{self, Debug};
use std::sync::OnceLock;

const SERVICE: &str = "DynamoDB";

/// What an operation answers, as the SDK's client does.
pub type Answer<T, E> = Result<T, SdkError<E, HttpResponse>>;

/// The operations on a table that is reached one way.
#[derive(Debug)]
pub struct Direct {
    access: Access,
    /// What is the same for all operations.
    common: RuntimePlugins,
    get_item: OnceLock<RuntimePlugins>,
    batch_get_item: OnceLock<RuntimePlugins>,
    query: OnceLock<RuntimePlugins>,
    update_item: OnceLock<RuntimePlugins>,
    client: OnceLock<Client>,
}

impl Direct {
    /// Operations by this access. Nothing is connected yet.
    #[must_use]
    pub fn new(access: Access) -> Self {
        let plugin =
            StaticRuntimePlugin::new().with_config(config(&access)).with_runtime_components(components(&access));
        Self {
            access,
            common: RuntimePlugins::new().with_client_plugin(plugin),
            get_item: OnceLock::new(),
            batch_get_item: OnceLock::new(),
            query: OnceLock::new(),
            update_item: OnceLock::new(),
            client: OnceLock::new(),
        }
    }

    /// The SDK's own client by the same access, made where it is first asked for. No function asks for it.
    #[must_use]
    pub fn client(&self) -> &Client {
        self.client.get_or_init(|| Client::from_conf(self.access.sdk_config().build()))
    }

    /// Reads an item.
    ///
    /// # Errors
    /// What the SDK's client answers.
    pub async fn get_item(&self, input: GetItemInputBuilder) -> Answer<GetItemOutput, GetItemError> {
        let plugins = self.get_item.get_or_init(|| self.plugins(&GetItem::new()));
        invoke("GetItem", plugins, input.build()).await
    }

    /// Reads items by their keys.
    ///
    /// # Errors
    /// What the SDK's client answers.
    pub async fn batch_get_item(&self, input: BatchGetItemInputBuilder) -> Answer<Batch, BatchGetItemError> {
        let plugins = self.batch_get_item.get_or_init(|| self.straight(&BatchGetItem::new(), read_batch));
        invoke("BatchGetItem", plugins, input.build()).await
    }

    /// Reads a page of a partition.
    ///
    /// # Errors
    /// What the SDK's client answers.
    pub async fn query(&self, input: QueryInputBuilder) -> Answer<Page, QueryError> {
        let plugins = self.query.get_or_init(|| self.straight(&Query::new(), read_page));
        invoke("Query", plugins, input.build()).await
    }

    /// Writes to an item.
    ///
    /// # Errors
    /// What the SDK's client answers.
    pub async fn update_item(&self, input: UpdateItemInputBuilder) -> Answer<UpdateItemOutput, UpdateItemError> {
        let plugins = self.update_item.get_or_init(|| self.plugins(&UpdateItem::new()));
        invoke("UpdateItem", plugins, input.build()).await
    }

    /// The common plugins, and of an operation's own how it is written and read, and which of its errors pass.
    fn plugins(&self, operation: &impl RuntimePlugin) -> RuntimePlugins {
        let theirs = operation.runtime_components(&RuntimeComponentsBuilder::new(SERVICE)).into_owned();
        let mut components = RuntimeComponentsBuilder::new(SERVICE);
        theirs.retry_classifiers().for_each(|classifier| {
            components.push_retry_classifier(classifier.clone());
        });
        let mut plugin = StaticRuntimePlugin::new().with_runtime_components(components);
        if let Some(config) = operation.config() {
            plugin = plugin.with_config(config);
        }
        self.common.clone().with_operation_plugin(plugin)
    }

    /// The same for an operation whose answers `read` reads.
    fn straight<T: Debug + Send + Sync + 'static>(
        &self,
        operation: &impl RuntimePlugin,
        read: fn(&[u8]) -> Result<T, BoxError>,
    ) -> RuntimePlugins {
        let mut layer = Layer::new(SERVICE);
        layer.store_put(SharedResponseDeserializer::new(RawDeserializer { read, theirs: operation.config() }));
        let plugin = StaticRuntimePlugin::new().with_config(layer.freeze());
        self.plugins(operation).with_operation_plugin(plugin)
    }
}

/// What a batch of reads found.
#[derive(Debug)]
pub struct Batch {
    /// The rows that are there.
    pub rows: Vec<Row>,
    /// The keys that have to be asked for again.
    pub unprocessed: Vec<Item>,
}

impl From<BatchGetItemOutput> for Batch {
    fn from(output: BatchGetItemOutput) -> Self {
        let rows = output.responses.unwrap_or_default().into_values().flatten().map(Row::Attributes).collect();
        let unprocessed = output.unprocessed_keys.unwrap_or_default().into_values().flat_map(|rest| rest.keys);
        Self { rows, unprocessed: unprocessed.collect() }
    }
}

/// A page of a partition.
#[derive(Debug)]
pub struct Page {
    /// Its rows in order.
    pub rows: Vec<Row>,
    /// The key after which the next page begins; `None` on the last.
    pub next: Option<Item>,
}

impl From<QueryOutput> for Page {
    fn from(output: QueryOutput) -> Self {
        let rows = output.items.unwrap_or_default().into_iter().map(Row::Attributes).collect();
        Self { rows, next: output.last_evaluated_key.filter(|key| !key.is_empty()) }
    }
}

/// Reads an answer without taking its rows apart. What is no success is read by the SDK.
struct RawDeserializer<T> {
    read: fn(&[u8]) -> Result<T, BoxError>,
    theirs: Option<FrozenLayer>,
}

impl<T> Debug for RawDeserializer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDeserializer").finish_non_exhaustive()
    }
}

/// A batch as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchJson {
    #[serde(default)]
    responses: HashMap<String, Vec<RawItem>>,
    #[serde(default)]
    unprocessed_keys: HashMap<String, KeysJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeysJson {
    keys: Vec<RawItem>,
}

/// A page as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageJson {
    #[serde(default)]
    items: Vec<RawItem>,
    last_evaluated_key: Option<RawItem>,
}

impl<T: Debug + Send + Sync + 'static> DeserializeResponse for RawDeserializer<T> {
    fn deserialize_nonstreaming_with_config(&self, response: &HttpResponse, config: &ConfigBag) -> OutputOrError {
        if let Some(body) = response.body().bytes().filter(|_| response.status().is_success()) {
            return (self.read)(body).map(Output::erase).map_err(OrchestratorError::other);
        }
        match self.theirs.as_ref().and_then(|config| config.load::<SharedResponseDeserializer>()) {
            Some(theirs) => theirs.deserialize_nonstreaming_with_config(response, config),
            None => Err(OrchestratorError::other("the answer cannot be read")),
        }
    }
}

fn read_batch(body: &[u8]) -> Result<Batch, BoxError> {
    let BatchJson { responses, unprocessed_keys } = parse(body)?;
    let unprocessed = unprocessed_keys.into_values().flat_map(|rest| rest.keys).map(key);
    Ok(Batch {
        rows: responses.into_values().flatten().map(Row::Raw).collect(),
        unprocessed: unprocessed.collect::<Result<_, StoreError>>()?,
    })
}

fn read_page(body: &[u8]) -> Result<Page, BoxError> {
    let PageJson { items, last_evaluated_key } = parse(body)?;
    Ok(Page { rows: items.into_iter().map(Row::Raw).collect(), next: last_evaluated_key.map(key).transpose()? })
}

fn parse<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, BoxError> {
    serde_json::from_slice(body).map_err(|error| without_values(&error).into())
}

/// A key that was read, as the SDK takes it.
fn key(item: RawItem) -> Result<Item, StoreError> {
    Ok(key_attributes(&Row::Raw(item).key()?))
}

/// What every operation is told.
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

/// What every operation is run by.
fn components(access: &Access) -> RuntimeComponentsBuilder {
    let mut components = RuntimeComponentsBuilder::new(SERVICE);
    components.set_http_client(Some(access.http_client.clone()));
    let endpoint = StaticUriEndpointResolver::uri(access.endpoint.clone());
    components.set_endpoint_resolver(Some(SharedEndpointResolver::new(endpoint)));
    components.set_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID])));
    components.push_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()));
    components.set_identity_cache(Some(IdentityCache::no_cache()));
    if let Some(credentials) = &access.credentials {
        components.set_identity_resolver(SCHEME_ID, Fixed(credentials.clone().into()));
    }
    components.set_retry_strategy(Some(SharedRetryStrategy::new(StandardRetryStrategy::new())));
    components.push_retry_classifier(HttpStatusCodeClassifier::default());
    components.push_interceptor(SharedInterceptor::permanent(ConnectionPoisoningInterceptor::new()));
    // Signs by the database's clock when this one is wrong; an operation's own classifiers try such a refusal again.
    components.push_interceptor(SharedInterceptor::permanent(ServiceClockSkewInterceptor::new()));
    access.interceptors.iter().for_each(|interceptor| {
        components.push_interceptor(interceptor.clone());
    });
    components.set_sleep_impl(Some(SharedAsyncSleep::new(TokioSleep::new())));
    components.set_time_source(Some(SharedTimeSource::new(SystemTimeSource::new())));
    components
}

/// Credentials that last as long as the process, as Lambda's do.
#[derive(Debug)]
struct Fixed(Identity);

impl ResolveIdentity for Fixed {
    fn resolve_identity<'a>(&'a self, _: &'a RuntimeComponents, _: &'a ConfigBag) -> IdentityFuture<'a> {
        IdentityFuture::ready(Ok(self.0.clone()))
    }

    fn cache_location(&self) -> IdentityCacheLocation {
        IdentityCacheLocation::IdentityResolver
    }
}

async fn invoke<I, O, E>(
    operation: &'static str,
    plugins: &RuntimePlugins,
    input: Result<I, BuildError>,
) -> Answer<O, E>
where
    I: Debug + Send + Sync + 'static,
    O: Debug + Send + Sync + 'static,
    E: CreateUnhandledError + Error + Send + Sync + 'static,
{
    let input = Input::erase(input.map_err(SdkError::construction_failure)?);
    let answer = orchestrator::invoke(SERVICE, operation, input, plugins).await;
    let output = answer.map_err(|error| error.map_service_error(typed))?;
    output.downcast().map_err(|_| SdkError::construction_failure("the answer is not this operation's"))
}

/// An operation's error as its own type, which it always is.
fn typed<E: CreateUnhandledError + Error + Send + Sync + 'static>(error: context::Error) -> E {
    error.downcast().unwrap_or_else(|other| E::create_unhandled_error(format!("{other:?}").into(), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::keys::Key;

    #[test]
    fn a_batch_says_what_it_found_and_what_is_to_be_asked_for_again() {
        let body = r#"{
            "Responses": {"t": [{"pk": {"S": "A"}, "sk": {"S": "-"}, "n": {"N": "1"}}, {"pk": {"S": "B"}, "sk": {"S": "-"}}]},
            "UnprocessedKeys": {"t": {"ConsistentRead": true, "Keys": [{"pk": {"S": "C"}, "sk": {"S": "é"}}]}},
            "ConsumedCapacity": []
        }"#;
        let batch = read_batch(body.as_bytes()).unwrap();
        let keys: Vec<String> = batch.rows.iter().map(|row| row.key().unwrap().pk).collect();
        assert_eq!(keys, ["A", "B"]);
        assert_eq!(batch.unprocessed, [key_attributes(&Key { pk: "C".to_owned(), sk: "é".to_owned() })]);
        assert!(read_batch(b"{}").unwrap().rows.is_empty());
        assert!(read_batch(b"not JSON").is_err());
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        let body = r#"{
            "Count": 1, "ScannedCount": 1, "Items": [{"pk": {"S": "A"}, "sk": {"S": "1"}, "n": {"N": "1"}}],
            "LastEvaluatedKey": {"pk": {"S": "A"}, "sk": {"S": "1"}}
        }"#;
        let page = read_page(body.as_bytes()).unwrap();
        let last = Key { pk: "A".to_owned(), sk: "1".to_owned() };
        assert_eq!((page.rows.len(), page.rows[0].key().unwrap()), (1, last.clone()));
        assert_eq!(page.next, Some(key_attributes(&last)));
        let page = read_page(br#"{"Count": 0, "Items": []}"#).unwrap();
        assert!(page.rows.is_empty() && page.next.is_none());
    }
}
