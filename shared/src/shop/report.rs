//! Reading what a report is made of (rules.md, "What was earned"): the months of orders and of the provider's balance that it is
//! about, a page at a time.

use crate::deadline::Stop;
use crate::model::{BalanceChange, BalanceKind, Donations, InternalId, Money, OrderOfMonth};
use crate::rules::report::Report;
use crate::shop::orders::{Payment, StoredOrder};
use crate::shop::payments::BalanceCursor;
use crate::table::codec::Row;
use crate::table::{Db, StoreError, keys};
use futures_util::future::try_join_all;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// How many rows are read at once.
const ROWS: usize = 400;
/// How many rows of orders are one batch.
const BATCH: usize = 100;
/// How long before and after its time a report looks for charges, in seconds: an order is made before it is charged, and a charge
/// is seen here after it was made.
const MARGIN: i64 = 3 * 86_400;

/// How far the provider's list reaches, as a report has to say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// No change of the balance was ever asked for: there is no provider.
    Never,
    /// The list is being filled for the first time, or was refused.
    Filling,
    /// All changes before this second (since 1970 UTC) are known.
    Until(i64),
}

/// How far the list of the provider's balance reaches.
pub async fn listed(db: &Db) -> Result<Listed, StoreError> {
    Ok(match BalanceCursor::read(db).await? {
        None => Listed::Never,
        Some(cursor) if cursor.since == 0 => Listed::Filling,
        Some(cursor) => Listed::Until(cursor.since),
    })
}

/// Reads the time of a report into it. `false` if `stop` came before the end.
pub async fn read(db: &Db, report: &mut Report, stop: Option<Stop>) -> Result<bool, StoreError> {
    let has_time = || stop.is_none_or(|stop| !stop.has_come());
    let reach = listed(db).await?;
    let time = report.time.clone();
    let mut charged: HashSet<u64> = HashSet::new();
    if matches!(reach, Listed::Until(_)) {
        let wide = time.start.saturating_sub(MARGIN)..time.end.saturating_add(MARGIN);
        for month in months(&wide) {
            let mut rows = Rows { partition: keys::balance(&month), left: Some(keys::within(&wide)) };
            while let Some(changes) = rows.next::<BalanceChange>(db).await? {
                if !has_time() {
                    return Ok(false);
                }
                let of_charges = changes.iter().filter(|(_, change)| change.kind() == BalanceKind::Charge);
                charged.extend(of_charges.filter_map(|(_, change)| change.intent.as_deref()).map(hash));
                let own = changes.into_iter().map(|(_, change)| change).filter(|change| time.contains(&change.created));
                take_changes(db, report, &own.collect::<Vec<_>>()).await?;
            }
        }
    }
    for month in months(&time) {
        let mut rows = Rows { partition: keys::sales(&month), left: Some(keys::within(&time)) };
        while let Some(found) = rows.next::<OrderOfMonth>(db).await? {
            if !has_time() {
                return Ok(false);
            }
            take_orders(db, report, &found, reach, &charged).await?;
        }
    }
    Ok(true)
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}

/// The months in UTC of a time, as text.
fn months(time: &Range<i64>) -> BTreeSet<String> {
    // No month is shorter.
    const STEP: usize = 27 * 86_400;
    let last = time.end.saturating_sub(1);
    (time.start..=last).step_by(STEP).chain([last]).map(Donations::month_of).collect()
}

/// The rows of a time in a partition, a page at a time.
struct Rows {
    partition: String,
    /// The first and the last sort key that are left; `None` at the end.
    left: Option<(String, String)>,
}

impl Rows {
    /// The next page, each row with the second of its key.
    async fn next<T: DeserializeOwned>(&mut self, db: &Db) -> Result<Option<Vec<(i64, T)>>, StoreError> {
        let Some((first, last)) = self.left.take() else { return Ok(None) };
        let rows = db.query_first(&self.partition, (&first, &last), ROWS, Some).await?;
        if rows.len() == ROWS
            && let Some(end) = rows.last()
        {
            // The rest begins after it: of what begins with its key, all that follows is after a `#`.
            self.left = Some((format!("{}!", end.key()?.sk), last));
        }
        let read = |row: Row| {
            let key = row.key()?;
            Ok((keys::due_second(&key).unwrap_or_default(), row.live(&key)?))
        };
        rows.into_iter().map(read).collect::<Result<_, StoreError>>().map(Some)
    }
}

