//! `publish`: check, show what changes, ask, write, switch, tidy up.

use super::check;
use super::currency::{self, Confirm};
use crate::answer::{Answer, BAD, GOOD, STRONG, WARN, paint};
use crate::cli::Publish;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::{Changes, Compiled, LoadError, PublishError, Published, Removals, Thing, changes};
use serde_json::{Value, json};
use shared::store::published::read_active_version;
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
    /// The store, if it could be read back.
    store: Option<Compiled>,
    /// Whether rows of it are missing or altered.
    damaged: bool,
}

impl Before {
    async fn read(target: &Target) -> Result<Self, Failure> {
        let Some(active) = read_active_version(&target.db).await? else {
            return Ok(Self { version: None, store: None, damaged: false });
        };
        let version = Some(active.version.clone());
        let Some(record) = publish::read_version(&target.db, &active.version).await? else {
            return Ok(Self { version, store: None, damaged: true });
        };
        match publish::load(&target.db, &record).await {
            Ok(store) => {
                let damaged = active.config != store.config || publish::damage(&target.db, &store).await? > 0;
                Ok(Self { version, store: Some(store), damaged })
            }
            Err(LoadError::Store(error)) => Err(error.into()),
            Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => {
                Ok(Self { version, store: None, damaged: true })
            }
        }
    }

    /// Whether this very store is published, damaged or not.
    fn is(&self, store: &Compiled) -> bool {
        self.version.as_deref().map(publish::store_of) == Some(&store.version)
    }
}

/// What a publish would do.
struct Plan {
    before: Before,
    /// The changes, for people.
    shown: String,
    /// Active items that would be removed.
    removals: Removals,
    json: Value,
}

impl Plan {
    async fn make(target: &Target, store: &Compiled) -> Result<Self, Failure> {
        let before = Before::read(target).await?;
        let changes = changes(before.store.as_ref(), store);
        let removals = publish::removals(before.store.as_ref(), store);
        let shown = shown(target, &before, store, &changes);
        let json = json!({
            "version": store.version, "previous": before.version, "changes": changes, "rows": store.parts("").len(),
            "removals": removals,
        });
        Ok(Self { before, shown, removals, json })
    }

    /// What is shown, with a change of the currency, which is refused or has to be confirmed apart.
    async fn with_currency(&self, target: &Target, store: &Compiled, confirm: Confirm<'_>) -> Result<String, Failure> {
        let to = currency::To { digits: store.config.digits, code: &store.settings.system_currency.name };
        currency::guard(target, self.before.version.as_deref(), &to, self.shown.clone(), confirm).await
    }

    /// Refuses to remove many active items unless that is allowed: most often a folder is missing.
    fn allows(&self, options: &Publish) -> Result<(), Failure> {
        if options.allow_removals || !self.removals.are_many() {
            return Ok(());
        }
        let Removals { active, removed } = self.removals;
        let what = format!("{}\nThis removes {removed} of {active} active items.", self.shown);
        Err(Failure::refused(what, "Check that no file is missing. If it is meant, add --allow-removals."))
    }
}

