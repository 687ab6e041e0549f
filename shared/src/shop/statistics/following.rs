//! The statistics that follow from orders in a second transaction: goals, the month's top, recent donations, patrons.
//! The mark on each order, whether the statistics count it, is part of that transaction, so that it is counted once.

use super::{STATISTICS_TURNS, VersionedDonations, month_sums, newest, patrons, top_donors, write_month_sum};
use crate::model::{
    Donations, Donor, Goal, GoalPart, InternalId, Money, MonthSum, Order, PaidOrder, RecentDonation, Settings, User,
    UserId,
};
use crate::rules::goals::{Counted, apply_parts, counted, part_of, told_after};
use crate::rules::order::without_refunded;
use crate::rules::statistics::{Adjustment, apply_to_goals, rank, ranking, rename};
use crate::shop::accounts;
use crate::shop::orders::{StoredOrder, active_version, is_recorded_late};
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, in_turns, read_all_live, read_published};
use std::collections::{BTreeMap, BTreeSet};

/// The most orders of one transaction. It has at most a hundred writes: six for each order, and those of the donations
/// and the largest patrons.
pub const ORDERS_AT_ONCE: usize = 15;

/// Lets the statistics follow an order if they are behind. Whether they were.
pub async fn catch_up(db: &Db, id: &InternalId) -> Result<bool, StoreError> {
    catch_up_all(db, std::slice::from_ref(id)).await
}

/// Lets the statistics follow the orders that they are behind of, at most [`ORDERS_AT_ONCE`], in one transaction. An order
/// with nothing else left to do leaves the rows of the sweep by it. The statistics are never half written. Whether they were behind.
pub async fn catch_up_all(db: &Db, ids: &[InternalId]) -> Result<bool, StoreError> {
    in_turns(STATISTICS_TURNS, || async {
        let shown = VersionedDonations::read(db).await?;
        let mut rows = db.batch_get(ids.iter().map(keys::order).collect()).await?;
        let orders = ids.iter().filter_map(|id| StoredOrder::take(&mut rows, id).transpose());
        let mut behind = orders.collect::<Result<Vec<_>, _>>()?;
        behind.retain(StoredOrder::statistics_due);
        let mut room = ORDERS_AT_ONCE;
        behind.retain(|stored| {
            // One that was moved has two users.
            let users = Change::of_users(stored).len();
            let fits = users <= room;
            room -= if fits { users } else { 0 };
            fits
        });
        if behind.is_empty() {
            return Ok(false);
        }
        send(db, plan(db, shown, &behind).await?).await?;
        Ok(true)
    })
    .await
}

/// A change that the statistics have to follow.
struct Change {
    adjustment: Adjustment,
    /// The amount that is added or taken off.
    amount: Money,
    /// The order less what is refunded of it.
    order: Order,
    /// The user whose sums change.
    user: Option<UserId>,
    /// Whether the order goes to another user, for whom it is counted with another change.
    leaves: bool,
}

impl Change {
    fn of(stored: &StoredOrder) -> Self {
        let order = without_refunded(&stored.order, stored.effects.refunded);
        let counted = stored.order.total().less(stored.effects.counted_refunded);
        let user = if stored.should_count() { order.player() } else { credited(stored) };
        let (adjustment, amount) = match (stored.should_count(), stored.effects.counted) {
            (false, _) => (Adjustment::Remove, counted),
            (true, Some(true)) if order.total() > counted => (Adjustment::Restore, order.total() - counted),
            (true, Some(true)) => (Adjustment::Reduce, counted.less(order.total())),
            (true, _) => (Adjustment::Add, order.total()),
        };
        Self { adjustment, amount, order, user, leaves: false }
    }

    /// The changes of the sums of users: of an order that was moved since it was counted, of both players.
    fn of_users(stored: &StoredOrder) -> Vec<Self> {
        let whole = Self::of(stored);
        let from = credited(stored);
        if stored.effects.counted != Some(true) || !stored.should_count() || from == whole.user {
            return vec![whole];
        }
        let counted = stored.order.total().less(stored.effects.counted_refunded);
        let (order, amount) = (whole.order.clone(), whole.order.total());
        let leaves = Self { adjustment: Adjustment::Remove, amount: counted, order, user: from, leaves: true };
        vec![leaves, Self { adjustment: Adjustment::Add, amount, ..whole }]
    }
}

