//! Moving the ends of what is delivered: with the periods of a subscription, of which one that was never delivered is withdrawn, and of
//! timed items, when the owner gives back an outage, once per run for each end.

use super::commands::{Decided, moved, place_of, waits, write_all};
use super::follow::{given_ids, id};
use super::take_back::texts;
use super::{commands, deliveries, holding};
use crate::clock::Clock;
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, DeliveryStep, Entitlement, Lasting, OrderStatus, RunName,
    Subscription,
};
use crate::rules::delivery::frozen::{Expanded, when_paid};
use crate::rules::delivery::{Word, may_have_run};
use crate::rules::subscription::access_until;
use crate::shop::orders::{self, StoredOrder};
use crate::table::bulk::each;
use crate::table::codec::{decode_live, key_of, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, in_turns};
use std::collections::BTreeMap;

/// Moves the commands for the end of a subscription to the present end of access. `false` if its newest order is still being
/// delivered, so that it has to be done later. After an error the same call may be repeated.
pub(in crate::shop) async fn move_end(db: &Db, subscription: &Subscription, now: i64) -> Result<bool, StoreError> {
    let until = access_until(subscription);
    if until == subscription.scheduled {
        return Ok(true);
    }
    let Some(stored) = orders::get(db, &subscription.newest).await? else { return Ok(true) };
    match &stored.effects.delivery {
        Some(delivery) if delivery.step == DeliveryStep::Queue || delivery.moving.is_some() => {
            return Ok(!matches!(stored.order.status, OrderStatus::Pending | OrderStatus::Paid));
        }
        Some(delivery) if delivery.step == DeliveryStep::Queued => {}
        // What is taken back no longer waits for its end.
        _ => return Ok(true),
    }
    let order = &stored.order.internal_id;
    let frozen = deliveries::frozen(db, order).await?;
    let all = when_paid(&frozen, &stored.order.lines, CommandEvent::Bought);
    let texts = texts(&stored, &frozen, &all);
    for text in texts.iter().filter(|text| text.entry.line.renews) {
        let moved = in_turns(TURNS, || async {
            let writes: Vec<Write> = holding::set_end(db, text, order, until, now).await?;
            if writes.is_empty() { Ok(()) } else { send(db, writes).await }
        });
        match moved.await {
            Err(StoreError::Contended) => return Ok(false),
            moved => moved?,
        }
    }
    move_own_ends(db, &stored, &all, until, now).await
}

