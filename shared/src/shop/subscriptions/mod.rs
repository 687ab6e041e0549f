//! Subscriptions: their rows, their part in a change of an order, and bringing them and the payment provider together (rules.md,
//! "Subscriptions").

pub(in crate::shop) mod at_provider;
pub(in crate::shop) mod of_orders;
pub(in crate::shop) mod renew;

pub use at_provider::extend_subscription;

use crate::model::Subscription;
use crate::table::client::Db;
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use crate::table::{StoreError, read_live};
use serde::Serialize;

/// Reads a subscription, strongly consistent.
pub async fn get(db: &Db, id: &str) -> Result<Option<Subscription>, StoreError> {
    read_live(db, &keys::subscription(id)).await
}

/// The writes that store a subscription, on the condition that it is still as it was read, and that let the sweep look at
/// it when it is due.
pub fn put(read: Option<&Subscription>, next: Subscription) -> Result<Vec<Write>, StoreError> {
    let version = read.map_or(0, |read| read.version);
    let next = Subscription { version: version.wrapping_add(1), ..next };
    let row = Write::put_live(keys::subscription(&next.id), &next)?;
    let row = if read.is_some() { row.only_if_equal("version", version) } else { row.only_if_absent() };
    let (before, after) = (read.and_then(due_key), due_key(&next));
    let gone = before.filter(|before| Some(before) != after.as_ref()).map(Write::delete);
    let wanted = after.map(|key| put_due(key, &next.id)).transpose()?;
    Ok([row].into_iter().chain(gone).chain(wanted).collect())
}

/// The key of the row by which the sweep finds a subscription; `None` if nothing is left to do about it.
pub fn due_key(subscription: &Subscription) -> Option<Key> {
    Some(keys::unfinished_subscription(subscription.due?, &subscription.id))
}

/// The writes that remove a row of a subscription that is not the one by which the sweep finds it, if the subscription is still
/// as it was read, or missing.
pub fn without_row(read: Option<&Subscription>, id: &str, row: &Key) -> Vec<Write> {
    let as_read = read.map_or_else(|| Write::check(keys::subscription(id)).only_if_absent(), unchanged);
    vec![as_read, Write::delete(row.clone())]
}

/// The writes that let the sweep find a subscription when it is due, if it is still as it was read.
pub fn with_row(read: &Subscription) -> Result<Vec<Write>, StoreError> {
    let row = due_key(read).map(|key| put_due(key, &read.id));
    Ok([unchanged(read)].into_iter().chain(row.transpose()?).collect())
}

/// The condition that a subscription is still as it was read.
pub fn unchanged(read: &Subscription) -> Write {
    Write::check(keys::subscription(&read.id)).only_if_equal("version", read.version)
}

fn put_due(key: Key, id: &str) -> Result<Write, StoreError> {
    Write::put_live(key, &DueSubscription { subscription: id })
}

#[derive(Serialize)]
struct DueSubscription<'a> {
    subscription: &'a str,
}
