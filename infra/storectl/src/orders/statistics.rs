//! What follows from an order in a second transaction: goals, the month's top, recent donations, patrons. The mark
//! on the order, whether the statistics count it, is part of that transaction, so that it happens once.

use super::effects::user_is_there;
use super::inputs::active_version;
use super::shown::{Shown, donation, month_sums, newest, top_of, users};
use super::stored::{Stored, show};
use super::tally::{Step, apply_to_goals, donor, rank, ranking};
use super::transact::{Change, Sent, Write, send};
use super::verdict::Role;
use super::{patrons, pause_before};
use aws_sdk_dynamodb::types::AttributeValue;
use publish::live::month;
use shared::model::{Donations, InternalId, Money, MonthSum, PaidOrder, RecentDonation, Settings, User};
use shared::store::codec::{decode_live, decode_published, encode_live};
use shared::store::keys::{self, Key, TTL};
use shared::store::{Db, Row, StoreError};

/// How often a colliding transaction is tried again: all orders meet on one item here, and each round one of them
/// gets through. Whoever gives up leaves a mark behind and no harm.
const ROUNDS: u32 = 8;
/// How long a month's sum is kept after its first order, in seconds: only the newest month is ever shown.
const KEPT_SECONDS: i64 = 100 * 86_400;

/// Whether the statistics have followed an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// They agree with its status.
    Current,
    /// They do not yet; [`finish_statistics`] lets them follow.
    Behind,
}

/// What finishing came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// How many orders the statistics followed now.
    pub finished: usize,
    /// Orders that others kept colliding with; the next run has them.
    pub left: Vec<InternalId>,
    /// Whether the compiled patrons were not what their rows say, and are now.
    pub patrons_repaired: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    InStep,
    Followed,
    Collided,
}

/// Lets the statistics follow an order, as far as that goes: the order itself stands already.
pub(super) async fn follow(db: &Db, id: &InternalId) -> Statistics {
    match settle(db, id).await {
        Ok(Settled::InStep | Settled::Followed) => Statistics::Current,
        Ok(Settled::Collided) | Err(_) => Statistics::Behind,
    }
}

/// Finds every order that the statistics are behind of, and lets them follow; compiles the patrons again if they are
/// not what their rows say. Reads every item of the table.
///
/// # Errors
/// [`StoreError`] where the database is away; what was finished before stays so.
pub async fn finish_statistics(db: &Db) -> Result<Finished, StoreError> {
    let (mut done, mut start) = (Finished::default(), None);
    loop {
        // Nothing but an order carries the mark.
        let request = db.client().scan().table_name(db.table()).consistent_read(true);
        let request = request.filter_expression("attribute_exists(counted)").set_exclusive_start_key(start);
        let page = Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk("Scan", error))?;
        for item in page.items.unwrap_or_default() {
            let stored = Stored::decode(&shared::store::codec::key_of(&item)?, Row::from(item))?;
            if !stored.statistics_due() {
                continue;
            }
            let id = stored.order.internal_id;
            match settle(db, &id).await? {
                Settled::InStep => {}
                Settled::Followed => done.finished += 1,
                Settled::Collided => done.left.push(id),
            }
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            done.patrons_repaired = patrons::repair(db).await?;
            return Ok(done);
        }
    }
}

async fn settle(db: &Db, id: &InternalId) -> Result<Settled, StoreError> {
    for round in 0..ROUNDS {
        pause_before(round).await;
        let shown = Shown::read(db).await?;
        let Some(stored) = show(db, id).await?.filter(Stored::statistics_due) else { return Ok(Settled::InStep) };
        let writes = plan(db, shown, &stored).await?;
        if matches!(send(db, writes).await?, Sent::Written) {
            return Ok(Settled::Followed);
        }
    }
    Ok(Settled::Collided)
}

/// Everything that one order changes.
async fn plan(db: &Db, mut shown: Shown, stored: &Stored) -> Result<Vec<Write>, StoreError> {
    let step = if stored.should_count() { Step::Comes } else { Step::Leaves };
    let goals = match step {
        Step::Comes => published_goals(db).await?,
        // It leaves the goals that it came to, whatever is published by now.
        Step::Leaves => {
            let all = || shown.donations.goals.keys().cloned().collect();
            stored.trace.goals.clone().unwrap_or_else(all)
        }
    };
    apply_to_goals(&mut shown.donations.goals, &goals, step, stored.total());
    let mut writes = owners_writes(db, &mut shown.donations, stored, step).await?;
    writes.push(mark(stored, step, goals));
    writes.push(shown.write()?);
    Ok(writes)
}

