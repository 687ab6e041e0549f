//! The limit on checkStatus (contract, Limits; ruling 3): 18 requests in a window of 60 s that an address's first
//! request opens, over all instances together. The limit stands in the write's condition.

use super::StoreError;
use super::client::Db;
use super::codec::{Item, key_attributes};
use super::keys::{self, TTL};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};

/// Requests that pass in a window.
pub const LIMIT: u32 = 18;
/// Length of a window in milliseconds.
pub const WINDOW_MILLIS: u64 = 60_000;
/// How often a caller who lost the race to open a window starts over.
const ROUNDS: u32 = 3;
/// How long after its window an item is kept, in seconds. Time to live only cleans up.
const KEPT_SECONDS: u64 = 3_600;

/// What became of a counted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Whether the request passes.
    pub allowed: bool,
    /// Requests left in the window.
    pub remaining: u32,
    /// Seconds until the window ends, at least 1.
    pub reset_seconds: u64,
}

/// A request's place in a window that is in the table.
struct Window {
    hits: u64,
    end: u64,
}

/// Counts a request of `address` at `now` (milliseconds since 1970 UTC).
///
/// # Errors
/// [`StoreError`] where the database is away, or where others kept opening windows in between.
pub async fn hit(db: &Db, address: &str, now: u64) -> Result<Hit, StoreError> {
    for _ in 0..ROUNDS {
        match count(db, address, now).await? {
            Counted::In(window) => return Ok(Hit::new(true, &window, now)),
            Counted::Full(window) => return Ok(Hit::new(false, &window, now)),
            Counted::NoWindow => {}
        }
        if let Some(window) = open(db, address, now).await? {
            return Ok(Hit::new(true, &window, now));
        }
    }
    Err(StoreError::unavailable("UpdateItem"))
}

impl Hit {
    fn new(allowed: bool, window: &Window, now: u64) -> Self {
        let used = u32::try_from(window.hits).unwrap_or(u32::MAX);
        let reset_seconds = window.end.saturating_sub(now).div_ceil(1_000).max(1);
        Self { allowed, remaining: if allowed { LIMIT.saturating_sub(used) } else { 0 }, reset_seconds }
    }
}

enum Counted {
    In(Window),
    Full(Window),
    NoWindow,
}

/// Adds one to an open window that is not full.
async fn count(db: &Db, address: &str, now: u64) -> Result<Counted, StoreError> {
    let request = update(db, address)
        .update_expression("ADD hits :one")
        .condition_expression("window_end > :now AND hits < :max")
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":now", number(now))
        .expression_attribute_values(":max", number(u64::from(LIMIT)))
        .return_values(ReturnValue::AllNew)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    match db.update_item(request).await {
        Ok(answer) => window(answer.attributes.as_ref(), address).map(Counted::In),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => match failed.item() {
                None => Ok(Counted::NoWindow),
                Some(old) => {
                    let window = window(Some(old), address)?;
                    Ok(if window.end > now { Counted::Full(window) } else { Counted::NoWindow })
                }
            },
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

/// Opens a window with this request in it; `None` where somebody else did so first.
async fn open(db: &Db, address: &str, now: u64) -> Result<Option<Window>, StoreError> {
    let end = now.saturating_add(WINDOW_MILLIS);
    let request = update(db, address)
        .update_expression(format!("SET hits = :one, window_end = :end, {TTL} = :ttl"))
        .condition_expression("attribute_not_exists(pk) OR window_end <= :now")
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":end", number(end))
        .expression_attribute_values(":now", number(now))
        .expression_attribute_values(":ttl", number(end / 1_000 + KEPT_SECONDS));
    match db.update_item(request).await {
        Ok(_) => Ok(Some(Window { hits: 1, end })),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(None),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

fn update(db: &Db, address: &str) -> UpdateItemInputBuilder {
    UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&keys::rate(address))))
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn window(item: Option<&Item>, address: &str) -> Result<Window, StoreError> {
    let read = |name: &str| {
        let number = item.and_then(|item| item.get(name)).and_then(|value| value.as_n().ok());
        let number = number.and_then(|text| text.parse().ok());
        number.ok_or_else(|| StoreError::unreadable(&keys::rate(address), name))
    };
    Ok(Window { hits: read("hits")?, end: read("window_end")? })
}
