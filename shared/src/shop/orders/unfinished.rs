//! Rows for the sweep: orders, units and subscriptions with something left to do; and the store's answers to the disputes of an order,
//! which are written with the rows by which the sweep finds what is due.

use super::StoredOrder;
use crate::model::{DisputeAnswer, InternalId, Order, Place, Units};
use crate::shop::stock::reservations::Reservation;
use crate::table::StoreError;
use crate::table::client::Db;
use crate::table::codec::{Row, encode_value};
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The row of an order with something left to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    pub order: InternalId,
}

impl Unfinished {
    pub fn put(order: &Order, due: i64) -> Result<Write, StoreError> {
        let key = keys::unfinished_order(due, order.id);
        Write::put_live(key, &Self { order: order.internal_id.clone() })
    }
}

/// The row of a dispute that the sweep looks at.
#[derive(Debug, Serialize)]
pub struct UnfinishedDispute<'a> {
    pub order: &'a InternalId,
    pub dispute: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    Order(InternalId),
    /// Units that were reserved for an order.
    Reservation(Reservation),
    /// A subscription, by the provider's id.
    Subscription(String),
    /// A dispute of an order, by the provider's id.
    Dispute(InternalId, String),
}

/// A row that is due. Its key has the second since when, however often it failed.
#[derive(Debug)]
pub struct DueRow {
    pub key: Key,
    /// The subject; an error if the row cannot be decoded.
    pub due: Result<Due, StoreError>,
    pub failed: u32,
    /// When it is tried again after it failed, seconds since 1970 UTC.
    pub again_at: Option<i64>,
    /// The reason of the last failure.
    pub reason: Option<String>,
}

impl DueRow {
    fn decode(row: Row) -> Result<Self, StoreError> {
        let key = row.key()?;
        Ok(match row.live(&key) {
            Ok(Attributes { order, units, places, at, subscription, dispute, failed, again_at, reason }) => {
                let due = match (order, units, subscription) {
                    (Some(order), Some(units), _) => {
                        Ok(Due::Reservation(Reservation::found(key.clone(), order, units, (places, at))))
                    }
                    (Some(order), None, _) => Ok(match dispute {
                        Some(dispute) => Due::Dispute(order, dispute),
                        None => Due::Order(order),
                    }),
                    (None, _, Some(subscription)) => Ok(Due::Subscription(subscription)),
                    (None, _, None) => Err(StoreError::unreadable(&key, "order")),
                };
                Self { key, due, failed, again_at, reason }
            }
            Err(error) => Self { key, due: Err(error), failed: 0, again_at: None, reason: None },
        })
    }

    /// The order that it is about; `None` if it is about a subscription, or cannot be decoded.
    pub fn order(&self) -> Option<&InternalId> {
        match self.due.as_ref().ok()? {
            Due::Order(order) | Due::Dispute(order, _) | Due::Reservation(Reservation { order, .. }) => Some(order),
            Due::Subscription(_) => None,
        }
    }

    /// Whether it failed and is not tried again before a later second than `now`.
    pub fn waits(&self, now: i64) -> bool {
        self.again_at.is_some_and(|again| again > now)
    }

    /// The write that lets it be tried again at `again` (seconds since 1970 UTC), if it is still there.
    pub fn try_again(&self, again: i64, reason: &str) -> Write {
        let reason: String = reason.chars().take(REASON).collect();
        Write::update(self.key.clone(), "SET failed = :failed, again_at = :again, reason = :reason")
            .only_if_present()
            .number(":failed", self.failed.saturating_add(1))
            .number(":again", again)
            .text(":reason", &reason)
    }
}

/// The longest reason that is kept, in characters.
const REASON: usize = 200;

#[derive(Deserialize)]
struct Attributes {
    #[serde(default)]
    order: Option<InternalId>,
    #[serde(default)]
    subscription: Option<String>,
    #[serde(default)]
    dispute: Option<String>,
    #[serde(default)]
    units: Option<Vec<Units>>,
    #[serde(default)]
    places: Vec<Place>,
    #[serde(default)]
    at: i64,
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    again_at: Option<i64>,
    #[serde(default)]
    reason: Option<String>,
}

/// The rows that are due at `now` (seconds since 1970 UTC), the longest overdue first. A row that cannot be decoded
/// does not make the others unreadable.
pub async fn due(db: &Db, now: i64) -> Result<Vec<DueRow>, StoreError> {
    let rows = db.query_until(&keys::unfinished(), &keys::due_until(now)).await?;
    rows.into_iter().map(DueRow::decode).collect()
}

/// Answers by the provider's ids of the disputes.
pub type Answers = BTreeMap<String, DisputeAnswer>;

fn row(answers: &Answers, dispute: &str) -> Option<Key> {
    Some(keys::unfinished_dispute(answers.get(dispute)?.due?, dispute))
}

impl StoredOrder {
    /// The key of the row by which the sweep finds a dispute.
    pub fn answer_row(&self, dispute: &str) -> Option<Key> {
        row(&self.effects.answers, dispute)
    }

    /// The writes of other answers, on the condition that status, refunds, dispute and answers are as they were read.
    pub fn set_answers(&self, next: &Answers) -> Result<Vec<Write>, StoreError> {
        self.with_answers(self.if_returned_as_read(self.update("SET answers = :answers")), next)
    }

    /// A write that sets `:answers`, with its value and the condition that answers are as they were read, and those of rows.
    pub(in crate::shop) fn with_answers(&self, write: Write, next: &Answers) -> Result<Vec<Write>, StoreError> {
        let (key, read) = (self.key(), &self.effects.answers);
        let write = write.value(":answers", encode_value(&key, next)?);
        let write = if read.is_empty() {
            write.and_if("attribute_not_exists(answers)")
        } else {
            write.and_if("answers = :read_answers").value(":read_answers", encode_value(&key, read)?)
        };
        let mut writes = vec![write];
        for dispute in next.keys() {
            let (before, after) = (row(read, dispute), row(next, dispute));
            if before != after {
                writes.extend(before.map(Write::delete));
                let put = |key: Key| {
                    let due = UnfinishedDispute { order: &self.order.internal_id, dispute };
                    Write::put_live(key, &due)
                };
                writes.extend(after.map(put).transpose()?);
            }
        }
        Ok(writes)
    }
}
