//! Work of the owner's tool alone: it reads the whole table, compares it with its orders, upgrades it, erases a user. It finds orders
//! that lack a row (in their month, among the orders of their account, or by the provider's payment), and everything that waits for
//! a decision of the store's owner, but for commands of game servers, which [`crate::shop::delivery::audit`] finds.

mod audit;
pub mod erase;
pub mod subscription_lists;
pub mod upgrade;

pub use audit::{Audit, Difference, TableSums, repair, rewrite_donations};

use crate::model::{
    Goal, InternalId, ItemId, Money, OrderStatus, Place, ServerId, Settings, Subscription, SubscriptionState,
    SubscriptionStatus, Units, User,
};
use crate::rules::dispute::{FRAUD_WARNING, is_over, needs_response};
use crate::rules::referral::Credits;
use crate::rules::subscription::shown_state;
use crate::shop::delivery::servers::StoredKey;
use crate::shop::orders::lists::{self, OwnedOrder};
use crate::shop::orders::{Payment, StoredOrder, each_order};
use crate::shop::statistics::{VersionedDonations, catch_up, repair_patrons};
use crate::shop::stock::reservations::{self, Reservation};
use crate::table::bulk::{OnProgress, all, each};
use crate::table::codec::{Item, Row, decode_live, key_of, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, read_published};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The result of [`finish_statistics`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// How many orders were behind and are counted now.
    pub finished: usize,
    /// Orders that other writes kept conflicting with; the next run finishes them.
    pub left: Vec<InternalId>,
    /// Whether the compiled patrons differed from their rows, and were compiled again.
    pub patrons_repaired: bool,
}

/// Lets the statistics catch up with every order, and compiles the patrons again if they differ from their rows. Reads
/// every item of the table. After an error, orders that were finished before stay so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let mut done = Finished::default();
    for id in behind(db, &|_| {}).await? {
        match catch_up(db, &id).await {
            Ok(was_behind) => done.finished += usize::from(was_behind),
            Err(StoreError::Contended) => done.left.push(id),
            Err(error) => return Err(error),
        }
    }
    done.patrons_repaired = repair_patrons(db).await?;
    Ok(done)
}

/// The orders that the statistics are behind of. Calls `progress` for what it reads.
pub async fn behind(db: &Db, progress: OnProgress<'_>) -> Result<Vec<InternalId>, StoreError> {
    let mut behind = Vec::new();
    each_order(db, |stored| {
        progress(1);
        behind.extend(stored.statistics_due().then_some(stored.order.internal_id));
    })
    .await?;
    Ok(behind)
}

/// Compares the table with its orders. Reads every item, twice if something differs. What the sweep has still to finish
/// does not differ. Calls `progress` for every item that it reads.
pub async fn audit(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let first = pass(db, progress).await?;
    if first.is_clean() {
        return Ok(first);
    }
    Ok(pass(db, progress).await?.also_in(&first))
}

async fn pass(db: &Db, progress: OnProgress<'_>) -> Result<Audit, StoreError> {
    let mut sums = TableSums::default();
    each(db, "", |item| {
        progress(1);
        sums.add(item)
    })
    .await?;
    Ok(sums.into_audit())
}

/// Corrects every number of an audit, and writes a missing item with goals and donators again: every paid order counts
/// towards the published goals. Returns how many rows were changed by other writes in the meantime and not corrected.
/// If the database does not respond, what was corrected before stays.
pub async fn repair_table(db: &Db, audit: &Audit) -> Result<usize, StoreError> {
    let left = repair(db, audit).await?;
    if !audit.no_donations {
        return Ok(left);
    }
    // First the item, whose version guards what is read after it.
    let shown = VersionedDonations::read(db).await?;
    let mut orders = Vec::new();
    each_order(db, |stored| orders.push(stored)).await?;
    let users: Vec<User> = all(db, prefix::USER).await?.into_iter().map(|(_, user)| user).collect();
    let written = rewrite_donations(db, shown, &orders, &users, &published_goals(db).await?).await?;
    Ok(left + usize::from(!written))
}

async fn published_goals(db: &Db) -> Result<Vec<Goal>, StoreError> {
    let version = read_active_version(db).await?.unwrap_or_default().version;
    let settings: Option<Settings> = read_published(db, &keys::settings(&version)).await?;
    Ok(settings.unwrap_or_default().goals)
}

