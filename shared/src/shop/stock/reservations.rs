//! Reservations: units that are counted for a checkout before its order is written.
//!
//! Many buyers may want one item at the same second. Transactions on one counter cancel each other, so that a counter
//! is changed by an update of its own before the transaction that writes the order. The update adds the order's id to a
//! set in the counter, so that it is made once and can be taken back once; a row that is written before says that there
//! may be something to take back.

use super::SOLD;
use crate::model::{InternalId, ItemId, Order, Units};
use crate::table::client::Db;
use crate::table::codec::{Item, Row, encode_live, key_attributes};
use crate::table::keys::{self, Key, PK};
use crate::table::transaction::{VERSION, Write};
use crate::table::{StoreError, Turns, in_turns};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use serde::{Deserialize, Serialize};

/// The attribute of a counter with the orders that have a reservation: their units are counted, and they may never be
/// written.
const RESERVING: &str = "reserving";

/// How often an update is tried if a transaction is on the same counter, or others have reserved its last units.
const COUNTER_TURNS: u32 = 6;

/// The units that are reserved for an order before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    key: Key,
    pub order: InternalId,
    /// Its units, each item once.
    pub units: Vec<Units>,
}

#[derive(Serialize)]
struct NewRow<'a> {
    order: &'a InternalId,
    units: &'a [Units],
}

#[derive(Deserialize)]
struct StoredRow {
    order: InternalId,
    units: Vec<Units>,
}

impl Reservation {
    /// The units of an order. The sweep looks at them at `due`, seconds since 1970 UTC.
    pub fn new(order: &Order, units: Vec<Units>, due: i64) -> Self {
        Self::found(keys::unfinished_reservation(due, order.id), order.internal_id.clone(), units)
    }

    /// Reads a row of [`keys::unfinished_reservation`].
    pub fn decode(key: Key, row: Row) -> Result<Self, StoreError> {
        let StoredRow { order, units } = row.live(&key)?;
        Ok(Self::found(key, order, units))
    }

    pub(in crate::shop) const fn found(key: Key, order: InternalId, units: Vec<Units>) -> Self {
        Self { key, order, units }
    }

    /// The write of the row, before anything is reserved.
    pub fn put(&self) -> Result<Write, StoreError> {
        let row = NewRow { order: &self.order, units: &self.units };
        Ok(Write::put(self.key.clone(), encode_live(&self.key, &row)?).only_if_absent())
    }

    /// The condition that the row exists and that it is not being released.
    pub fn check(&self) -> Write {
        let condition = "attribute_exists(#pk) AND attribute_not_exists(closing)";
        Write::check(self.key.clone()).only_if(condition).name("#pk", PK)
    }

    /// The write after which the order can no longer be written.
    pub fn close(&self) -> Write {
        let write = Write::update(self.key.clone(), "SET closing = :yes").only_if_present();
        write.value(":yes", AttributeValue::Bool(true))
    }

    /// The write that removes the row, when nothing is left to do.
    pub fn delete(&self) -> Write {
        Write::delete(self.key.clone())
    }
}

/// The outcome of an update of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Reserved {
    /// The units are counted.
    Yes,
    /// Not as many are left.
    SoldOut,
}

/// Adds units of an order to an item's counter, on the condition that at most `limit` are sold then. Repeating it has
/// no second effect. If the database does not respond, the units may be counted or not; if transactions kept changing the
/// counter, they are not.
pub async fn reserve(db: &Db, order: &InternalId, units: Units, limit: Option<u32>) -> Result<Reserved, StoreError> {
    let absent = format!("(attribute_not_exists(#{RESERVING}) OR NOT contains(#{RESERVING}, :order))");
    let mut request = request(db, units.item, order).expression_attribute_names("#sold", SOLD);
    request = request
        .update_expression(format!("ADD #sold :units, #{RESERVING} :orders, #version :one"))
        .expression_attribute_names("#version", VERSION)
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":units", number(units.count))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    request = match limit {
        None => request.condition_expression(absent),
        Some(limit) => {
            // A counter that does not exist yet would pass any condition.
            let Some(before) = u64::from(limit).checked_sub(units.count) else { return Ok(Reserved::SoldOut) };
            let condition = format!("{absent} AND (attribute_not_exists(#sold) OR #sold <= :before)");
            request.condition_expression(condition).expression_attribute_values(":before", number(before))
        }
    };
    let mut turns = Turns::of(COUNTER_TURNS);
    while turns.next().await {
        match update(db, request.clone()).await? {
            Updated::Written => return Ok(Reserved::Yes),
            Updated::Failed(Some(old)) if is_reserved(&old, order) => return Ok(Reserved::Yes),
            // Reservations of others may be released: of the same buyer's other request, for example.
            Updated::Failed(Some(old)) if old.contains_key(RESERVING) => {}
            Updated::Failed(_) => break,
        }
    }
    if limit.is_some() { Ok(Reserved::SoldOut) } else { Err(StoreError::Contended) }
}

