//! A game server's words about commands that it was served.

use super::commands::{Decided, WRITES_AT_ONCE, in_transactions, write_all};
use super::servers::{Lease, ServerKey};
use super::{CallError, commands, holding, known, measures};
use crate::clock::Clock;
use crate::model::{Command, CommandId, CommandState};
use crate::rules::delivery::{FRESH, Word, is_fresh, is_on_disk};
use crate::table::transaction::{Write, is_written, sent};
use crate::table::{Db, StoreError, Turns, keys};
use crate::telemetry;
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, BTreeSet};

/// How often words about the same commands are read again: two of them may come together.
const WORDS_TURNS: u32 = 6;
/// The most commands that a game server keeps of which one is noted as lost.
const MOST_KEPT: usize = 10_000;

/// The answer about an id, in the order of the call, each id once.
pub type Answer = (CommandId, bool);

/// A game server's report of a command that it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub id: CommandId,
    pub outcome: ReportedOutcome,
    /// The game server's answer; empty if it is not known.
    pub output: String,
}

/// The outcome of a command that an agent began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedOutcome {
    Ran,
    Unknown,
    /// It did nothing, as the game server says, or was not sent.
    Refused,
}

impl Report {
    /// The report about a command that ran, without its output.
    pub const fn done(id: CommandId) -> Self {
        Self { id, outcome: ReportedOutcome::Ran, output: String::new() }
    }
}

/// The game server has the commands: it ran them, or keeps them for their players. After an error the same call may be
/// repeated.
pub async fn delivered(
    db: &Db,
    clock: &dyn Clock,
    key: &ServerKey,
    ids: &[CommandId],
) -> Result<Vec<Answer>, CallError> {
    let call = Call::read(db, key, ids).await?;
    let lease = call.lease.clone();
    let answers = call.hear(db, clock, |command, now| Decided::new(command, Word::Delivered, now)).await?;
    if !lease.ids.is_empty() && !lease.over && lease.ids.iter().all(|id| ids.contains(id)) {
        let end: Write = lease.end(key.server());
        sent(db, vec![end]).await?;
    }
    Ok(answers)
}

/// The game server ran the commands, or began them. Of several reports about one, the first counts.
pub async fn executed(
    db: &Db,
    clock: &dyn Clock,
    key: &ServerKey,
    reports: &[Report],
) -> Result<Vec<Answer>, CallError> {
    let ids: Vec<CommandId> = reports.iter().map(|report| report.id).collect();
    let mut by_id = BTreeMap::new();
    for report in reports {
        by_id.entry(report.id).or_insert(report);
    }
    let decide = |command: Command, now| {
        let report = by_id.get(&command.id);
        let word = match report.map_or(ReportedOutcome::Unknown, |report| report.outcome) {
            ReportedOutcome::Ran => Word::Executed,
            ReportedOutcome::Unknown => Word::Begun,
            ReportedOutcome::Refused => Word::Refused,
        };
        Decided::new(command, word, now).with_output(report.map_or("", |report| &report.output))
    };
    Call::read(db, key, &ids).await?.hear(db, clock, decide).await
}

/// The game server asks which commands may run. It runs those that are answered `true`, and forgets the others. Ids that
/// the server does not have are answered `true`: it would run them also if they were not answered. Without a response
/// the game server asks again, or loses them.
pub async fn validated(
    db: &Db,
    clock: &dyn Clock,
    key: &ServerKey,
    ids: &[CommandId],
) -> Result<Vec<Answer>, CallError> {
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let now = clock.seconds();
    let call = Call::read(db, key, ids).await?;
    let is_fresh = is_fresh(call.found.values().map(|command| &command.delivery), now);
    if !is_fresh {
        // Before the answer: a game server that gets none asks again at the next join.
        left_out(db, &call, now).await?;
    }
    let word = Word::Validated { is_fresh, ids: count };
    let call = Call { asks: true, ..call };
    call.hear(db, clock, |command, now| Decided::new(command, word, now)).await
}

