//! The scheduled sweep: finishes what was interrupted, and lets the statistics follow the orders that are paid or
//! refunded.
//!
//! Its time is limited, and more may be due than it can do. It does several things at once, what failed waits for a
//! later sweep. The orders that are due have half of the time at first, the statistics half of the rest, and then the
//! provider's webhook events ([`reconcile`](super::reconcile)); if these leave time, orders and statistics go on.

use super::answers::answer_due;
use super::desk::{Desk, SettleError, Settled};
use super::provider::Provider;
use super::reconcile::{Reconciled, reconcile};
use super::reserve::settle_reservation;
use crate::clock::Clock;
use crate::deadline::{self, Stop};
use crate::model::{InternalId, Order, OrderStatus};
use crate::shop::delivery::{follow, sweep_servers};
use crate::shop::notices::{of_commands, of_stock, tell_daily};
use crate::shop::orders::change::clear_cart;
use crate::shop::orders::unfinished::{self, Due, DueRow};
use crate::shop::statistics::{ORDERS_AT_ONCE, catch_up_all, note_times, tell_reached};
use crate::shop::{orders, subscriptions};
use crate::table::keys::Key;
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, keys, published, read_published};
use crate::telemetry::overdue_orders;
use futures_util::future::join_all;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time of a request that may call the provider, and of a sweep that has no deadline. The `Timeout` of the function is longer.
pub const DEADLINE: Duration = Duration::from_secs(18);
/// The time at the end that is kept for counting what is overdue.
const METRIC: Duration = Duration::from_secs(2);
/// The time before that in which nothing new is begun.
const LAST: Duration = Duration::from_secs(2);

/// When an order that waits for the provider is settled again, in seconds: at the earliest, and at the latest.
const LATER: (i64, i64) = (900, 21_600);

/// When an order is looked at again whose commands can still run, in seconds.
const DELIVERY: i64 = 60;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct Swept {
    /// Orders that were due, without those that failed before and wait.
    pub due: usize,
    /// Those that are finished, or wait for the provider.
    pub done: usize,
    /// Those that failed, with the provider's events that failed. They are tried again later.
    pub failed: usize,
    /// Those for which there was no time; the next sweep begins with them.
    pub left: usize,
}

/// In how many seconds an order that waits for the provider is settled again: after a quarter of its age. The provider
/// confirms a delayed payment after days, and sends a webhook event then.
fn later_in(order: &Order, now: i64) -> i64 {
    (now.saturating_sub(order.created_at) / 4).clamp(LATER.0, LATER.1)
}

impl<P: Provider> Desk<'_, Option<&P>> {
    /// Settles every order that is due, and reconciles the provider's webhook events. What fails keeps nothing else
    /// waiting. Without a deadline it takes [`DEADLINE`] at most.
    pub async fn sweep(self) -> Result<Swept, StoreError> {
        let Self { db, clock, .. } = self;
        let now = clock.seconds();
        let rows = unfinished::due(db, now).await?;
        let time = deadline::left().unwrap_or(DEADLINE).saturating_sub(METRIC);
        let overdue = overdue(&rows, now);
        let (swept, events) = deadline::scope(time, in_time(&self, rows, time)).await;
        if let Err(error) = goals_and_servers(db, clock).await {
            tracing::warn!(%error, "the goals or the game servers were not looked at");
        }
        let now = clock.seconds();
        let orders = match overdue {
            0 => 0,
            _ => match unfinished::due(db, now).await {
                Ok(rows) => self::overdue(&rows, now),
                Err(error) => {
                    tracing::warn!(%error, "what is overdue is counted as it was before the sweep");
                    overdue
                }
            },
        };
        overdue_orders(u32::try_from(orders + events).unwrap_or(u32::MAX));
        Ok(swept)
    }
}

/// Looks at the goals and the game servers of the store. Neither keeps the other from it.
async fn goals_and_servers(db: &Db, clock: &dyn Clock) -> Result<(), StoreError> {
    let active = published::read_active_version(db).await?.unwrap_or_default();
    let servers = active.config.delivery.servers.iter().map(|server| server.id);
    let statistics = async {
        let settings = read_published(db, &keys::settings(&active.version)).await?.unwrap_or_default();
        tell_reached(db, clock, (&active, &settings)).await?;
        note_times(db, clock, (&active, &settings)).await
    };
    let (followed, swept) = tokio::join!(statistics, sweep_servers(db, clock, servers));
    of_commands::tell(db, clock, &active.config).await.and(followed).and(swept)
}

fn overdue(rows: &[DueRow], now: i64) -> usize {
    let last = crate::table::keys::due_until(now.saturating_sub(OVERDUE));
    rows.iter().filter(|row| row.key.sk <= last).count()
}

