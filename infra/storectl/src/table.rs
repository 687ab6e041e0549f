//! Commands on a table as a whole: `upgrade` brings the data of an earlier version to today's format, `maintenance` closes and
//! opens the store, `delivery restored` is for a table that was restored to a point in time, `backup` writes everything in the table
//! to one compressed file, or what a demo store is loaded with.

use crate::code::UNKNOWN_SWITCH;
use crate::prelude::*;
use archive::{Content, Writer};
use clap::ValueEnum;
use shared::fault::capital;
use shared::model::SCHEMA;
use shared::shop::delivery::RestoredTable;
use shared::shop::publishing;
use shared::shop::upkeep::upgrade::{self, Lacking, Rows, STEPS, UpgradeError, Upgraded};
use shared::table::StoreError;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::keys::{self, Key, prefix};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Upgrade {
    /// Show what would be written and stop.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Maintenance {
    /// The mode.
    #[arg(value_enum)]
    pub mode: MaintenanceMode,
}

/// A mode of `maintenance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaintenanceMode {
    /// Close the storefront.
    On,
    /// Open the storefront.
    Off,
    /// Do as store.yaml says.
    Default,
}

pub async fn upgrade(at: &Deployment, console: &Console, options: &Upgrade) -> Outcome {
    if options.dry_run {
        return plan(at, console).await;
    }
    let Upgraded { from, rows } = &bring(at, console).await?;
    let mut text = match from {
        None => format!("Nothing is published to {} yet: the first publish sets the schema number.", at.name),
        Some(from) if *from < SCHEMA => {
            ok!("The data in {} have the schema number {SCHEMA} now, before {from}.", at.name)
        }
        Some(from) => ok!("The data in {} have the schema number {from}.", at.name),
    };
    text.push_str(&listed(rows, "written"));
    Ok(Printed::new(text, &facts! { from, to: SCHEMA, rows, dry_run: false }))
}

/// Upgrades the table. A failure says that the same command continues.
pub async fn bring(at: &Deployment, console: &Console) -> Result<Upgraded> {
    let progress = console.progress("Upgrading", None);
    let outcome = upgrade::upgrade(&at.db, STEPS, &|rows| progress.advance(rows)).await;
    outcome.map_err(|error| match error {
        UpgradeError::Store(error) => {
            let failure = Failure::from(error);
            let next = format!("{} Then run `storectl upgrade`: it continues.", failure.next);
            failure.done("Some rows may be written; the schema number is not raised before all of them are.").next(next)
        }
        error => refused(error),
    })
}

pub fn refused(error: UpgradeError) -> Failure {
    let what = format!("{}.", capital(&error.to_string()));
    match error {
        UpgradeError::Store(StoreError::Contended) => {
            let done =
                "The rows that were missing are written as far as they could be; the schema number is not raised yet.";
            Failure::new(Exit::Raced, what, "Run `storectl upgrade` again: it continues.").done(done)
        }
        UpgradeError::Store(error) => error.into(),
        UpgradeError::Before(_) => {
            Failure::refused(what, "Publish into a new table, and import what was sold: migration.md.")
        }
        UpgradeError::Later { .. } => {
            Failure::refused(what, "Use the version of storectl that upgraded them, or a later one.")
        }
    }
}

async fn plan(at: &Deployment, console: &Console) -> Outcome {
    let progress = console.progress("Reading", None);
    let lacking = Lacking::find(&at.db, STEPS, &|rows| progress.advance(rows)).await.map_err(refused)?;
    let (from, rows) = (lacking.schema, lacking.rows());
    let mut text = match from {
        None => format!("Nothing is published to {} yet.", at.name),
        Some(from) => format!("The data in {} have the schema number {from}; this version works on {SCHEMA}.", at.name),
    };
    text.push_str(&listed(&rows, "to be written"));
    text.push_str("\nNothing was written (--dry-run).");
    Ok(Printed::new(text, &facts! { from, to: SCHEMA, rows, dry_run: true }))
}

/// One line for each kind of row.
fn listed(rows: &Rows, what: &str) -> String {
    let lines: Vec<String> = rows.iter().map(|(kind, count)| format!("\n  {count} {kind}")).collect();
    if lines.is_empty() { format!("\nNo rows are {what}.") } else { format!("\nRows {what}:{}", lines.concat()) }
}

