//! The table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, ReturnValue, ReturnValuesOnConditionCheckFailure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1::from_item;
use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Requests that pass in a window.
pub const LIMIT: u64 = 18;
/// When a caller may come back while the table is away.
pub const RETRY_SECONDS: u64 = 1;
const WINDOW_MILLIS: u64 = 60_000;
const ROUNDS: u32 = 3;
const READ_ROUNDS: u32 = 4;
/// How long after its window a counter is kept, in seconds.
const KEPT_SECONDS: u64 = 3_600;

type Item = HashMap<String, AttributeValue>;

pub struct Store {
    client: Client,
    table: String,
    cache: Duration,
    /// Digits of the store's currency, and when they were read.
    digits: Mutex<Option<(Instant, u32)>>,
}

/// What became of a counted request.
pub struct Hit {
    pub allowed: bool,
    pub remaining: u64,
    pub reset_seconds: u64,
}

#[derive(Deserialize)]
pub struct Order {
    pub id: u64,
    pub internal_id: String,
    pub price: i64,
    pub currency: String,
    pub status: String,
    pub gateway: String,
    pub created_at: i64,
    pub owner: Option<u64>,
}

#[derive(Deserialize)]
pub struct User {
    pub id: u64,
    pub tokens_valid_after: Option<i64>,
}

#[derive(Deserialize)]
struct Pointer {
    config: StoreConfig,
}

#[derive(Deserialize)]
struct StoreConfig {
    digits: u32,
}

#[derive(Deserialize)]
struct Window {
    hits: u64,
    window_end: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database is unavailable")]
    Unavailable(#[source] Option<Box<dyn Error + Send + Sync>>),
    #[error("the database refused a request: {0}")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
    #[error("an item is unreadable: {0}")]
    Unreadable(#[from] serde_dynamo::Error),
}

impl StoreError {
    /// Whether the same request may pass in a moment.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl<E, R> From<SdkError<E, R>> for StoreError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    fn from(error: SdkError<E, R>) -> Self {
        const PASSING: [&str; 5] = [
            "ProvisionedThroughputExceededException",
            "ThrottlingException",
            "RequestLimitExceeded",
            "InternalServerError",
            "ServiceUnavailable",
        ];
        match error.code() {
            Some(code) if !PASSING.contains(&code) => Self::Refused(Box::new(error)),
            _ => Self::Unavailable(Some(Box::new(error))),
        }
    }
}

impl Store {
    pub fn new(client: Client, table: String, cache: Duration) -> Self {
        Self { client, table, cache, digits: Mutex::new(None) }
    }

    /// Counts a request of `address` at `now` (milliseconds since 1970).
    pub async fn hit(&self, address: &str, now: u64) -> Result<Hit, StoreError> {
        for _ in 0..ROUNDS {
            if let Some(hit) = self.count(address, now).await? {
                return Ok(hit);
            }
            if let Some(hit) = self.open_window(address, now).await? {
                return Ok(hit);
            }
        }
        Err(StoreError::Unavailable(None))
    }

    /// Adds one to an open window that is not full; `None` where no window is open.
    async fn count(&self, address: &str, now: u64) -> Result<Option<Hit>, StoreError> {
        let request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(format!("RATE#{address}"), "RATE")))
            .update_expression("ADD hits :one")
            .condition_expression("window_end > :now AND hits < :max")
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":now", number(now))
            .expression_attribute_values(":max", number(LIMIT))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let (allowed, item) = match request.send().await {
            Ok(output) => (true, output.attributes),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => (false, failed.item.clone()),
                _ => return Err(error.into()),
            },
        };
        let window: Option<Window> = item.map(from_item).transpose()?;
        Ok(window.filter(|window| allowed || window.window_end > now).map(|window| Hit {
            allowed,
            remaining: if allowed { LIMIT.saturating_sub(window.hits) } else { 0 },
            reset_seconds: window.window_end.saturating_sub(now).div_ceil(1_000).max(1),
        }))
    }

    /// Opens a window with this request in it; `None` if another request did so first.
    async fn open_window(&self, address: &str, now: u64) -> Result<Option<Hit>, StoreError> {
        let end = now + WINDOW_MILLIS;
        let request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(format!("RATE#{address}"), "RATE")))
            .update_expression("SET hits = :one, window_end = :end, expires_at = :ttl")
            .condition_expression("attribute_not_exists(pk) OR window_end <= :now")
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":end", number(end))
            .expression_attribute_values(":now", number(now))
            .expression_attribute_values(":ttl", number(end / 1_000 + KEPT_SECONDS));
        match request.send().await {
            Ok(_) => Ok(Some(Hit { allowed: true, remaining: LIMIT - 1, reset_seconds: WINDOW_MILLIS / 1_000 })),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(None),
                _ => Err(error.into()),
            },
        }
    }

    /// The order, and the user where there is one to read, strongly consistent.
    pub async fn order_and_user(
        &self,
        order_id: &str,
        user_id: Option<&str>,
    ) -> Result<(Option<Order>, Option<User>), StoreError> {
        let mut wanted = vec![key(format!("ORDER#{order_id}"), "ORDER")];
        wanted.extend(user_id.map(|id| key(format!("USER#{id}"), "USER")));
        let mut items = self.batch_get(wanted).await?;
        Ok((take(&mut items, "ORDER")?, take(&mut items, "USER")?))
    }

    /// Items by sort key.
    async fn batch_get(&self, mut wanted: Vec<Item>) -> Result<HashMap<String, Item>, StoreError> {
        let mut items = HashMap::new();
        for round in 0..READ_ROUNDS {
            let keys = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let keys = keys.map_err(|error| StoreError::Refused(error.into()))?;
            let output = self.client.batch_get_item().request_items(&self.table, keys).send().await?;
            for item in output.responses.unwrap_or_default().into_values().flatten() {
                if let Some(Ok(sk)) = item.get("sk").map(AttributeValue::as_s) {
                    items.insert(sk.clone(), item);
                }
            }
            match output.unprocessed_keys.unwrap_or_default().remove(&self.table) {
                None => return Ok(items),
                Some(rest) => wanted = rest.keys,
            }
            tokio::time::sleep(Duration::from_millis(20 << round)).await;
        }
        Err(StoreError::Unavailable(None))
    }

    /// Digits of the store's currency, read again once they are older than a few seconds.
    pub async fn digits(&self) -> Result<u32, StoreError> {
        let mut cached = self.digits.lock().await;
        if let Some((read_at, digits)) = *cached
            && read_at.elapsed() < self.cache
        {
            return Ok(digits);
        }
        let request = self.client.get_item().table_name(&self.table);
        let item = request.set_key(Some(key("STORE".to_owned(), "POINTER"))).send().await?.item;
        let pointer: Option<Pointer> = item.map(from_item).transpose()?;
        let digits = pointer.map_or(2, |pointer| pointer.config.digits);
        *cached = Some((Instant::now(), digits));
        Ok(digits)
    }
}

fn key(pk: String, sk: &str) -> Item {
    HashMap::from([("pk".to_owned(), AttributeValue::S(pk)), ("sk".to_owned(), AttributeValue::S(sk.to_owned()))])
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn take<T: DeserializeOwned>(items: &mut HashMap<String, Item>, sk: &str) -> Result<Option<T>, StoreError> {
    Ok(items.remove(sk).map(from_item).transpose()?)
}
