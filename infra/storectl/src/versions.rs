//! `versions` and `rollback`; and `export`: the files of the published store, as they were published.

use crate::plan::{Confirm, Plan, PlanFacts, To, code_of, guard, other_digits};
use crate::prelude::*;
use jiff::tz::TimeZone;
use publish::{FilesError, LoadError, OwnFiles, PublishError, own_files, return_to};
use shared::fault::capital;
use shared::shop::publishing::{History, Step, VersionRecord, list_versions, read_history};
use shared::table::published::read_active_version;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Rollback {
    /// Name of the version, see `storectl versions`.
    pub version: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
    /// Allow the store's currency to become this one; --yes is not enough.
    #[arg(long, value_name = "CODE")]
    pub allow_currency: Option<String>,
}

/// How many entries of the history are listed for people; JSON has all of them.
const LISTED: usize = 20;

pub async fn list(at: &Deployment) -> Outcome {
    let mut records = list_versions(&at.db).await?;
    records.sort_by_key(|record| std::cmp::Reverse(record.published_at));
    let current = read_active_version(&at.db).await?.map(|active| active.version);
    if records.is_empty() {
        let versions: [(); 0] = [];
        return Ok(Printed::new(format!("Nothing was published to {} yet.", at.name), &facts! { versions }));
    }
    let state = |record: &VersionRecord| match current.as_ref() {
        Some(current) if *current == record.version => "published",
        _ if record.removing_since.is_some() => "being removed",
        _ if !record.whole => "incomplete",
        _ => "ready",
    };
    let row = |record: &VersionRecord| {
        let (published, label) = (Time(record.published_at).to_string(), record.label.clone().unwrap_or_default());
        [record.version.clone(), state(record).to_owned(), published, record.rows.to_string(), label]
    };
    let versions = columns(["VERSION", "STATE", "PUBLISHED", "ROWS", "LABEL"], records.iter().map(row));
    let history = read_history(&at.db).await?;
    let text = format!("{versions}\n\n{}", shown(&history));
    let versions = records.iter().map(|record| {
        facts! {
            version: &record.version, state: state(record), published_at: Time(record.published_at),
            replaced_at: record.retired_at.map(Time), rows: record.rows, label: &record.label,
        }
    });
    let entries = history.entries().iter().rev().map(|entry| {
        let back = history.entries().iter().find(|other| Some(other.number) == entry.back);
        let back = back.map(|other| &other.version);
        facts! { version: &entry.version, active_since: Time(entry.since), rollback_to: back }
    });
    let facts = facts! { versions: versions.collect::<Vec<_>>(), history: entries.collect::<Vec<_>>() };
    Ok(Printed::new(text, &facts))
}

/// Versions that were active, newest first; `back` marks the targets of rollbacks, one after the other.
fn shown(history: &History) -> String {
    let steps: Vec<u64> = history.before().map(|entry| entry.number).collect();
    let rows = history.entries().iter().rev().take(LISTED).map(|entry| {
        let step = steps.iter().position(|number| *number == entry.number);
        let step = step.map_or_else(String::new, |step| format!("{} back", step + 1));
        [Time(entry.since).to_string(), entry.version.clone(), step]
    });
    columns(["ACTIVE SINCE", "VERSION", "ROLLBACK"], rows)
}

pub async fn rollback(at: &Deployment, console: &Console, options: &Rollback) -> Outcome {
    let current = at.published().await?.version;
    let versions = list_versions(&at.db).await?;
    let history = read_history(&at.db).await?;
    let to = match &options.version {
        Some(name) => named(&versions, name)?,
        None => before(&versions, &history)?,
    };
    let version = &to.version;
    if *version == current {
        let text = format!("Nothing to do: version {current} is the published one.");
        return Ok(Printed::new(text, &facts! { switched: false, version }));
    }
    let (shown, plan) = compared(at, to).await?;
    let code = code_of(at, version).await?.unwrap_or_default();
    let confirm = Confirm::Asked { console, yes: options.yes, allowed: options.allow_currency.as_deref() };
    let shown = guard(at, Some(&current), &To { digits: to.config.digits, code: &code }, shown, confirm).await?;
    console.confirm(&shown, "Point back to it?", options.yes)?;
    let back = history.before().find(|entry| entry.version == *version);
    let version = &point_to(at, &current, to, back.map_or(Step::Forward, |entry| Step::Back(entry.number))).await?;
    if *version == current {
        let text = format!("Nothing to do: version {current}, the published one, is the same store.");
        return Ok(Printed::new(text, &facts! { switched: false, version }));
    }
    let ahead = note!(
        "Your files are ahead: they still have what was undone, and the next `storectl publish` brings it back. Correct them \
         first, or get this version's with `storectl export DIR`."
    );
    let done = ok!("Version {version} is published again on {}.", at.name);
    let text = format!("{done}\n{ahead}\nTo go forward again: storectl rollback {current}");
    // Without a question the changes were not shown yet.
    let text = if options.yes { format!("{shown}\n{text}") } else { text };
    Ok(Printed::new(text, &facts! { switched: true, version, previous: current, label: &to.label, plan }))
}

