//! Timed items that last longer: the owner gives back an outage, once per run for each end.

use super::write::{moved, place_of, waits};
use super::{commands, deliveries};
use crate::clock::Clock;
use crate::model::{Command, CommandEvent, CommandId, Lasting, RunName};
use crate::shop::orders;
use crate::table::bulk::each;
use crate::table::codec::{decode_live, key_of, noted};
use crate::table::keys::{self, Key, prefix};
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, TURNS, in_turns};

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
