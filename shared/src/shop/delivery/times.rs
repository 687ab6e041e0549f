//! How long commands took from the payment to the word that they ran: counted in the transaction with that word (rules.md,
//! "From paid to the game").

use super::write::Decided;
use crate::model::{CommandState, ServerId};
use crate::rules::delivery_times::{DeliveryTimes, step_of};
use crate::table::codec::noted;
use crate::table::keys::{self, TTL};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};
use serde_json::Value;
use std::collections::BTreeMap;

/// How long the counts of an hour are kept, in seconds.
const COUNTS_KEPT: i64 = 40 * 86_400;
const HOUR: i64 = 3_600;
/// How many parts an hour has: the transactions of a call run at once, and each counts in a part of its own.
const PARTS: usize = 16;
/// The most rows that are read at once: those of two months.
const MOST_ROWS: usize = 24 * 62 * PARTS;
/// The beginnings of the names of counts: of commands that run by themselves, and of those that wait for their player or have a delay.
const OWN: &str = "own";
const WAITED: &str = "waited";

/// The name of the count of a command that runs by a game server's word at `now` (milliseconds since 1970 UTC), with the end of
/// its step; `None` if it ran before, or is not one that follows from a payment at once.
pub(super) fn took(decided: &Decided, now: u64) -> Option<String> {
    use CommandState::{Delivered, Done, Executed, Retried};
    let (before, after) = (&decided.before.delivery, &decided.after.delivery);
    let runs = matches!(after.state, Delivered | Executed);
    let ran = matches!(before.state, Delivered | Executed | Done | Retried);
    let paid_at = decided.after.paid_at.filter(|_| runs && !ran)?;
    let paid = u64::try_from(paid_at).ok()?.saturating_mul(1_000);
    let kind = if before.online || decided.after.delayed { WAITED } else { OWN };
    Some(format!("{kind}{}", step_of(now.saturating_sub(paid))))
}

/// The write that counts what ran with the transaction number `part` of a call at `now`, seconds since 1970 UTC; `None` if
/// nothing did.
pub(super) fn count(server: ServerId, part: usize, took: impl Iterator<Item = String>, now: i64) -> Option<Write> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    took.for_each(|name| *counts.entry(name).or_default() += 1);
    if counts.is_empty() {
        return None;
    }
    let hour = now - now.rem_euclid(HOUR);
    let adds: Vec<String> = counts.keys().map(|name| format!("{name} :{name}")).collect();
    let key = keys::delivery_times(server, hour, part % PARTS);
    let write = Write::update(key, format!("ADD {} SET {TTL} = :ends", adds.join(", ")));
    let write = write.number(":ends", hour + COUNTS_KEPT);
    Some(counts.into_iter().fold(write, |write, (name, count)| write.number(format!(":{name}"), count)))
}

/// The times of a game server's commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerTimes {
    /// Of commands that run by themselves.
    pub own: DeliveryTimes,
    /// Of those that waited for their player, or had a delay: the wait is not the server's.
    pub waited: DeliveryTimes,
}

/// The times of what ran on a server from the hour of `since` on and before `until`, both seconds since 1970 UTC. One query.
pub async fn times(db: &Db, server: ServerId, since: i64, until: i64) -> Result<ServerTimes, StoreError> {
    let mut times = ServerTimes::default();
    let (first, last) = keys::delivery_times_between(since - since.rem_euclid(HOUR), until - 1);
    let partition = keys::lease(server).pk;
    let rows = db
        .query_first(&partition, (&first, &last), MOST_ROWS, |row| noted(row.live_found::<BTreeMap<String, Value>>()));
    for (name, count) in rows.await?.into_iter().flatten() {
        let own = name.strip_prefix(OWN).map(|step| (step, &mut times.own));
        let of = own.or_else(|| name.strip_prefix(WAITED).map(|step| (step, &mut times.waited)));
        if let Some(((step, of), count)) = of.zip(count.as_u64())
            && let Ok(step) = step.parse()
        {
            of.add(step, count);
        }
    }
    Ok(times)
}