/// The user for whom the statistics count an order that they count.
fn credited(stored: &StoredOrder) -> Option<UserId> {
    stored.effects.credited.or(stored.order.owner)
}

async fn plan(db: &Db, mut shown: VersionedDonations, behind: &[StoredOrder]) -> Result<Vec<Write>, StoreError> {
    let changes: Vec<Change> = behind.iter().map(Change::of).collect();
    let mut writes = count(db, &mut shown.donations, behind, &changes).await?;
    let of_users: Vec<Change> = behind.iter().flat_map(Change::of_users).collect();
    writes.extend(users_writes(db, &mut shown.donations, &of_users).await?);
    writes.push(shown.write()?);
    Ok(writes)
}

/// Adds the orders to the goals, or takes them off, and returns the writes that mark them.
async fn count(
    db: &Db,
    donations: &mut Donations,
    behind: &[StoredOrder],
    changes: &[Change],
) -> Result<Vec<Write>, StoreError> {
    // Of an order that was loaded with the sums it is not known what they have of it.
    let has_unknown = behind.iter().any(|stored| stored.effects.goals.is_none());
    let has_added = changes.iter().any(|change| change.adjustment == Adjustment::Add);
    let published = if has_unknown || has_added { published_goals(db).await? } else { Vec::new() };
    let mut marks = Vec::new();
    for (stored, change) in behind.iter().zip(changes) {
        let is_late = change.adjustment == Adjustment::Add && is_recorded_late(stored);
        let earlier = is_late.then(|| donations.goals.clone());
        let sums = &mut donations.goals;
        let effects = &stored.effects;
        let before = match &effects.goals {
            _ if change.adjustment == Adjustment::Add => Counted::default(),
            // It is taken off the goals that it was added to, even if others are published now.
            Some(whole) => Counted { whole: whole.clone(), parts: effects.goal_parts.clone() },
            None => {
                let own = counted(&published, &without_refunded(&stored.order, effects.counted_refunded));
                let is_known = |goal: &String| published.iter().any(|one| one.id.to_string() == **goal);
                let whole = sums.keys().filter(|goal| own.whole.contains(goal) || !is_known(goal));
                Counted { whole: whole.cloned().collect(), parts: own.parts }
            }
        };
        let left = |(goal, part): (&String, &GoalPart)| (goal.clone(), part_of(part, &change.order));
        let after = match change.adjustment {
            Adjustment::Add => counted(&published, &change.order),
            Adjustment::Reduce | Adjustment::Restore => {
                Counted { parts: before.parts.iter().map(left).collect(), ..before.clone() }
            }
            Adjustment::Remove => Counted { parts: BTreeMap::new(), ..before.clone() },
        };
        apply_to_goals(sums, &after.whole, change.adjustment, change.amount);
        apply_parts(sums, &before.parts, &after.parts);
        if let Some(earlier) = earlier {
            tell_nothing(donations, &published, &earlier);
        }
        marks.extend(match change.adjustment {
            Adjustment::Add => stored.mark_counted(&after)?,
            Adjustment::Reduce | Adjustment::Restore => stored.mark_refunded(&after.parts)?,
            Adjustment::Remove => stored.mark_not_counted(),
        });
    }
    Ok(marks)
}

/// Marks what an order that is recorded late has raised the goals' sums to, since `earlier`, as told.
fn tell_nothing(donations: &mut Donations, goals: &[Goal], earlier: &BTreeMap<String, Money>) {
    for goal in goals {
        let id = goal.id.to_string();
        let of = |sums: &BTreeMap<String, Money>| sums.get(&id).copied().unwrap_or_default();
        let told = of(&donations.reached);
        let now_told = told_after(goal, (of(earlier), of(&donations.goals)), told);
        if now_told > told {
            donations.reached.insert(id, now_told);
        }
    }
}

async fn published_goals(db: &Db) -> Result<Vec<Goal>, StoreError> {
    let key = keys::settings(&active_version(db).await?.version);
    let settings: Option<Settings> = read_published(db, &key).await?;
    Ok(settings.unwrap_or_default().goals)
}

