//! The agent's work, in rounds: report outcomes to the store, fetch new commands, run those that may run.
//!
//! The order of things, so that a refund can still recall what has not run, and nothing runs twice: rows are fetched only while
//! RCON works; they are in the journal before anything is done; each is in the journal as begun before it is sent; what is not
//! fresh is asked about first. What a command did is what the game server's response says.

use crate::book::{Due, Outcome, Record, Row};
use crate::clock::Clock;
use crate::config::Config;
use crate::journal::{Journal, JournalError};
use crate::players::{Doubt, Online, Players};
use crate::responses::Meaning;
use crate::store::{Answer, Store, StoreError};
use rcon::{Connection, RconError};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The pauses after a round without new rows, and after one with some.
const AFTER_NONE: Duration = Duration::from_secs(5);
const AFTER_ROWS: Duration = Duration::from_secs(1);
/// The longest pause after errors; each is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The most commands of a round, and of a call.
const COMMANDS_AT_ONCE: usize = 100;
/// After so many commands that need a player the list is asked for again: many plugins also give to a player who has left, and
/// nothing shows it.
const COMMANDS_FOR_A_LIST: usize = 10;
/// The most bytes of a response that are kept.
const OUTPUT: usize = 1_024;
/// How often a command waits again for a player who is in the list, and whom the game server does not know.
const MOST_MISSED: u8 = 5;

/// The reason why a round ended early.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Rcon(#[from] RconError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

#[derive(Debug)]
pub struct Agent {
    config: Config,
    store: Store,
    clock: Arc<dyn Clock>,
    pub journal: Journal,
    console: Option<Connection>,
    /// Whether the last list of players could be read.
    has_list: bool,
    /// What the log says once about the list of players.
    doubted: Vec<Doubt>,
    /// Becomes true when the agent is to end.
    stop: watch::Receiver<bool>,
}

impl Agent {
    /// An agent with its journal.
    pub fn new(config: Config, clock: Arc<dyn Clock>, stop: watch::Receiver<bool>) -> Result<Self, JournalError> {
        let mut journal = Journal::open(&config.journal, clock.seconds())?;
        journal.belong_to(&config, clock.seconds())?;
        let store = Store::new(&config.store, config.key.clone());
        Ok(Self { config, store, clock, journal, console: None, has_list: true, doubted: Vec::new(), stop })
    }

    /// Works until it is to end, or another agent works for the same server. Fails only with
    /// [`StoreError::OtherAgent`].
    pub async fn run(&mut self) -> Result<(), StoreError> {
        let mut failures = 0;
        while !self.is_ending() {
            let pause = match self.round().await {
                Ok(pause) => {
                    if failures > 0 {
                        tracing::info!("everything works again");
                    }
                    failures = 0;
                    pause
                }
                Err(RoundError::Store(error @ StoreError::OtherAgent(_))) => return Err(error),
                Err(error) => {
                    failures += 1;
                    let pause = pause_after(&error, failures);
                    tracing::error!(%error, causes = causes(&error), seconds = pause.as_secs(), "trying again after a pause");
                    pause
                }
            };
            let (clock, mut stop) = (Arc::clone(&self.clock), self.stop.clone());
            tokio::select! {
                () = clock.sleep(pause) => {}
                // Without a sender nothing will ever ask it to end.
                Ok(_) = stop.wait_for(|stop| *stop) => {}
            }
        }
        Ok(())
    }

    fn is_ending(&self) -> bool {
        *self.stop.borrow()
    }

    /// One round. Returns the pause until the next.
    pub async fn round(&mut self) -> Result<Duration, RoundError> {
        self.journal.probe(self.clock.seconds())?;
        self.journal.compact_daily(self.clock.seconds())?;
        self.report().await?;
        self.connect().await?;
        let has_rows = self.fetch().await?;
        if self.journal.book.rows().next().is_none() {
            return Ok(if has_rows { AFTER_ROWS } else { AFTER_NONE });
        }
        // Also shows that the game server responds, before anything is begun. Without a list those with a player wait.
        let online = self.online().await?.unwrap_or_default();
        let mut due = self.journal.book.due(&online);
        let is_more = due.len() > COMMANDS_AT_ONCE;
        due.truncate(COMMANDS_AT_ONCE);
        let (without_player, mut with_player): (Vec<Due>, Vec<Due>) = due.into_iter().partition(|due| !due.online);
        self.run_all(&without_player).await?;
        self.deliver(&online).await?;
        if !without_player.is_empty() && !with_player.is_empty() {
            with_player = self.still_there(&with_player).await?;
        }
        self.run_all(&with_player).await?;
        Ok(match (is_more, has_rows) {
            (true, _) => Duration::ZERO,
            (false, true) => AFTER_ROWS,
            (false, false) => AFTER_NONE,
        })
    }