pub(super) async fn run(
    target: &Target,
    console: &Console,
    options: &Publish,
    store: &Compiled,
) -> Result<Answer, Failure> {
    let plan = Plan::make(target, store).await?;
    let (before, same) = (&plan.before, plan.before.is(store));
    let live = not_published(&options.dir);
    if same && !before.damaged {
        let version = before.version.as_deref().unwrap_or_default();
        let text = format!("Nothing to do: this very store is published on {} (version {version}).{live}", target.name);
        return Ok(Answer::new(text, json!({ "published": false, "unchanged": true, "version": version })));
    }
    if options.dry_run {
        let needed = if plan.removals.are_many() { "\nPublishing this needs --allow-removals." } else { "" };
        let shown = plan.with_currency(target, store, Confirm::No).await?;
        let text = format!("{shown}\nNothing was written (--dry-run).{needed}{live}");
        return Ok(Answer::new(text, json!({ "published": false, "dry_run": true, "plan": plan.json })));
    }
    plan.allows(options)?;
    let asked = Confirm::Asked { console, yes: options.yes, allowed: options.allow_currency.as_deref() };
    let shown = plan.with_currency(target, store, asked).await?;
    console.confirm(&shown, "Publish?", options.yes)?;
    // The first publish sets the schema number: what is there already must have today's format.
    if before.version.is_none() {
        super::upgrade::bring(target, console).await?;
    }
    let version = send(target, console, store, before).await?;
    let removed = tidy(target, console, options.grace).await;
    // Without a question the changes were not shown yet.
    let mut text = if options.yes { format!("{shown}\n") } else { String::new() };
    if same {
        _ = write!(text, "{} The store was damaged and is whole again, as version {version}.", paint(GOOD, "ok"));
    } else {
        _ = write!(text, "{} Version {version} is published on {}.", paint(GOOD, "ok"), target.name);
        if let Some(previous) = &before.version {
            _ = write!(text, "\nTo go back: storectl rollback {previous}");
        }
    }
    text.push_str(&told_removed(&removed));
    text.push_str(&live);
    let removed = removed.unwrap_or_default();
    let json = json!({
        "published": true, "repaired": same, "version": version, "plan": plan.json, "removed": removed,
    });
    Ok(Answer::new(text, json))
}

/// Says that `live/` is not published, if there is one.
fn not_published(dir: &Path) -> String {
    if dir.join(check::LIVE).is_dir() {
        format!("\n{} {}/ is not published: only the local server loads it.", paint(WARN, "note"), check::LIVE)
    } else {
        String::new()
    }
}

/// Publishes over the version that the changes were shown against; returns the name of the new version.
async fn send(target: &Target, console: &Console, store: &Compiled, before: &Before) -> Result<String, Failure> {
    let progress = console.progress("Publishing", Some(store.parts("").len() as u64));
    let (now, seen) = (target.clock.seconds(), before.version.as_deref());
    let outcome = publish::publish_with(&target.db, store, seen, now, &|rows| progress.advance(rows)).await;
    let old = before.version.as_ref().map_or_else(|| "nothing".to_owned(), |version| format!("version {version}"));
    match outcome {
        Ok(Published::Switched { version, .. }) => Ok(version),
        // Another publisher published the same store.
        Ok(Published::Unchanged) => Ok(store.version.clone()),
        Err(PublishError::Raced { winner }) => {
            let plan = Plan::make(target, store).await?;
            let what = format!(
                "Version {winner} was published in the meantime. Your store would now change this:\n{}",
                plan.shown
            );
            let next = "Take over the other change into your files, or run the same command again.";
            Err(Failure::new(Exit::Raced, what, next).done("Nothing was switched to your store."))
        }
        Err(PublishError::BeingRemoved { version }) => {
            let what = format!("Version {version} was just removed by another command.");
            Err(Failure::new(Exit::Raced, what, "Run the same command again.").done("Nothing was switched."))
        }
        Err(PublishError::Digits { published, wanted }) => Err(currency::digits(published, wanted)),
        Err(PublishError::Store(error)) => {
            let done =
                format!("{} rows were written and nothing was switched: readers see {old}.", progress.position());
            let failure = Failure::from(error);
            let next = format!("{} Run again, it writes only what is missing.", failure.next);
            Err(failure.done(done).next(next))
        }
    }
}

/// Removes old versions. A failure here is not one of the publish: the next one continues.
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
        let what = if before.store.is_some() { "" } else { " and cannot be compared" };
        lines.push(paint(WARN, &format!("What is published now is damaged{what}; all of it is written again.")));
    }
    let names = |things: &[Thing]| things.iter().map(ToString::to_string).collect::<Vec<_>>();
    let differing = changes.changed.iter().map(ToString::to_string).collect();
    for (sign, style, names) in
        [("+", GOOD, names(&changes.added)), ("~", WARN, differing), ("-", BAD, names(&changes.removed))]
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
