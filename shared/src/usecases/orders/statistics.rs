//! What follows from an order in a second transaction: goals, the month's top, recent donations, patrons. The mark on
//! the order, whether the statistics count it, is part of that transaction, so that it is counted once.

use super::{STATISTICS_ROUNDS, active_version, patrons, pause_before};
use crate::model::{Donations, Donor, InternalId, Money, MonthSum, Order, PaidOrder, RecentDonation, Settings, User};
use crate::rules::donations::{Adjustment, apply_to_goals, rank, ranking};
use crate::rules::order::without_refunded;
use crate::store::codec::encode_live;
use crate::store::keys::{self, Key};
use crate::store::orders::{self, StoredOrder};
use crate::store::statistics::{VersionedDonations, month_sum, month_sums, newest, top_donors, write_month_sum};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, StoreError, read_published, users};

/// Whether the statistics show an order's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// They do.
    Current,
    /// They do not yet; [`catch_up`] lets them.
    Behind,
}

/// The result of [`catch_up`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// The statistics were current.
    Current,
    /// They were behind and are current now.
    Updated,
    /// Other writes kept conflicting; they are still behind.
    Conflict,
}

/// Lets the statistics follow an order that is written already. A failure leaves them behind.
pub(super) async fn follow(db: &Db, id: &InternalId) -> Statistics {
    match catch_up(db, id).await {
        Ok(CatchUp::Current | CatchUp::Updated) => Statistics::Current,
        Ok(CatchUp::Conflict) | Err(_) => Statistics::Behind,
    }
}

/// Lets the statistics follow an order if they are behind.
///
/// # Errors
/// [`StoreError`] if the database is unavailable; the statistics are never half written.
pub async fn catch_up(db: &Db, id: &InternalId) -> Result<CatchUp, StoreError> {
    catch_up_within(db, id, STATISTICS_ROUNDS).await
}

/// [`catch_up`] that gives up after the first conflict: many orders that are paid at once share these rows, and their
/// buyers wait.
///
/// # Errors
/// As [`catch_up`].
pub async fn catch_up_once(db: &Db, id: &InternalId) -> Result<CatchUp, StoreError> {
    catch_up_within(db, id, 1).await
}

async fn catch_up_within(db: &Db, id: &InternalId, rounds: u32) -> Result<CatchUp, StoreError> {
    for round in 0..rounds {
        pause_before(round).await;
        let shown = VersionedDonations::read(db).await?;
        let stored = orders::get(db, id).await?.filter(StoredOrder::statistics_due);
        let Some(stored) = stored else { return Ok(CatchUp::Current) };
        let writes = plan(db, shown, &stored).await?;
        if send(db, writes).await? == Sent::Written {
            return Ok(CatchUp::Updated);
        }
    }
    Ok(CatchUp::Conflict)
}

/// A change that the statistics have to follow.
struct Change {
    adjustment: Adjustment,
    /// The amount that is added or taken off.
    amount: Money,
    /// The order less what is refunded of it.
    order: Order,
}

impl Change {
    fn of(stored: &StoredOrder) -> Self {
        let order = without_refunded(&stored.order, stored.effects.refunded);
        let counted = stored.order.total().less(stored.effects.counted_refunded);
        let (adjustment, amount) = match (stored.should_count(), stored.effects.counted) {
            (false, _) => (Adjustment::Remove, counted),
            (true, Some(true)) if order.total() > counted => (Adjustment::Restore, order.total() - counted),
            (true, Some(true)) => (Adjustment::Reduce, counted.less(order.total())),
            (true, _) => (Adjustment::Add, order.total()),
        };
        Self { adjustment, amount, order }
    }
}

