//! The life of a command (rules.md, "Delivery"): one function, [`decide`], takes what is known of it, a [`Word`] and the
//! time, and returns what is known then, the response, and where the command is found in its server's queue. Nothing else
//! knows what the states mean.

pub mod frozen;
pub mod lasting;

pub mod shown;
#[cfg(test)]
mod tests;

use crate::model::{CommandState, Delivery, Entitlement};
use CommandState::{
    Cancelled, Delivered, Done, Executed, Kept, Ready, Recalled, Refused, Retried, Served, Stopped, Unknown, Validated,
    Waiting,
};

/// How many seconds one poll keeps what it was served.
pub const LEASE: i64 = 60;
/// How many seconds a question whether commands may run counts as one about commands that were just served.
pub const FRESH: i64 = 60;
/// After how many seconds without a word a command that may run is no longer expected to.
pub const SILENCE: i64 = 300;
/// After how many seconds the owner is told that a command waits for its player.
pub const WAITS_LONG: i64 = 3 * 86_400;
/// How often a command is served without a word.
const MOST_SERVED: u8 = 3;

/// An event in the life of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A poll that has the server's lease found it in the queue.
    Polled {
        /// Whether the poll is an agent's.
        by_agent: bool,
    },
    /// The game server threw away the response that it was last served in.
    GivenBack,
    /// The game server has run it, or keeps it for its player.
    Delivered,
    /// The game server asks whether it may run.
    Validated {
        /// Whether every known id of the call was served less than [`FRESH`] seconds ago.
        is_fresh: bool,
        /// How many ids the call has: the game server runs two in a second.
        ids: u32,
    },
    /// The game server has run it.
    Executed,
    /// An agent has begun it, and does not know whether it ran.
    Begun,
    /// The game server told an agent that it did nothing, or the agent did not send it.
    Refused,
    /// The player has joined, and the game server asked about what it keeps for the player, and not about this.
    LeftOut,
    /// The order, or the player, is no longer what it was.
    Recall(Entitlement),
    /// The sweep has looked at it, and nothing was said.
    Silence,
    /// The owner does not want it to run.
    Cancel,
    /// The owner has done it by hand.
    Done,
    /// The owner wants it to run again.
    Retry,
    /// A run of the owner's says that the game server has lost what it gave, and another command gives it.
    Lost,
}

/// The place of a command in its server's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the part that polls read, by the second in which it is due.
    Queue,
    /// Among those of its state that are neither finished nor served.
    Open(CommandState),
    /// Nowhere: nothing is expected of it.
    Gone,
}

/// The result of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub next: Delivery,
    /// Whether it is served, may run, or is done as the word says.
    pub answer: bool,
}

/// Decides about a command at `now`, seconds since 1970 UTC.
pub fn decide(before: &Delivery, word: Word, now: i64) -> Outcome {
    let found = Delivery { state: state_at(before, now), ..*before };
    match word {
        Word::Polled { by_agent } => polled(found, by_agent, now),
        Word::GivenBack => given_back(found),
        Word::Delivered => delivered(found, now),
        Word::Validated { is_fresh, ids } => validated(found, is_fresh, ids, now),
        Word::Executed => {
            let executed_at = found.executed_at.or(Some(now));
            to(Executed, Delivery { executed_at, ..found })
        }
        Word::Begun => begun(found, now),
        Word::Refused => refused(found, now),
        Word::LeftOut => left_out(found, now),
        Word::Recall(entitlement) => recall(found, entitlement),
        Word::Silence => silence(found, now),
        Word::Cancel => owners(found, Cancelled, &[Waiting, Ready, Kept, Unknown, Refused]),
        Word::Done => owners(found, Done, &[Waiting, Ready, Kept, Delivered, Validated, Unknown, Refused]),
        Word::Retry => {
            let from = [Kept, Delivered, Validated, Executed, Unknown, Refused, Recalled, Stopped, Cancelled, Done];
            owners(found, Retried, &from)
        }
        Word::Lost if can_be_lost(&found, now) => to(Retried, Delivery { lost: true, ..found }),
        Word::Lost => unchanged(found, false),
    }
}

/// The state at `now`: what waits for its time becomes ready by itself.
pub fn state_at(command: &Delivery, now: i64) -> CommandState {
    if command.state == Waiting && command.due <= now { Ready } else { command.state }
}

/// The place of a command in a state.
pub const fn place(state: CommandState) -> Place {
    match state {
        Waiting | Ready | Served => Place::Queue,
        Kept | Validated | Unknown | Refused => Place::Open(state),
        Delivered | Executed | Recalled | Stopped | Cancelled | Done | Retried => Place::Gone,
    }
}

/// Whether a call with these commands is one about commands that were just served. A game server asks such a call about
/// players who are online, and loses all of its commands if one is refused.
pub fn is_fresh<'a>(mut commands: impl Iterator<Item = &'a Delivery>, now: i64) -> bool {
    commands.all(|command| command.served_at.is_some_and(|served| now < served + FRESH))
}

