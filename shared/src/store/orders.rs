//! Orders: as buyers look them up, and with what is needed to refund them.

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{Item, Row, encode_live};
use super::keys::{self, Key};
use super::transaction::Write;
use crate::model::{InternalId, Order, OrderEffects, OrderStatus};
use aws_sdk_dynamodb::types::AttributeValue;

/// The attribute with the mark of the statistics, see [`OrderEffects::counted`].
pub const COUNTED: &str = "counted";

/// Takes an order out of the rows.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn take(rows: &mut Rows, id: &InternalId) -> Result<Option<Order>, StoreError> {
    let key = keys::order(id);
    rows.take(&key).map(|row| row.live(&key)).transpose()
}

/// An order with its effects, as one item of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOrder {
    /// The order.
    pub order: Order,
    /// What it took.
    pub effects: OrderEffects,
}

impl StoredOrder {
    /// Whether the statistics do not show the order's status yet.
    #[must_use]
    pub fn statistics_due(&self) -> bool {
        self.effects.counted.is_some_and(|counted| counted != self.should_count())
    }

    /// Whether the statistics should count the order.
    #[must_use]
    pub fn should_count(&self) -> bool {
        self.order.status == OrderStatus::Paid
    }

    /// The key of its item.
    #[must_use]
    pub fn key(&self) -> Key {
        keys::order(&self.order.internal_id)
    }

    /// Reads an order's item.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if it does not decode.
    pub fn decode(key: &Key, row: Row) -> Result<Self, StoreError> {
        Ok(Self { effects: row.clone().live(key)?, order: row.live(key)? })
    }

    fn encode(&self) -> Result<Item, StoreError> {
        let key = self.key();
        let mut item = encode_live(&key, &self.effects)?;
        item.extend(encode_live(&key, &self.order)?);
        Ok(item)
    }

    /// The write of a new order, on the condition that its internal id is not used.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if it cannot be encoded.
    pub fn put_new<G>(&self) -> Result<Write<G>, StoreError> {
        Ok(Write::put(self.key(), self.encode()?).only_if_absent())
    }

    /// The write that changes the status, on the condition that it is the one that was read. It adds the mark of the
    /// statistics to an order that has none.
    #[must_use]
    pub fn set_status<G>(&self, to: OrderStatus) -> Write<G> {
        Write::update(self.key(), "SET #status = :to, counted = if_not_exists(counted, :counted)")
            .only_if("#status = :from")
            .name("#status", "status")
            .text(":from", self.order.status.as_str())
            .text(":to", to.as_str())
            // Without a mark the statistics agree with the status.
            .value(":counted", AttributeValue::Bool(self.should_count()))
    }

    /// The write that marks the order as counted for these goals, on the condition that status and mark are as they were
    /// read.
    #[must_use]
    pub fn mark_counted<G>(&self, goals: Vec<String>) -> Write<G> {
        let goals = goals.into_iter().map(AttributeValue::S).collect();
        self.mark("SET counted = :now, #goals = :goals", true).value(":goals", AttributeValue::L(goals))
    }

    /// The write that marks the order as no longer counted, on the same condition.
    #[must_use]
    pub fn mark_not_counted<G>(&self) -> Write<G> {
        self.mark("SET counted = :now REMOVE #goals", false)
    }

    fn mark<G>(&self, expression: &str, counted: bool) -> Write<G> {
        Write::update(self.key(), expression)
            .only_if("#status = :status AND counted = :before")
            .name("#status", "status")
            .name("#goals", "goals")
            .text(":status", self.order.status.as_str())
            .value(":before", AttributeValue::Bool(!counted))
            .value(":now", AttributeValue::Bool(counted))
    }
}

/// Reads an order with its effects, strongly consistent; `None` if there is no order with this id.
///
/// # Errors
/// [`StoreError`] if it can be neither read nor decoded.
pub async fn get(db: &Db, id: &InternalId) -> Result<Option<StoredOrder>, StoreError> {
    let key = keys::order(id);
    db.get(&key, true).await?.map(|item| StoredOrder::decode(&key, Row::from(item))).transpose()
}
