//! A table, its operations, and the responses that are read without the SDK's maps: those with rows.

use crate::raw_item::{Attribute, Item, RawItem, Row, Unreadable};
use crate::runtime::{Access, SERVICE, common, for_operation, for_operation_read_by, typed};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItem, BatchGetItemError, BatchGetItemInput};
use aws_sdk_dynamodb::operation::get_item::{GetItem, GetItemError, GetItemInput, GetItemOutput};
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::query::{Query, QueryError};
use aws_sdk_dynamodb::operation::transact_write_items::{
    TransactWriteItems, TransactWriteItemsError, TransactWriteItemsInput, TransactWriteItemsOutput,
};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItem, UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, TransactWriteItem};
use aws_smithy_runtime::client::orchestrator;
use aws_smithy_runtime_api::client::interceptors::context::Input;
use aws_smithy_runtime_api::client::result::CreateUnhandledError;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugins;
use futures_util::future::{BoxFuture, try_join_all};
use serde::Deserialize;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The most keys that one BatchGetItem takes.
const BATCH: usize = 100;
/// How often a batch's unprocessed keys are requested before the caller gets an error.
const UNPROCESSED_TURNS: u32 = 4;

/// The code that runs around every call to the database, such as a deadline or a measurement.
pub trait Middleware: Send + Sync {
    /// Runs a call; `None` if its time was up before it ended.
    fn run<T: Send>(&self, call: impl Future<Output = T> + Send) -> impl Future<Output = Option<T>> + Send;
}

impl Middleware for () {
    async fn run<T: Send>(&self, call: impl Future<Output = T> + Send) -> Option<T> {
        Some(call.await)
    }
}

#[derive(Debug, Clone)]
pub struct Table<M = ()> {
    name: Arc<str>,
    access: Arc<Access>,
    operations: Arc<Operations>,
    middleware: M,
}

/// The plugins of each operation, made when it is first called.
#[derive(Debug)]
struct Operations {
    common: RuntimePlugins,
    get_item: OnceLock<RuntimePlugins>,
    batch_get_item: OnceLock<RuntimePlugins>,
    query: OnceLock<RuntimePlugins>,
    update_item: OnceLock<RuntimePlugins>,
    transact_write_items: OnceLock<RuntimePlugins>,
    /// For all other operations.
    client: OnceLock<Client>,
}

#[derive(Debug, thiserror::Error)]
pub enum BatchGetError {
    #[error(transparent)]
    Call(Box<SdkError<BatchGetItemError>>),
    /// Keys were left unprocessed in every round: the database is throttling.
    #[error("keys are still unprocessed after {UNPROCESSED_TURNS} requests")]
    Unprocessed,
}

impl From<SdkError<BatchGetItemError>> for BatchGetError {
    fn from(error: SdkError<BatchGetItemError>) -> Self {
        Self::Call(Box::new(error))
    }
}

impl<M: Middleware> Table<M> {
    /// The table named `name`. Opens no connection.
    pub fn new(access: Access, name: &str, middleware: M) -> Self {
        let operations = Operations {
            common: common(&access),
            get_item: OnceLock::new(),
            batch_get_item: OnceLock::new(),
            query: OnceLock::new(),
            update_item: OnceLock::new(),
            transact_write_items: OnceLock::new(),
            client: OnceLock::new(),
        };
        Self { name: Arc::from(name), access: Arc::new(access), operations: Arc::new(operations), middleware }
    }