    /// Returns the commands of a round, with those that wait since an earlier one, and whether each would run. What was served is
    /// given back to the store.
    pub async fn dry_run(&mut self) -> Result<Vec<(Row, bool)>, RoundError> {
        self.connect().await?;
        let online = self.online().await?.unwrap_or_default();
        let mut rows: Vec<Row> = self.journal.book.rows().cloned().collect();
        let served = self.store.poll(self.agent()).await?;
        self.store.give_back(self.agent()).await?;
        let is_new: Vec<Row> = served.into_iter().filter(|row| !rows.iter().any(|held| held.id == row.id)).collect();
        rows.extend(is_new);
        let is_there = |row: &Row| !row.online || online.has(&row.player, row.player_id.as_deref());
        Ok(rows.into_iter().map(|row| (is_there(&row), row)).map(|(runs, row)| (row, runs)).collect())
    }

    fn agent(&self) -> &str {
        self.journal.book.agent().unwrap_or_default()
    }

    fn note(&mut self, record: Record) {
        self.journal.note(record, self.clock.seconds());
    }

    /// Opens the console if it is not open.
    async fn connect(&mut self) -> Result<(), RconError> {
        if self.console.as_mut().is_some_and(Connection::is_closed) {
            self.console = None;
        }
        if self.console.is_none() {
            let rcon = &self.config.rcon;
            let opened = Connection::open(rcon.protocol, &rcon.address, rcon.password.expose(), rcon.limit);
            self.console = Some(opened.await?);
            if let Some(players) = &mut self.config.players {
                players.forget();
            }
            // Waiting commands may have been refunded meanwhile.
            self.journal.book.age();
            tracing::info!(address = rcon.address, "connected to the game server");
        }
        Ok(())
    }

    /// Sends a command. After an error the connection is dropped: a late response must not be taken for that of another command.
    async fn send(&mut self, command: &str) -> Result<String, RconError> {
        let Some(console) = &mut self.console else { return Err(RconError::Connect(ErrorKind::NotConnected.into())) };
        let response = console.run(command).await;
        if response.is_err() {
            self.console = None;
        }
        response
    }

    /// Of these those whose players have not left meanwhile: the game server would respond that there is no such player. None of
    /// them without a list.
    async fn still_there(&mut self, due: &[Due]) -> Result<Vec<Due>, RoundError> {
        let online = self.online().await?.unwrap_or_default();
        let now = self.journal.book.due(&online);
        Ok(due.iter().filter(|due| now.contains(due)).copied().collect())
    }

    /// The players on the game server; `None` if it responds, and not to the question for them.
    async fn online(&mut self) -> Result<Option<Online>, RoundError> {
        self.connect().await?;
        let (Some(players), Some(console)) = (&mut self.config.players, &mut self.console) else {
            return Ok(Some(Online::default()));
        };
        match players.ask(console).await {
            Ok(response) => {
                let read = players.read(&response);
                for doubt in players.doubts(&response, &read) {
                    if !self.doubted.contains(&doubt) {
                        tracing::warn!("{doubt}");
                        self.doubted.push(doubt);
                    }
                }
                self.has_list = true;
                Ok(Some(Online::of(&read)))
            }
            Err(error) => {
                self.console = None;
                self.connect().await?;
                self.send(self.config.rcon.harmless()).await?;
                if self.has_list {
                    tracing::error!(%error, "the list of players has no response: commands that need a player wait");
                }
                self.has_list = false;
                Ok(None)
            }
        }
    }

    /// Fetches rows. Returns whether there were any.
    async fn fetch(&mut self) -> Result<bool, RoundError> {
        let asked = self.clock.elapsed();
        let rows = self.store.poll(self.agent()).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let names = self.config.players.as_ref().is_some_and(Players::is_minecraft);
        let mut new = Vec::new();
        for row in rows {
            if !self.journal.book.is_new(row.id, asked) {
                tracing::info!(id = row.id, "a command was served again");
                continue;
            }
            tracing::info!(id = row.id, order = row.order, retry_of = row.retry_of, "a command was served");
            if row.online && row.player_id.is_none() && !names {
                tracing::warn!(id = row.id, "it waits for its player and has no id to compare: it never runs");
            }
            new.push(row);
        }
        let ids: Vec<u32> = new.iter().map(|row| row.id).collect();
        if !new.is_empty() {
            let records: Vec<Record> = new.into_iter().map(Record::Served).collect();
            self.journal.append(&records, self.clock.seconds())?;
        }
        self.journal.book.refresh(&ids, asked);
        Ok(true)
    }

    /// Runs commands and reports the outcomes. Those that are not fresh are asked about first.
    async fn run_all(&mut self, due: &[Due]) -> Result<(), RoundError> {
        // A new connection lets all be asked about: some servers end it after a list.
        self.connect().await?;
        let now = self.clock.elapsed();
        let stale: Vec<u32> = due.iter().map(|due| due.id).filter(|id| !self.journal.book.is_fresh(*id, now)).collect();
        if !stale.is_empty() {
            let answers = self.store.validated(&stale).await?;
            self.hear(&stale, &answers, now);
        }
        let result = self.run_fresh(due).await;
        self.report().await?;
        result
    }

