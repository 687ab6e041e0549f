//! The command line, and what its commands print of the journal and of the list of players.

use crate::book::{Book, Outcome, Record, Row};
use crate::check;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::journal::{self, End, JournalError};
use crate::run::{Agent, RoundError, causes};
use crate::store::StoreError;
use clap::{Args, Parser, Subcommand};
use rcon::Connection;
use serde_json::json;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The exit code after which a restart is of no use: another agent works for the same server.
const OTHER_AGENT: u8 = 3;
/// That of a configuration that cannot be used.
const CONFIG: u8 = 2;

/// Runs what a store sold on a game server with RCON.
///
/// operations.md of the store's project, "Agent or plugin", describes its configuration. Start with `agent check`.
#[derive(Debug, Parser)]
#[command(name = "agent", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tries everything that the agent needs: the files, the journal, the game server, its list of players, the store and the
    /// key. Prints what is wrong and what to write instead. Nothing runs.
    Check(File),
    /// Works until it is stopped. The log is lines of JSON on standard error.
    ///
    /// Exits with 2 if the configuration cannot be used, and with 3 if another agent works for the same server.
    Run {
        #[command(flatten)]
        file: File,
        /// Only print what would run now, also of what waits since an earlier run, and give back what was served to the store.
        #[arg(long)]
        dry_run: bool,
    },
    /// Prints how many commands wait, and whether an agent is running. Reads only the journal.
    Status {
        #[command(flatten)]
        file: File,
        /// Print an object.
        #[arg(long)]
        json: bool,
    },
    /// Prints what happened to commands, from the journal.
    Log {
        #[command(flatten)]
        file: File,
        /// Only commands of this order.
        #[arg(long, value_name = "ID")]
        order: Option<String>,
        /// Print an object in each line.
        #[arg(long)]
        json: bool,
    },
    /// Prints the game server's list of players as the agent reads it.
    Players(File),
}

#[derive(Debug, Args)]
struct File {
    /// The configuration.
    #[arg(long = "config", value_name = "FILE", default_value = "agent.yaml")]
    path: PathBuf,
}

