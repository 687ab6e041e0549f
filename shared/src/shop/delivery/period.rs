//! The periods of a subscription: moving the end of what it gives, and withdrawing what was never delivered.

use super::follow::{given_ids, id};
use super::holding;
use super::texts::texts;
use super::write::{Decided, moved, waits, write_all};
use super::{commands, deliveries};
use crate::model::{
    Command, CommandEvent, CommandId, CommandState, DeliveryStep, Entitlement, OrderStatus, Subscription,
};
use crate::rules::delivery::frozen::{Expanded, when_paid};
use crate::rules::delivery::{Word, may_have_run};
use crate::rules::subscription::access_until;
use crate::shop::orders::{self, StoredOrder};
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
