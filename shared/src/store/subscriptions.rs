//! Subscriptions, by the provider's ids.

use super::client::Db;
use super::codec::encode_live;
use super::keys::{self, Key};
use super::transaction::Write;
use super::{StoreError, read_live};
use crate::model::Subscription;
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
    let key = keys::subscription(&next.id);
    let row = Write::put(key.clone(), encode_live(&key, &next)?);
    let row = if read.is_some() { row.only_if_equal("version", version) } else { row.only_if_absent() };
    let due = |subscription: &Subscription| Some(keys::unfinished_subscription(subscription.due?, &subscription.id));
    let (before, after) = (read.and_then(due), due(&next));
    let gone = before.filter(|before| Some(before) != after.as_ref()).map(Write::delete);
    let wanted = after.map(|key| Ok::<_, StoreError>(Write::put(key.clone(), due_row(&key, &next.id)?))).transpose()?;
    Ok([row].into_iter().chain(gone).chain(wanted).collect())
}

/// The condition that a subscription is still as it was read.
pub fn unchanged(read: &Subscription) -> Write {
    Write::check(keys::subscription(&read.id)).only_if_equal("version", read.version)
}

fn due_row(key: &Key, id: &str) -> Result<super::codec::Item, StoreError> {
    encode_live(key, &DueSubscription { subscription: id })
}

#[derive(Serialize)]
struct DueSubscription<'a> {
    subscription: &'a str,
}
