//! Addresses that buyers pay from (rules.md, "First day" and "Refused payments"), each under a hash that only the store can make.
//! What is spent from one is added when a checkout begins, on the condition that it is not too much, and taken off again if the
//! checkout is not paid. Of an attempt that was refused the id is kept, so that it counts once.

use crate::model::{BuyerAddress, Money, Spent};
use crate::rules::first_day::{FirstDay, is_first, refused};
use crate::shop::orders::refusal::{Guarded, Limit};
use crate::table::codec::{Item, decode_live, encode_value};
use crate::table::keys::{self, TTL};
use crate::table::transaction::{Write, send};
use crate::table::{Db, Rows, StoreError, TURNS, in_turns, read_live};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How long an address is known after its last checkout, in seconds: 30 days.
const KEPT_SECONDS: i64 = 30 * 86_400;
/// How many refused payments an address may have in [`REFUSED_SECONDS`] before it has to wait.
const MOST_REFUSED: usize = 3;
const REFUSED_SECONDS: i64 = 3_600;
/// The most that are kept: a page that was opened before can be tried again and again.
const MOST_KEPT: usize = 20;
/// The attribute with what is spent.
const SPENT: &str = "spent";

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
struct Row {
    /// When the first order was paid, seconds since 1970 UTC.
    #[serde(default)]
    first_paid_at: Option<i64>,
    #[serde(default)]
    spent: Money,
    #[serde(default)]
    refused: Vec<Refused>,
}

/// A payment that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refused {
    attempt: String,
    /// Seconds since 1970 UTC.
    at: i64,
}

impl Row {
    const fn spent(&self) -> Spent {
        Spent { since: self.first_paid_at, sum: self.spent }
    }

    /// Adds to a write the condition that the refused payments are those that were read.
    fn refused_as_read(&self, hash: &str, write: Write) -> Result<Write, StoreError> {
        if self.refused.is_empty() {
            return Ok(write.and_if("attribute_not_exists(refused)"));
        }
        Ok(write.and_if("refused = :read").value(":read", encode_value(&keys::address(hash), &self.refused)?))
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
        Ok(Self { hash, row: rows.take_live(&keys::address(hash))?.unwrap_or_default(), now })
    }

    /// Seconds until a checkout may begin after payments were refused; `None` if it may now.
    pub fn wait(&self) -> Option<u64> {
        let since = self.now.saturating_sub(REFUSED_SECONDS);
        let mut times: Vec<i64> = self.row.refused.iter().map(|refused| refused.at).filter(|at| *at > since).collect();
        times.sort_unstable();
        let third_last = times.iter().rev().nth(MOST_REFUSED - 1)?;
        u64::try_from(third_last - since).ok()
    }

    /// The reason why `price` cannot be paid from here, if at most `most` can on a first day.
    pub fn refused(&self, most: Money, price: Money) -> Option<FirstDay> {
        let refused = refused(most, self.row.spent(), price, self.now);
        refused.map(|first| FirstDay { of_address: true, ..first })
    }

    /// The address for an order of this price; of one that `counts`, the price does until the first day is over.
    pub fn of_order(&self, price: Money, counts: bool) -> BuyerAddress {
        let counted = if is_first(self.row.spent(), self.now) { price } else { Money::ZERO };
        BuyerAddress { hash: self.hash.to_owned(), counted: counts.then_some(counted) }
    }
}

impl Address<'_> {
    /// The write with which a checkout begins: no other payment was refused meanwhile, and what it counts is added to what is
    /// spent, if that is not too much.
    pub(in crate::shop) fn begin(&self, counted: Option<(Money, Money)>) -> Result<Guarded, StoreError> {
        let key = keys::address(self.hash);
        let Some((price, most)) = counted else {
            return Ok(self.row.refused_as_read(self.hash, Write::check(key))?.into());
        };
        let write = Write::update(key, format!("SET {TTL} = :ttl ADD {SPENT} :price"))
            .only_if(format!("attribute_not_exists({SPENT}) OR {SPENT} <= :left"))
            .number(":ttl", self.now.saturating_add(KEPT_SECONDS))
            .number(":price", price.minor())
            .number(":left", most.minor() - price.minor());
        let write = self.row.refused_as_read(self.hash, write)?;
        Ok(write.guarded_by(Limit::FirstDay { most, price, now: self.now }))
    }
}

/// Counts a payment from an address that was refused at a second (since 1970 UTC), once. One of long ago is not counted.
pub(in crate::shop) async fn count_refused(
    db: &Db,
    hash: &str,
    attempt: &str,
    at: i64,
    now: i64,
) -> Result<(), StoreError> {
    let (key, since) = (keys::address(hash), now.saturating_sub(REFUSED_SECONDS));
    in_turns(TURNS, || async {
        let row: Row = read_live(db, &key).await?.unwrap_or_default();
        let mut refused: Vec<Refused> = row.refused.iter().filter(|refused| refused.at > since).cloned().collect();
        if at <= since || refused.iter().any(|refused| refused.attempt == attempt) {
            return Ok(());
        }
        refused.push(Refused { attempt: attempt.to_owned(), at });
        refused.sort_by_key(|refused| Reverse(refused.at));
        refused.truncate(MOST_KEPT);
        let write = Write::update(key.clone(), format!("SET refused = :refused, {TTL} = :ttl"))
            .value(":refused", encode_value(&keys::address(hash), &refused)?)
            .number(":ttl", now.saturating_add(KEPT_SECONDS));
        send(db, vec![row.refused_as_read(hash, write)?]).await
    })
    .await
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