/// The sweep itself, and how many webhook events are overdue.
async fn in_time<P: Provider>(desk: &Desk<'_, Option<&P>>, rows: Vec<DueRow>, time: Duration) -> (Swept, usize) {
    let (db, clock) = (desk.db, desk.clock);
    let now = clock.seconds();
    let time = time.saturating_sub(LAST);
    let (half, most, stop) = (Stop::after(time / 2), Stop::after(time * 3 / 4), Stop::after(time));
    let mut queue: VecDeque<DueRow> = rows.into_iter().filter(|row| !row.waits(now)).collect();
    let mut tally = Tally { swept: Swept { due: queue.len(), ..Swept::default() }, uncounted: VecDeque::new() };
    let work = |row| finish(desk, row, stop);
    tally.add(work_until(&mut queue, half, &work).await);
    tally.count(db, clock, most).await;
    let mut overdue = 0;
    if let Some(desk) = desk.connected() {
        let Reconciled { failed, overdue: events } = reconcile(&desk, stop).await;
        tally.swept.failed += failed;
        overdue = events;
    }
    tally.add(work_until(&mut queue, stop, &work).await);
    tally.count(db, clock, stop).await;
    if let Some(desk) = desk.connected()
        && let Err(error) = desk.keep_balance(stop).await
    {
        tracing::warn!(%error, "the changes of the provider's balance could not be asked for");
    }
    if let Err(error) = tell_daily(db, clock, stop).await {
        tracing::warn!(%error, "the owner could not be notified of yesterday");
    }
    tally.swept.left += queue.len() + tally.uncounted.len();
    (tally.swept, overdue)
}

#[derive(Debug)]
enum Outcome {
    Done,
    Failed,
    /// The time was up.
    Late,
    /// Only the statistics have still to follow.
    Uncounted(Box<DueRow>),
}

/// The work done so far, and the orders that the statistics have still to follow.
struct Tally {
    swept: Swept,
    uncounted: VecDeque<DueRow>,
}

impl Tally {
    fn add(&mut self, outcomes: Vec<Outcome>) {
        for outcome in outcomes {
            match outcome {
                Outcome::Done => self.swept.done += 1,
                Outcome::Failed => self.swept.failed += 1,
                Outcome::Late => self.swept.left += 1,
                Outcome::Uncounted(row) => self.uncounted.push_back(*row),
            }
        }
    }

    /// Lets the statistics follow, many orders in one transaction. If that fails, each of them is tried by itself: one
    /// must not keep the others waiting.
    async fn count(&mut self, db: &Db, clock: &dyn Clock, stop: Stop) {
        while !self.uncounted.is_empty() && !stop.has_come() {
            let part: Vec<DueRow> = self.uncounted.drain(..self.uncounted.len().min(ORDERS_AT_ONCE)).collect();
            if counted(db, clock, &part).await.is_ok() {
                self.swept.done += part.len();
                continue;
            }
            for row in part {
                let outcome = match counted(db, clock, std::slice::from_ref(&row)).await {
                    Ok(()) => Outcome::Done,
                    Err(error) => failed(db, clock, &row, error, stop).await,
                };
                self.add(vec![outcome]);
            }
        }
    }
}

async fn counted(db: &Db, clock: &dyn Clock, rows: &[DueRow]) -> Result<(), SettleError> {
    let ids: Vec<InternalId> = rows.iter().filter_map(|row| row.order().cloned()).collect();
    of_stock::tell(db, &ids, clock.seconds()).await?;
    catch_up_all(db, &ids).await?;
    Ok(())
}

/// Finishes what a row is about, or notes when it is tried again.
async fn finish<P: Provider>(desk: &Desk<'_, Option<&P>>, row: DueRow, stop: Stop) -> Outcome {
    let is_done = match &row.due {
        Ok(Due::Order(id)) => settle_due(desk, &row.key, id).await,
        Ok(Due::Subscription(id)) => settle_due_subscription(desk, &row.key, id).await.map(|()| true),
        Ok(Due::Dispute(order, dispute)) => answer_due(desk, &row.key, order, dispute).await.map(|()| true),
        Ok(Due::Reservation(reservation)) => {
            settle_reservation(desk.db, reservation).await.map(|()| true).map_err(SettleError::from)
        }
        Err(error) => {
            tracing::error!(row = row.key.sk, %error, "a row of what is due cannot be read and is skipped");
            return Outcome::Failed;
        }
    };
    match is_done {
        Ok(true) => Outcome::Done,
        Ok(false) => Outcome::Uncounted(Box::new(row)),
        Err(error) => failed(desk.db, desk.clock, &row, error, stop).await,
    }
}

