//! Limits on the requests of an address: a number of requests in a window, which begins with the address's first
//! request. It holds over all instances together. The limit is in the write's condition. So is a random number of the
//! request: a write that the SDK retries because its response was lost is not counted twice.

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{Item, key_attributes};
use super::keys::{self, Key, PK, TTL};
use super::transaction::Write;
use crate::random;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use serde::Deserialize;

/// A limit on the requests of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The kind that is counted, as the part of the key after `RATE#`; empty for payments/checkStatus. Limits of
    /// different kinds do not share a window.
    pub kind: &'static str,
    pub requests: u32,
    /// Length of a window in seconds.
    pub seconds: u64,
}

/// How often a request that lost the race to open a window starts again.
const WINDOW_ROUNDS: u32 = 3;
/// How long an item is kept after its window, in seconds. Time to live only cleans up.
const KEPT_SECONDS: u64 = 3_600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub allowed: bool,
    pub remaining: u32,
    /// Seconds until the window ends, at least 1.
    pub reset_seconds: u64,
}

/// The attribute with the numbers of the requests that a window counts, at most [`RateLimit::requests`].
const COUNTED: &str = "counted";

/// A window that is in the table, open or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Window {
    hits: u64,
    #[serde(rename = "window_end")]
    end: u64,
}

/// Counts a request of `address` at `now` (milliseconds since 1970 UTC). Fails also if other requests opened windows in
/// every round.
pub async fn hit(db: &Db, limit: RateLimit, address: &str, now: u64) -> Result<Hit, StoreError> {
    Request::new(limit, address, now)?.hit(db).await
}

/// Counts a request of an address whose window was read before: as [`hit`], but in one round trip, unless another
/// request opened a window in the meantime.
pub async fn hit_after(
    db: &Db,
    limit: RateLimit,
    address: &str,
    now: u64,
    read: Option<Window>,
) -> Result<Hit, StoreError> {
    let request = Request::new(limit, address, now)?;
    if read.is_none_or(|window| window.end <= now)
        && let Some(window) = request.open(db).await?
    {
        return Ok(Hit::new(limit, true, &window, now));
    }
    request.hit(db).await
}

/// The write of a transaction that counts a request of an address together with what it begins. `read` is the address's
/// window as it was read: the condition also fails if another request has opened one since, or if it has ended.
pub fn count_in(limit: RateLimit, address: &str, now: u64, read: Option<Window>) -> Write {
    let key = keys::rate(limit.kind, address);
    if read.is_some_and(|window| window.end > now) {
        let write = Write::update(key, "ADD hits :one").only_if("window_end > :now AND hits < :max");
        return write.number(":one", 1).number(":now", now).number(":max", limit.requests);
    }
    let end = now.saturating_add(limit.seconds.saturating_mul(1_000));
    let write = Write::update(key, format!("SET hits = :one, window_end = :end, {TTL} = :ttl"));
    let write = write.only_if("attribute_not_exists(#pk) OR window_end <= :now").name("#pk", PK);
    write.number(":one", 1).number(":end", end).number(":ttl", end / 1_000 + KEPT_SECONDS).number(":now", now)
}

/// Seconds until a window ends that did not let [`count_in`] count; `None` if it is not full, so that it has changed.
pub fn full_in(old: Option<&Item>, limit: RateLimit, now: u64) -> Option<u64> {
    window(old, &keys::rate(limit.kind, "")).ok()?.full(limit, now)
}

/// Takes the window of an address out of the rows, which were read by [`keys::rate`].
pub fn take(rows: &mut Rows, limit: RateLimit, address: &str) -> Result<Option<Window>, StoreError> {
    rows.take_live(&keys::rate(limit.kind, address))
}

impl Window {
    /// Seconds until the window ends, at least 1, if it is full at `now`.
    pub fn full(&self, limit: RateLimit, now: u64) -> Option<u64> {
        let is_full = self.end > now && self.hits >= u64::from(limit.requests);
        is_full.then(|| self.reset_seconds(now))
    }

    fn reset_seconds(&self, now: u64) -> u64 {
        self.end.saturating_sub(now).div_ceil(1_000).max(1)
    }
}

impl Hit {
    fn new(limit: RateLimit, allowed: bool, window: &Window, now: u64) -> Self {
        let used = u32::try_from(window.hits).unwrap_or(u32::MAX);
        let remaining = if allowed { limit.requests.saturating_sub(used) } else { 0 };
        Self { allowed, remaining, reset_seconds: window.reset_seconds(now) }
    }
}

enum Counted {
    In(Window),
    Full(Window),
    NoWindow,
}

struct Request<'a> {
    limit: RateLimit,
    address: &'a str,
    now: u64,
    /// Random. The gateway's id repeats when an event is invoked again from a file.
    number: String,
}

impl<'a> Request<'a> {
    fn new(limit: RateLimit, address: &'a str, now: u64) -> Result<Self, StoreError> {
        let number = random::id().ok_or_else(StoreError::no_entropy)?;
        Ok(Self { limit, address, now, number })
    }

