//! The orders of an account, newest first: a row under the user for each, written in the transaction of the order.

use crate::model::{InternalId, Order, UserId};
use crate::table::StoreError;
use crate::table::client::Db;
use crate::table::codec::{Item, encode_live};
use crate::table::keys::{self, Key, PK, SK};
use crate::table::transaction::Write;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

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
