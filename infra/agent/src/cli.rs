//! The command line.

use crate::clock::{Clock, SystemClock};
use crate::config::{Config, ConfigError};
use crate::journal::JournalError;
use crate::run::{Agent, RoundError, causes};
use crate::store::StoreError;
use crate::{check, show};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
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
        Command::Players(file) => show::players(&read(file)?).await,
        Command::Status { file, json } => show::status(&read(file)?.journal, json),
        Command::Log { file, order, json } => show::log(&read(file)?.journal, order.as_deref(), json),
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
        return show::rows(&agent.dry_run().await?);
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
