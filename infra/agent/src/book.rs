//! The commands that the agent knows, and the outcome of each. It is made only of the journal's records: nothing else has to
//! survive a restart.

use crate::players::Online;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// For how long a command may run after the store served it or said that it may: after that the store is asked.
pub const FRESH: Duration = Duration::from_mins(1);
/// How many seconds the ids of commands that are over are kept.
const IDS_KEPT: i64 = 30 * 24 * 60 * 60;

/// A command as the store serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub id: u32,
    pub player: String,
    pub text: String,
    /// Whether it runs only while its player is on the server.
    pub online: bool,
    pub order: String,
    /// The buyer's id on the game server, if the store compares ids and not names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player_id: Option<String>,
    /// The older command that the owner sent again as this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<u32>,
    /// How often the game server responded that there is no such player, although its list had the player.
    #[serde(default, skip_serializing_if = "is_none")]
    pub missed: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_none(count: &u8) -> bool {
    *count == 0
}

/// The outcome of a command that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The game server responded.
    Done,
    /// It may have run or not.
    Unknown,
    /// It did nothing, as the game server says, or was not sent.
    Refused,
}

/// An outcome as an agent and a store of before know it. What was refused is unknown for them, so that the owner decides about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    Done,
    Unknown,
}

impl Outcome {
    /// The outcome as it is written down and reported, and whether it was refused.
    #[must_use]
    pub const fn written(self) -> (Known, bool) {
        match self {
            Self::Done => (Known::Done, false),
            Self::Unknown => (Known::Unknown, false),
            Self::Refused => (Known::Unknown, true),
        }
    }

    #[must_use]
    pub const fn of(known: Known, is_refused: bool) -> Self {
        match known {
            _ if is_refused => Self::Refused,
            Known::Done => Self::Done,
            Known::Unknown => Self::Unknown,
        }
    }
}

/// The store and the server whose commands a journal has: another one's may have the same ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The store's address; of one on this machine without the port, which may be another at each start.
    pub store: String,
    /// The server's id.
    pub server: String,
}

/// Something that happened; the journal is a list of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The agent's own id.
    Agent(String),
    /// Whose commands these are, from now on under this address.
    Source(Source),
    /// The store served it; or, after it was begun, there was no such player, and it waits again.
    Served(Row),
    /// The store was notified that these are kept for their players.
    Delivered(Vec<u32>),
    /// The store said that these must not run.
    Recalled(Vec<u32>),
    /// It is about to be sent to the game server.
    Begun(u32),
    Ended {
        id: u32,
        state: Known,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        output: String,
    },
    /// The outcomes of these were reported to the store.
    Reported(Vec<u32>),
}

#[derive(Debug)]
enum Command {
    Waiting(Box<Waiting>),
    Begun,
    Ended {
        state: Outcome,
        output: Box<str>,
    },
    /// Nothing is left to do; `None` if it was recalled.
    Over {
        state: Option<Outcome>,
        at: i64,
    },
}

#[derive(Debug)]
struct Waiting {
    row: Row,
    /// Commands run in the order in which they were served.
    place: u64,
    is_delivered: bool,
    /// Until when it may run without a question, on the clock that never goes back.
    fresh: Option<Duration>,
}

/// A command that can run now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub id: u32,
    pub online: bool,
    place: u64,
}

/// How many commands there are in each state.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub waiting: usize,
    /// Those of the waiting ones that wait for their player.
    pub for_players: usize,
    pub to_report: usize,
    pub over: usize,
}

#[derive(Debug, Default)]
pub struct Book {
    commands: BTreeMap<u32, Command>,
    agent: Option<String>,
    source: Option<Source>,
    served: u64,
}

impl Book {
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    pub const fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Whether it knows no command.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn apply(&mut self, record: &Record, at: i64) {
        match record {
            Record::Agent(id) => self.agent = Some(id.clone()),
            Record::Source(source) => self.source = Some(source.clone()),
            Record::Served(row) => {
                self.served += 1;
                let waiting = Waiting { row: row.clone(), place: self.served, is_delivered: false, fresh: None };
                let waiting = Command::Waiting(Box::new(waiting));
                if row.missed > 0 {
                    self.commands.insert(row.id, waiting);
                } else {
                    self.commands.entry(row.id).or_insert(waiting);
                }
            }
            Record::Delivered(ids) => ids.iter().for_each(|id| {
                if let Some(waiting) = self.waiting_mut(*id) {
                    (waiting.is_delivered, waiting.fresh) = (true, None);
                }
            }),
            Record::Begun(id) => _ = self.commands.insert(*id, Command::Begun),
            Record::Ended { id, state, refused, output } => {
                let (state, output) = (Outcome::of(*state, *refused), output.as_str().into());
                self.commands.insert(*id, Command::Ended { state, output });
            }
            Record::Recalled(ids) | Record::Reported(ids) => self.close(ids, at),
        }
    }

    fn close(&mut self, ids: &[u32], at: i64) {
        for id in ids {
            if let Some(command) = self.commands.get_mut(id) {
                let state = if let Command::Ended { state, .. } = command { Some(*state) } else { None };
                *command = Command::Over { state, at };
            }
        }
    }

    fn waiting_mut(&mut self, id: u32) -> Option<&mut Waiting> {
        match self.commands.get_mut(&id) {
            Some(Command::Waiting(waiting)) => Some(waiting),
            _ => None,
        }
    }