/// Returns the name that the version has then.
async fn point_to(at: &Deployment, current: &str, to: &VersionRecord, step: Step) -> Result<String> {
    let raced = |what: String, next: &str| Err(Failure::new(Exit::Raced, what, next));
    match return_to(&at.db, to, current, step, at.clock.seconds()).await {
        Ok(version) => Ok(version),
        Err(PublishError::OtherPublished { winner }) => raced(
            format!("Conflict: version {winner} was published in the meantime."),
            "Look at `storectl versions` and decide again.",
        ),
        Err(PublishError::BeingRemoved { version }) => {
            raced(format!("Version {version} was just removed."), "Publish the files of that time instead.")
        }
        Err(PublishError::Digits { published, wanted }) => Err(other_digits(published, wanted)),
        Err(PublishError::Store(error)) => {
            Err(error).after("It is not known whether the active version was moved; check with `storectl versions`.")
        }
    }
}

/// The changes of a rollback to a version, for people and as JSON; none if the version is damaged.
async fn compared(at: &Deployment, to: &VersionRecord) -> Result<(String, Option<PlanFacts>)> {
    let label = to.label.as_ref().map(|label| format!(", {label:?}")).unwrap_or_default();
    let head = format!("Back to version {} of {}{label}", to.version, Time(to.published_at));
    match publish::load(&at.db, to).await {
        Ok(store) => {
            let plan = Plan::make(at, &store, &TimeZone::UTC).await?.with_waiting();
            Ok((format!("{head}\n{}", plan.shown), Some(plan.facts)))
        }
        Err(LoadError::Store(error)) => Err(error.into()),
        Err(error) => {
            let what = paint(WARN, &format!("It cannot be compared: {error}. Publish its files again instead."));
            Ok((format!("{}: {head}\n{what}", at.name), None))
        }
    }
}

/// The one version whose name begins like this.
fn named<'a>(versions: &'a [VersionRecord], name: &str) -> Result<&'a VersionRecord> {
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
fn before<'a>(versions: &'a [VersionRecord], history: &History) -> Result<&'a VersionRecord> {
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

#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Directory to write; it must be empty or not exist.
    pub dir: PathBuf,
}

pub async fn export(at: &Deployment, options: &Export) -> Outcome {
    let dir = &options.dir;
    must_not_be_here(dir)?;
    let filled = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file(dir, &error)),
    };
    let version = at.published().await?.version;
    let files = own_files(&at.db, &version).await.map_err(|error| match error {
        FilesError::Store(error) => error.into(),
        missing => Failure::refused(format!("{}.", capital(&missing.to_string())), "Publish your own files again."),
    })?;
    let (part, whole) = places(dir).map_err(|error| Failure::file(dir, &error))?;
    let local = |error: io::Error| Failure::file(dir, &error).done("Nothing was exported.");
    write(&part, &files).map_err(local)?;
    if filled {
        // A run that was interrupted at its end has written just this.
        let is_same = is_same(&part, &whole).map_err(local)?;
        std::fs::remove_dir_all(&part).map_err(local)?;
        if !is_same {
            let what = format!("The folder {} is not empty.", dir.display());
            return Err(Failure::new(Exit::Local, what, "Export to a new directory, then compare."));
        }
    } else {
        take_place(&part, &whole).map_err(local)?;
    }
    let count = files.count();
    let mut text = ok!("Version {version} is in {}: {count} files.", dir.display());
    let pictures_left_out = pictures_named(&whole);
    if pictures_left_out > 0 {
        _ = write!(text, "\n{}", note!("Pictures left out: {pictures_left_out}. Keep the files in img/."));
    }
    Ok(Printed::new(text, &facts! { version, dir, files: count, pictures_left_out }))
}

/// Refuses the current folder, and those that it is in: they cannot be replaced.
fn must_not_be_here(dir: &Path) -> Result<()> {
    let Ok(whole) = std::fs::canonicalize(dir) else { return Ok(()) };
    if !std::env::current_dir().is_ok_and(|here| here.starts_with(&whole)) {
        return Ok(());
    }
    let what = format!("{} is the folder that you are in, or one above it.", dir.display());
    Err(Failure::new(Exit::Local, what, "Name a new folder, such as `storectl export published`."))
}

/// How many pictures the files in a directory name that are in the owner's `img/`, or in a shop.
fn pictures_named(dir: &Path) -> usize {
    let Ok(mut files) = publish::read(dir) else { return 0 };
    let named = files.named_images().into_iter().map(|image| image.url.clone());
    named.filter(|url| url.starts_with('/') && !url.starts_with("//")).collect::<BTreeSet<String>>().len()
}

/// A hidden folder next to `dir`, which takes its place when it is whole: half an export never looks like a store.
fn places(dir: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let whole = std::path::absolute(dir)?;
    let mut name = OsString::from(".");
    name.push(whole.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?);
    name.push(".storectl-export");
    Ok((whole.with_file_name(name), whole))
}

fn write(part: &Path, files: &OwnFiles) -> io::Result<()> {
    // Left by a run that was interrupted.
    if part.exists() {
        std::fs::remove_dir_all(part)?;
    }
    files.write(part)
}

fn take_place(part: &Path, whole: &Path) -> io::Result<()> {
    // Only an empty directory can be removed.
    if whole.exists() {
        std::fs::remove_dir(whole)?;
    }
    std::fs::rename(part, whole)
}

/// Whether two directories have the same files.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let files = files_in(one)?;
    if files != files_in(other)? {
        return Ok(false);
    }
    for file in files {
        if std::fs::read(one.join(&file))? != std::fs::read(other.join(&file))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The path of every file in a directory.
fn files_in(dir: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let (mut files, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path);
            }
        }
    }
    Ok(files)
}