/// Whether it may have run, so that it has to be taken back.
pub const fn may_have_run(command: &Delivery) -> bool {
    match command.state {
        Cancelled | Retried if command.refused_at.is_some() => false,
        Retried if command.lost => false,
        Served | Delivered | Validated | Executed | Unknown | Done | Retried => true,
        Waiting | Ready => command.served > 0,
        // One that was unknown before.
        Cancelled => {
            let is_silent = command.served > 0 && command.delivered_at.is_none();
            command.validated_at.is_some() || command.unknown_at.is_some() || is_silent
        }
        Kept | Refused | Recalled | Stopped => false,
    }
}

/// When a command ran or may have run, was kept, or was done by hand, in seconds since 1970 UTC; `None` if it was not.
pub fn given_at(command: &Delivery) -> Option<i64> {
    let known = match command.state {
        // A plugin says later that it ran.
        Executed if command.online => command.validated_at.or(command.executed_at),
        Executed => command.delivered_at.or(command.executed_at),
        Delivered | Kept | Done => command.delivered_at,
        Served | Validated | Unknown => command.served_at.max(command.validated_at).max(command.unknown_at),
        Waiting | Ready | Refused | Recalled | Stopped | Cancelled | Retried => return None,
    };
    known.or(Some(command.due))
}

/// Whether a game server can have lost what a command gave, and it does not run any more if another one gives it again. What the
/// owner did by hand is not lost.
pub fn can_be_lost(command: &Delivery, now: i64) -> bool {
    match command.state {
        Delivered | Executed => true,
        Unknown => !can_still_run(command, now),
        // A question about it may be on its way, and is answered true as long as it is fresh.
        Kept => command.served_at.is_none_or(|served| served + FRESH <= now),
        Waiting | Ready | Served | Validated | Refused | Recalled | Stopped | Cancelled | Done | Retried => false,
    }
}

/// Whether a command has waited for its player for longer than [`WAITS_LONG`].
pub fn waits_long(command: &Delivery, now: i64) -> bool {
    command.state == Kept && command.delivered_at.is_some_and(|delivered| delivered + WAITS_LONG < now)
}

/// Whether the game server keeps a command since a poll of before: a question with it is that of a player who joins, and one
/// without it has left it out. The rows of the last poll may still be on their way to its disk.
pub fn is_on_disk(command: &Delivery, now: i64) -> bool {
    command.state == Kept && !command.by_agent && command.delivered_at.is_some_and(|delivered| delivered + FRESH <= now)
}

/// Whether a command that was recalled, or has to be taken back, can still run after `now`.
pub fn can_still_run(command: &Delivery, now: i64) -> bool {
    let quiet = |seconds: i64| {
        let served = command.served_at.map_or(i64::MIN, |served| served + seconds);
        served.max(command.silent_at.unwrap_or(i64::MIN)) <= now
    };
    match command.state {
        Waiting | Ready | Served | Kept | Validated => true,
        Delivered | Executed | Refused | Done => false,
        Unknown | Retried | Cancelled => !quiet(SILENCE),
        // The question about it may be on its way, and is answered true as long as it is fresh.
        Recalled | Stopped => !quiet(FRESH),
    }
}

/// A command after a restore of a backup that was made at `at` or before (seconds since 1970 UTC): only what was to become
/// ready later is sound, all else that has not ended may have run meanwhile.
pub fn restored(command: &Delivery, at: i64) -> Delivery {
    match state_at(command, at) {
        Ready | Served | Kept | Validated => Delivery { state: Unknown, served: command.served.max(1), ..*command },
        _ => *command,
    }
}

fn to(state: CommandState, found: Delivery) -> Outcome {
    Outcome { next: Delivery { state, ..found }, answer: true }
}

const fn unchanged(found: Delivery, answer: bool) -> Outcome {
    Outcome { next: found, answer }
}

/// A command that has not run and will not.
fn withdrawn(found: Delivery) -> Outcome {
    let state = if found.entitlement == Entitlement::Stopped { Stopped } else { Recalled };
    Outcome { answer: false, ..to(state, found) }
}

/// Whether what a command gives is over at `now`, seconds since 1970 UTC.
pub fn has_ended(command: &Delivery, now: i64) -> bool {
    command.ends_at.is_some_and(|end| end <= now)
}

const fn most_served(command: &Delivery) -> u8 {
    if command.once { 1 } else { MOST_SERVED }
}

fn polled(found: Delivery, by_agent: bool, now: i64) -> Outcome {
    let is_leased = found.state == Served && found.served_at.is_some_and(|served| now < served + LEASE);
    if is_leased || !matches!(found.state, Ready | Served) {
        return unchanged(found, false);
    }
    let may_run = found.entitlement == Entitlement::Good && !has_ended(&found, now);
    if may_run && found.served < most_served(&found) {
        let (served, served_at) = (found.served + 1, Some(now));
        return to(Served, Delivery { served, served_at, by_agent, ..found });
    }
    unserved(found)
}

