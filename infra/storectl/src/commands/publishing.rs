//! `publish`: check, show what changes, ask, write, switch, tidy up.

use super::check;
use crate::answer::{Answer, BAD, GOOD, STRONG, WARN, paint};
use crate::cli::Publish;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::{Changes, Compiled, LoadError, PublishError, Published, changes};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// How many changes of one kind are listed for people; JSON has all of them.
const LISTED: usize = 40;

/// Reads and compiles the files.
pub(super) fn compile(dir: &Path) -> Result<Compiled, Failure> {
    check::must_be_there(dir)?;
    let files = publish::read(dir).map_err(|faults| check::failure(dir, &faults))?;
    publish::compile(&files).map_err(|faults| check::failure(dir, &faults))
}

/// What is published now.
struct Before {
    version: Option<String>,
    /// Where it could be read back.
    store: Option<Compiled>,
    damaged: bool,
}

impl Before {
    async fn read(target: &Target) -> Result<Self, Failure> {
        let Some(pointer) = publish::read_pointer(&target.db).await? else {
            return Ok(Self { version: None, store: None, damaged: false });
        };
        let version = Some(pointer.version.clone());
        let Some(record) = publish::read_version(&target.db, &pointer.version).await? else {
            return Ok(Self { version, store: None, damaged: true });
        };
        match publish::load(&target.db, &record).await {
            Ok(store) => Ok(Self { version, store: Some(store), damaged: false }),
            Err(LoadError::Store(error)) => Err(error.into()),
            Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => {
                Ok(Self { version, store: None, damaged: true })
            }
        }
    }
}

pub(super) async fn run(
    target: &Target,
    console: &Console,
    options: &Publish,
    store: &Compiled,
) -> Result<Answer, Failure> {
    let before = Before::read(target).await?;
    let changes = changes(before.store.as_ref(), store);
    let same = before.version.as_ref() == Some(&store.version);
    if same && !before.damaged {
        let text =
            format!("Nothing to do: this very store is published on {} (version {}).", target.name, store.version);
        return Ok(Answer::new(text, json!({ "published": false, "unchanged": true, "version": store.version })));
    }
    let shown = shown(target, &before, store, &changes);
    let facts = json!({
        "version": store.version, "previous": before.version, "changes": changes, "rows": store.parts("").len(),
    });
    if options.dry_run {
        let json = json!({ "published": false, "dry_run": true, "plan": facts });
        return Ok(Answer::new(format!("{shown}\nNothing was written (--dry-run)."), json));
    }
    console.confirm(&shown, "Publish?", options.yes)?;
    if same {
        let progress = console.progress("Repairing", Some(store.parts("").len() as u64));
        publish::repair(&target.db, store, &|rows| progress.advance(rows)).await?;
        let text = format!("{} Version {} was damaged and is whole again.", paint(GOOD, "ok"), store.version);
        return Ok(Answer::new(text, json!({ "published": true, "repaired": true, "plan": facts })));
    }
    send(target, console, store, &before).await?;
    let removed = tidy(target, console, options.grace).await;
    let mut text = format!("{} Version {} is published on {}.", paint(GOOD, "ok"), store.version, target.name);
    if let Some(previous) = &before.version {
        _ = write!(text, "\nBack again: storectl rollback {previous}");
    }
    text.push_str(&told_removed(&removed));
    let removed = removed.unwrap_or_default();
    Ok(Answer::new(text, json!({ "published": true, "plan": facts, "removed": removed })))
}

async fn send(target: &Target, console: &Console, store: &Compiled, before: &Before) -> Result<(), Failure> {
    let progress = console.progress("Publishing", Some(store.parts("").len() as u64));
    let outcome =
        publish::publish_with(&target.db, store, target.clock.seconds(), &|rows| progress.advance(rows)).await;
    let old = before.version.as_ref().map_or_else(|| "nothing".to_owned(), |version| format!("version {version}"));
    match outcome {
        Ok(Published::Unchanged | Published::Switched { .. }) => Ok(()),
        Err(PublishError::Raced { winner }) => {
            let what = format!("Somebody else published version {winner} in the meantime.");
            let next = "Look at it with `storectl versions`, then publish again: your rows are kept for an hour.";
            Err(Failure::new(Exit::Raced, what, next).done("Nothing was switched to your store."))
        }
        Err(PublishError::BeingRemoved { version }) => {
            let what = format!("Version {version} is just being removed by somebody else.");
            Err(Failure::new(Exit::Raced, what, "Run the same command again in a quarter of an hour."))
        }
        Err(PublishError::Store(error)) => {
            let done =
                format!("{} rows were written and nothing was switched: readers see {old}.", progress.position());
            let failure = Failure::from(error);
            let next = format!("{} Run again, it writes only what is missing.", failure.next);
            Err(failure.done(done).next(next))
        }
    }
}

/// Removes old versions. A fault here is no fault of the publish: the next one goes on.
async fn tidy(target: &Target, console: &Console, grace: i64) -> Result<Vec<String>, Failure> {
    let progress = console.progress("Removing old versions", None);
    let now = target.clock.seconds();
    Ok(publish::remove_outdated(&target.db, now, grace, &|rows| progress.advance(rows)).await?)
}

fn told_removed(removed: &Result<Vec<String>, Failure>) -> String {
    match removed {
        Ok(removed) if removed.is_empty() => String::new(),
        Ok(removed) => format!("\nRemoved: {}", removed.join(", ")),
        Err(failure) => format!("\n{} Old versions stay until the next publish: {}", paint(WARN, "note"), failure.what),
    }
}

fn shown(target: &Target, before: &Before, store: &Compiled, changes: &Changes) -> String {
    let mut lines = vec![paint(STRONG, &format!("Changes on {}", target.name))];
    if before.damaged {
        lines.push(paint(WARN, "What is published now is damaged and cannot be compared; it is written anew."));
    }
    for (sign, style, names) in
        [("+", GOOD, &changes.added), ("~", WARN, &changes.changed), ("-", BAD, &changes.removed)]
    {
        lines.extend(names.iter().take(LISTED).map(|name| format!("  {} {name}", paint(style, sign))));
        if names.len() > LISTED {
            lines.push(format!("  {} … and {} more", paint(style, sign), names.len() - LISTED));
        }
    }
    let previous = before.version.as_ref().map_or_else(String::new, |version| format!(", now {version}"));
    let (more, other, fewer) = (changes.added.len(), changes.changed.len(), changes.removed.len());
    lines.push(format!("{more} added, {other} changed, {fewer} removed (version {}{previous})", store.version));
    lines.join("\n")
}
