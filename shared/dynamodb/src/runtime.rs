//! The parts that the SDK's orchestrator needs to run an operation, and no more.
//!
//! Requests are serialised, signed, retried and read by the SDK's own parts. Its client adds parts that every service
//! and every operation might need: the rules that an endpoint's name is resolved by, and a dozen interceptors that
//! report the features in use. They are left out here.

use crate::access::Access;
use crate::raw_item::Unreadable;
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::service_clock_skew::ServiceClockSkewInterceptor;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::{ConfigBag, IdentityCache, RuntimeComponentsBuilder};
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
use aws_smithy_runtime_api::client::interceptors::SharedInterceptor;
use aws_smithy_runtime_api::client::interceptors::context::{self, Output, OutputOrError};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::result::CreateUnhandledError;
use aws_smithy_runtime_api::client::retries::SharedRetryStrategy;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, RuntimePlugins, StaticRuntimePlugin};
use aws_smithy_runtime_api::client::ser_de::{DeserializeResponse, SharedResponseDeserializer};
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::config_bag::{FrozenLayer, Layer};
use aws_types::SigningName;
use aws_types::region::SigningRegion;
use std::error::Error;
use std::fmt::{self, Debug};
use std::marker::PhantomData;

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
