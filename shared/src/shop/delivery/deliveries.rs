//! The delivery of an order: its commands, frozen as they are published, how far it is, and the texts that take it back.

use super::follow::gives;
use crate::model::{
    DeliveryStep, FrozenCommands, InternalId, ItemEnds, ItemId, Lasting, OrderDelivery, OrderStatus, PublishedItem,
    StoreDelivery,
};
use crate::rules::delivery::frozen;
use crate::shop::orders::StoredOrder;
use crate::table::codec::{Item, Row, encode_published, encode_value, noted};
use crate::table::keys::{self, Key};
use crate::table::published::read_active_version;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, read_published};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

impl StoredOrder {
    /// Whether its delivery has something to do.
    pub fn delivery_due(&self) -> bool {
        let Some(delivery) = &self.effects.delivery else { return false };
        match (delivery.step, self.order.status) {
            (DeliveryStep::Queue, status) => status.was_paid(),
            (DeliveryStep::Queued, OrderStatus::Paid) => !delivery.units.is_empty(),
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
        let write = self.update(expression).and_if("delivery.version = :read").number(":read", read);
        Ok((write.value(":delivery", encode_value(&self.key(), &next)?), next))
    }

    /// The write that begins a step of the delivery as [`set_delivery`](Self::set_delivery) does, and those that let the
    /// sweep look at it at `now` (seconds since 1970 UTC).
    pub fn begin_delivery(&self, next: OrderDelivery, now: i64) -> Result<(Write, Vec<Write>), StoreError> {
        let (own, _) = self.write_delivery(next, "SET delivery = :delivery, due = :due")?;
        Ok((own.number(":due", now), self.due_rows(Some(now))?))
    }
}

/// Marks an order's item as one that was restored while its commands were not all queued, or not all taken back. Returns
/// whether it was marked: an order that has nothing left to do stays as it is.
pub fn mark_restored(key: &Key, item: &mut Item) -> Result<bool, StoreError> {
    let stored = StoredOrder::decode(key, Row::from(item.clone()))?;
    let is_unmarked = |delivery: &OrderDelivery| !matches!(delivery.step, DeliveryStep::Queued | DeliveryStep::Over);
    let Some(delivery) = stored.effects.delivery.filter(is_unmarked) else { return Ok(false) };
    let delivery = encode_value(key, &OrderDelivery { restored: true, ..delivery })?;
    item.insert("delivery".to_owned(), delivery);
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

/// The write of a row with a `version` that counts its writes, on the condition that it is as it was read, at that
/// version if it was there. `None` deletes it.
fn counted<T: Serialize>(key: &Key, read: Option<u32>, next: Option<&T>) -> Result<Write, StoreError> {
    let write = match next {
        Some(next) => Write::put_live(key.clone(), next)?,
        None => Write::delete(key.clone()),
    };
    Ok(match read {
        Some(read) => write.only_if_equal("version", read),
        None => write.only_if_absent(),
    })
}

/// The write of a text that takes something from an account. A row that says nothing is deleted; `None` if there is none.
pub fn put_lasting(key: &Key, read: Option<&Lasting>, next: &Lasting) -> Result<Option<Write>, StoreError> {
    let next = Lasting { version: read.map_or(0, |read| read.version).wrapping_add(1), ..next.clone() };
    let says = !next.holders.is_empty() || next.more > 0 || next.owed || next.command.is_some();
    if !says && read.is_none() {
        return Ok(None);
    }
    counted(key, read.map(|read| read.version), says.then_some(&next)).map(Some)
}

/// The write of the texts that run when an item ends.
pub fn put_item_ends(key: &Key, read: Option<&ItemEnds>, next: &ItemEnds) -> Result<Write, StoreError> {
    let next = ItemEnds { version: read.map_or(0, |read| read.version).wrapping_add(1), ..next.clone() };
    counted(key, read.map(|read| read.version), Some(&next))
}

/// Texts that take something from accounts, strongly consistent, by their keys. Those without a row are missing.
pub async fn lasting(db: &Db, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, Lasting>, StoreError> {
    lasting_and_ends(db, keys, BTreeSet::new()).await.map(|(held, _)| held)
}

/// When what texts take from accounts ends, in seconds since 1970 UTC, by their keys. What does not end, and what cannot be read, is
/// left out.
pub async fn ends(db: &Db, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, i64>, StoreError> {
    if keys.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.batch_get(keys.iter().cloned().collect()).await?;
    let mut ends = BTreeMap::new();
    for key in keys {
        let held: Option<Lasting> = rows.take(&key).and_then(|row| noted(row.live(&key)));
        ends.extend(held.as_ref().and_then(Lasting::until).map(|until| (key, until)));
    }
    Ok(ends)
}

/// Texts as [`lasting`] reads them, together with those that run when items end.
pub async fn lasting_and_ends(
    db: &Db,
    keys: BTreeSet<Key>,
    items: BTreeSet<Key>,
) -> Result<(BTreeMap<Key, Lasting>, BTreeMap<Key, ItemEnds>), StoreError> {
    let (mut held, mut ends) = (BTreeMap::new(), BTreeMap::new());
    if keys.is_empty() && items.is_empty() {
        return Ok((held, ends));
    }
    let mut rows = db.batch_get(keys.iter().chain(&items).cloned().collect()).await?;
    for key in keys {
        held.extend(rows.take_live(&key)?.map(|row| (key, row)));
    }
    for key in items {
        ends.extend(rows.take_live(&key)?.map(|row| (key, row)));
    }
    Ok((held, ends))
}

/// Marks a new order as one that is delivered, and returns the write of its commands; `None` if it makes none.
pub(in crate::shop) fn freeze(
    stored: &mut StoredOrder,
    items: &BTreeMap<ItemId, PublishedItem>,
    store: &StoreDelivery,
) -> Result<Option<Write>, StoreError> {
    let frozen = frozen_of(stored, items, store);
    stored.effects.delivery = frozen.as_ref().map(|_| OrderDelivery::default());
    frozen.map(|frozen| put_frozen(&stored.order.internal_id, &frozen)).transpose()
}

fn frozen_of(
    stored: &StoredOrder,
    items: &BTreeMap<ItemId, PublishedItem>,
    store: &StoreDelivery,
) -> Option<FrozenCommands> {
    let lines = (0_u16..).zip(&stored.order.lines).filter_map(|(place, line)| {
        let server = line.chosen.as_ref().and_then(|chosen| chosen.server);
        Some((place, items.get(&line.item)?, server))
    });
    frozen::freeze(lines, store)
}

/// The commands of an order's lines as they are published now, without those that every sale of the store runs when it is paid.
pub(super) async fn published(db: &Db, stored: &StoredOrder) -> Result<FrozenCommands, StoreError> {
    let Some(active) = read_active_version(db).await? else { return Ok(FrozenCommands::default()) };
    let ids: BTreeSet<ItemId> = stored.order.lines.iter().map(|line| line.item).collect();
    let mut rows = db.batch_get(ids.iter().map(|id| keys::item(&active.version, *id)).collect()).await?;
    let mut items: BTreeMap<ItemId, PublishedItem> = BTreeMap::new();
    for id in ids {
        let key = keys::item(&active.version, id);
        if let Some(row) = rows.take(&key) {
            items.insert(id, row.published(&key)?.0);
        }
    }
    let mut store = active.config.delivery;
    store.commands.retain(|command| !gives(command.on));
    Ok(frozen_of(stored, &items, &store).unwrap_or_default())
}