/// The sums of paid orders of a time (seconds since 1970 UTC) by referral code. Reads every item.
pub async fn credits(db: &Db, period: &Range<i64>) -> Result<Credits, StoreError> {
    let mut credits = Credits::default();
    each_order(db, |StoredOrder { order, effects }| credits.add(&order, &effects, period)).await?;
    Ok(credits)
}

/// The work that the sweep has still to finish. None of it is wrong, and none of it is to be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Units that are counted for orders which are not written: the sweep releases them.
    pub units: BTreeMap<ItemId, u64>,
    /// Ended orders from which something has still to follow, and pending ones, each with the second (since 1970 UTC)
    /// at which the sweep looks at it.
    pub orders: BTreeMap<InternalId, (OrderStatus, i64)>,
    /// The units of the reservations, by order.
    reservations: BTreeMap<InternalId, (Vec<Units>, Vec<Place>)>,
}

/// The counter of an item with the orders that have a reservation in it.
#[derive(Debug, Clone)]
pub(in crate::shop) struct Counter {
    pub(in crate::shop) item: ItemId,
    reserved_by: Vec<InternalId>,
}

impl Counter {
    /// Reads a counter's row; `None` if it is not named by an item.
    pub(in crate::shop) fn of(key: &Key, row: &Item) -> Option<Self> {
        let item = key.pk.strip_prefix(prefix::COUNT)?.parse().ok()?;
        Some(Self { item, reserved_by: reservations::reserved_orders(row) })
    }
}

impl Waiting {
    /// The orders that the sweep should have looked at by `now`, seconds since 1970 UTC, and those that are paid or
    /// ended without everything that follows.
    pub fn overdue(&self, now: i64) -> Vec<&InternalId> {
        let waits = |(status, due): (OrderStatus, i64)| status != OrderStatus::Pending || due <= now;
        self.orders.iter().filter(|(_, order)| waits(**order)).map(|(id, _)| id).collect()
    }

    pub(in crate::shop) fn add_reservation(&mut self, key: Key, row: Item) -> Result<(), StoreError> {
        let reservation = Reservation::decode(key, Row::from(row))?;
        self.reservations.insert(reservation.order, (reservation.units, reservation.places));
        Ok(())
    }

    pub(in crate::shop) fn add_order(&mut self, stored: &StoredOrder) {
        let due = stored.effects.due.map(|due| (stored.order.internal_id.clone(), (stored.order.status, due)));
        self.orders.extend(due);
    }

    /// The units in the places of a counter of orders that are not among `orders` but known to the sweep.
    pub(in crate::shop) fn places(&self, counter: &Counter, orders: &BTreeSet<InternalId>) -> Vec<Place> {
        let waiting = counter.reserved_by.iter().filter(|order| !orders.contains(*order));
        let places = waiting.filter_map(|order| self.reservations.get(order)).flat_map(|(_, places)| places);
        places.filter(|place| place.item == counter.item).cloned().collect()
    }

    /// The units in a counter of orders that are not among `orders` but known to the sweep, and the orders that are
    /// marked in it and known to nothing.
    pub(in crate::shop) fn count(
        &mut self,
        counter: &Counter,
        orders: &BTreeSet<InternalId>,
    ) -> (u64, BTreeSet<InternalId>) {
        let (mut all, mut stray) = (0, BTreeSet::new());
        for order in counter.reserved_by.iter().filter(|order| !orders.contains(*order)) {
            match self.reservations.get(order) {
                Some((units, _)) => {
                    let own = units.iter().filter(|units| units.item == counter.item);
                    all += own.map(|units| units.count).sum::<u64>();
                }
                None => _ = stray.insert(order.clone()),
            }
        }
        if all > 0 {
            self.units.insert(counter.item, all);
        }
        (all, stray)
    }
}

/// The most rows of one transaction.
const ROWS_AT_ONCE: usize = 50;

