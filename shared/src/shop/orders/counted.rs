//! The limits for which an order's units count: in the counters of its items, and of limits in time in the ledgers of its players.

use super::StoredOrder;
use super::effects::{Limits, OrderInputs};
use super::refusal::OrderRefusal;
use crate::model::{ItemId, Money, Order, Place, Units, UserId};
use crate::rules::limits;
use crate::rules::order::by_item;
use crate::shop::stock;
use crate::shop::stock::ledgers::Times;
use crate::shop::stock::places::{Places, RunOut};
use crate::shop::stock::reservations::forget;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};

/// The writes that give back to counters what an order has in them and is not in it any more `after`.
pub(super) fn give_back_counted(order: &StoredOrder, after: &Order, inputs: &OrderInputs) -> Vec<Write> {
    let (before, then) = (by_item(&order.order), by_item(after));
    let (all, kept) = (limits::taken(&order.order.lines), limits::taken(&after.lines));
    let units_in = |place: &Place| {
        kept.iter().find(|kept| kept.item == place.item && kept.name == place.name).map_or(0, |kept| kept.units)
    };
    let give_back = |(item, (count, _)): (&ItemId, &(u64, Money))| {
        let count = count.saturating_sub(then.get(item).map_or(0, |(units, _)| *units));
        let read = inputs.counted.get(item).filter(|_| count > 0)?;
        let mut of_item = places_of(&all, *item);
        for place in &mut of_item {
            place.units = place.units.saturating_sub(units_in(place));
        }
        of_item.retain(|place| place.units > 0);
        let parts = places(order, &of_item).give_back(Some(read), units_in);
        Some(stock::subtract_sold(Units { item: *item, count }, read, parts))
    };
    before.iter().filter_map(give_back).collect()
}

pub(super) fn places_of(all: &[Place], item: ItemId) -> Vec<Place> {
    all.iter().filter(|place| place.item == item).cloned().collect()
}

pub(super) fn places<'a>(order: &'a StoredOrder, of_item: &'a [Place]) -> Places<'a> {
    Places { of_item, order: &order.order.internal_id, at: order.order.created_at }
}

/// Gives each line of an order that takes its stock the places in which its units count, by what is published now; and forgets what has
/// run out of them, which would be compared. An order that is only `recorded` counts if its time counts `now`.
pub(super) async fn find_places(
    db: &Db,
    order: &mut Order,
    inputs: &OrderInputs,
    (now, recorded): (i64, bool),
) -> Result<(), StoreError> {
    let at = order.created_at;
    for line in &mut order.lines {
        let item = inputs.items.get(&line.item).map(|published| &published.item);
        let server = line.chosen.as_ref().and_then(|chosen| chosen.server);
        let since = if recorded { now } else { at };
        line.places = item.map_or_else(Vec::new, |item| limits::places(item, server, at, since));
    }
    for (id, counted) in &inputs.counted {
        let run_out = inputs.items.get(id).map(|published| RunOut::of(&published.item, counted, at.max(now)));
        if let Some(run_out) = run_out.filter(|run_out| !run_out.is_empty()) {
            forget(db, *id, run_out).await?;
        }
    }
    Ok(())
}

/// The times of a user's units of an item, with those that are bought `at` a second; `None` if it has no limit per user in time.
pub(super) fn bought(
    item: ItemId,
    count: u64,
    inputs: &OrderInputs,
    (user, at): (UserId, i64),
    guarded: Limits,
) -> Result<Option<Times>, OrderRefusal> {
    let Some(published) = inputs.items.get(&item).filter(|_| count > 0) else { return Ok(None) };
    let read = inputs.ledgers.get(&user).map(|ledger| ledger.times(item)).unwrap_or_default();
    let of_user = published.item.limits.iter().filter(|limit| limit.per_user);
    let mut exceeded = of_user.filter(|limit| limits::bought_in(limit, read, at) + count > u64::from(limit.most));
    if let Some(limit) = exceeded.next().filter(|_| guarded == Limits::Guarded) {
        return Err(OrderRefusal::UserTime { item, limit: limit.most });
    }
    let then = limits::times_after(&published.item, read, at, count);
    Ok(then.map(|then| Times { read: read.to_vec(), then }))
}
