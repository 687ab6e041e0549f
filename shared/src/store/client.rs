//! The connection to the table: how the SDK is set up, and the few operations everything else is made of.
//!
//! The SDK's futures are large (clippy names them); every one is boxed where it is made, so that an endpoint's own
//! future stays small enough to move.

use super::codec::{Item, key_attributes, key_of};
use super::error::StoreError;
use super::keys::{Key, PK};
use super::wire;
use crate::telemetry::database_call;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_runtime::invocation_id::InvocationIdInterceptor;
use aws_runtime::request_info::RequestInfoInterceptor;
use aws_runtime::user_agent::UserAgentInterceptor;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, ConfigBag, Intercept, Region, StalledStreamProtectionConfig};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use aws_smithy_runtime_api::client::interceptors::{disable_interceptor, dyn_dispatch_hint};
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The most keys that one BatchGetItem takes.
const BATCH: usize = 100;
/// How often unprocessed keys are asked for again before the caller is told to come back.
const ROUNDS: u32 = 4;

/// The table, through a client that is shared by everything in the process.
#[derive(Debug, Clone)]
pub struct Db {
    client: Client,
    table: Arc<str>,
}

/// A client as a function needs it: region, credentials and endpoint from the environment, where Lambda puts them; TLS
/// by rustls with ring (no aws-lc, see "No aws-lc" in `infra/docs/decisions.md`); the standard three attempts; and
/// timeouts that leave room for an answer before the function's own. The SDK's search for profiles, single sign-on
/// and instance roles is left out: it is half of a function's size, and nothing there ever finds anything.
#[must_use]
pub fn client_from_env() -> Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_millis(1_500))
        .operation_timeout(Duration::from_secs(4))
        .build();
    let mut config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(wire::client(wire::roots()))
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .timeout_config(timeouts)
        // No body here is long enough to stall: an attempt's timeout comes first.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .interceptor(WithoutRemarks)
        .credentials_provider(EnvironmentVariableCredentialsProvider::new());
    config.set_region(variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).map(Region::new));
    config.set_endpoint_url(variable("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| variable("AWS_ENDPOINT_URL")));
    Client::from_conf(config.build())
}

/// Leaves out what the SDK says about itself with every attempt: what it is and which of its features are in use, a
/// random id, how many attempts there may be. DynamoDB reads none of it, and all of it is formatted and signed anew for
/// every call (see "Requests without remarks" in `infra/docs/decisions.md`).
#[derive(Debug)]
struct WithoutRemarks;

#[dyn_dispatch_hint]
impl Intercept for WithoutRemarks {
    fn name(&self) -> &'static str {
        "WithoutRemarks"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        const CAUSE: &str = "DynamoDB does not read it";
        let state = config.interceptor_state();
        state.store_put(disable_interceptor::<UserAgentInterceptor>(CAUSE));
        state.store_put(disable_interceptor::<InvocationIdInterceptor>(CAUSE));
        state.store_put(disable_interceptor::<RequestInfoInterceptor>(CAUSE));
        Ok(())
    }
}

/// Whether the environment has credentials, as it always has on Lambda.
#[must_use]
pub fn has_credentials() -> bool {
    variable("AWS_ACCESS_KEY_ID").is_some()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Db {
    /// The table named `table`, reached through `client`.
    #[must_use]
    pub fn new(client: Client, table: &str) -> Self {
        Self { client, table: Arc::from(table) }
    }

    /// The SDK's client, for the few operations that only one file needs.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Reads one item, strongly consistent where asked.
    ///
    /// # Errors
    /// [`StoreError`] where the database does not answer with the item or its absence.
    pub async fn get(&self, key: &Key, consistent: bool) -> Result<Option<Item>, StoreError> {
        let request = self.client.get_item().table_name(self.table()).consistent_read(consistent);
        let answer = database_call(Box::pin(request.set_key(Some(key_attributes(key))).send())).await;
        Ok(answer.map_err(|error| StoreError::from_sdk("GetItem", error))?.item)
    }

    /// Reads items by key, strongly consistent, in as many batches side by side as they need. What is missing
    /// in the table is missing in the answer.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] where keys stay unprocessed after some rounds of asking again.
    pub async fn batch_get(&self, keys: Vec<Key>) -> Result<Rows, StoreError> {
        let batches = keys.chunks(BATCH).map(|chunk| self.batch_get_chunk(chunk));
        let rows = try_join_all(batches).await?;
        Ok(Rows(rows.into_iter().flatten().collect()))
    }

    async fn batch_get_chunk(&self, keys: &[Key]) -> Result<HashMap<Key, Item>, StoreError> {
        const OPERATION: &str = "BatchGetItem";
        let mut rows = HashMap::with_capacity(keys.len());
        let mut wanted: Vec<Item> = keys.iter().map(key_attributes).collect();
        for round in 0..ROUNDS {
            let request = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let request =
                request.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
            let answer = self.client.batch_get_item().request_items(self.table(), request);
            let answer = database_call(Box::pin(answer.send())).await;
            let answer = answer.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
            for item in answer.responses.unwrap_or_default().into_values().flatten() {
                rows.insert(key_of(&item)?, item);
            }
            let unprocessed = answer.unprocessed_keys.unwrap_or_default().into_values().next();
            match unprocessed.map(|rest| rest.keys).filter(|keys| !keys.is_empty()) {
                None => return Ok(rows),
                Some(rest) => wanted = rest,
            }
            tokio::time::sleep(super::backoff(round)).await;
        }
        Err(StoreError::unavailable(OPERATION))
    }

    /// Reads a whole partition in the order of its sort keys, strongly consistent, page by page.
    ///
    /// # Errors
    /// [`StoreError`] where the database does not answer with a page.
    pub async fn query(&self, partition: &str) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let request = self.client.query().table_name(self.table()).consistent_read(true);
            let request = request.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", PK);
            let request = request.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()));
            let page = database_call(Box::pin(request.set_exclusive_start_key(start).send())).await;
            let page = page.map_err(|error| StoreError::from_sdk("Query", error))?;
            items.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                return Ok(items);
            }
        }
    }
}

/// Items that were read together, taken out by key.
#[derive(Debug, Default)]
pub struct Rows(HashMap<Key, Item>);

impl Rows {
    /// Takes an item out; `None` where the table has none.
    pub fn take(&mut self, key: &Key) -> Option<Item> {
        self.0.remove(key)
    }
}
