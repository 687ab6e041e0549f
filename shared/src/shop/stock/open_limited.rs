//! Open checkouts of an address that hold units of items with a global limit, or a use of a coupon with a limited number of
//! them. Each has an entry in a set, which is added on the condition that the set is not full. An entry whose checkout has
//! ended is removed when its place is needed.

use crate::model::{InternalId, OrderStatus};
use crate::shop::orders::StoredOrder;
use crate::table::StoreError;
use crate::table::client::{Db, Rows};
use crate::table::codec::{Item, key_attributes};
use crate::table::keys::{self, Key, TTL};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

/// The most such checkouts of an address, of those begun within the time of a hold.
pub const MOST_OPEN: usize = 10;
/// The kind of the limit in its key.
const KIND: &str = "hold";
/// The attribute with the entries.
const OPEN: &str = "open";
/// How often a request that finds the set full removes entries and tries again.
const FULL_ROUNDS: u32 = 4;
/// How long an item is kept after its last entry counts, in seconds. Time to live only cleans up.
const KEPT_SECONDS: i64 = 3_600;
/// After how many seconds an order that is still not written never will be: a function ends before that.
const INTERRUPTED: i64 = 60;

/// An entry: an open checkout of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub order: InternalId,
    /// When it began, seconds since 1970 UTC.
    pub begun: i64,
    /// When it no longer counts, seconds since 1970 UTC.
    pub until: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Added {
    /// It is counted.
    Yes,
    /// The address has [`MOST_OPEN`] others; so many seconds until one of them no longer counts.
    Full {
        /// At least 1.
        retry_seconds: u64,
    },
}

/// Adds an entry of an address, on the condition that it has fewer than [`MOST_OPEN`] others whose checkouts are open.
/// Repeating it has no second effect. If the database does not respond, the entry may be added or not.
pub async fn add(db: &Db, address: &str, entry: &Entry) -> Result<Added, StoreError> {
    let mut retry_seconds = 1;
    for _ in 0..FULL_ROUNDS {
        let Some(old) = try_add(db, address, entry).await? else { return Ok(Added::Yes) };
        let entries: Vec<Entry> = texts(&old).filter_map(Entry::parse).collect();
        if entries.iter().any(|found| found.order == entry.order) {
            return Ok(Added::Yes);
        }
        let ended = ended(db, &entries, entry.begun).await?;
        if ended.is_empty() {
            let first = entries.iter().map(|found| found.until).min().unwrap_or_default();
            retry_seconds = u64::try_from(first.saturating_sub(entry.begun)).unwrap_or_default().max(1);
            return Ok(Added::Full { retry_seconds });
        }
        remove(db, address, &ended).await?;
    }
    // Other requests took the places that became free.
    Ok(Added::Full { retry_seconds })
}

/// Removes entries. Repeating it has no second effect.
pub async fn remove(db: &Db, address: &str, entries: &[Entry]) -> Result<(), StoreError> {
    let request = update(db, address)
        .update_expression(format!("DELETE #{OPEN} :entries"))
        .expression_attribute_values(":entries", set(entries));
    db.update_item(request).await.map(drop).map_err(|error| StoreError::from_sdk("UpdateItem", error))
}

/// Adds the entry; the item if it is full, or has the entry already.
async fn try_add(db: &Db, address: &str, entry: &Entry) -> Result<Option<Item>, StoreError> {
    let request = update(db, address)
        .update_expression(format!("SET {TTL} = :ttl ADD #{OPEN} :entries"))
        .condition_expression(format!("attribute_not_exists(#{OPEN}) OR size(#{OPEN}) < :most"))
        .expression_attribute_values(":entries", set(std::slice::from_ref(entry)))
        .expression_attribute_values(":most", AttributeValue::N(MOST_OPEN.to_string()))
        .expression_attribute_values(":ttl", AttributeValue::N(entry.until.saturating_add(KEPT_SECONDS).to_string()))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    let Err(error) = db.update_item(request).await else { return Ok(None) };
    match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
            Ok(Some(failed.item().cloned().unwrap_or_default()))
        }
        _ => Err(StoreError::from_sdk("UpdateItem", error)),
    }
}

/// The entries that no longer count at `now`.
async fn ended(db: &Db, entries: &[Entry], now: i64) -> Result<Vec<Entry>, StoreError> {
    let mut rows: Rows = db.batch_get(entries.iter().map(|entry| keys::order(&entry.order)).collect()).await?;
    let mut ended = Vec::new();
    for entry in entries {
        let is_open = match StoredOrder::take(&mut rows, &entry.order)? {
            Some(stored) => stored.order.status == OrderStatus::Pending,
            None => now < entry.begun.saturating_add(INTERRUPTED),
        };
        if !is_open || entry.until <= now {
            ended.push(entry.clone());
        }
    }
    Ok(ended)
}

impl Entry {
    fn text(&self) -> String {
        format!("{}#{}#{}", self.order, self.begun, self.until)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, '#');
        let (until, begun) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { order: InternalId::new(parts.next()?), begun, until })
    }
}

fn key(address: &str) -> Key {
    keys::rate(KIND, address)
}

fn set(entries: &[Entry]) -> AttributeValue {
    AttributeValue::Ss(entries.iter().map(Entry::text).collect())
}

fn texts(item: &Item) -> impl Iterator<Item = &str> {
    item.get(OPEN).and_then(|value| value.as_ss().ok()).into_iter().flatten().map(String::as_str)
}

fn update(db: &Db, address: &str) -> UpdateItemInputBuilder {
    UpdateItemInput::builder()
        .table_name(db.table())
        .set_key(Some(key_attributes(&key(address))))
        .expression_attribute_names(format!("#{OPEN}"), OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = Entry { order: InternalId::new("a#b"), begun: 1_800_000_000, until: 1_800_002_100 };
        assert_eq!(entry.text(), "a#b#1800000000#1800002100");
        assert_eq!(Entry::parse(&entry.text()), Some(entry));
        for text in ["", "a", "a#1", "a#x#2", "a#1#"] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
    }
}
