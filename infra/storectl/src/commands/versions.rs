//! `versions` and `rollback`.

use super::common::{published, shown_time};
use super::currency::{self, Confirm};
use super::publishing::Plan;
use crate::answer::{Answer, GOOD, WARN, columns, paint};
use crate::cli::Rollback;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::{LoadError, PublishError, switch};
use serde_json::{Value, json};
use shared::model::ActiveVersion;
use shared::shop::publishing::{History, HistoryEntry, Step, read_history};
use shared::shop::publishing::{VersionRecord, list_versions};
use shared::table::published::read_active_version;

/// How many entries of the history are listed for people; JSON has all of them.
const LISTED: usize = 20;

pub(super) async fn list(target: &Target) -> Result<Answer, Failure> {
    let mut versions = list_versions(&target.db).await?;
    versions.sort_by_key(|record| std::cmp::Reverse(record.published_at));
    let current = read_active_version(&target.db).await?.map(|active| active.version);
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
        let label = record.label.clone().unwrap_or_default();
        vec![record.version.clone(), state(record).to_owned(), shown_time(record.published_at), rows, label]
    };
    let entry = |record: &VersionRecord| -> Value {
        json!({
            "version": record.version, "state": state(record), "published_at": shown_time(record.published_at),
            "replaced_at": record.retired_at.map(shown_time), "rows": record.rows, "label": record.label,
        })
    };
    let rows: Vec<Vec<String>> = versions.iter().map(row).collect();
    let history = read_history(&target.db).await?;
    let text =
        format!("{}\n\n{}", columns(&["VERSION", "STATE", "PUBLISHED", "ROWS", "LABEL"], &rows), shown(&history));
    let entries = history.entries().iter().rev().map(|entry| {
        let back = history.entries().iter().find(|other| Some(other.number) == entry.back);
        let back = back.map(|other| &other.version);
        json!({ "version": entry.version, "active_since": shown_time(entry.since), "rollback_to": back })
    });
    let history: Vec<Value> = entries.collect();
    Ok(Answer::new(text, json!({ "versions": versions.iter().map(entry).collect::<Vec<_>>(), "history": history })))
}

/// Versions that were active, newest first; `back` marks the targets of rollbacks, one after the other.
fn shown(history: &History) -> String {
    let steps: Vec<u64> = history.before().map(|entry| entry.number).collect();
    let row = |entry: &HistoryEntry| {
        let step = steps.iter().position(|number| *number == entry.number);
        let step = step.map_or_else(String::new, |step| format!("{} back", step + 1));
        vec![shown_time(entry.since), entry.version.clone(), step]
    };
    let rows: Vec<Vec<String>> = history.entries().iter().rev().take(LISTED).map(row).collect();
    columns(&["ACTIVE SINCE", "VERSION", "ROLLBACK"], &rows)
}

pub(super) async fn rollback(target: &Target, console: &Console, options: &Rollback) -> Result<Answer, Failure> {
    let current = published(target).await?.version;
    let versions = list_versions(&target.db).await?;
    let history = read_history(&target.db).await?;
    let to = match &options.version {
        Some(name) => named(&versions, name)?,
        None => before(&versions, &history)?,
    };
    let back = history.before().find(|entry| entry.version == to.version);
    let step = back.map_or(Step::Forward, |entry| Step::Back(entry.number));
    if to.version == current {
        let text = format!("Nothing to do: version {current} is the published one.");
        return Ok(Answer::new(text, json!({ "switched": false, "version": current })));
    }
    let (shown, plan) = compared(target, to).await?;
    let code = currency::code_of(target, &to.version).await?.unwrap_or_default();
    let currency = currency::To { digits: to.config.digits, code: &code };
    let allowed = options.allow_currency.as_deref();
    let confirm = Confirm::Asked { console, yes: options.yes, allowed };
    let shown = currency::guard(target, Some(&current), &currency, shown, confirm).await?;
    console.confirm(&shown, "Point back to it?", options.yes)?;
    let active = ActiveVersion { version: to.version.clone(), config: to.config.clone(), ..ActiveVersion::default() };
    match switch(&target.db, Some(&current), &active, false, step, target.clock.seconds()).await {
        Ok(()) => {}
        Err(PublishError::Raced { winner }) => {
            let what = format!("Conflict: version {winner} was published in the meantime.");
            return Err(Failure::new(Exit::Raced, what, "Look at `storectl versions` and decide again."));
        }
        Err(PublishError::BeingRemoved { version }) => {
            let what = format!("Version {version} was just removed.");
            return Err(Failure::new(Exit::Raced, what, "Publish the files of that time instead."));
        }
        Err(PublishError::Digits { published, wanted }) => return Err(currency::digits(published, wanted)),
        Err(PublishError::Store(error)) => {
            let failure = Failure::from(error);
            return Err(
                failure.done("It is not known whether the active version was moved; check with `storectl versions`.")
            );
        }
    }
    let text = format!(
        "{} Version {} is published again on {}.\n{} Your files are ahead: they still have what was undone, and the next \
         `storectl publish` brings it back. Correct them first, or get this version's with `storectl export DIR`.\nTo go forward \
         again: storectl rollback {current}",
        paint(GOOD, "ok"),
        to.version,
        target.name,
        paint(WARN, "note"),
    );
    // Without a question the changes were not shown yet.
    let text = if options.yes { format!("{shown}\n{text}") } else { text };
    let json = json!({
        "switched": true, "version": to.version, "previous": current, "label": to.label, "plan": plan,
    });
    Ok(Answer::new(text, json))
}

/// The changes of a rollback to a version, for people and as JSON; `null` if the version is damaged.
async fn compared(target: &Target, to: &VersionRecord) -> Result<(String, Value), Failure> {
    let label = to.label.as_ref().map(|label| format!(", {label:?}")).unwrap_or_default();
    let head = format!("Back to version {} of {}{label}", to.version, shown_time(to.published_at));
    match publish::load(&target.db, to).await {
        Ok(store) => {
            let plan = Plan::make(target, &store).await?;
            Ok((format!("{head}\n{}", plan.shown), plan.json))
        }
        Err(LoadError::Store(error)) => Err(error.into()),
        Err(error) => {
            let what = paint(WARN, &format!("It cannot be compared: {error}. Publish its files again instead."));
            Ok((format!("{}: {head}\n{what}", target.name), Value::Null))
        }
    }
}

/// The one version whose name begins like this.
fn named<'a>(versions: &'a [VersionRecord], name: &str) -> Result<&'a VersionRecord, Failure> {
    let next = "`storectl versions` lists them.";
    let name = name.trim();
    if let Some(exact) = versions.iter().find(|record| record.version == name && record.is_ready()) {
        return Ok(exact);
    }
    let mut found = versions.iter().filter(|record| record.version.starts_with(name) && record.is_ready());
    match (found.next(), found.next()) {
        (Some(record), None) => Ok(record),
        (None, _) => Err(Failure::refused(format!("There is no version {name} to return to."), next)),
        _ => Err(Failure::refused(format!("More than one version begins with {name}."), next)),
    }
}

/// The version that was active before the current one.
fn before<'a>(versions: &'a [VersionRecord], history: &History) -> Result<&'a VersionRecord, Failure> {
    let next = "`storectl versions` lists those there are; name one of them.";
    let Some(entry) = history.before().next() else {
        return Err(Failure::refused("There is no older version to return to.", next));
    };
    let found = versions.iter().find(|record| record.version == entry.version && record.is_ready());
    found.ok_or_else(|| {
        let what = format!("Version {}, which was active before, was removed.", entry.version);
        Failure::refused(what, next)
    })
}
