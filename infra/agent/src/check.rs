//! `agent check`: tries everything that the agent needs, one after another, and says what to write instead.

use crate::cli::Failure;
use crate::clock::{Clock as _, SystemClock};
use crate::config::Config;
use crate::journal::{self, Journal, JournalError};
use crate::run::causes;
use crate::store::{Store, StoreError};
use rcon::{Connection, Dialect, RconError};
use std::error::Error;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;

/// The most characters of a response that are shown.
const LONGEST_SHOWN: usize = 100;

/// Prints the line of a step.
fn line(mark: &str, text: &str) {
    // Standard output may be closed.
    _ = writeln!(io::stdout(), "{mark:4} {text}");
}

fn ok(text: &str) {
    line("ok", text);
}

/// The number of checks that failed.
struct Report {
    failed: usize,
}

impl Report {
    fn fail(&mut self, error: &dyn Error, advice: &str) {
        self.failed += 1;
        let causes = causes(error);
        let separator = if causes.is_empty() { "" } else { ": " };
        line("FAIL", &format!("{error}{separator}{causes}\n     {advice}"));
    }
}

pub(crate) async fn check(config: Config) -> Result<(), Failure> {
    let mut report = Report { failed: 0 };
    ok("the configuration and the secrets can be read");
    files(&config, &mut report);
    console(&config, &mut report).await;
    store(&config, &mut report).await;
    match report.failed {
        0 => Ok(()),
        failed => Err(Failure::Text(format!("{failed} of the checks failed"))),
    }
}

fn files(config: &Config, report: &mut Report) {
    for file in &config.secret_files {
        if std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
            let file = file.display();
            line("warn", &format!("other users can read {file}: chmod 600 {file}"));
        }
    }
    let now = SystemClock::default().seconds();
    let (usable, used) = ("the journal can be written", "the journal is in use by a running agent");
    let opened = match Journal::open(&config.journal, now) {
        Ok(mut journal) => journal.belong_to(config, now).map(|()| usable),
        Err(JournalError::Locked(_)) => journal::check(config).map(|()| used),
        Err(error) => Err(error),
    };
    match opened {
        Ok(text) => ok(text),
        Err(error @ (JournalError::Damaged { .. } | JournalError::Foreign { .. })) => {
            report.fail(&error, "see operations.md, \"Agent or plugin\"");
        }
        Err(error) => report.fail(&error, "journal: must be a folder that the agent's user can write, on a local disk"),
    }
}

async fn console(config: &Config, report: &mut Report) {
    let rcon = &config.rcon;
    if rcon.is_remote() {
        line("warn", "rcon.address is not of this machine: RCON is plain text, use a tunnel");
    }
    let opened = Connection::open(rcon.protocol, &rcon.address, rcon.password.expose(), rcon.limit).await;
    let mut console = match opened {
        Ok(console) => console,
        Err(error) => return report.fail(&error, advice(&error)),
    };
    ok("the game server accepts the RCON password");
    match console.run(rcon.harmless()).await {
        Ok(response) => ok(&format!("it responds to `{}`: {}", rcon.harmless(), shown(&response))),
        Err(error) => return report.fail(&error, advice(&error)),
    }
    list(config, &mut console, report).await;
    let Dialect { has_zero_ids, ignores_markers } = console.dialect();
    if has_zero_ids {
        line("note", "its responses have the id 0: each command takes a quarter of a second longer");
    }
    if ignores_markers {
        line("note", "nothing says where a long response ends: it ends when nothing comes for a quarter of a second");
    }
}

/// The first line of a response, cut off.
fn shown(response: &str) -> String {
    let line = response.trim().lines().next().unwrap_or_default();
    let shown: String = line.chars().filter(|letter| !letter.is_control()).take(LONGEST_SHOWN).collect();
    match shown.as_str() {
        "" => "an empty response".to_owned(),
        shown if shown.len() < line.len() => format!("{shown}…"),
        _ => shown,
    }
}

/// Asks for the list of players.
async fn list(config: &Config, console: &mut Connection, report: &mut Report) {
    let Some(players) = &config.players else {
        return line("warn", "players: is not set, so that commands with `online: true` never run");
    };
    let mut players = players.clone();
    match players.ask(console).await {
        Ok(response) if players.is_refused(&response) => {
            let error = format!("the game server has no command `{}`: {}", players.command, response.trim());
            report.fail(&Failure::Text(error), "players: must be that of the game");
        }
        Ok(response) => {
            let found = players.read(&response);
            let size = response.len();
            ok(&format!("the list of players, {size} bytes: {} of them were understood", found.len()));
            for doubt in players.doubts(&response, &found) {
                line("warn", &doubt.to_string());
            }
        }
        Err(error) => report.fail(&error, "players: commands with `online: true` wait until the list has a response"),
    }
}

const fn advice(error: &RconError) -> &'static str {
    match error {
        RconError::Password => {
            "rcon.password: must be that of the game server (Minecraft: rcon.password in server.properties)"
        }
        RconError::Connect(_) => {
            "rcon.address: see that the game server runs and has RCON on (Minecraft: enable-rcon=true, rcon.port)"
        }
        RconError::Timeout(_) | RconError::Broken(_) | RconError::Malformed(_) | RconError::Refused(_) => {
            "rcon.protocol: must be websocket for Rust, source for other games; rcon.address: must be RCON's port"
        }
    }
}

async fn store(config: &Config, report: &mut Report) {
    let store = Store::new(&config.store, config.key.clone());
    match store.version().await {
        Ok(_) => ok("the store responds"),
        Err(error) => {
            return report.fail(
                &error,
                "store: must be the address that `storectl server add` printed, with /plugin/ at its end",
            );
        }
    }
    // A call about nothing changes nothing.
    match store.delivered(&[]).await {
        Ok(_) => ok("the store knows the key"),
        Err(error @ StoreError::Key) => {
            report.fail(&error, "key: copy it again from what `storectl server add` printed");
        }
        Err(error) => report.fail(&error, "the key was not checked; try again"),
    }
}
