//! The delivery of an order: its frozen commands, how far it is, and when items expire.

use super::StoreError;
use super::client::Db;
use super::codec::{Item, Row, encode_live, encode_published};
use super::keys::{self, Key};
use super::orders::StoredOrder;
use super::transaction::Write;
use super::unfinished::Unfinished;
use super::{read_live, read_published};
use crate::model::{DeliveryStep, Expiry, FrozenCommands, InternalId, OrderDelivery, OrderStatus, UserName};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Serialize)]
struct Encoded<'a> {
    delivery: &'a OrderDelivery,
}

impl StoredOrder {
    /// Whether its delivery has something to do.
    pub fn delivery_due(&self) -> bool {
        let Some(delivery) = &self.effects.delivery else { return false };
        match (delivery.step, self.order.status) {
            (DeliveryStep::Queue, status) => matches!(status, OrderStatus::Paid | OrderStatus::Refunded),
            (DeliveryStep::Queued, status) => status == OrderStatus::Refunded,
            (DeliveryStep::Recall | DeliveryStep::Settle | DeliveryStep::TakeBack, _) => true,
            (DeliveryStep::Over, _) => false,
        }
    }

    /// The write that notes how far the delivery is, on the condition that neither it nor the order's status has changed
    /// since they were read, and what it notes.
    pub fn set_delivery(&self, next: OrderDelivery) -> Result<(Write, OrderDelivery), StoreError> {
        self.write_delivery(next, "SET delivery = :delivery")
    }

    fn write_delivery(&self, next: OrderDelivery, expression: &str) -> Result<(Write, OrderDelivery), StoreError> {
        let read = self.effects.delivery.as_ref().map_or(0, |delivery| delivery.version);
        let next = OrderDelivery { version: read.wrapping_add(1), ..next };
        let mut item = encode_live(&self.key(), &Encoded { delivery: &next })?;
        let delivery = item.remove("delivery").ok_or_else(|| StoreError::unreadable(&self.key(), "delivery"))?;
        let write = Write::update(self.key(), expression)
            .only_if("delivery.version = :read AND #status = :status")
            .name("#status", "status")
            .text(":status", self.order.status.as_str())
            .number(":read", read);
        Ok((write.value(":delivery", delivery), next))
    }

    /// The write that begins a step of the delivery as [`set_delivery`](Self::set_delivery) does, and those that let the
    /// sweep look at it at `now` (seconds since 1970 UTC).
    pub fn begin_delivery(&self, next: OrderDelivery, now: i64) -> Result<(Write, Vec<Write>), StoreError> {
        let (own, _) = self.write_delivery(next, "SET delivery = :delivery, due = :due")?;
        let own = own.number(":due", now);
        let last = self.unfinished().filter(|_| self.effects.due != Some(now)).map(Write::delete);
        Ok((own, last.into_iter().chain([Unfinished::put(&self.order, now)?]).collect()))
    }
}

/// Marks an order's item as one that was restored while its commands were not all queued, or not all taken back. Returns
/// whether it was marked: an order that has nothing left to do stays as it is.
pub fn mark_restored(key: &Key, item: &mut Item) -> Result<bool, StoreError> {
    let stored = StoredOrder::decode(key, Row::from(item.clone()))?;
    let is_unmarked = |delivery: &OrderDelivery| !matches!(delivery.step, DeliveryStep::Queued | DeliveryStep::Over);
    let Some(delivery) = stored.effects.delivery.filter(is_unmarked) else { return Ok(false) };
    let delivery = &OrderDelivery { restored: true, ..delivery };
    item.extend(encode_live(key, &Encoded { delivery })?);
    Ok(true)
}

/// The write of an order's frozen commands.
pub fn put_frozen(order: &InternalId, frozen: &FrozenCommands) -> Result<Write, StoreError> {
    let key = keys::order_commands(order);
    Ok(Write::put(key.clone(), encode_published(&key, frozen)?))
}

/// An order's frozen commands; none if it has none.
pub async fn frozen(db: &Db, order: &InternalId) -> Result<FrozenCommands, StoreError> {
    Ok(read_published(db, &keys::order_commands(order)).await?.unwrap_or_default())
}

/// The keys of when a player's items expire.
pub async fn expiries(db: &Db, name: &UserName) -> Result<Vec<Key>, StoreError> {
    db.query(&keys::expiries(name)).await?.iter().map(Row::key).collect()
}

/// When an item of a player expires on a server.
pub async fn expiry(db: &Db, key: &Key) -> Result<Option<Expiry>, StoreError> {
    read_live(db, key).await
}

/// When items expire, in seconds since 1970 UTC, by their keys. What does not expire is left out.
pub async fn ends(db: &Db, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, i64>, StoreError> {
    if keys.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.batch_get(keys.iter().cloned().collect()).await?;
    let mut ends = BTreeMap::new();
    for key in keys {
        let expiry: Option<Expiry> = rows.take(&key).map(|row| row.live(&key)).transpose()?;
        ends.extend(expiry.map(|expiry| (key, expiry.ends_at)));
    }
    Ok(ends)
}

/// The write of when an item expires, on the condition that it is as it was read.
pub fn put_expiry(key: &Key, read: Option<&Expiry>, next: &Expiry) -> Result<Write, StoreError> {
    let version = read.map_or(0, |read| read.version).wrapping_add(1);
    let write = Write::put(key.clone(), encode_live(key, &Expiry { version, ..next.clone() })?);
    Ok(match read {
        Some(read) => write.only_if_equal("version", read.version),
        None => write.only_if_absent(),
    })
}