/// The rows by which orders are found that are missing. Reads every item.
pub async fn missing_rows(db: &Db) -> Result<Vec<Write>, StoreError> {
    let mut rows: BTreeMap<Key, Option<Write>> = BTreeMap::new();
    each(db, "", |item| {
        let key = key_of(&item)?;
        if [prefix::SALES, prefix::ORDERS, prefix::PAYMENT].iter().any(|kind| key.pk.starts_with(kind)) {
            rows.insert(key, None);
        } else if keys::is_order(&key) {
            for (key, write) in rows_of(&StoredOrder::decode(&key, Row::from(item))?)? {
                rows.entry(key).or_insert(Some(write));
            }
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(rows.into_values().flatten().collect())
}

/// The rows by which an order is found.
fn rows_of(stored: &StoredOrder) -> Result<Vec<(Key, Write)>, StoreError> {
    let own = OwnedOrder::item(&stored.order).transpose()?;
    let rows = lists::items(stored)?.into_iter().chain(own).map(|(key, row)| (key.clone(), Write::put(key, row)));
    let payment = |intent| Ok::<_, StoreError>((keys::payment(intent), Payment::put(&stored.order, intent)?));
    let payment: Option<(Key, Write)> = stored.intent().map(payment).transpose()?;
    Ok(rows.chain(payment).collect())
}

/// Writes such rows. Done again, they are the same.
pub async fn write_rows(db: &Db, mut writes: Vec<Write>) -> Result<(), StoreError> {
    while !writes.is_empty() {
        let part = writes.split_off(writes.len().saturating_sub(ROWS_AT_ONCE));
        if !sent(db, part).await? {
            return Err(StoreError::Contended);
        }
    }
    Ok(())
}

/// For how many seconds after an order was made its payment can be disputed.
const DISPUTABLE: i64 = 120 * 86_400;

/// What waits for the owner.
#[derive(Debug, Default)]
pub struct Attention {
    /// Orders whose payment does not agree with them.
    pub reviews: Vec<InternalId>,
    /// Paid orders with a refund that failed and was not sent again.
    pub refunds: Vec<InternalId>,
    /// Orders with a dispute in which the bank waits for a response.
    pub disputes: Vec<StoredOrder>,
    /// Paid orders whose bank warns of fraud. A refund may prevent a dispute.
    pub warnings: Vec<InternalId>,
    /// Paid orders whose commands run for no one, because they were recorded without an owner.
    pub ownerless: Vec<InternalId>,
    /// Subscriptions whose last renewal was not paid.
    pub past_due: Vec<Subscription>,
    /// The servers that have a key.
    pub connected: BTreeSet<ServerId>,
}

/// Looks at every item once. Rows that cannot be read are left out.
pub async fn attention(db: &Db, now: i64) -> Result<Attention, StoreError> {
    let mut found = Attention::default();
    each(db, "", |item| found.add(item, now)).await?;
    found.past_due.sort_by_key(|subscription| subscription.paid_until);
    Ok(found)
}

impl Attention {
    fn add(&mut self, item: Item, now: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            if let Some(stored) = noted(StoredOrder::decode(&key, Row::from(item))) {
                self.add_order(stored, now);
            }
        } else if key.pk.starts_with(prefix::SUBSCRIPTION) {
            let subscription: Option<Subscription> = noted(decode_live(&key, item));
            self.past_due.extend(subscription.filter(is_past_due));
        } else if key.pk.starts_with(prefix::SERVER) {
            self.connected.extend(noted(decode_live::<StoredKey>(&key, item)).map(|key| key.server));
        }
        Ok(())
    }

    fn add_order(&mut self, stored: StoredOrder, now: i64) {
        let StoredOrder { order, effects } = &stored;
        let (id, is_paid) = (&order.internal_id, order.status == OrderStatus::Paid);
        self.reviews.extend(effects.review.is_some().then(|| id.clone()));
        self.refunds.extend((effects.unreturned > Money::ZERO).then(|| id.clone()));
        let is_warned = effects.dispute.as_deref() == Some(FRAUD_WARNING) && now < order.created_at + DISPUTABLE;
        self.warnings.extend((is_paid && is_warned).then(|| id.clone()));
        let mut of_owner = order.lines.iter().filter(|line| !line.is_gift());
        let lacks_owner = order.owner.is_none() && effects.delivery.is_some() && of_owner.any(|line| line.units() > 0);
        self.ownerless.extend((is_paid && lacks_owner).then(|| id.clone()));
        if effects.disputes.values().chain(&effects.dispute).any(|state| needs_response(state)) {
            self.disputes.push(stored);
        }
    }
}

/// Whether an order is in review, has an open dispute, or waits for a refund to be sent again.
pub fn needs_attention(StoredOrder { order, effects }: &StoredOrder) -> bool {
    let is_open = |dispute: &String| !is_over(dispute) && order.status == OrderStatus::Paid;
    effects.review.is_some() || effects.dispute.as_ref().is_some_and(is_open) || effects.unreturned > Money::ZERO
}

/// Whether the provider waits for a payment, or has given up on one, without having ended the subscription.
fn is_past_due(subscription: &Subscription) -> bool {
    subscription.status != SubscriptionStatus::Ended
        && matches!(shown_state(subscription), SubscriptionState::PastDue | SubscriptionState::Unpaid)
}
