//! `upgrade`: brings the data of an earlier version to today's format.

use super::doctor;
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Upgrade;
use crate::console::Console;
use crate::error::{Exit, Failure, capital};
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::SCHEMA;
use shared::store::StoreError;
use shared::usecases::upgrade::{self, Lacking, Rows, UpgradeError, Upgraded};

pub(super) async fn run(target: &Target, console: &Console, options: &Upgrade) -> Result<Answer, Failure> {
    if options.dry_run {
        return plan(target, console).await;
    }
    let upgraded = bring(target, console).await?;
    let Upgraded { from, rows, without } = &upgraded;
    let mut text = match from {
        None => format!("Nothing is published to {} yet: the first publish sets the schema number.", target.name),
        Some(from) if *from < SCHEMA => {
            format!(
                "{} The data in {} have the schema number {SCHEMA} now, before {from}.",
                paint(GOOD, "ok"),
                target.name
            )
        }
        Some(from) => format!("{} The data in {} have the schema number {from}.", paint(GOOD, "ok"), target.name),
    };
    text.push_str(&listed(rows, "written"));
    text.push_str(&render(without));
    Ok(Answer::new(text, facts(*from, rows, without, false)))
}

/// Upgrades the table. A failure says that the same command continues.
pub(super) async fn bring(target: &Target, console: &Console) -> Result<Upgraded, Failure> {
    let progress = console.progress("Upgrading", None);
    let outcome = upgrade::upgrade(&target.db, target.clock.as_ref(), &|rows| progress.advance(rows)).await;
    outcome.map_err(|error| match error {
        UpgradeError::Store(error) => {
            let failure = Failure::from(error);
            let next = format!("{} Then run `storectl upgrade`: it continues.", failure.next);
            failure.done("Some rows may be written; the schema number is not raised before all of them are.").next(next)
        }
        error => refused(error),
    })
}

fn refused(error: UpgradeError) -> Failure {
    let what = format!("{}.", capital(&error.to_string()));
    match error {
        UpgradeError::Store(StoreError::Contended) => {
            let done =
                "The rows that were missing are written as far as they could be; the schema number is not raised yet.";
            Failure::new(Exit::Raced, what, "Run `storectl upgrade` again: it continues.").done(done)
        }
        UpgradeError::Store(error) => error.into(),
        UpgradeError::EarlierRestore => {
            Failure::refused(what, "Complete it with that version of storectl, or restore into another table.")
        }
        UpgradeError::Later(_) => {
            Failure::refused(what, "Use the version of storectl that upgraded them, or a later one.")
        }
    }
}

async fn plan(target: &Target, console: &Console) -> Result<Answer, Failure> {
    let progress = console.progress("Reading", None);
    let lacking = Lacking::find(&target.db, &|rows| progress.advance(rows)).await.map_err(refused)?;
    let rows = lacking.rows();
    let mut text = match lacking.schema {
        None => format!("Nothing is published to {} yet.", target.name),
        Some(from) => {
            format!("The data in {} have the schema number {from}; this version works on {SCHEMA}.", target.name)
        }
    };
    text.push_str(&listed(&rows, "to be written"));
    if !lacking.sums.is_clean() {
        text.push('\n');
        text.push_str(&doctor::description(&lacking.sums));
    }
    text.push_str(&render(&lacking.names.without));
    text.push_str("\nNothing was written (--dry-run).");
    Ok(Answer::new(text, facts(lacking.schema, &rows, &lacking.names.without, true)))
}

fn facts(from: Option<u32>, rows: &Rows, without: &[String], dry_run: bool) -> Value {
    json!({ "from": from, "to": SCHEMA, "rows": rows, "without_name": without, "dry_run": dry_run })
}

/// One line for each kind of row.
fn listed(rows: &Rows, what: &str) -> String {
    let kinds = [
        (rows.names, "names by which users are found"),
        (rows.sums, "sums of orders: units sold, what users own, what patrons gave"),
        (rows.uncounted, "orders for goals and donators"),
        (rows.patrons, "list of patrons"),
        (rows.listed, "orders in the lists of their owners"),
        (rows.held, "paid orders with what takes them back"),
        (rows.history, "list of what was published when"),
    ];
    let lines = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("\n  {count} {kind}"));
    let lines: String = lines.collect();
    if lines.is_empty() { format!("\nNo rows are {what}.") } else { format!("\nRows {what}:{lines}") }
}

/// Names users who cannot be found by name.
fn render(without: &[String]) -> String {
    if without.is_empty() {
        return String::new();
    }
    format!("\n{} {} → {}", paint(WARN, "note"), without.join("; "), doctor::WITHOUT)
}
