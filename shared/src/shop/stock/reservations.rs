//! Reservations: units that are counted for a checkout before its order is written.
//!
//! Many buyers may want one item at the same second. Transactions on one counter cancel each other, so that a counter
//! is changed by an update of its own before the transaction that writes the order. The update adds the order's id to a
//! set in the counter, so that it is made once and can be taken back once; a row that is written before says that there
//! may be something to take back.

use super::SOLD;
use super::places::{self, Parts, Places, RunOut};
use crate::model::{Counted, InternalId, Item as CatalogItem, ItemId, Order, Place, Units};
use crate::rules::limits::taken;
use crate::table::client::Db;
use crate::table::codec::{Item, Row, key_attributes};
use crate::table::keys::{self, Key, PK};
use crate::table::transaction::{VERSION, Write};
use crate::table::{StoreError, Turns, in_turns};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
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
    /// The places in which they count.
    pub places: Vec<Place>,
    /// When the order is created, seconds since 1970 UTC.
    at: i64,
    /// The counters that were found to have run out.
    run_out: Vec<(ItemId, RunOut)>,
}

#[derive(Serialize)]
struct NewRow<'a> {
    order: &'a InternalId,
    units: &'a [Units],
    #[serde(skip_serializing_if = "<[Place]>::is_empty")]
    places: &'a [Place],
    at: i64,
}

#[derive(Deserialize)]
struct StoredRow {
    order: InternalId,
    units: Vec<Units>,
    #[serde(default)]
    places: Vec<Place>,
    #[serde(default)]
    at: i64,
}

impl Reservation {
    /// The units of an order. The sweep looks at them at `due`, seconds since 1970 UTC.
    pub fn new(order: &Order, units: Vec<Units>, due: i64) -> Self {
        let (key, internal_id) = (keys::unfinished_reservation(due, order.id), order.internal_id.clone());
        Self { key, order: internal_id, units, places: taken(&order.lines), at: order.created_at, run_out: Vec::new() }
    }

    /// Reads a row of [`keys::unfinished_reservation`].
    pub fn decode(key: Key, row: Row) -> Result<Self, StoreError> {
        let StoredRow { order, units, places, at } = row.live(&key)?;
        Ok(Self::found(key, order, units, (places, at)))
    }

    /// A reservation whose row was read, with the places of its units and when its order is created.
    pub(in crate::shop) fn found(
        key: Key,
        order: InternalId,
        units: Vec<Units>,
        (places, at): (Vec<Place>, i64),
    ) -> Self {
        Self { key, order, units, places, at, run_out: Vec::new() }
    }

    /// Notes what has run out of an item's counter: it is removed when the order is written.
    pub fn note_run_out(&mut self, item: ItemId, run_out: RunOut) {
        self.run_out.extend((!run_out.is_empty()).then_some((item, run_out)));
    }

    /// Removes what was noted.
    pub async fn forget(&self, db: &Db) -> Result<(), StoreError> {
        for (item, run_out) in &self.run_out {
            forget(db, *item, run_out.clone()).await?;
        }
        Ok(())
    }

    /// The places of an item, each with its units.
    fn places_of(&self, item: ItemId) -> Vec<Place> {
        self.places.iter().filter(|place| place.item == item).cloned().collect()
    }