    async fn hit(&self, db: &Db) -> Result<Hit, StoreError> {
        for _ in 0..WINDOW_ROUNDS {
            match self.count(db).await? {
                Counted::In(window) => return Ok(Hit::new(self.limit, true, &window, self.now)),
                Counted::Full(window) => return Ok(Hit::new(self.limit, false, &window, self.now)),
                Counted::NoWindow => {}
            }
            if let Some(window) = self.open(db).await? {
                return Ok(Hit::new(self.limit, true, &window, self.now));
            }
        }
        Err(StoreError::Contended)
    }

    /// Adds one to an open window that is not full.
    async fn count(&self, db: &Db) -> Result<Counted, StoreError> {
        let request = self
            .update(db)
            .update_expression(format!("ADD hits :one, {COUNTED} :number"))
            .condition_expression(format!("window_end > :now AND hits < :max AND NOT contains({COUNTED}, :own)"))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":now", number(self.now))
            .expression_attribute_values(":max", number(u64::from(self.limit.requests)))
            .expression_attribute_values(":own", AttributeValue::S(self.number.clone()))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match db.update_item(request).await {
            Ok(answer) => window(answer.attributes.as_ref(), &self.key()).map(Counted::In),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => self.not_counted(failed.item()),
                _ => Err(StoreError::from_sdk("UpdateItem", error)),
            },
        }
    }

    /// The reason why the request was not added to the item: it was counted already, or the window is full, or it has
    /// ended.
    fn not_counted(&self, old: Option<&Item>) -> Result<Counted, StoreError> {
        let Some(item) = old else { return Ok(Counted::NoWindow) };
        let window = window(old, &self.key())?;
        let counted = item.get(COUNTED).and_then(|value| value.as_ss().ok());
        Ok(if window.end <= self.now {
            Counted::NoWindow
        } else if counted.is_some_and(|numbers| numbers.contains(&self.number)) {
            Counted::In(window)
        } else {
            Counted::Full(window)
        })
    }

    /// Opens a window with this request in it; `None` when another request did so first, or this one before its
    /// response was lost.
    async fn open(&self, db: &Db) -> Result<Option<Window>, StoreError> {
        let end = self.now.saturating_add(self.limit.seconds.saturating_mul(1_000));
        let request = self
            .update(db)
            .update_expression(format!("SET hits = :one, window_end = :end, {TTL} = :ttl, {COUNTED} = :number"))
            .condition_expression("attribute_not_exists(pk) OR window_end <= :now")
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":end", number(end))
            .expression_attribute_values(":now", number(self.now))
            .expression_attribute_values(":ttl", number(end / 1_000 + KEPT_SECONDS));
        match db.update_item(request).await {
            Ok(_) => Ok(Some(Window { hits: 1, end })),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(None),
                _ => Err(StoreError::from_sdk("UpdateItem", error)),
            },
        }
    }

    fn key(&self) -> Key {
        keys::rate(self.limit.kind, self.address)
    }

    /// A write to the address's item, with `:number` set.
    fn update(&self, db: &Db) -> UpdateItemInputBuilder {
        UpdateItemInput::builder()
            .table_name(db.table())
            .set_key(Some(key_attributes(&self.key())))
            .expression_attribute_values(":number", AttributeValue::Ss(vec![self.number.clone()]))
    }
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn window(item: Option<&Item>, key: &Key) -> Result<Window, StoreError> {
    let read = |name: &str| {
        let number = item.and_then(|item| item.get(name)).and_then(|value| value.as_n().ok());
        let number = number.and_then(|text| text.parse().ok());
        number.ok_or_else(|| StoreError::unreadable(key, name))
    };
    Ok(Window { hits: read("hits")?, end: read("window_end")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { kind: "code", requests: 30, seconds: 600 };

    #[test]
    fn a_window_is_full_with_its_last_request_and_until_it_ends() {
        let window = |hits| Window { hits, end: 600_000 };
        assert_eq!(window(29).full(LIMIT, 0), None);
        assert_eq!(window(30).full(LIMIT, 0), Some(600));
        assert_eq!(window(31).full(LIMIT, 0), Some(600));
        assert_eq!(window(30).full(LIMIT, 599_999), Some(1), "part of a second is a second");
        assert_eq!(window(30).full(LIMIT, 600_000), None);
        assert_eq!(window(30).full(LIMIT, 700_000), None);
    }

    #[test]
    fn a_refused_request_has_nothing_left_and_an_allowed_one_never_less_than_nothing() {
        let hit = |allowed, hits| Hit::new(LIMIT, allowed, &Window { hits, end: 1_500 }, 500);
        assert_eq!(hit(true, 1), Hit { allowed: true, remaining: 29, reset_seconds: 1 });
        assert_eq!(hit(false, 30), Hit { allowed: false, remaining: 0, reset_seconds: 1 });
        assert_eq!(hit(true, u64::MAX).remaining, 0);
    }
}