/// Moves the commands for the end that are of a subscription's order alone. `false` if they kept changing.
async fn move_own_ends(
    db: &Db,
    stored: &StoredOrder,
    all: &[Expanded<'_>],
    until: i64,
    now: i64,
) -> Result<bool, StoreError> {
    let Some(first) = stored.effects.delivery.as_ref().and_then(|delivery| delivery.first) else { return Ok(true) };
    let is_own = |entry: &Expanded<'_>| entry.template.on == CommandEvent::Expired && entry.line.renews;
    let own = (0..).zip(all).filter(|(_, entry)| is_own(entry));
    let delays: BTreeMap<CommandId, i64> =
        own.filter_map(|(place, entry)| Some((id(first, place).ok()?, i64::from(entry.template.delay)))).collect();
    for (id, command) in commands::read(db, delays.keys().copied()).await? {
        if command.lasting.is_none() && waits(&command, now) {
            let due = delays.get(&id).map_or(until, |delay| until.saturating_add(*delay));
            let writes = moved(&command, command.delivery.due, due)?;
            if !writes.is_empty() && !sent(db, writes).await? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Withdraws what the purchase of a subscription gives and no game server has, so that the renewal gives it. Whether there
/// was any. After an error the same call may be repeated, and returns the same.
pub(in crate::shop) async fn withdraw(db: &Db, order: &StoredOrder, now: i64) -> Result<bool, StoreError> {
    // What is moved to another player is given there.
    let delivery = order.effects.delivery.as_ref().filter(|delivery| delivery.moving.is_none());
    let Some(delivery) = delivery else { return Ok(false) };
    let found: Vec<Command> = commands::read(db, given_ids(delivery).into_iter()).await?.into_values().collect();
    let bought: Vec<Command> = found.into_iter().filter(|command| command.event == CommandEvent::Bought).collect();
    let has_any = |command: &Command| may_have_run(&command.delivery) || command.delivery.state == CommandState::Kept;
    if bought.iter().any(has_any) {
        return Ok(false);
    }
    let decided: Vec<Decided> =
        bought.into_iter().map(|command| Decided::new(command, Word::Recall(Entitlement::Superseded), now)).collect();
    let is_any = decided.iter().any(|decided| {
        let after = &decided.after.delivery;
        after.state == CommandState::Recalled && after.entitlement == Entitlement::Superseded
    });
    write_all(db, decided).await?;
    Ok(is_any)
}

/// The end of a timed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimedEnd {
    /// That of a text, by its key: all purchases that give it end together.
    Text(Key),
    /// That of one purchase, which a command of its order runs at, or is not served after.
    Command(CommandId),
}

/// The ends of timed items that a run has not moved yet. Reads every item. Those that cannot be read are left out.
pub async fn timed_ends(db: &Db, run: &RunName, now: i64) -> Result<Vec<TimedEnd>, StoreError> {
    let mut found = Vec::new();
    each(db, prefix::EXPIRY, |item| {
        let key = key_of(&item)?;
        if keys::is_held(&key)
            && noted(decode_live::<Lasting>(&key, item)).is_some_and(|mut held| held.extend(run, 0, now))
        {
            found.push(TimedEnd::Text(key));
        }
        Ok::<(), StoreError>(())
    })
    .await?;
    each(db, prefix::COMMAND, |item| {
        let key = key_of(&item)?;
        let command = noted(decode_live::<Command>(&key, item)).filter(|command| has_own_end(command, run, now));
        found.extend(command.map(|command| TimedEnd::Command(command.id)));
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(found)
}

/// Lets a timed item end so many seconds later. `false` if the run did so before, or it has ended. The same call may be repeated.
pub async fn extend_end(
    db: &Db,
    clock: &dyn Clock,
    end: &TimedEnd,
    (run, seconds): (&RunName, i64),
) -> Result<bool, StoreError> {
    in_turns(TURNS, || async {
        let now = clock.seconds();
        let writes = match end {
            TimedEnd::Text(key) => of_text(db, key, (run, seconds), now).await?,
            TimedEnd::Command(id) => of_command(db, *id, (run, seconds), now).await?,
        };
        if writes.is_empty() {
            return Ok(false);
        }
        send(db, writes).await?;
        Ok(true)
    })
    .await
}

async fn of_text(db: &Db, key: &Key, (run, seconds): (&RunName, i64), now: i64) -> Result<Vec<Write>, StoreError> {
    let Some(read) = deliveries::lasting(db, [key.clone()].into()).await?.remove(key) else { return Ok(Vec::new()) };
    let mut next = read.clone();
    if !next.extend(run, seconds, now) {
        return Ok(Vec::new());
    }
    let mut writes: Vec<Write> = deliveries::put_lasting(key, Some(&read), &next)?.into_iter().collect();
    let command = match read.command {
        Some(id) => commands::get(db, id).await?.filter(|command| waits(command, now)),
        None => None,
    };
    if let (Some(command), Some(from), Some(to)) = (command, read.end(), next.end()) {
        writes.extend(moved(&command, from, to)?);
    }
    Ok(writes)
}

/// Whether a command has an end that is of its order alone.
fn has_own_end(command: &Command, run: &RunName, now: i64) -> bool {
    let is_end = command.event == CommandEvent::Expired && waits(command, now);
    let has_end = is_end || command.delivery.ends_at.is_some_and(|end| now < end);
    has_end && command.lasting.is_none() && !command.runs.contains(run)
}

async fn of_command(
    db: &Db,
    id: CommandId,
    (run, seconds): (&RunName, i64),
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let found = commands::get(db, id).await?.filter(|command| has_own_end(command, run, now));
    let Some(before) = found else { return Ok(Vec::new()) };
    let stored = orders::get(db, &before.order).await?;
    // What a subscription gives ends with its access.
    if stored.is_none_or(|stored| stored.effects.subscription.is_some()) {
        return Ok(Vec::new());
    }
    let mut next = before.clone();
    next.runs.push(run.clone());
    next.delivery.ends_at = before.delivery.ends_at.map(|end| end.saturating_add(seconds));
    if before.event == CommandEvent::Expired {
        next.delivery.due = before.delivery.due.saturating_add(seconds);
    }
    commands::change(&before, &next, place_of(&before), place_of(&next).as_ref())
}
