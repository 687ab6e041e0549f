//! The notice of an item whose last unit was sold. It follows a paid order with the statistics, and before them: whoever is interrupted
//! finds the order again.

use super::{put_once, tells};
use crate::model::{About, InternalId, ItemId, NoticeEvent, OrderStatus, PublishedItem, Sold};
use crate::rules::limits::full;
use crate::rules::notice::id;
use crate::rules::pricing::Terms;
use crate::shop::orders::{StoredOrder, active_version, is_recorded_late};
use crate::shop::stock;
use crate::table::codec::noted;
use crate::table::transaction::sent;
use crate::table::{Db, StoreError, keys};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The writes of a counter, which tell one time that an item is sold out from the next: while none is left, nothing is added.
#[derive(Deserialize)]
struct Counter {
    #[serde(default)]
    version: u64,
}

/// Tells which items of some orders are sold out, each once until a unit is given back. Rows that cannot be read are left out.
pub(in crate::shop) async fn tell(db: &Db, orders: &[InternalId], now: i64) -> Result<(), StoreError> {
    let active = active_version(db).await?;
    if !tells(&active.config.notify, NoticeEvent::SoldOut) || orders.is_empty() {
        return Ok(());
    }
    let mut rows = db.batch_get(orders.iter().map(keys::order).collect()).await?;
    let paid = orders.iter().filter_map(|order| noted(StoredOrder::take(&mut rows, order))?);
    // Of what was sold before and recorded later, nothing is told.
    let paid = paid.filter(|stored| stored.order.status == OrderStatus::Paid && !is_recorded_late(stored));
    let items: BTreeSet<ItemId> = paid.flat_map(|stored| stored.order.lines).map(|line| line.item).collect();
    if items.is_empty() {
        return Ok(());
    }
    let wanted = items.iter().flat_map(|item| [keys::item(&active.version, *item), keys::count(*item)]);
    let mut rows = db.batch_get(wanted.collect()).await?;
    for number in items {
        let (key, count) = (keys::item(&active.version, number), keys::count(number));
        let Some((item, row)) = rows.take(&key).zip(rows.take(&count)) else { continue };
        let Some((PublishedItem { item, .. }, _)) = noted(item.published::<PublishedItem>(&key)) else { continue };
        let Some(version) = noted(row.clone().live::<Counter>(&count)).map(|counter| counter.version) else {
            continue;
        };
        let Some(counted) = noted(row.live::<stock::places::Flat>(&count)) else { continue };
        let sold = Sold::from([(number, counted.0)]);
        if full(&item, Terms::of(&active.config, &sold, now), None).is_none() {
            continue;
        }
        let id = id(&["sold_out", &format!("{:012}", number.get()), &version.to_string()]);
        let about = About::Item { id: number.get(), name: item.name };
        // A conflict says that it was told before.
        sent(db, put_once(&format!("sold_out#{number}"), NoticeEvent::SoldOut, id, now, about)?).await?;
    }
    Ok(())
}
