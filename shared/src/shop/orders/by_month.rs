//! The orders of a month: a row for each, written in the transaction of the order, and one for each time at which something of it
//! went back by the store's own hand. A report reads only the months that it is about.

use super::StoredOrder;
use crate::model::{Back, Order, OrderOfMonth};
use crate::table::StoreError;
use crate::table::codec::{Item, encode_live};
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;

/// The row of an order in its month. It never changes.
pub fn item(order: &Order) -> Result<(Key, Item), StoreError> {
    let key = keys::sale(order.created_at, order.id);
    let row = encode_live(&key, &OrderOfMonth { order: order.internal_id.clone(), back: None })?;
    Ok((key, row))
}

/// The write of an order's row, for the transaction that writes the order.
pub fn put(order: &Order) -> Result<Write, StoreError> {
    item(order).map(|(key, row)| Write::put(key, row))
}

/// The write of what went back of an order at a second (since 1970 UTC), for the transaction in which it does.
fn put_back(order: &Order, at: i64, nth: u32, back: Back) -> Result<Write, StoreError> {
    let key = keys::sale_back(at, order.id, nth);
    let row = OrderOfMonth { order: order.internal_id.clone(), back: Some(back) };
    Ok(Write::put(key.clone(), encode_live(&key, &row)?))
}

/// The write of all that is left of an order that becomes REFUNDED.
pub fn put_refunded(stored: &StoredOrder, now: i64) -> Result<Write, StoreError> {
    let (order, card) = (&stored.order, stored.effects.card());
    let back = Back {
        money: order.price.less(order.charged_for_returned()),
        gift_card: card.less(order.card_for_returned(card)),
        virtual_currency: stored.effects.virtual_currency.less(order.returned_virtual()),
    };
    put_back(order, now, 0, back)
}

/// The write of what goes back with the units of lines that are returned in `after`.
pub fn put_returned(stored: &StoredOrder, after: &Order, now: i64) -> Result<Write, StoreError> {
    let (before, card) = (&stored.order, stored.effects.card());
    let back = Back {
        money: after.charged_for_returned().less(before.charged_for_returned()),
        gift_card: after.card_for_returned(card).less(before.card_for_returned(card)),
        virtual_currency: after.returned_virtual().less(before.returned_virtual()),
    };
    put_back(before, now, stored.effects.line_refunds.saturating_add(1), back)
}
