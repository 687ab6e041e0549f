//! The rows by which orders are listed, written in the transaction of the order.
//!
//! In a month, an order has one, and so has each time at which something of it went back by the store's own hand. A report reads only
//! the months that it is about. Under its account, an order has another; they are read newest first.

use super::StoredOrder;
use crate::model::{Back, InternalId, Money, Order, OrderOfMonth, OrderStatus, UserId};
use crate::rules::dispute::is_taken_back;
use crate::table::StoreError;
use crate::table::client::Db;
use crate::table::codec::{Item, encode_live};
use crate::table::keys::{self, Key, PK, SK};
use crate::table::transaction::Write;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

/// The rows of an order as it was recorded: that of its month, which never changes, and that of what had gone back then.
pub fn items(stored: &StoredOrder) -> Result<Vec<(Key, Item)>, StoreError> {
    let order = &stored.order;
    let key = keys::sale(order.created_at, order.id);
    let row = encode_live(&key, &OrderOfMonth { order: order.internal_id.clone(), back: None })?;
    let refunded = (order.status == OrderStatus::Refunded)
        .then(|| refunded(stored, stored.effects.refunded_at.unwrap_or(order.created_at)));
    Ok(std::iter::once((key, row)).chain(refunded.transpose()?).collect())
}

/// The write of an order's row, for the transaction that writes the order.
pub fn put(stored: &StoredOrder) -> Result<Vec<Write>, StoreError> {
    Ok(items(stored)?.into_iter().map(|(key, row)| Write::put(key, row)).collect())
}

/// The row of what went back of an order at a second (since 1970 UTC).
fn back_item(order: &Order, at: i64, nth: u32, back: Back) -> Result<(Key, Item), StoreError> {
    let key = keys::sale_back(at, order.id, nth);
    let row = encode_live(&key, &OrderOfMonth { order: order.internal_id.clone(), back: Some(back) })?;
    Ok((key, row))
}

/// The row of all that is left of an order that becomes REFUNDED. Of what the bank took back, only money went back.
fn refunded(stored: &StoredOrder, at: i64) -> Result<(Key, Item), StoreError> {
    let (order, card, spent) = (&stored.order, stored.effects.card(), stored.effects.virtual_currency);
    let is_taken = is_taken_back(&stored.effects);
    let back = Back {
        money: order.price.less(order.charged_for_returned()),
        gift_card: if is_taken { Money::ZERO } else { card.less(order.card_for_returned(card)) },
        virtual_currency: if is_taken { Money::ZERO } else { spent.less(order.returned_virtual()) },
    };
    back_item(order, at, 0, back)
}

/// The write of that row, for the transaction in which the order becomes REFUNDED.
pub fn put_refunded(stored: &StoredOrder, now: i64) -> Result<Write, StoreError> {
    refunded(stored, now).map(|(key, row)| Write::put(key, row))
}

/// The write of what goes back with the units of lines that are returned in `after`.
pub fn put_returned(stored: &StoredOrder, after: &Order, now: i64) -> Result<Write, StoreError> {
    let (before, card) = (&stored.order, stored.effects.card());
    let back = Back {
        money: after.charged_for_returned().less(before.charged_for_returned()),
        gift_card: after.card_for_returned(card).less(before.card_for_returned(card)),
        virtual_currency: after.returned_virtual().less(before.returned_virtual()),
    };
    let item = back_item(before, now, stored.effects.line_refunds.saturating_add(1), back);
    item.map(|(key, row)| Write::put(key, row))
}

/// The most orders of a page.
pub const PAGE: i32 = 50;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedOrder {
    pub order: InternalId,
}

impl OwnedOrder {
    /// The key of an order's row; `None` if the order has no owner.
    pub fn key(order: &Order) -> Option<Key> {
        order.owner.map(|owner| keys::order_of(owner, order.created_at, order.id))
    }

    /// The row of an order; `None` if it has no owner. It never changes.
    pub fn item(order: &Order) -> Option<Result<(Key, Item), StoreError>> {
        let key = Self::key(order)?;
        let row = encode_live(&key, &Self { order: order.internal_id.clone() });
        Some(row.map(|row| (key, row)))
    }

    /// The write of an order's row, for the transaction that writes the order.
    pub fn put(order: &Order) -> Result<Option<Write>, StoreError> {
        Self::item(order).transpose().map(|found| found.map(|(key, row)| Write::put(key, row)))
    }
}

/// A page of an account's orders, newest first. `cursor` is [`OwnedPage::next`] of the page before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedPage {
    pub orders: Vec<InternalId>,
    /// The position of the next page; `None` after the last one.
    pub next: Option<String>,
}

/// Reads a page of an account's orders, strongly consistent.
pub async fn page(db: &Db, user: UserId, cursor: Option<&str>) -> Result<OwnedPage, StoreError> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let partition = keys::orders_of(user);
    let start = cursor.map(|place| Item::from([(PK.to_owned(), text(&partition)), (SK.to_owned(), text(place))]));
    let (rows, next) = db.query_descending(&partition, PAGE, start).await?;
    let rows = rows.into_iter().map(|row| Ok(row.live_found::<OwnedOrder>()?.order));
    let next = next.and_then(|mut item| item.remove(SK)).and_then(|place| place.as_s().ok().cloned());
    Ok(OwnedPage { orders: rows.collect::<Result<_, StoreError>>()?, next })
}
