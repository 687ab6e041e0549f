//! Deliveries after a restore (rules.md, "Delivery"): the game servers went on after the backup was made, so nothing
//! of it becomes ready.
//! Delivering an order again that was taken back because of a dispute.

use super::follow::{back_ids, blocks, follow};
use super::leases::Lease;
use super::write::{Decided, place_of, write_all};
use super::{commands, deliveries};
use crate::clock::Clock;
use crate::model::{
    Command, CommandId, CommandState, DeliveryStep, Entitlement, InternalId, OrderDelivery, OrderStatus,
};
use crate::rules::delivery::{self, Word};
use crate::rules::evidence::takes_back;
use crate::shop::orders;
use crate::shop::subscriptions::of_orders::resume;
use crate::table::bulk::{OnProgress, delete_each, each, write_each};
use crate::table::codec::{Item, decode_live, encode_live, key_of};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::send;
use crate::table::{Db, StoreError, single};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How far the ids of commands go on above the highest after a restore at `at`, seconds since 1970 UTC. Those in between were
/// used after the backup, and an agent does not run a command whose id it knows, for 30 days after its end. A second restore of
/// the same backup within 90 days goes on elsewhere, unless more than ten ids were used in each second between the two.
pub const fn ids_after_restore(at: i64) -> u64 {
    const USED: u64 = 1_000_000;
    // It begins again, because ids are limited; the ten days more keep what is before it apart from what is after it.
    const AROUND: i64 = 100 * 86_400;
    USED + 10 * at.rem_euclid(AROUND).unsigned_abs()
}

/// Counts of what may have run on game servers since the time to which a table is restored.
#[derive(Debug, Default, Serialize)]
pub struct Doubts {
    #[serde(rename = "unknown_commands")]
    pub commands: usize,
    /// Orders whose further commands are unknown as soon as they are queued.
    #[serde(rename = "undelivered_orders")]
    pub orders: usize,
}

impl Doubts {
    pub fn count(&mut self, restored: &Restored) {
        self.commands += usize::from(restored.is_unknown);
        self.orders += usize::from(restored.is_unmarked);
    }
}

/// The items that take the place of a backup's item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    pub items: Vec<Item>,
    /// Whether it is a command that may have run since.
    pub is_unknown: bool,
    /// Whether it is an order whose further commands may have run since.
    pub is_unmarked: bool,
}

/// The items that take the place of a backup's item, if it is restored at `at`, seconds since 1970 UTC. Leases and logins in
/// the game end, and the queues are made of the commands.
pub fn restored(mut item: Item, at: i64) -> Result<Restored, StoreError> {
    let key = key_of(&item)?;
    if keys::is_brief(&key) || key.pk.starts_with(prefix::QUEUE) {
        return Ok(Restored::default());
    }
    if keys::is_order(&key) {
        let is_unmarked = deliveries::mark_restored(&key, &mut item)?;
        return Ok(Restored { items: vec![item], is_unmarked, ..Restored::default() });
    }
    if !key.pk.starts_with(prefix::COMMAND) {
        return Ok(Restored { items: vec![item], ..Restored::default() });
    }
    let mut command: Command = decode_live(&key, item)?;
    let before = command.delivery;
    command.delivery = delivery::restored(&before, at);
    let is_unknown = command.delivery != before;
    let place = place_of(&command).map(|place| commands::item(&place, &command)).transpose()?;
    let items = [encode_live(&key, &command)?].into_iter().chain(place).collect();
    Ok(Restored { items, is_unknown, is_unmarked: false })
}

/// How many seconds from now on still count as before the restore: until functions use the table, what becomes due runs from
/// the other one.
const UNTIL_IN_USE: i64 = 3_600;

/// The changes of a table that the database restored to a point in time.
#[derive(Debug, Default)]
pub struct RestoredTable {
    /// When it was read, seconds since 1970 UTC.
    read_at: i64,
    written: BTreeMap<Key, Item>,
    deleted: BTreeSet<Key>,
    pub doubts: Doubts,
    /// The last poll of a game server, seconds since 1970 UTC.
    pub polled: Option<i64>,
}

impl RestoredTable {
    /// Reads every item at `now`, seconds since 1970 UTC.
    pub async fn read(db: &Db, now: i64, progress: OnProgress<'_>) -> Result<Self, StoreError> {
        let mut table = Self { read_at: now, ..Self::default() };
        each(db, "", |item| {
            progress(1);
            table.add(item, now + UNTIL_IN_USE)
        })
        .await?;
        table.deleted.retain(|key| !table.written.contains_key(key));
        Ok(table)
    }

