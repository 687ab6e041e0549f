//! `versions` and `rollback`.

use super::{published, shown_time};
use crate::answer::{Answer, GOOD, columns, paint};
use crate::cli::Rollback;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::{PublishError, VersionRecord, list_versions, switch};
use serde_json::{Value, json};
use shared::model::Pointer;

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let versions = list_versions(&target.db).await?;
    let current = publish::read_pointer(&target.db).await?.map(|pointer| pointer.version);
    if versions.is_empty() {
        let text = format!("Nothing was published to {} yet.", target.name);
        return Ok(Answer::new(text, json!({ "versions": [] })));
    }
    let state = |record: &VersionRecord| match current.as_ref() {
        Some(current) if *current == record.version => "published",
        _ if record.removing_since.is_some() => "being removed",
        _ if !record.whole => "incomplete",
        _ => "ready",
    };
    let row = |record: &VersionRecord| {
        let rows = record.rows.to_string();
        vec![record.version.clone(), state(record).to_owned(), shown_time(record.published_at), rows]
    };
    let entry = |record: &VersionRecord| -> Value {
        json!({
            "version": record.version, "state": state(record), "published_at": shown_time(record.published_at),
            "replaced_at": record.retired_at.map(shown_time), "rows": record.rows,
        })
    };
    let rows: Vec<Vec<String>> = versions.iter().map(row).collect();
    let text = columns(&["VERSION", "STATE", "PUBLISHED", "ROWS"], &rows);
    Ok(Answer::new(text, json!({ "versions": versions.iter().map(entry).collect::<Vec<_>>() })))
}

pub(super) async fn rollback(target: &Target, console: &Console, options: &Rollback) -> Result<Answer, Failure> {
    let current = published(target).await?.version;
    let versions = list_versions(&target.db).await?;
    let to = match &options.version {
        Some(name) => named(&versions, name)?,
        None => before(&versions, &current)?,
    };
    if to.version == current {
        let text = format!("Nothing to do: version {current} is the published one.");
        return Ok(Answer::new(text, json!({ "switched": false, "version": current })));
    }
    let since = shown_time(to.published_at);
    let shown = format!("{}: version {} of {since}, now {current}", target.name, to.version);
    console.confirm(&shown, "Point back to it?", options.yes)?;
    let pointer = Pointer { version: to.version.clone(), config: to.config.clone() };
    match switch(&target.db, Some(&current), &pointer, false, target.clock.seconds()).await {
        Ok(()) => {}
        Err(PublishError::Raced { winner }) => {
            let what = format!("Somebody else published version {winner} in the meantime.");
            return Err(Failure::new(Exit::Raced, what, "Look at `storectl versions` and decide again."));
        }
        Err(PublishError::BeingRemoved { version }) => {
            let what = format!("Version {version} was just removed.");
            return Err(Failure::new(Exit::Raced, what, "Publish the files of that time instead."));
        }
        Err(PublishError::Store(error)) => {
            let failure = Failure::from(error);
            return Err(failure.done("It is not known whether the pointer was moved; `storectl versions` tells."));
        }
    }
    let text = format!("{} Version {} is published again on {}.", paint(GOOD, "ok"), to.version, target.name);
    Ok(Answer::new(text, json!({ "switched": true, "version": to.version, "previous": current })))
}

/// The one version whose name begins like this.
fn named<'a>(versions: &'a [VersionRecord], name: &str) -> Result<&'a VersionRecord, Failure> {
    let next = "`storectl versions` lists them.";
    let mut found = versions.iter().filter(|record| record.version.starts_with(name.trim()) && record.is_ready());
    match (found.next(), found.next()) {
        (Some(record), None) => Ok(record),
        (None, _) => Err(Failure::refused(format!("There is no version {name} to point back to."), next)),
        _ => Err(Failure::refused(format!("More than one version begins with {name}."), next)),
    }
}

/// The version that was first published right before the current one.
fn before<'a>(versions: &'a [VersionRecord], current: &str) -> Result<&'a VersionRecord, Failure> {
    let now = versions.iter().find(|record| record.version == current).map_or(i64::MAX, |record| record.published_at);
    let older =
        versions.iter().filter(|record| record.version != current && record.is_ready() && record.published_at <= now);
    older.max_by_key(|record| record.published_at).ok_or_else(|| {
        Failure::refused("There is no older version to point back to.", "`storectl versions` lists those there are.")
    })
}