/// Runs a command line; its first word is the program's name.
pub async fn command_line(words: Vec<OsString>) -> ExitCode {
    let command = match CommandLine::try_parse_from(words) {
        Ok(CommandLine { command }) => command,
        Err(error) => {
            _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(CONFIG));
        }
    };
    match run(command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let causes = causes(&failure);
            let separator = if causes.is_empty() { "" } else { ": " };
            _ = writeln!(io::stderr(), "error: {failure}{separator}{causes}");
            match failure {
                Failure::Store(StoreError::OtherAgent(_)) => ExitCode::from(OTHER_AGENT),
                Failure::Config(_) | Failure::Journal(JournalError::Foreign { .. }) => ExitCode::from(CONFIG),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

async fn run(command: Command) -> Result<(), Failure> {
    let read = |file: File| Config::read(&file.path, |name| std::env::var(name).ok());
    match command {
        Command::Run { file, dry_run } => {
            let lines = tracing_subscriber::fmt().json().flatten_event(true).with_target(false);
            // Another one is there if this is not a process of its own.
            _ = lines.with_writer(io::stderr).try_init();
            work(read(file)?, dry_run).await
        }
        Command::Check(file) => check::check(read(file)?).await,
        Command::Players(file) => players(&read(file)?).await,
        Command::Status { file, json } => status(&read(file)?.journal, json),
        Command::Log { file, order, json } => log(&read(file)?.journal, order.as_deref(), json),
    }
}

async fn work(config: Config, dry_run: bool) -> Result<(), Failure> {
    if config.rcon.is_remote() {
        tracing::warn!(
            address = config.rcon.address,
            "RCON is plain text, and the address is not of this machine: use a tunnel"
        );
    }
    let (ending, stop) = watch::channel(false);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let mut agent = Agent::new(config, clock, stop)?;
    if dry_run {
        return rows(&agent.dry_run().await?);
    }
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
        tracing::info!("ending after the command that is running");
        ending.send_replace(true);
        // Dropped, it would look like one that is never used.
        ending.closed().await;
    });
    Ok(agent.run().await?)
}

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Round(#[from] RoundError),
    #[error(transparent)]
    Rcon(#[from] rcon::RconError),
    #[error("{0}")]
    Output(#[from] io::Error),
    #[error("{0}")]
    Text(String),
}

/// The players on the game server.
pub(crate) async fn players(config: &Config) -> Result<(), Failure> {
    let mut players =
        config.players.clone().ok_or_else(|| Failure::Text("the configuration has no players:".to_owned()))?;
    let rcon = &config.rcon;
    let mut console = Connection::open(rcon.protocol, &rcon.address, rcon.password.expose(), rcon.limit).await?;
    let response = players.ask(&mut console).await?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", response.trim())?;
    for player in players.read(&response) {
        let by = if player.is_known_by_name { "its name or its id" } else { "its id only" };
        writeln!(out, "{}\t{}\tknown by {by}", player.name, player.id)?;
    }
    Ok(())
}

/// Rows of the store, with whether each would run.
pub(crate) fn rows(rows: &[(Row, bool)]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for (row, runs) in rows {
        let would = if *runs { "would run" } else { "would wait for the player" };
        writeln!(out, "{}\torder {}\t{}\t{}\t{would}", row.id, row.order, row.player, row.text)?;
    }
    Ok(writeln!(out, "{} commands; nothing ran, and what was served now was given back to the store", rows.len())?)
}

pub(crate) fn status(folder: &Path, is_json: bool) -> Result<(), Failure> {
    let (mut book, mut last) = (Book::default(), None);
    let End { damaged, .. } = journal::read(&journal::file_in(folder), |record, at| {
        book.apply(&record, at);
        last = Some(time(at));
    })?;
    let (counts, is_running) = (book.counts(), journal::is_locked(folder));
    let mut out = io::stdout().lock();
    if is_json {
        let status = json!({
            "agent": book.agent(), "is_running": is_running, "waiting": counts.waiting, "for_players": counts.for_players,
            "to_report": counts.to_report, "over": counts.over, "last_entry": last, "damaged_bytes": damaged,
        });
        return Ok(writeln!(out, "{status}")?);
    }
    let running = if is_running { "running" } else { "not running" };
    writeln!(out, "agent {}: {running}", book.agent().unwrap_or("without a journal yet"))?;
    writeln!(out, "waiting: {}, of these {} for their players", counts.waiting, counts.for_players)?;
    writeln!(out, "ended and not reported to the store: {}", counts.to_report)?;
    writeln!(out, "over: {}", counts.over)?;
    if let Some(last) = last {
        writeln!(out, "last entry: {last}")?;
    }
    if damaged > 0 {
        writeln!(out, "{damaged} bytes at the end are damaged or being written")?;
    }
    Ok(())
}

/// The journal, or what it has about an order.
pub(crate) fn log(folder: &Path, order: Option<&str>, is_json: bool) -> Result<(), Failure> {
    let (mut rows, mut result) = (HashMap::new(), Ok(()));
    let mut out = BufWriter::new(io::stdout().lock());
    journal::read(&journal::file_in(folder), |record, at| {
        for (id, event, text) in events(record, &mut rows) {
            let Some(Row { order: of, player, retry_of, .. }) = rows.get(&id) else { continue };
            if result.is_err() || order.is_some_and(|order| order != of) {
                continue;
            }
            let at = time(at);
            result = if is_json {
                let event = json!({
                    "at": at, "id": id, "order": of, "player": player, "retry_of": retry_of, "event": event, "text": text,
                });
                writeln!(out, "{event}")
            } else {
                let retry = retry_of.map(|id| format!(", in place of {id}")).unwrap_or_default();
                let text = text.map(|text| format!(": {}", text.replace('\n', " "))).unwrap_or_default();
                writeln!(out, "{at}\t{id}{retry}\torder {of}\t{player}\t{event}{text}")
            };
        }
    })?;
    Ok(result.and_then(|()| out.flush())?)
}

/// The events of a record, each with the id of its command and the command or the response.
fn events(record: Record, rows: &mut HashMap<u32, Row>) -> Vec<(u32, &'static str, Option<String>)> {
    let all = |ids: Vec<u32>, event| ids.into_iter().map(|id| (id, event, None)).collect();
    match record {
        Record::Agent(_) | Record::Source(_) => Vec::new(),
        Record::Served(row) => {
            let word = if row.missed > 0 { "waits again: there was no such player" } else { "served" };
            let event = (row.id, word, Some(row.text.clone()));
            rows.insert(row.id, row);
            vec![event]
        }
        Record::Delivered(ids) => all(ids, "kept for the player"),
        Record::Recalled(ids) => all(ids, "recalled by the store"),
        Record::Begun(id) => vec![(id, "begun", None)],
        Record::Ended { id, state, refused, output } => {
            let word = match Outcome::of(state, refused) {
                Outcome::Done => "done",
                Outcome::Unknown => "unknown",
                Outcome::Refused => "refused",
            };
            vec![(id, word, Some(output))]
        }
        Record::Reported(ids) => all(ids, "reported to the store"),
    }
}

/// Seconds since 1970 UTC as a date and a time.
fn time(at: i64) -> String {
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    // Years begin in March here, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_550_399, "2026-11-24T19:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(at), text);
        }
    }
}