    fn add(&mut self, item: Item, at: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if key.pk.starts_with(prefix::LEASE) {
            let lease: Lease = decode_live(&key, item.clone())?;
            self.polled = self.polled.max(lease.seen);
        }
        if keys::is_brief(&key) || key.pk.starts_with(prefix::QUEUE) {
            self.deleted.insert(key.clone());
        }
        let restored = restored(item, at)?;
        self.doubts.count(&restored);
        let Restored { items, is_unknown, is_unmarked } = restored;
        // Of a command that waits, the row in the queue, which was deleted, too.
        if is_unknown || is_unmarked || items.len() > 1 {
            for item in items {
                self.written.insert(key_of(&item)?, item);
            }
        }
        Ok(())
    }

    /// How many items change.
    pub fn changes(&self) -> usize {
        self.written.len() + self.deleted.len()
    }

    /// Writes the changes. If the database does not respond, the same can be done again.
    pub async fn write(self, db: &Db, progress: OnProgress<'_>) -> Result<(), StoreError> {
        write_each(db, self.written.into_values().map(Ok), progress).await?;
        delete_each(db, self.deleted.into_iter(), progress).await?;
        single::reserve(db, single::COMMANDS, ids_after_restore(self.read_at)).await.map(drop)
    }
}

/// The reason for which an order is not delivered again.
#[derive(Debug, thiserror::Error)]
pub enum RedeliverError {
    #[error("there is no order with this internal id")]
    Unknown,
    #[error("the order is {}", .0.as_str())]
    NotPaid(OrderStatus),
    #[error("its payment is disputed ({0})")]
    Disputed(String),
    #[error("it was not taken back")]
    NotTakenBack,
    #[error("a command that takes it back is on its way to a game server")]
    OnItsWay,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Delivers a paid order again, under new ids, after it was taken back because of a dispute that has ended. What is left to do
/// when the call fails is done by the sweep. After an error of the database, [`RedeliverError::NotTakenBack`] says that
/// the call before was written.
pub async fn redeliver(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), RedeliverError> {
    let stored = orders::get(db, id).await?.ok_or(RedeliverError::Unknown)?;
    if stored.order.status != OrderStatus::Paid {
        return Err(RedeliverError::NotPaid(stored.order.status));
    }
    if let Some(dispute) = stored.effects.dispute.as_ref().filter(|dispute| takes_back(dispute)) {
        return Err(RedeliverError::Disputed(dispute.clone()));
    }
    let over = stored.effects.delivery.as_ref().filter(|delivery| delivery.step == DeliveryStep::Over);
    let delivery = over.ok_or(RedeliverError::NotTakenBack)?;
    let now = clock.seconds();
    // A command that the owner sent again is among the further ones.
    recall(db, back_ids(delivery).chain(delivery.further.iter().copied()), now).await?;
    let (version, earlier, runs) = (delivery.version, blocks(delivery), delivery.runs.clone());
    let next = OrderDelivery { version, earlier, runs, ..OrderDelivery::default() };
    let (mut own, others) = stored.begin_delivery(next, now)?;
    if stored.effects.subscription.is_some() {
        // What a subscription gives at its beginning was taken back with it.
        own = own.also(", subscription.#restart = :restart").name("#restart", "restart").flag(":restart", true);
    }
    let resumed = resume(db, &stored, now).await?;
    send(db, [own].into_iter().chain(others).chain(resumed).collect()).await?;
    follow(db, clock, &stored).await?;
    Ok(())
}

/// Recalls what takes an order back and has not run: it would run after what is delivered again.
async fn recall(db: &Db, ids: impl Iterator<Item = CommandId>, now: i64) -> Result<(), RedeliverError> {
    let decide = |command| Decided::new(command, Word::Recall(Entitlement::Superseded), now);
    let all: Vec<Decided> = commands::read(db, ids).await?.into_values().map(decide).collect();
    let is_on_its_way =
        |decided: &Decided| matches!(decided.after.delivery.state, CommandState::Served | CommandState::Validated);
    if all.iter().any(is_on_its_way) {
        return Err(RedeliverError::OnItsWay);
    }
    Ok(write_all(db, all).await?)
}