    fn all_waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.commands.values().filter_map(|command| match command {
            Command::Waiting(waiting) => Some(waiting.as_ref()),
            _ => None,
        })
    }

    /// Notes that a row was served at `elapsed`. Returns whether it is new; then it has to be recorded first.
    pub fn is_new(&mut self, id: u32, elapsed: Duration) -> bool {
        match self.commands.get_mut(&id) {
            None => return true,
            Some(Command::Waiting(waiting)) => {
                (waiting.is_delivered, waiting.fresh) = (false, Some(elapsed + FRESH));
            }
            // The store lost the report: it is sent again.
            Some(command @ Command::Over { state: Some(_), .. }) => {
                if let Command::Over { state: Some(state), .. } = *command {
                    *command = Command::Ended { state, output: "".into() };
                }
            }
            Some(Command::Begun | Command::Ended { .. }) => {}
            Some(Command::Over { state: None, .. }) => {
                tracing::warn!(id, "a recalled command was served again: it does not run");
            }
        }
        false
    }

    /// Notes that these may run without a question for some time.
    pub fn refresh(&mut self, ids: &[u32], elapsed: Duration) {
        for id in ids {
            if let Some(waiting) = self.waiting_mut(*id) {
                waiting.fresh = Some(elapsed + FRESH);
            }
        }
    }

    /// Notes that everything that waits has to be asked about.
    pub fn age(&mut self) {
        for command in self.commands.values_mut() {
            if let Command::Waiting(waiting) = command {
                waiting.fresh = None;
            }
        }
    }

    pub fn is_fresh(&self, id: u32, elapsed: Duration) -> bool {
        match self.commands.get(&id) {
            Some(Command::Waiting(waiting)) => waiting.fresh.is_some_and(|until| elapsed < until),
            _ => false,
        }
    }

    pub fn row(&self, id: u32) -> Option<&Row> {
        match self.commands.get(&id) {
            Some(Command::Waiting(waiting)) => Some(&waiting.row),
            _ => None,
        }
    }

    /// The commands that wait, by their ids.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.all_waiting().map(|waiting| &waiting.row)
    }

    /// The commands that can run now, oldest first: those that need no player, then those for players who are online.
    pub fn due(&self, online: &Online) -> Vec<Due> {
        let is_there = |row: &Row| !row.online || online.has(&row.player, row.player_id.as_deref());
        let due = self.all_waiting().filter(|waiting| is_there(&waiting.row));
        let mut due: Vec<Due> =
            due.map(|Waiting { row, place, .. }| Due { id: row.id, online: row.online, place: *place }).collect();
        due.sort_unstable_by_key(|due| (due.online, due.place));
        due
    }

    /// Commands for players who are away, or were not there for the game server, if the store was not notified yet that they
    /// are kept.
    pub fn undelivered(&self, online: &Online) -> Vec<u32> {
        let is_away = |row: &Row| row.online && (row.missed > 0 || !online.has(&row.player, row.player_id.as_deref()));
        let kept = self.all_waiting().filter(|waiting| !waiting.is_delivered && is_away(&waiting.row));
        kept.map(|waiting| waiting.row.id).collect()
    }

    /// Commands whose outcome was not reported to the store yet.
    pub fn unreported(&self) -> impl Iterator<Item = (u32, Outcome, &str)> {
        self.commands.iter().filter_map(|(id, command)| match command {
            Command::Ended { state, output } => Some((*id, *state, output.as_ref())),
            _ => None,
        })
    }

    /// Commands that were begun and not ended: after a restart it is not known whether they ran.
    pub fn begun(&self) -> Vec<u32> {
        let begun = self.commands.iter().filter(|(_, command)| matches!(command, Command::Begun));
        begun.map(|(id, _)| *id).collect()
    }

    /// The ids that can be forgotten. A clock that was set back keeps them.
    pub fn old(&self, now: i64) -> BTreeSet<u32> {
        let old = self
            .commands
            .iter()
            .filter(|(_, command)| matches!(command, Command::Over { at, .. } if at + IDS_KEPT < now));
        old.map(|(id, _)| *id).collect()
    }

    pub fn forget(&mut self, ids: &BTreeSet<u32>) {
        self.commands.retain(|id, _| !ids.contains(id));
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for command in self.commands.values() {
            match command {
                Command::Waiting(waiting) => {
                    counts.waiting += 1;
                    counts.for_players += usize::from(waiting.row.online);
                }
                Command::Begun | Command::Ended { .. } => counts.to_report += 1,
                Command::Over { .. } => counts.over += 1,
            }
        }
        counts
    }
}

impl Record {
    /// The record of an outcome.
    #[must_use]
    pub fn ended(id: u32, outcome: Outcome, output: String) -> Self {
        let (state, refused) = outcome.written();
        Self::Ended { id, state, refused, output }
    }

    /// The record without these ids; `None` if nothing is left of it.
    pub fn without(self, ids: &BTreeSet<u32>) -> Option<Self> {
        let kept = |list: Vec<u32>| {
            let left: Vec<u32> = list.into_iter().filter(|id| !ids.contains(id)).collect();
            (!left.is_empty()).then_some(left)
        };
        match self {
            Self::Delivered(list) => kept(list).map(Self::Delivered),
            Self::Recalled(list) => kept(list).map(Self::Recalled),
            Self::Reported(list) => kept(list).map(Self::Reported),
            Self::Served(Row { id, .. }) | Self::Begun(id) | Self::Ended { id, .. } if ids.contains(&id) => None,
            record => Some(record),
        }
    }
}