    /// The SDK's client by the same access, for operations that this crate does not have.
    pub fn client(&self) -> &Client {
        self.operations.client.get_or_init(|| Client::from_conf(self.access.sdk_config().build()))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads an item; `None` if the table does not have it.
    pub async fn get(&self, key: Item, consistent: bool) -> Result<Option<Item>, SdkError<GetItemError>> {
        let Operations { common, get_item, .. } = &*self.operations;
        let plugins = get_item.get_or_init(|| for_operation(common, &GetItem::new()));
        let input = GetItemInput::builder().table_name(self.name()).consistent_read(consistent).set_key(Some(key));
        let output: GetItemOutput = self.call("GetItem", plugins, input.build()).await?;
        Ok(output.item)
    }

    /// Reads items by key, strongly consistent, in no order. A batch has at most 100 keys; several batches are
    /// requested concurrently. Unprocessed keys are requested again. The result leaves out what the table does not
    /// have. Fails if a call fails, or if keys stay unprocessed after four rounds.
    pub async fn batch_get(&self, keys: Vec<Item>) -> Result<Vec<Row>, BatchGetError> {
        let batches = keys.len().div_ceil(BATCH);
        let mut rest = keys.into_iter();
        let batches = (0..batches).map(|_| self.batch_get_chunk(rest.by_ref().take(BATCH).collect()));
        Ok(try_join_all(batches).await?.into_iter().flatten().collect())
    }

    async fn batch_get_chunk(&self, mut wanted: Vec<Item>) -> Result<Vec<Row>, BatchGetError> {
        let Operations { common, batch_get_item, .. } = &*self.operations;
        let plugins = batch_get_item
            .get_or_init(|| for_operation_read_by::<_, BatchGetItemError>(common, &BatchGetItem::new(), Batch::read));
        let mut found = Vec::with_capacity(wanted.len());
        let mut turns = Turns::of(UNPROCESSED_TURNS);
        while turns.next().await {
            let keys = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let input = keys.and_then(|keys| BatchGetItemInput::builder().request_items(self.name(), keys).build());
            let Batch { rows, unprocessed } = self.call("BatchGetItem", plugins, input).await?;
            found.extend(rows);
            if unprocessed.is_empty() {
                return Ok(found);
            }
            wanted = unprocessed;
        }
        Err(BatchGetError::Unprocessed)
    }

    /// Reads all pages of a query, in order.
    pub async fn query(&self, request: QueryInputBuilder) -> Result<Vec<Row>, SdkError<QueryError>> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let (rows, next) = self.query_page(request.clone().set_exclusive_start_key(start)).await?;
            found.extend(rows);
            start = next;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    /// Reads one page of a query, and the key after which the next page begins; `None` on the last page.
    pub async fn query_page(
        &self,
        request: QueryInputBuilder,
    ) -> Result<(Vec<Row>, Option<Item>), SdkError<QueryError>> {
        let Operations { common, query, .. } = &*self.operations;
        let plugins = query.get_or_init(|| for_operation_read_by::<_, QueryError>(common, &Query::new(), Page::read));
        let Page { rows, next } = self.call("Query", plugins, request.table_name(self.name()).build()).await?;
        Ok((rows, next))
    }

    pub async fn update(&self, request: UpdateItemInputBuilder) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
        let Operations { common, update_item, .. } = &*self.operations;
        let plugins = update_item.get_or_init(|| for_operation(common, &UpdateItem::new()));
        self.call("UpdateItem", plugins, request.table_name(self.name()).build()).await
    }

    /// Writes all items or none. A call has an idempotency token, which its retries repeat: `token`, or a random one.
    pub async fn transact_write(
        &self,
        items: Vec<TransactWriteItem>,
        token: Option<&str>,
    ) -> Result<(), SdkError<TransactWriteItemsError>> {
        let Operations { common, transact_write_items, .. } = &*self.operations;
        let plugins = transact_write_items.get_or_init(|| for_operation(common, &TransactWriteItems::new()));
        // One for all attempts of this call, as the SDK's client sets it: a retry whose first attempt was carried out
        // changes nothing.
        let token = token.map_or_else(random_token, |token| Ok(token.to_owned()));
        let token = token.map_err(SdkError::construction_failure)?;
        let input = TransactWriteItemsInput::builder().set_transact_items(Some(items)).client_request_token(token);
        let _: TransactWriteItemsOutput = self.call("TransactWriteItems", plugins, input.build()).await?;
        Ok(())
    }

    /// Runs an operation. The SDK's future is large, and so is what comes of it: both are boxed here, so that those
    /// that wait stay small.
    fn call<'a, I, O, E>(
        &'a self,
        operation: &'static str,
        plugins: &'a RuntimePlugins,
        input: Result<I, BuildError>,
    ) -> BoxFuture<'a, Result<O, SdkError<E>>>
    where
        I: Debug + Send + Sync + 'static,
        O: Debug + Send + Sync + 'static,
        E: CreateUnhandledError + Error + Send + Sync + 'static,
    {
        let call = input.map(|input| Box::pin(orchestrator::invoke(SERVICE, operation, Input::erase(input), plugins)));
        Box::pin(async {
            let Some(result) = self.middleware.run(call.map_err(SdkError::construction_failure)?).await else {
                return Err(SdkError::timeout_error("the deadline has passed"));
            };
            let output = result.map_err(|error| error.map_service_error(typed))?;
            output.downcast().map_err(|_| SdkError::construction_failure("the response is not this operation's"))
        })
    }
}

/// A random idempotency token. DynamoDB takes 1 to 36 characters.
fn random_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// The turns of something that others may keep from being done.
#[derive(Debug)]
pub struct Turns {
    taken: u32,
    most: u32,
}

impl Turns {
    pub const fn of(most: u32) -> Self {
        Self { taken: 0, most }
    }

    /// Begins the next turn; `false` if there is none left. It waits before every turn but the first.
    pub async fn next(&mut self) -> bool {
        if self.is_last() {
            return false;
        }
        if let Some(earlier) = self.taken.checked_sub(1) {
            tokio::time::sleep(backoff(earlier)).await;
        }
        self.taken += 1;
        true
    }

