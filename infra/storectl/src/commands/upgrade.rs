//! `upgrade`: brings the data of an earlier version to today's format.

use crate::answer::{Answer, GOOD, paint};
use crate::cli::Upgrade;
use crate::console::Console;
use crate::error::{Exit, Failure, capital};
use crate::target::Target;
use serde_json::{Value, json};
use shared::model::SCHEMA;
use shared::shop::upkeep::upgrade::{self, Lacking, Rows, STEPS, UpgradeError, Upgraded};
use shared::table::StoreError;

pub(super) async fn run(target: &Target, console: &Console, options: &Upgrade) -> Result<Answer, Failure> {
    if options.dry_run {
        return plan(target, console).await;
    }
    let upgraded = bring(target, console).await?;
    let Upgraded { from, rows } = &upgraded;
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
    Ok(Answer::new(text, facts(*from, rows, false)))
}

/// Upgrades the table. A failure says that the same command continues.
pub(super) async fn bring(target: &Target, console: &Console) -> Result<Upgraded, Failure> {
    let progress = console.progress("Upgrading", None);
    let outcome = upgrade::upgrade(&target.db, STEPS, &|rows| progress.advance(rows)).await;
    outcome.map_err(|error| match error {
        UpgradeError::Store(error) => {
            let failure = Failure::from(error);
            let next = format!("{} Then run `storectl upgrade`: it continues.", failure.next);
            failure.done("Some rows may be written; the schema number is not raised before all of them are.").next(next)
        }
        error => refused(error),
    })
}

pub(super) fn refused(error: UpgradeError) -> Failure {
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

async fn plan(target: &Target, console: &Console) -> Result<Answer, Failure> {
    let progress = console.progress("Reading", None);
    let lacking = Lacking::find(&target.db, STEPS, &|rows| progress.advance(rows)).await.map_err(refused)?;
    let rows = lacking.rows();
    let mut text = match lacking.schema {
        None => format!("Nothing is published to {} yet.", target.name),
        Some(from) => {
            format!("The data in {} have the schema number {from}; this version works on {SCHEMA}.", target.name)
        }
    };
    text.push_str(&listed(&rows, "to be written"));
    text.push_str("\nNothing was written (--dry-run).");
    Ok(Answer::new(text, facts(lacking.schema, &rows, true)))
}

fn facts(from: Option<u32>, rows: &Rows, dry_run: bool) -> Value {
    json!({ "from": from, "to": SCHEMA, "rows": rows, "dry_run": dry_run })
}

/// One line for each kind of row.
fn listed(rows: &Rows, what: &str) -> String {
    let lines: String = rows.iter().map(|(kind, count)| format!("\n  {count} {kind}")).collect();
    if lines.is_empty() { format!("\nNo rows are {what}.") } else { format!("\nRows {what}:{lines}") }
}