/// Notes what the game server has lost: a player who joins is asked about with everything that it keeps for the player.
async fn left_out(db: &Db, call: &Call, now: i64) -> Result<(), StoreError> {
    let on_disk = call.found.values().filter(|command| is_on_disk(&command.delivery, now));
    let players: BTreeSet<String> = on_disk.map(|command| command.player.to_lowercase()).collect();
    if players.is_empty() {
        return Ok(());
    }
    let kept = commands::open(db, call.key.server(), CommandState::Kept, now - FRESH, MOST_KEPT).await?;
    let is_left_out =
        |command: &Command| players.contains(&command.player.to_lowercase()) && !call.ids.contains(&command.id);
    let ids: Vec<CommandId> =
        kept.into_iter().map(|queued| queued.command).filter(is_left_out).map(|command| command.id).collect();
    let found = commands::read_each(db, ids.into_iter()).await?.0;
    let decided = found.into_values().map(|command| Decided::new(command, Word::LeftOut, now)).collect();
    // If it conflicts, another word has come.
    is_written(write_all(db, decided).await)?;
    Ok(())
}

/// A call about commands.
struct Call {
    ids: Vec<CommandId>,
    found: BTreeMap<CommandId, Command>,
    key: ServerKey,
    lease: Lease,
    /// Whether the server asks which commands may run: those of an item that has expired may not.
    asks: bool,
}

impl Call {
    async fn read(db: &Db, key: &ServerKey, ids: &[CommandId]) -> Result<Self, CallError> {
        let mut seen = BTreeSet::new();
        let ids: Vec<CommandId> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
        // The key first: thousands of commands are not read for a caller without one.
        let mut rows = db.batch_get(vec![keys::server_key(key.hash()), keys::lease(key.server())]).await?;
        known(&mut rows, key)?;
        let lease = Lease::take(&mut rows, key.server())?;
        let found = of_server(commands::read_each(db, ids.iter().copied()).await?.0, key);
        Ok(Self { ids, found, key: key.clone(), lease, asks: false })
    }

    /// Decides about each command, writes that, and answers what was written. What has changed meanwhile is read again.
    async fn hear(
        self,
        db: &Db,
        clock: &dyn Clock,
        decide: impl Fn(Command, i64) -> Decided,
    ) -> Result<Vec<Answer>, CallError> {
        let Self { ids, mut found, key, asks, .. } = self;
        let (mut answers, mut turns) = (BTreeMap::new(), Turns::of(WORDS_TURNS));
        while turns.next().await {
            if asks {
                holding::refresh(db, found.values_mut()).await?;
            }
            let mut parts = Vec::new();
            for (id, command) in std::mem::take(&mut found) {
                let decided = decide(command, clock.seconds());
                if decided.has_changed() {
                    let took = measures::took(&decided, clock.millis());
                    parts.push(((id, decided.answer, took), decided.writes()?));
                } else {
                    answers.insert(id, decided.answer);
                }
            }
            let transactions =
                in_transactions(parts, WRITES_AT_ONCE).into_iter().enumerate().map(|(part, (said, mut writes))| {
                    let took = said.iter().filter_map(|(_, _, took)| took.clone());
                    writes.extend(measures::count(key.server(), part, took, clock.seconds()));
                    async { Ok::<_, StoreError>((said, sent(db, writes).await?)) }
                });
            let mut again = Vec::new();
            for (said, is_written) in try_join_all(transactions).await? {
                if is_written {
                    answers.extend(said.into_iter().map(|(id, answer, _)| (id, answer)));
                } else {
                    telemetry::conflict();
                    again.extend(said.into_iter().map(|(id, ..)| id));
                }
            }
            if again.is_empty() {
                let answer = |id: CommandId| (id, answers.get(&id).copied().unwrap_or(true));
                return Ok(ids.into_iter().map(answer).collect());
            }
            found = of_server(commands::read_each(db, again.into_iter()).await?.0, &key);
        }
        Err(StoreError::Contended.into())
    }
}

/// The commands that are the server's own. Others are unknown to it.
fn of_server(mut found: BTreeMap<CommandId, Command>, key: &ServerKey) -> BTreeMap<CommandId, Command> {
    found.retain(|_, command| command.server == key.server());
    found
}
