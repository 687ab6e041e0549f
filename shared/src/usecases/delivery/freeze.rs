//! The commands of a new order, as they are published now.

use crate::model::{FrozenCommands, ItemId, OrderDelivery, PublishedItem, StoreDelivery};
use crate::rules::delivery::frozen;
use crate::store::orders::StoredOrder;
use crate::store::transaction::Write;
use crate::store::{StoreError, deliveries};
use std::collections::BTreeMap;

/// Marks a new order as one that is delivered, and returns the write of its commands; `None` if it makes none.
pub(in crate::usecases) fn freeze(
    stored: &mut StoredOrder,
    items: &BTreeMap<ItemId, PublishedItem>,
    store: &StoreDelivery,
) -> Result<Option<Write>, StoreError> {
    let lines = (0_u16..).zip(&stored.order.lines).filter_map(|(place, line)| {
        let server = line.chosen.as_ref().and_then(|chosen| chosen.server);
        Some((place, items.get(&line.item)?, server))
    });
    let frozen: Option<FrozenCommands> = frozen::freeze(lines, store);
    stored.effects.delivery = frozen.as_ref().map(|_| OrderDelivery::default());
    frozen.map(|frozen| deliveries::put_frozen(&stored.order.internal_id, &frozen)).transpose()
}