    pub const fn is_last(&self) -> bool {
        self.taken >= self.most
    }
}

/// How long to wait after turn `turn + 1`: up to 20 ms, doubled each turn, with full jitter, so that writers that
/// collided once do not collide again.
fn backoff(turn: u32) -> Duration {
    let ceiling = 20_u64 << turn.min(6);
    let mut noise = [0_u8; 8];
    // Without entropy every writer waits the full time: slower, but never wrong.
    let share = getrandom::fill(&mut noise).map_or(ceiling, |()| u64::from_le_bytes(noise) % (ceiling + 1));
    Duration::from_millis(share)
}

#[derive(Debug)]
pub(crate) struct Batch {
    pub rows: Vec<Row>,
    /// The keys that must be requested again.
    pub unprocessed: Vec<Item>,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub rows: Vec<Row>,
    /// The key after which the next page begins; `None` on the last page.
    pub next: Option<Item>,
}

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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PageJson {
    #[serde(default)]
    items: Vec<RawItem>,
    last_evaluated_key: Option<RawItem>,
}

impl Batch {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let BatchJson { responses, unprocessed_keys } = parse(body)?;
        let unprocessed = unprocessed_keys.into_values().flat_map(|rest| rest.keys).map(key);
        Ok(Self {
            rows: responses.into_values().flatten().map(Row::from).collect(),
            unprocessed: unprocessed.collect::<Result<_, _>>()?,
        })
    }
}

impl Page {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let PageJson { items, last_evaluated_key } = parse(body)?;
        Ok(Self { rows: items.into_iter().map(Row::from).collect(), next: last_evaluated_key.map(key).transpose()? })
    }
}

fn parse<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::of(&error))
}

/// A key as the next request takes it. Our keys consist of texts and numbers.
fn key(item: RawItem) -> Result<Item, Unreadable> {
    let value = |(name, attribute): (String, Attribute)| match attribute {
        Attribute::S(text) => Ok((name, AttributeValue::S(text))),
        Attribute::N(digits) => Ok((name, AttributeValue::N(digits))),
        _ => Err(Unreadable::key(&name)),
    };
    item.into_attributes().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(pk: &str, sk: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        Item::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
    }

    #[test]
    fn a_batch_has_the_rows_it_found_and_the_keys_to_request_again() {
        let body = r#"{
            "Responses": {"t": [{"pk": {"S": "A"}, "sk": {"S": "-"}, "n": {"N": "1"}}, {"pk": {"S": "B"}, "sk": {"S": "-"}}]},
            "UnprocessedKeys": {"t": {"ConsistentRead": true, "Keys": [{"pk": {"S": "C"}, "sk": {"S": "é"}}]}},
            "ConsumedCapacity": []
        }"#;
        let batch = Batch::read(body.as_bytes()).unwrap();
        let keys: Vec<&str> = batch.rows.iter().map(|row| row.text("pk").unwrap()).collect();
        assert_eq!(keys, ["A", "B"]);
        assert_eq!(batch.unprocessed, [key_of("C", "é")]);
        assert!(Batch::read(b"{}").unwrap().rows.is_empty());
        assert!(Batch::read(b"not JSON").is_err());
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        let body = r#"{
            "Count": 1, "ScannedCount": 1, "Items": [{"pk": {"S": "A"}, "sk": {"S": "1"}, "n": {"N": "1"}}],
            "LastEvaluatedKey": {"pk": {"S": "A"}, "sk": {"S": "1"}}
        }"#;
        let page = Page::read(body.as_bytes()).unwrap();
        assert_eq!(page.rows.len(), 1);
        assert_eq!((page.rows[0].text("pk"), page.rows[0].text("sk")), (Some("A"), Some("1")));
        assert_eq!(page.next, Some(key_of("A", "1")));
        let page = Page::read(br#"{"Count": 0, "Items": []}"#).unwrap();
        assert!(page.rows.is_empty() && page.next.is_none());
    }

    #[test]
    fn a_key_consists_of_texts_and_numbers() {
        let next = |attribute: &str| {
            let body = format!(r#"{{"LastEvaluatedKey": {{"at": {attribute}}}}}"#);
            Page::read(body.as_bytes()).map(|page| page.next).map_err(|error| error.to_string())
        };
        let number = AttributeValue::N("7".to_owned());
        assert_eq!(next(r#"{"N":"7"}"#), Ok(Some(Item::from([("at".to_owned(), number)]))));
        assert_eq!(next(r#"{"B":"Nw=="}"#).unwrap_err(), "attribute `at`: expected text or a number in a key");
    }
}