    /// Notes which commands may run.
    fn hear(&mut self, asked: &[u32], answers: &[Answer], now: Duration) {
        let said = |wanted| move |(id, answer): &Answer| (*answer == wanted).then_some(*id);
        let asked = |id: &u32| asked.contains(id);
        let may: Vec<u32> = answers.iter().filter_map(said(true)).filter(asked).collect();
        let recalled: Vec<u32> = answers.iter().filter_map(said(false)).filter(asked).collect();
        self.journal.book.refresh(&may, now);
        if !recalled.is_empty() {
            tracing::info!(ids = ?recalled, "the store recalled commands: they do not run");
            self.note(Record::Recalled(recalled));
        }
    }

    async fn run_fresh(&mut self, due: &[Due]) -> Result<(), RoundError> {
        let mut rest = due.to_vec();
        while !rest.is_empty() {
            for Due { id, .. } in rest.drain(..rest.len().min(COMMANDS_FOR_A_LIST)) {
                if self.is_ending() {
                    return Ok(());
                }
                let Some(row) = self.journal.book.row(id).cloned() else { continue };
                if let Err(why) = rcon::check(&row.text) {
                    tracing::error!(id, why, "a command cannot be sent by RCON: it did not run");
                    self.end(id, Outcome::Refused, &format!("the agent did not send it: {why}"));
                    continue;
                }
                self.connect().await?;
                if self.journal.book.is_fresh(id, self.clock.elapsed()) {
                    self.execute(row).await?;
                }
            }
            if rest.iter().any(|due| due.online) {
                rest = self.still_there(&rest).await?;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, row: Row) -> Result<(), RoundError> {
        let id = row.id;
        self.journal.append(&[Record::Begun(id)], self.clock.seconds())?;
        let response = match self.send(&row.text).await {
            Ok(response) => response,
            Err(error) => {
                self.end(id, Outcome::Unknown, &error.to_string());
                tracing::warn!(id, %error, "it is not known whether a command ran");
                return Err(error.into());
            }
        };
        match self.config.responses.meaning(&row.text, &response) {
            Meaning::Ran => {
                self.end(id, Outcome::Done, &response);
                tracing::info!(id, "a command ran");
            }
            Meaning::NoPlayer if row.online && row.missed < MOST_MISSED => {
                tracing::warn!(id, "the game server does not find the player of a command: it waits again");
                self.note(Record::Served(Row { missed: row.missed + 1, ..row }));
            }
            Meaning::NoPlayer | Meaning::Refused => {
                self.end(id, Outcome::Refused, &response);
                tracing::error!(id, "the game server refused a command: `agent log` has its response");
            }
        }
        Ok(())
    }

    fn end(&mut self, id: u32, outcome: Outcome, output: &str) {
        self.note(Record::ended(id, outcome, cut(output)));
    }

    /// Reports the outcomes of commands to the store.
    async fn report(&mut self) -> Result<(), RoundError> {
        loop {
            let ended = self.journal.book.unreported().take(COMMANDS_AT_ONCE);
            let ids: Vec<u32> = ended.map(|(id, ..)| id).collect();
            if ids.is_empty() {
                return Ok(());
            }
            let answers = self.store.executed(self.journal.book.unreported().take(COMMANDS_AT_ONCE)).await?;
            for (id, _) in answers.iter().filter(|(id, known)| !*known && ids.contains(id)) {
                tracing::warn!(id, "the store does not know a command that ended");
            }
            self.note(Record::Reported(ids));
        }
    }

    /// Reports to the store which commands are kept for their players.
    async fn deliver(&mut self, online: &Online) -> Result<(), RoundError> {
        for ids in self.journal.book.undelivered(online).chunks(COMMANDS_AT_ONCE) {
            self.store.delivered(ids).await?;
            self.note(Record::Delivered(ids.to_vec()));
        }
        Ok(())
    }
}

/// The pause after an error: as long as the store asks for, else twice as long as the one before, up to a minute.
fn pause_after(error: &RoundError, failures: u32) -> Duration {
    let asked = match error {
        RoundError::Store(StoreError::Status { pause, .. }) => *pause,
        _ => None,
    };
    let doubled =
        AFTER_NONE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(10))).min(LONGEST_PAUSE);
    asked.unwrap_or_default().max(doubled)
}

/// The causes of an error, for a log line.
pub fn causes(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(error.source(), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A response as evidence: one that is too long is cut off at a character.
fn cut(output: &str) -> String {
    let shown: String = output.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    shown[..shown.floor_char_boundary(OUTPUT)].to_owned()
}