/// Releases a reservation of an order that was not written: subtracts its units from an item's counter, on the
/// condition that the order is marked in it. Repeating it has no second effect. A counter that has fewer units, because
/// it was set by hand, becomes zero.
pub async fn release(db: &Db, order: &InternalId, units: Units) -> Result<(), StoreError> {
    let write = |expression: &str, enough: &str| {
        request(db, units.item, order)
            .update_expression(format!("{expression} DELETE #{RESERVING} :orders"))
            .condition_expression(format!("contains(#{RESERVING}, :order) AND {enough}"))
            .expression_attribute_names("#sold", SOLD)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":units", number(units.count))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
    let all = write("ADD #sold :less, #version :one", "#sold >= :units")
        .expression_attribute_values(":less", AttributeValue::N(format!("-{}", units.count)));
    let rest = write("SET #sold = :zero ADD #version :one", "NOT #sold >= :units")
        .expression_attribute_values(":zero", number(0));
    for _ in 0..COUNTER_TURNS {
        for request in [&all, &rest] {
            match update(db, request.clone()).await? {
                // The other one of the two conditions holds, or did a moment ago.
                Updated::Failed(Some(old)) if is_reserved(&old, order) => {}
                // A condition that fails says that it is done already.
                Updated::Written | Updated::Failed(_) => return Ok(()),
            }
        }
    }
    Err(StoreError::Contended)
}

/// Confirms a reservation: the order is written and has its units, so that its mark in the counter is removed.
pub async fn confirm(db: &Db, order: &InternalId, units: Units) -> Result<(), StoreError> {
    let request = request(db, units.item, order)
        .update_expression(format!("DELETE #{RESERVING} :orders"))
        .condition_expression(format!("contains(#{RESERVING}, :order)"));
    update(db, request).await.map(drop)
}

fn request(db: &Db, item: ItemId, order: &InternalId) -> UpdateItemInputBuilder {
    let (key, order) = (key_attributes(&keys::count(item)), order.to_string());
    UpdateItemInput::builder()
        .table_name(db.table())
        .set_key(Some(key))
        .expression_attribute_names(format!("#{RESERVING}"), RESERVING)
        .expression_attribute_values(":order", AttributeValue::S(order.clone()))
        .expression_attribute_values(":orders", AttributeValue::Ss(vec![order]))
}

/// The orders that have a reservation in a counter's row.
pub fn reserved_orders(row: &Item) -> Vec<InternalId> {
    let orders = row.get(RESERVING).and_then(|value| value.as_ss().ok());
    orders.into_iter().flatten().map(|order| InternalId::new(order.as_str())).collect()
}

/// Adds to the write of a counter that the marks of these orders are removed.
pub fn also_confirm<'a>(write: Write, orders: impl Iterator<Item = &'a InternalId>) -> Write {
    let orders: Vec<String> = orders.map(ToString::to_string).collect();
    if orders.is_empty() {
        return write;
    }
    let write = write.also(&format!("DELETE #{RESERVING} :orders")).name(format!("#{RESERVING}"), RESERVING);
    write.value(":orders", AttributeValue::Ss(orders))
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn is_reserved(row: &Item, order: &InternalId) -> bool {
    let orders = row.get(RESERVING).and_then(|value| value.as_ss().ok());
    orders.is_some_and(|orders| orders.iter().any(|other| other == order.as_str()))
}

enum Updated {
    Written,
    /// Its condition failed on this row.
    Failed(Option<Item>),
}

async fn update(db: &Db, request: UpdateItemInputBuilder) -> Result<Updated, StoreError> {
    in_turns(COUNTER_TURNS, || async {
        let Err(error) = db.update_item(request.clone()).await else { return Ok(Updated::Written) };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                Ok(Updated::Failed(failed.item().cloned()))
            }
            Some(UpdateItemError::TransactionConflictException(_)) => Err(StoreError::Contended),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        }
    })
    .await
}