async fn published_goals(db: &Db) -> Result<Vec<String>, StoreError> {
    let key = keys::settings(&active_version(db).await?.version);
    let Some(item) = db.get(&key, true).await? else { return Ok(Vec::new()) };
    let (settings, _): (Settings, usize) = decode_published(&key, &item)?;
    Ok(settings.goals.iter().map(|goal| goal.id.to_string()).collect())
}

/// The mark on the order, written only if order and mark are as they were read.
fn mark(stored: &Stored, step: Step, goals: Vec<String>) -> Write {
    let (comes, expression) = match step {
        Step::Comes => (true, "SET counted = :now, #goals = :goals"),
        Step::Leaves => (false, "SET counted = :now REMOVE #goals"),
    };
    let write = Write::new(Role::Basis, stored.key(), Change::Update(expression.to_owned()))
        .only_if("#status = :status AND counted = :before")
        .name("#status", "status")
        .name("#goals", "goals")
        .value(":status", AttributeValue::S(stored.order.status.as_str().to_owned()))
        .value(":before", AttributeValue::Bool(!comes))
        .value(":now", AttributeValue::Bool(comes));
    if !comes {
        return write;
    }
    write.value(":goals", AttributeValue::L(goals.into_iter().map(AttributeValue::S).collect()))
}

/// What an order changes for its owner. A user who is gone stays forgotten.
async fn owners_writes(
    db: &Db,
    donations: &mut Donations,
    stored: &Stored,
    step: Step,
) -> Result<Vec<Write>, StoreError> {
    let order = &stored.order;
    let Some(id) = order.owner else { return Ok(Vec::new()) };
    let (key, row) = paid_order(stored, id);
    let user = users(db, std::iter::once(id)).await?.remove(&id);
    let mut writes = Vec::new();
    if step == Step::Leaves {
        writes.push(Write::new(Role::Basis, key.clone(), Change::Delete));
    }
    let Some(user) = user else { return Ok(writes) };
    writes.push(user_is_there(id));
    if step == Step::Comes {
        writes.push(Write::new(Role::Basis, key.clone(), Change::Put(encode_live(&key, &row)?)));
    }
    let comes = (step == Step::Comes).then(|| (key, donation(&row, &user)));
    donations.recent = recent(db, &donations.recent, &order.internal_id, comes).await?;
    writes.extend(patrons::follow(db, &user, step, stored.total()).await?);
    writes.extend(month_write(db, donations, stored, &user, step).await?);
    Ok(writes)
}

fn paid_order(stored: &Stored, user: shared::model::UserId) -> (Key, PaidOrder) {
    let order = &stored.order;
    let row = PaidOrder {
        order: order.internal_id.clone(),
        user,
        amount: order.price,
        currency: order.currency.clone(),
        at: order.created_at,
    };
    (keys::paid_order(order.created_at, order.id), row)
}

/// The recent donations once an order has come or left.
async fn recent(
    db: &Db,
    known: &[RecentDonation],
    changed: &InternalId,
    comes: Option<(Key, RecentDonation)>,
) -> Result<Vec<RecentDonation>, StoreError> {
    let mut all = newest(db, known, |row| row.order == *changed).await?;
    all.extend(comes);
    all.sort_by(|(one, _), (other, _)| other.cmp(one));
    all.truncate(Donations::RECENT);
    Ok(all.into_iter().map(|(_, donation)| donation).collect())
}

/// The owner's sum of the month, and the month's top. Months before the newest are not shown and not kept.
async fn month_write(
    db: &Db,
    donations: &mut Donations,
    stored: &Stored,
    user: &User,
    step: Step,
) -> Result<Option<Write>, StoreError> {
    let of = month(stored.order.created_at);
    if of > donations.month && step == Step::Comes {
        (donations.month, donations.top) = (of.clone(), Vec::new());
    }
    if of != donations.month {
        return Ok(None);
    }
    let key = keys::month_sum(&of, user.id);
    let before: Option<MonthSum> = db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()?;
    let amount = step.apply(before.map_or(Money::ZERO, |sum| sum.amount), stored.total());
    let changed = MonthSum { user: user.id, amount };
    if !rank(&mut donations.top, donor(user, amount)) {
        donations.top = top_of(db, &ranking(month_sums(db, &of).await?, changed)).await?;
    }
    if amount == Money::ZERO {
        return Ok(Some(Write::new(Role::Basis, key, Change::Delete)));
    }
    let mut item = encode_live(&key, &changed)?;
    let ends = stored.order.created_at.saturating_add(KEPT_SECONDS);
    item.insert(TTL.to_owned(), AttributeValue::N(ends.to_string()));
    Ok(Some(Write::new(Role::Basis, key, Change::Put(item))))
}