/// A command that is not served any more. One that was served without a word may have run.
fn unserved(found: Delivery) -> Outcome {
    if found.served > 0 { Outcome { answer: false, ..to(Unknown, found) } } else { withdrawn(found) }
}

fn given_back(found: Delivery) -> Outcome {
    if found.state != Served {
        return unchanged(found, false);
    }
    let served = found.served.saturating_sub(1);
    let found = Delivery { served, served_at: found.served_at.filter(|_| served > 0), ..found };
    if found.entitlement == Entitlement::Good { to(Ready, found) } else { unserved(found) }
}

fn delivered(found: Delivery, now: i64) -> Outcome {
    let found = Delivery { delivered_at: found.delivered_at.or(Some(now)), ..found };
    match found.state {
        _ if found.unknown_at.is_some() => unchanged(found, true),
        Waiting | Ready | Served | Unknown | Recalled | Stopped | Cancelled if !found.online => to(Delivered, found),
        // What was validated has left the disk.
        Unknown if found.validated_at.is_some() && !found.by_agent => unchanged(found, true),
        Waiting | Ready | Served | Unknown if found.entitlement == Entitlement::Good => to(Kept, found),
        Waiting | Ready | Served | Unknown => Outcome { answer: true, ..withdrawn(found) },
        // An agent says so again of what it began and has not run: the player was not there.
        Validated if found.by_agent && found.online && found.entitlement == Entitlement::Good => to(Kept, found),
        Validated if found.by_agent && found.online => Outcome { answer: true, ..withdrawn(found) },
        Recalled | Stopped | Cancelled | Kept | Delivered | Validated | Executed | Refused | Done | Retried => {
            unchanged(found, true)
        }
    }
}

fn validated(found: Delivery, is_fresh: bool, ids: u32, now: i64) -> Outcome {
    let has_ended_with_word =
        matches!(found.state, Executed | Refused | Recalled | Stopped | Cancelled | Done | Retried);
    let is_over = found.unknown_at.is_some() || has_ended_with_word;
    let is_second = found.once && found.validated_at.is_some() && !found.by_agent;
    let is_refused = is_over || is_second || found.entitlement != Entitlement::Good || has_ended(&found, now);
    // An agent loses nothing by a refusal.
    if is_refused && (!is_fresh || found.by_agent) {
        // The game server forgets it. An agent asks only about what it has not begun.
        let has_begun = found.unknown_at.is_some() || !found.by_agent;
        return match found.state {
            Kept => withdrawn(found),
            Ready | Served | Validated | Unknown if !has_begun => withdrawn(found),
            _ => unchanged(found, false),
        };
    }
    let silent_at = Some(now + SILENCE + i64::from(ids.div_ceil(2)));
    let state = if found.state == Executed { Executed } else { Validated };
    to(state, Delivery { validated_at: Some(now), silent_at, ..found })
}

fn begun(found: Delivery, now: i64) -> Outcome {
    match found.state {
        Delivered | Executed | Done | Retried => unchanged(found, true),
        _ => to(Unknown, Delivery { unknown_at: found.unknown_at.or(Some(now)), by_agent: true, ..found }),
    }
}

fn refused(found: Delivery, now: i64) -> Outcome {
    match found.state {
        Delivered | Executed | Recalled | Stopped | Cancelled | Done | Retried => unchanged(found, true),
        _ => {
            let found = Delivery { refused_at: found.refused_at.or(Some(now)), by_agent: true, ..found };
            if found.entitlement == Entitlement::Good {
                to(Refused, found)
            } else {
                Outcome { answer: true, ..withdrawn(found) }
            }
        }
    }
}

fn left_out(found: Delivery, now: i64) -> Outcome {
    if is_on_disk(&found, now) { to(Unknown, found) } else { unchanged(found, false) }
}

fn recall(found: Delivery, entitlement: Entitlement) -> Outcome {
    if found.entitlement != Entitlement::Good {
        return unchanged(found, false);
    }
    let found = Delivery { entitlement, ..found };
    match found.state {
        Waiting | Ready => unserved(found),
        Kept | Refused => withdrawn(found),
        _ => unchanged(found, false),
    }
}

fn silence(found: Delivery, now: i64) -> Outcome {
    let is_lost = match found.state {
        Validated => found.silent_at.is_none_or(|silent| silent <= now),
        Served => {
            let ends =
                found.entitlement != Entitlement::Good || found.served >= most_served(&found) || has_ended(&found, now);
            ends && found.served_at.is_none_or(|served| served + LEASE <= now)
        }
        _ => false,
    };
    if is_lost { to(Unknown, found) } else { unchanged(found, false) }
}

fn owners(found: Delivery, state: CommandState, from: &[CommandState]) -> Outcome {
    if from.contains(&found.state) { to(state, found) } else { unchanged(found, false) }
}