pub async fn set_maintenance(at: &Deployment, options: &Maintenance) -> Outcome {
    let is_closed = match options.mode {
        MaintenanceMode::On => Some(true),
        MaintenanceMode::Off => Some(false),
        MaintenanceMode::Default => None,
    };
    if !publishing::set_maintenance(&at.db, is_closed).await.unsure(UNKNOWN_SWITCH, AGAIN)? {
        return Err(at.nothing_published());
    }
    let message = at.published().await?.closed().map(str::to_owned);
    let text = match &message {
        Some(message) => ok!("The storefront is closed. Visitors read: {message}"),
        None => ok!("The storefront is open."),
    };
    Ok(Printed::new(text, &facts! { closed: message.is_some(), message }))
}

/// For how many seconds after a poll a table counts as one that is in use.
const IN_USE: i64 = 600;

/// `delivery restored`: what may have run on game servers since the time of the table becomes unknown.
pub async fn restored(at: &Deployment, console: &Console, yes: bool) -> Outcome {
    let (now, db) = (at.seconds().await?, &at.db);
    let progress = console.progress("Reading", None);
    let table = RestoredTable::read(db, now, &|read| progress.advance(read)).await?;
    if let Some(ago) = table.polled.map(|polled| now - polled).filter(|ago| *ago < IN_USE) {
        let what = format!("Nothing is changed: a game server asked for commands in {} {ago} seconds ago.", at.name);
        return Err(Failure::refused(what, "Name the restored table, before functions use it."));
    }
    let shown = format!(
        "{} commands in {} become unknown, and the commands of {} orders that were not delivered yet.",
        table.doubts.commands, at.name, table.doubts.orders
    );
    console.confirm(&shown, "Change?", yes)?;
    let text = ok!("{shown} `storectl delivery list --state unknown` shows them.");
    let printed = Printed::new(text, &table.doubts);
    let progress = console.progress("Writing", Some(table.changes() as u64));
    let written = table.write(db, &|count| progress.advance(count)).await;
    written.map_err(|error| Failure::from(error).next("Run the same command again: it goes on."))?;
    Ok(printed)
}

#[derive(Debug, Clone, Args)]
pub struct Backup {
    /// File to write; it must not exist.
    pub file: PathBuf,
    /// Write what a demo store is loaded with (live.jsonl in its folder), as text: accounts, bans, carts, codes and orders.
    #[arg(long)]
    pub demo: bool,
}

pub async fn backup(at: &Deployment, console: &Console, options: &Backup) -> Outcome {
    let path = &options.file;
    if path.exists() {
        let what = format!("{} is there already.", path.display());
        return Err(Failure::new(Exit::Local, what, "Choose another name: a backup never replaces one."));
    }
    // Written under another name and renamed when it is whole, so that half a backup never looks like one.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let items = write_all(at, console, &part, options.demo).await.map_err(|failure| {
        _ = std::fs::remove_file(&part);
        failure.done("No backup was written; the table was only read.")
    })?;
    std::fs::rename(&part, path).map_err(|error| Failure::file(path, &error))?;
    let text = ok!("{items} items of {} are in {}.", at.name, path.display());
    Ok(Printed::new(text, &facts! { items, file: path }))
}

async fn write_all(at: &Deployment, console: &Console, part: &Path, demo: bool) -> Result<u64> {
    let local = |error: std::io::Error| Failure::file(part, &error);
    // Left by a run that was cut off.
    if part.exists() {
        std::fs::remove_file(part).map_err(local)?;
    }
    let content = if demo { Content::Demo } else { Content::Backup };
    let mut writer = Writer::create(part, content, &Time(at.clock.seconds()).to_string()).map_err(local)?;
    let progress = console.progress("Reading", None);
    let mut sorted = BTreeMap::new();
    each(&at.db, "", |item| {
        progress.advance(1);
        let key = key_of(&item)?;
        if demo {
            sorted.extend(is_demo(&key).then_some((key, item)));
            return Ok(());
        }
        if keys::is_brief(&key) { Ok(()) } else { writer.item(&item).map_err(local) }
    })
    .await?;
    // In an order that does not change, so that a change of the file can be read.
    sorted.values().try_for_each(|item| writer.item(item)).map_err(local)?;
    writer.finish().map_err(local)
}

/// Whether a row is live data of a demo store. What belongs to a payment provider or to game servers is not, because a
/// demo has others, nor is what follows from other rows.
fn is_demo(key: &Key) -> bool {
    const KINDS: [&str; 6] = [prefix::USER, prefix::BAN, prefix::CART, prefix::CODE, prefix::USE, prefix::REFERRAL];
    KINDS.iter().any(|kind| key.pk.starts_with(kind)) || keys::is_order(key)
}