    /// The write of the row, before anything is reserved.
    pub fn put(&self) -> Result<Write, StoreError> {
        let row = NewRow { order: &self.order, units: &self.units, places: &self.places, at: self.at };
        Ok(Write::put_live(self.key.clone(), &row)?.only_if_absent())
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
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Reserved {
    /// The units are counted. This has run out of the counter.
    Yes(RunOut),
    /// Not as many are left in the counter, as it is then.
    SoldOut(Counted),
}

/// Adds units of an order to an item's counter, on the condition that the limits of `item` allow it. Repeating it has
/// no second effect. If the database does not respond, the units may be counted or not; if transactions kept changing the
/// counter, they are not.
pub async fn reserve(
    db: &Db,
    reservation: &Reservation,
    units: Units,
    item: Option<&CatalogItem>,
) -> Result<Reserved, StoreError> {
    let order = &reservation.order;
    let of_item = reservation.places_of(units.item);
    let limit = item.and_then(|item| item.global_limit);
    let Some(parts) = (Places { of_item: &of_item, order, at: reservation.at }).take(item) else {
        return Ok(Reserved::SoldOut(Counted::default()));
    };
    let mut own = format!("(attribute_not_exists(#{RESERVING}) OR NOT contains(#{RESERVING}, :order))");
    let mut request = request(db, units.item, order)
        .expression_attribute_names("#sold", SOLD)
        .update_expression(parts.expression(&format!("ADD #sold :units, #{RESERVING} :orders, #version :one")))
        .expression_attribute_names("#version", VERSION)
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":units", number(units.count))
        .return_values(if of_item.is_empty() { ReturnValue::None } else { ReturnValue::AllOld })
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    if let Some(limit) = limit {
        // A counter that does not exist yet would pass any condition.
        let Some(before) = u64::from(limit).checked_sub(units.count) else {
            return Ok(Reserved::SoldOut(Counted::default()));
        };
        own.push_str(" AND (attribute_not_exists(#sold) OR #sold <= :before)");
        request = request.expression_attribute_values(":before", number(before));
    }
    request = request.set_condition_expression(parts.condition(Some(&own)));
    request = with_parts(request, parts);
    let (mut turns, mut counted) = (Turns::of(COUNTER_TURNS), Counted::default());
    while turns.next().await {
        let old = match update(db, request.clone()).await? {
            Updated::Written(row) => {
                // The units are counted: what cannot be read now is left to the next order.
                let counted = places::read(units.item, row).unwrap_or_default();
                let run_out = item.map(|item| RunOut::of(item, &counted, reservation.at));
                return Ok(Reserved::Yes(run_out.unwrap_or_default()));
            }
            Updated::Failed(Some(old)) if is_reserved(&old, order) => return Ok(Reserved::Yes(RunOut::default())),
            Updated::Failed(old) => old.unwrap_or_default(),
        };
        let has_others = old.contains_key(RESERVING);
        counted = places::read(units.item, old)?;
        let run_out = item.map(|item| RunOut::of(item, &counted, reservation.at)).filter(RunOut::has_marks);
        if let Some(run_out) = run_out {
            forget(db, units.item, run_out).await?;
        } else if !has_others {
            break;
        }
        // Reservations of others may be released: of the same buyer's other request, for example.
    }
    let is_limited = item.is_some_and(CatalogItem::is_counted);
    if is_limited { Ok(Reserved::SoldOut(counted)) } else { Err(StoreError::Contended) }
}

/// Removes what has run out of a counter's places, so that nothing of it is compared.
pub async fn forget(db: &Db, item: ItemId, run_out: RunOut) -> Result<(), StoreError> {
    if run_out.is_empty() {
        return Ok(());
    }
    let (expression, parts) = run_out.into_update();
    let request = UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&keys::count(item))));
    update(db, with_parts(request.update_expression(expression), parts)).await.map(drop)
}

fn with_parts(request: UpdateItemInputBuilder, parts: Parts) -> UpdateItemInputBuilder {
    let (names, values) = parts.into_attributes();
    let request = names.into_iter().fold(request, |request, (name, of)| request.expression_attribute_names(name, of));
    values.into_iter().fold(request, |request, (name, value)| request.expression_attribute_values(name, value))
}

/// Releases a reservation of an order that was not written: subtracts its units from an item's counter, on the
/// condition that the order is marked in it. Repeating it has no second effect. A counter that has fewer units, because
/// it was set by hand, becomes zero.
pub async fn release(db: &Db, reservation: &Reservation, units: Units) -> Result<(), StoreError> {
    let order = &reservation.order;
    let of_item = reservation.places_of(units.item);
    let places = Places { of_item: &of_item, order, at: reservation.at };
    // What is in the counter, once it is known.
    let mut read: Option<Counted> = None;
    for _ in 0..2 * COUNTER_TURNS {
        let parts = places.give_back(read.as_ref(), |_| 0);
        let is_short = read.as_ref().is_some_and(|read| read.sold < units.count);
        let (add, enough) = if is_short {
            ("SET #sold = :zero ADD #version :one", "NOT #sold >= :units")
        } else {
            ("ADD #sold :less, #version :one", "#sold >= :units")
        };
        let (name, value) =
            if is_short { (":zero", number(0)) } else { (":less", AttributeValue::N(format!("-{}", units.count))) };
        let own = format!("contains(#{RESERVING}, :order) AND {enough}");
        let request = request(db, units.item, order)
            .update_expression(parts.expression_also_deleting(add, &format!("#{RESERVING} :orders")))
            .set_condition_expression(parts.condition(Some(&own)))
            .expression_attribute_names("#sold", SOLD)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":units", number(units.count))
            .expression_attribute_values(name, value)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match update(db, with_parts(request, parts)).await? {
            // There were fewer units, or a window that is over is gone.
            Updated::Failed(Some(old)) if is_reserved(&old, order) => read = Some(places::read(units.item, old)?),
            // A condition that fails says that it is done already.
            Updated::Written(_) | Updated::Failed(_) => return Ok(()),
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
    /// It is written; the row before that, if it was asked for.
    Written(Item),
    /// Its condition failed on this row.
    Failed(Option<Item>),
}

async fn update(db: &Db, request: UpdateItemInputBuilder) -> Result<Updated, StoreError> {
    in_turns(COUNTER_TURNS, || async {
        let error = match db.update_item(request.clone()).await {
            Ok(output) => return Ok(Updated::Written(output.attributes.unwrap_or_default())),
            Err(error) => error,
        };
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