/// The writes for the orders' users. A user who was erased stays erased.
async fn users_writes(db: &Db, donations: &mut Donations, changes: &[Change]) -> Result<Vec<Write>, StoreError> {
    let owners = accounts::read(db, changes.iter().filter_map(|change| change.user)).await?;
    let mut writes: Vec<Write> = owners.keys().map(|owner| accounts::must_exist(*owner)).collect();
    let (mut shown, mut known) = (Vec::new(), Vec::new());
    for change in changes {
        let order = &change.order;
        let Some(id) = change.user else { continue };
        let (key, row) = (keys::paid_order(order.created_at, order.id), PaidOrder::new(order, id));
        let owner = owners.get(&id);
        // Anyone can order what costs nothing, under any name.
        let is_shown = change.adjustment != Adjustment::Remove && row.amount > Money::ZERO;
        match owner {
            Some(owner) if is_shown => {
                writes.push(Write::put_live(key.clone(), &row)?);
                shown.push((key, RecentDonation::new(&row, owner)));
            }
            None if is_shown => {}
            _ if change.leaves => {}
            Some(_) | None => writes.push(Write::delete(key)),
        }
        known.extend(owner.map(|owner| (change, owner)));
    }
    if known.is_empty() {
        return Ok(writes);
    }
    let orders: BTreeSet<&InternalId> = known.iter().map(|(change, _)| &change.order.internal_id).collect();
    donations.recent = recent(db, &donations.recent, &orders, shown).await?;
    let given: Vec<_> = known.iter().map(|(change, owner)| (*owner, change.adjustment, change.amount)).collect();
    writes.extend(patrons::adjust(db, &given).await?);
    writes.extend(month_writes(db, donations, &known).await?);
    Ok(writes)
}

/// The recent donations after orders were changed: with what is shown of them from now on.
async fn recent(
    db: &Db,
    known: &[RecentDonation],
    changed: &BTreeSet<&InternalId>,
    shown: Vec<(Key, RecentDonation)>,
) -> Result<Vec<RecentDonation>, StoreError> {
    let mut all = newest(db, known, |row| changed.contains(&row.order)).await?;
    all.extend(shown);
    all.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
    all.truncate(Donations::RECENT);
    Ok(all.into_iter().map(|(_, donation)| donation).collect())
}

/// The owners' sums of the newest month, and its top. Months before it are neither shown nor kept.
async fn month_writes(
    db: &Db,
    donations: &mut Donations,
    known: &[(&Change, &User)],
) -> Result<Vec<Write>, StoreError> {
    let month_of = |change: &Change| Donations::month_of(change.order.created_at);
    let added = known.iter().filter(|(change, _)| change.adjustment == Adjustment::Add);
    let newest = added.map(|(change, _)| month_of(change)).max();
    if let Some(newest) = newest.filter(|newest| *newest > donations.month) {
        (donations.month, donations.top) = (newest, Vec::new());
    }
    let month = donations.month.clone();
    let of_month: Vec<_> = known.iter().filter(|(change, _)| month_of(change) == month).collect();
    let before = read_all_live(db, of_month.iter().map(|(_, owner)| keys::month_sum(&month, owner.id))).await?;
    let mut sums: BTreeMap<UserId, MonthSum> = before.into_iter().map(|sum: MonthSum| (sum.user, sum)).collect();
    let mut is_ranked = true;
    for (change, owner) in &of_month {
        let sum = sums.entry(owner.id).or_insert(MonthSum { user: owner.id, amount: Money::ZERO });
        sum.amount = change.adjustment.apply(sum.amount, change.amount);
        is_ranked &= rank(&mut donations.top, Donor::new(owner, sum.amount));
    }
    if !is_ranked {
        donations.top = top_donors(db, &ranking(month_sums(db, &month).await?, &sums)).await?;
    }
    let at = of_month.iter().map(|(change, _)| change.order.created_at).max().unwrap_or_default();
    sums.values().map(|sum| write_month_sum(&month, sum, at)).collect()
}

/// Shows a user's present name and image among the donators and patrons. Done again, it changes only the version of the
/// statistics. The names are never half changed.
pub async fn rename_in_statistics(db: &Db, user: &User) -> Result<(), StoreError> {
    in_turns(STATISTICS_TURNS, || async {
        let mut shown = VersionedDonations::read(db).await?;
        let mut writes = patrons::rename(db, user).await?;
        rename(&mut shown.donations, user);
        // Also if the name is shown nowhere yet: an order that is being counted under the former name then conflicts.
        writes.push(shown.write()?);
        send(db, writes).await?;
        Ok(())
    })
    .await
}
