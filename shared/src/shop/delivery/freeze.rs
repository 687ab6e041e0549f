//! The commands of an order, as they are published now.

use super::deliveries;
use super::follow::gives;
use crate::model::{FrozenCommands, ItemId, OrderDelivery, PublishedItem, StoreDelivery};
use crate::rules::delivery::frozen;
use crate::shop::orders::StoredOrder;
use crate::table::published::read_active_version;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, keys};
use std::collections::{BTreeMap, BTreeSet};

/// Marks a new order as one that is delivered, and returns the write of its commands; `None` if it makes none.
pub(in crate::shop) fn freeze(
    stored: &mut StoredOrder,
    items: &BTreeMap<ItemId, PublishedItem>,
    store: &StoreDelivery,
) -> Result<Option<Write>, StoreError> {
    let frozen = frozen_of(stored, items, store);
    stored.effects.delivery = frozen.as_ref().map(|_| OrderDelivery::default());
    frozen.map(|frozen| deliveries::put_frozen(&stored.order.internal_id, &frozen)).transpose()
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