/// All writes that follow from one order.
async fn plan(db: &Db, mut shown: VersionedDonations, stored: &StoredOrder) -> Result<Vec<Write>, StoreError> {
    let change = Change::of(stored);
    let goals = match change.adjustment {
        Adjustment::Add => published_goals(db).await?,
        // It is taken off the goals that it was added to, even if others are published now.
        Adjustment::Reduce | Adjustment::Restore | Adjustment::Remove => {
            let all = || shown.donations.goals.keys().cloned().collect();
            stored.effects.goals.clone().unwrap_or_else(all)
        }
    };
    apply_to_goals(&mut shown.donations.goals, &goals, change.adjustment, change.amount);
    let mut writes = owners_writes(db, &mut shown.donations, &change).await?;
    writes.push(match change.adjustment {
        Adjustment::Add => stored.mark_counted(goals),
        Adjustment::Reduce | Adjustment::Restore => stored.mark_refunded(),
        Adjustment::Remove => stored.mark_not_counted(),
    });
    writes.push(shown.write()?);
    Ok(writes)
}

async fn published_goals(db: &Db) -> Result<Vec<String>, StoreError> {
    let key = keys::settings(&active_version(db).await?.version);
    let settings: Option<Settings> = read_published(db, &key).await?;
    Ok(settings.unwrap_or_default().goals.iter().map(|goal| goal.id.to_string()).collect())
}

/// The writes for the order's owner. A user who was erased stays erased.
async fn owners_writes(db: &Db, donations: &mut Donations, change: &Change) -> Result<Vec<Write>, StoreError> {
    let Change { adjustment, amount, order } = change;
    let Some(id) = order.owner else { return Ok(Vec::new()) };
    let (key, row) = (keys::paid_order(order.created_at, order.id), PaidOrder::new(order, id));
    let user = users::read(db, std::iter::once(id)).await?.remove(&id);
    let mut writes = Vec::new();
    // Anybody can order what costs nothing, under any name.
    let is_shown = *adjustment != Adjustment::Remove && row.amount > Money::ZERO;
    if !is_shown {
        writes.push(Write::delete(key.clone()));
    }
    let Some(user) = user else { return Ok(writes) };
    writes.push(users::must_exist(id));
    if is_shown {
        writes.push(Write::put(key.clone(), encode_live(&key, &row)?));
    }
    let shown = is_shown.then(|| (key, RecentDonation::new(&row, &user)));
    donations.recent = recent(db, &donations.recent, &order.internal_id, shown).await?;
    writes.extend(patrons::adjust(db, &user, *adjustment, *amount).await?);
    writes.extend(month_write(db, donations, change, &user).await?);
    Ok(writes)
}

/// The recent donations after an order was changed: with what is shown of it from now on, or without it.
async fn recent(
    db: &Db,
    known: &[RecentDonation],
    changed: &InternalId,
    shown: Option<(Key, RecentDonation)>,
) -> Result<Vec<RecentDonation>, StoreError> {
    let mut all = newest(db, known, |row| row.order == *changed).await?;
    all.extend(shown);
    all.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
    all.truncate(Donations::RECENT);
    Ok(all.into_iter().map(|(_, donation)| donation).collect())
}

/// The owner's sum of the month, and the month's top. Months before the newest are neither shown nor kept.
async fn month_write(
    db: &Db,
    donations: &mut Donations,
    change: &Change,
    user: &User,
) -> Result<Option<Write>, StoreError> {
    let Change { adjustment, amount, order } = change;
    let month = Donations::month_of(order.created_at);
    if month > donations.month && *adjustment == Adjustment::Add {
        (donations.month, donations.top) = (month.clone(), Vec::new());
    }
    if month != donations.month {
        return Ok(None);
    }
    let amount = adjustment.apply(month_sum(db, &month, user.id).await?, *amount);
    let changed = MonthSum { user: user.id, amount };
    if !rank(&mut donations.top, Donor::new(user, amount)) {
        donations.top = top_donors(db, &ranking(month_sums(db, &month).await?, changed)).await?;
    }
    write_month_sum(&month, &changed, order.created_at).map(Some)
}
