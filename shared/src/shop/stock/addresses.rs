//! Addresses that buyers pay from (rules.md, "First day"), each under a hash that only the store can make. What is spent from one
//! is added when a checkout begins, on the condition that it is not too much, and taken off again if the checkout is not paid.

use crate::model::{BuyerAddress, Money, Spent};
use crate::rules::first_day::{FirstDay, is_first, refused};
use crate::shop::orders::refusal::{Guarded, Limit};
use crate::table::codec::{Item, decode_live};
use crate::table::keys::{self, TTL};
use crate::table::transaction::Write;
use crate::table::{Rows, StoreError};
use serde::Deserialize;

/// How long an address is known after its last checkout, in seconds: 30 days.
const KEPT_SECONDS: i64 = 30 * 86_400;
/// The attribute with what is spent.
const SPENT: &str = "spent";

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
struct Row {
    /// When the first order was paid, seconds since 1970 UTC.
    #[serde(default)]
    first_paid_at: Option<i64>,
    #[serde(default)]
    spent: Money,
}

impl Row {
    const fn spent(&self) -> Spent {
        Spent { since: self.first_paid_at, sum: self.spent }
    }
}

/// The address of a buyer who begins a checkout, as it was read.
#[derive(Debug)]
pub struct Address<'a> {
    hash: &'a str,
    row: Row,
    now: i64,
}

impl<'a> Address<'a> {
    /// Takes an address out of the rows, which were read by [`keys::address`] at `now` (seconds since 1970 UTC).
    pub fn take(rows: &mut Rows, hash: &'a str, now: i64) -> Result<Self, StoreError> {
        let key = keys::address(hash);
        let row = rows.take(&key).map_or_else(|| Ok(Row::default()), |row| row.live(&key))?;
        Ok(Self { hash, row, now })
    }

    /// The reason why `price` cannot be paid from here, if at most `most` can on a first day.
    pub fn refused(&self, most: Money, price: Money) -> Option<FirstDay> {
        let refused = refused(most, self.row.spent(), price, self.now);
        refused.map(|first| FirstDay { of_address: true, ..first })
    }

    /// The address for an order of this price, which counts until the first day is over.
    pub fn of_order(&self, price: Money) -> BuyerAddress {
        let counted = if is_first(self.row.spent(), self.now) { price } else { Money::ZERO };
        BuyerAddress { hash: self.hash.to_owned(), counted: Some(counted) }
    }
}

/// The write that adds the price of an order, if that is not too much.
pub(in crate::shop) fn add(hash: &str, price: Money, most: Money, now: i64) -> Guarded {
    Write::update(keys::address(hash), format!("SET {TTL} = :ttl ADD {SPENT} :price"))
        .only_if(format!("attribute_not_exists({SPENT}) OR {SPENT} <= :left"))
        .number(":ttl", now.saturating_add(KEPT_SECONDS))
        .number(":price", price.minor())
        .number(":left", most.minor() - price.minor())
        .guarded_by(Limit::FirstDay { most, price, now })
}

/// The write after which the first order of an address is paid since `now`, or before.
pub(in crate::shop) fn paid(hash: &str, now: i64) -> Write {
    Write::update(keys::address(hash), format!("SET first_paid_at = if_not_exists(first_paid_at, :now), {TTL} = :ttl"))
        .number(":now", now)
        .number(":ttl", now.saturating_add(KEPT_SECONDS))
}

/// The write that takes the price of an order off again, if the row is still there.
pub(in crate::shop) fn take_off(hash: &str, price: Money) -> Write {
    Write::add(keys::address(hash), SPENT, format!("-{}", price.minor())).only_if_present()
}

/// The refusal of [`add`] by the row as it was.
pub(in crate::shop) fn refused_in(old: Option<&Item>, most: Money, price: Money, now: i64) -> Option<FirstDay> {
    let row: Row = decode_live(&keys::address(""), old?.clone()).ok()?;
    Address { hash: "", row, now }.refused(most, price)
}