/// Orders by their ids, each once. One that is gone is left out.
async fn orders(db: &Db, ids: BTreeSet<InternalId>) -> Result<BTreeMap<InternalId, StoredOrder>, StoreError> {
    let ids: Vec<InternalId> = ids.into_iter().collect();
    let batches = ids.chunks(BATCH).map(|part| async move {
        let mut rows = db.batch_get(part.iter().map(keys::order).collect()).await?;
        let found = part.iter().filter_map(|id| StoredOrder::take(&mut rows, id).transpose());
        found.map(|found| found.map(|stored| (stored.order.internal_id.clone(), stored))).collect::<Result<Vec<_>, _>>()
    });
    Ok(try_join_all(batches).await?.into_iter().flatten().collect())
}

/// The orders of payments, by the payments' ids.
async fn orders_of(db: &Db, intents: BTreeSet<&str>) -> Result<BTreeMap<String, InternalId>, StoreError> {
    let mut rows = db.batch_get(intents.iter().map(|intent| keys::payment(intent)).collect()).await?;
    let mut found = BTreeMap::new();
    for intent in intents {
        let row: Option<Payment> = rows.take_live(&keys::payment(intent))?;
        found.extend(row.map(|row| (intent.to_owned(), row.order)));
    }
    Ok(found)
}

async fn take_changes(db: &Db, report: &mut Report, changes: &[BalanceChange]) -> Result<(), StoreError> {
    let ids = orders_of(db, changes.iter().filter_map(|change| change.intent.as_deref()).collect()).await?;
    let found = orders(db, ids.values().cloned().collect()).await?;
    for change in changes {
        let id = change.intent.as_ref().and_then(|intent| ids.get(intent));
        let stored = id.and_then(|id| found.get(id));
        let is_ours = !matches!(change.kind(), BalanceKind::Payout | BalanceKind::Other);
        report.listed(change, is_ours && stored.is_some());
        let Some(StoredOrder { order, effects }) = stored else { continue };
        match change.kind() {
            BalanceKind::Charge => report.sold(order, effects, change.created, Some(change)),
            BalanceKind::Refund | BalanceKind::Dispute => report.returned(order, effects, change),
            BalanceKind::Payout | BalanceKind::Other => {}
        }
    }
    Ok(())
}

async fn take_orders(
    db: &Db,
    report: &mut Report,
    rows: &[(i64, OrderOfMonth)],
    reach: Listed,
    charged: &HashSet<u64>,
) -> Result<(), StoreError> {
    let found = orders(db, rows.iter().map(|(_, row)| row.order.clone()).collect()).await?;
    for (at, row) in rows {
        let Some(stored) = found.get(&row.order) else { continue };
        let StoredOrder { order, effects } = stored;
        // It counts when it was charged.
        let is_listed = stored.is_checkout() && order.price > Money::ZERO && matches!(reach, Listed::Until(_));
        if let Some(back) = row.back {
            report.back(order, effects, *at, back, !is_listed);
            continue;
        }
        report.made(order, effects);
        let is_paid = order.status.was_paid();
        let is_charged = stored.intent().is_some_and(|intent| charged.contains(&hash(intent)));
        // The provider has said what is left of it: it was charged long before or after, and counts then.
        let is_elsewhere = effects.facts.as_ref().is_some_and(|facts| facts.proceeds.is_some());
        let is_due = matches!(reach, Listed::Until(until) if at.saturating_add(MARGIN) < until);
        if is_paid && !is_listed {
            report.sold(order, effects, *at, None);
        } else if is_paid && !is_charged && !is_elsewhere && is_due {
            report.not_listed(order);
        }
    }
    Ok(())
}
