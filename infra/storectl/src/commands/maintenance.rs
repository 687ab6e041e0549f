//! Whether the store may be visited and written: `maintenance`, the version of the table's data, and a table that was restored to a
//! point in time.

use super::codes::unknown_switch;
use super::common::{nothing_published, published};
use super::restore;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{Command, Maintenance, MaintenanceMode};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{ActiveVersion, SCHEMA};
use shared::shop::delivery::RestoredTable;
use shared::shop::publishing::set_maintenance;
use shared::table::published::read_active_version;

pub(super) async fn set(target: &Target, options: &Maintenance) -> Result<Answer, Failure> {
    let is_closed = match options.mode {
        MaintenanceMode::On => Some(true),
        MaintenanceMode::Off => Some(false),
        MaintenanceMode::Default => None,
    };
    if !set_maintenance(&target.db, is_closed).await.map_err(unknown_switch)? {
        return Err(nothing_published(target));
    }
    let closed = published(target).await?.closed().map(str::to_owned);
    let state = match &closed {
        Some(message) => format!("The storefront is closed. Visitors read: {message}"),
        None => "The storefront is open.".to_owned(),
    };
    let text = format!("{} {state}", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "closed": closed.is_some(), "message": closed })))
}

/// Refuses a table that is half restored, and data of an earlier format: what is written there would lack rows or find
/// the wrong ones.
pub(super) async fn must_be_ready(target: &Target, command: &Command) -> Result<(), Failure> {
    if matches!(command, Command::Restore(_) | Command::Doctor(_) | Command::Chat(_)) {
        return Ok(());
    }
    restore::must_not_be_running(target).await?;
    if matches!(command, Command::Upgrade(_) | Command::Backup(_) | Command::Export(_) | Command::Versions) {
        return Ok(());
    }
    match read_active_version(&target.db).await? {
        Some(active) if !active.is_current() => Err(outdated(target, &active)),
        _ => Ok(()),
    }
}

/// The data are of an earlier format.
fn outdated(target: &Target, active: &ActiveVersion) -> Failure {
    let what = format!(
        "The data in {} have the schema number {}, and this version of storectl needs {SCHEMA}.",
        target.name, active.schema
    );
    Failure::refused(what, "Take a backup, then run `storectl upgrade`.")
}

/// For how many seconds after a poll a table counts as one that is in use.
const IN_USE: i64 = 600;

pub(super) async fn run(target: &Target, console: &Console, yes: bool) -> Result<Answer, Failure> {
    let (now, db) = (target.seconds().await?, &target.db);
    let progress = console.progress("Reading", None);
    let table = RestoredTable::read(db, now, &|read| progress.advance(read)).await?;
    if let Some(ago) = table.polled.map(|polled| now - polled).filter(|ago| *ago < IN_USE) {
        let what =
            format!("Nothing is changed: a game server asked for commands in {} {ago} seconds ago.", target.name);
        return Err(Failure::refused(what, "Name the restored table, before functions use it."));
    }
    let shown = format!(
        "{} commands in {} become unknown, and the commands of {} orders that were not delivered yet.",
        table.doubts.commands, target.name, table.doubts.orders
    );
    console.confirm(&shown, "Change?", yes)?;
    let json = json!(table.doubts);
    let progress = console.progress("Writing", Some(table.changes() as u64));
    let written = table.write(db, &|count| progress.advance(count)).await;
    written.map_err(|error| Failure::from(error).next("Run the same command again: it goes on."))?;
    let text = format!("{} {shown} `storectl delivery list --state unknown` shows them.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json))
}