/// Notes when a row that failed is tried again.
async fn failed(db: &Db, clock: &dyn Clock, row: &DueRow, error: SettleError, stop: Stop) -> Outcome {
    let id = row.order().map(ToString::to_string).unwrap_or_default();
    if stop.has_come() {
        tracing::warn!(order = id, row = row.key.sk, %error, "the time of the sweep was up");
        return Outcome::Late;
    }
    tracing::error!(order = id, row = row.key.sk, %error, "an order could not be finished");
    let again = clock.seconds().saturating_add(again_in(row.failed));
    let write: Write = row.try_again(again, &error.to_string());
    // If it conflicts, something else has finished or postponed the order meanwhile.
    if let Err(error) = sent(db, vec![write]).await {
        tracing::warn!(order = id, %error, "the next sweep tries it again");
    }
    Outcome::Failed
}

/// Settles a subscription that is due. A row that is not its own is removed: a backup that was made while the sweep wrote, or
/// a table that was restored, may have one.
async fn settle_due_subscription<P: Provider>(
    desk: &Desk<'_, Option<&P>>,
    row: &Key,
    id: &str,
) -> Result<(), SettleError> {
    let read = subscriptions::get(desk.db, id).await?;
    if read.as_ref().and_then(subscriptions::due_key).as_ref() != Some(row) {
        // Written by another since, it is looked at in the next sweep.
        sent(desk.db, subscriptions::without_row(read.as_ref(), id, row)).await?;
    } else if let Some(desk) = desk.connected() {
        desk.settle_subscription(id).await?;
    }
    Ok(())
}

/// Does what is left to do about an order; `false` if that are only the statistics.
async fn settle_due<P: Provider>(desk: &Desk<'_, Option<&P>>, row: &Key, id: &InternalId) -> Result<bool, SettleError> {
    let stored = orders::get(desk.db, id).await?.filter(|stored| stored.unfinished().as_ref() == Some(row));
    let Some(stored) = stored else {
        // Something else has finished or postponed the order meanwhile, or it is gone.
        let delete: Write = Write::delete(row.clone());
        sent(desk.db, vec![delete]).await?;
        return Ok(true);
    };
    if stored.order.status != OrderStatus::Pending {
        let is_counted = !stored.statistics_due();
        if !clear_cart(desk.db, &stored).await? {
            return Err(StoreError::Contended.into());
        }
        let is_delivered = !stored.delivery_due() || follow(desk.db, desk.clock, &stored).await?;
        let writes: Vec<Write> = if !is_delivered {
            stored.postpone(desk.clock.seconds().saturating_add(DELIVERY))?
        } else if is_counted {
            stored.finish()
        } else {
            Vec::new()
        };
        if !writes.is_empty() {
            // If it conflicts, something else became due.
            sent(desk.db, writes).await?;
        }
        return Ok(is_counted);
    }
    // Without a key of the provider nothing can be asked.
    let Some(desk) = desk.connected() else { return Ok(true) };
    if matches!(desk.settle_or_end(&stored).await?, Settled::Open | Settled::Gone) {
        let now = desk.clock.seconds();
        let writes: Vec<Write> = stored.postpone(now.saturating_add(later_in(&stored.order, now)))?;
        sent(desk.db, writes).await?;
    }
    Ok(true)
}

/// How many pieces of work are done at once. A provider that responds within 300 ms then reaches 20 calls a second.
const WORKERS: usize = 8;

/// Does work on the first items of a queue, several at once, and begins none after `stop`. Returns the results; what
/// was not begun stays in the queue.
pub(super) async fn work_until<T: Send, F: Future<Output: Send> + Send>(
    queue: &mut VecDeque<T>,
    stop: Stop,
    work: &(impl Fn(T) -> F + Sync),
) -> Vec<F::Output> {
    let shared = Mutex::new(queue);
    let next = || shared.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || async {
        let mut results = Vec::new();
        while !stop.has_come() {
            let Some(item) = next() else { break };
            results.push(work(item).await);
        }
        results
    };
    join_all((0..WORKERS).map(|_| worker())).await.into_iter().flatten().collect()
}

/// After how many seconds an order that is still due is overdue.
pub const OVERDUE: i64 = 900;

/// When something that failed is tried again, in seconds: at first, and at most.
const FAILED_AGAIN: (i64, i64) = (300, 21_600);
/// In how many seconds something that failed `failed` times before is tried again.
pub(super) fn again_in(failed: u32) -> i64 {
    2_i64
        .checked_pow(failed)
        .and_then(|times| FAILED_AGAIN.0.checked_mul(times))
        .map_or(FAILED_AGAIN.1, |time| time.min(FAILED_AGAIN.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_again_after_a_time_that_doubles_to_six_hours() {
        let minutes: Vec<i64> = (0..8).map(|failed| again_in(failed) / 60).collect();
        assert_eq!(minutes, [5, 10, 20, 40, 80, 160, 320, 360]);
        assert_eq!((again_in(62), again_in(u32::MAX)), (21_600, 21_600));
    }
}
