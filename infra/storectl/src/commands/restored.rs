//! `delivery restored`: a table that was restored to a point in time makes no command of a game server ready.

use crate::answer::{Answer, GOOD, paint};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::usecases::delivery::RestoredTable;

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
