//! `publish`: check, show what changes, ask, write, switch, tidy up.

use crate::arguments::{seconds, short_text};
use crate::check::{failure, must_be_there};
use crate::delivery::queue;
use crate::notify::not_connected;
use crate::plan::{Confirm, Plan, other_digits};
use crate::prelude::*;
use crate::prices::{EdgeFacts, ahead};
use crate::shop::Shop;
use crate::table;
use jiff::tz::TimeZone;
use publish::files::StoreFiles;
use publish::{Compiled, Fault, LIVE, PublishError, Published};
use shared::shop::publishing::set_label;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Publish {
    /// Directory of the store's files.
    pub dir: PathBuf,
    /// Show what would change and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask; the changes are printed anyway.
    #[arg(long, short)]
    pub yes: bool,
    /// Allow the store's currency to become this one; --yes is not enough.
    #[arg(long, value_name = "CODE")]
    pub allow_currency: Option<String>,
    /// Allow removing more than a fifth of the active items.
    #[arg(long)]
    pub allow_removals: bool,
    /// Allow changing a third of the prices, or more, by more than half; --yes is not enough.
    #[arg(long)]
    pub allow_price_changes: bool,
    /// Allow commands that, with the longest values, are too long for RCON; --yes is not enough.
    #[arg(long)]
    pub allow_long_commands: bool,
    /// Allow what makes buyers own something else: an id that was sold becomes another item or gets another one, servers swap
    /// their names; --yes is not enough.
    #[arg(long)]
    pub allow_id_changes: bool,
    /// Cancel the commands that wait for servers which store.yaml no longer has, also those that are due later.
    #[arg(long)]
    pub drop_queue: bool,
    /// Label of this version, shown by `versions` and `rollback`.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub label: Option<String>,
    /// How long a version stays after it was replaced, such as 1h or 2d; the last three stay longer.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    pub grace: i64,
}

/// The files of a store without faults.
pub fn read(dir: &Path) -> Result<StoreFiles> {
    must_be_there(dir)?;
    let files = publish::read(dir).map_err(|faults| failure(dir, &faults))?;
    publish::compile(&files).map_err(|faults| failure(dir, &faults))?;
    Ok(files)
}

/// `files` are those of the store, if they were read already.
pub async fn run(at: &Deployment, console: &Console, options: &Publish, files: Option<StoreFiles>) -> Outcome {
    let mut files = files.map_or_else(|| read(&options.dir), Ok)?;
    let faulty = |faults: Vec<Fault>| failure(&options.dir, &faults);
    let shop = Shop::prepare(at, console, &options.dir, &mut files).map_err(faulty)?;
    let not_uploaded = if at.stack.is_some() || at.is_local { String::new() } else { not_uploaded(&mut files) };
    let store = &publish::compile(&files).map_err(faulty)?;
    let zone = &publish::time_zone(&files).unwrap_or(TimeZone::UTC);
    let plan = Plan::make(at, store, zone).await?.with_likely_mistakes(&publish::warnings(&files));
    let notes = not_published(&options.dir) + &not_shown(shop.as_ref(), store) + &not_uploaded;
    let notes = notes + &not_told(at, store).await;
    let (ahead, prices) = if options.dry_run { ahead(store, zone, at.clock.seconds()) } else { Default::default() };
    let notes = notes + &ahead;
    if plan.before.is(store) && !plan.before.damaged {
        let uploaded = if options.dry_run { 0 } else { fill(shop.as_ref(), console, store).await? };
        let version = plan.before.version.as_deref().unwrap_or_default();
        return unchanged(at, options, store, (version, uploaded), (&notes, prices)).await;
    }
    if options.dry_run {
        let needed = plan.needs();
        let shown = plan.with_currency(at, store, Confirm::No).await?;
        let text = format!("{shown}\nNothing was written (--dry-run).{needed}{notes}");
        return Ok(Printed::new(text, &facts! { published: false, dry_run: true, plan: plan.facts, prices }));
    }
    plan.must_be_allowed(options)?;
    let asked = Confirm::Asked { console, yes: options.yes, allowed: options.allow_currency.as_deref() };
    let shown = plan.with_currency(at, store, asked).await?;
    plan.confirm(console, options, &shown)?;
    console.confirm(&shown, "Publish?", options.yes)?;
    carry_out(at, console, options, (store, shop.as_ref()), &plan, (&shown, &notes)).await
}

/// Publishes as it was planned.
async fn carry_out(
    at: &Deployment,
    console: &Console,
    options: &Publish,
    (store, shop): (&Compiled, Option<&Shop>),
    plan: &Plan,
    (shown, notes): (&str, &str),
) -> Outcome {
    let (before, repaired) = (&plan.before, plan.before.is(store));
    // The first publish sets the schema number: what is there already must have today's format.
    if before.version.is_none() {
        table::bring(at, console).await?;
    }
    let uploaded = fill(shop, console, store).await?;
    let version = send(at, console, store, plan).await?;
    let labelled = label(at, &version, options).await;
    let labelled = labelled.unsure(format!("Version {version} is published, without its label."), AGAIN)?;
    let dropped = drop_queues(at, options).await;
    let dropped =
        dropped.after(format!("Version {version} is published; some commands of removed servers still wait."))?;
    let removed = tidy(at, console, options.grace, shop).await;
    // Without a question the changes were not shown yet.
    let mut text = if options.yes { format!("{shown}\n") } else { String::new() };
    if repaired {
        text.push_str(&ok!("The store was damaged and is whole again, as version {version}."));
    } else {
        text.push_str(&ok!("Version {version} is published on {}.", at.name));
        if let Some(previous) = &before.version {
            _ = write!(text, "\nTo go back: storectl rollback {previous}");
        }
    }
    text.push_str(&done(uploaded, dropped));
    text.push_str(&labelled);
    match &removed {
        Ok(removed) if removed.is_empty() => {}
        Ok(removed) => _ = write!(text, "\nRemoved: {}", removed.join(", ")),
        Err(failure) => {
            _ = write!(text, "\n{}", note!("Old versions stay until the next publish: {}", failure.what));
        }
    }
    text.push_str(notes);
    let facts = facts! {
        published: true, repaired, version, plan: &plan.facts, removed: removed.unwrap_or_default(),
        dropped_commands: dropped, uploaded,
    };
    Ok(Printed::new(text, &facts))
}

/// The store is published already. Of an earlier attempt that was interrupted after the switch, the rest is done.
async fn unchanged(
    at: &Deployment,
    options: &Publish,
    store: &Compiled,
    (version, uploaded): (&str, u64),
    (notes, prices): (&str, Vec<EdgeFacts>),
) -> Outcome {
    let (mut labelled, mut dropped_commands) = (String::new(), 0);
    let files_replaced = !options.dry_run && publish::keep_files(&at.db, version, &store.files).await?;
    if !options.dry_run {
        labelled = label(at, version, options).await?;
        dropped_commands = drop_queues(at, options).await?;
    }
    let kept = format!("version {version}, which stays published on {}: only comments or hidden parts differ", at.name);
    let text = if files_replaced {
        ok!("Your files replace those of {kept}.")
    } else if options.dry_run && publish::files_differ(&at.db, version, &store.files).await? {
        format!("A publish replaces the files of {kept}. Nothing was written (--dry-run).")
    } else {
        format!("Nothing to do: this very store is published on {} (version {version}).", at.name)
    };
    let text = format!("{text}{}{labelled}{notes}", done(uploaded, dropped_commands));
    let facts = facts! {
        published: false, unchanged: true, version, dropped_commands, uploaded, files_replaced, prices,
    };
    Ok(Printed::new(text, &facts))
}

/// Lines about files that were uploaded and commands that were cancelled, if there were any.
fn done(uploaded: u64, dropped: usize) -> String {
    let mut text = String::new();
    if uploaded > 0 {
        _ = write!(text, "\n{uploaded} files were uploaded for the shop.");
    }
    if dropped > 0 {
        _ = write!(text, "\n{dropped} commands that waited for removed servers were cancelled.");
    }
    text
}

/// Cancels what waits for servers that are not published, if the options say so; returns how many commands.
async fn drop_queues(at: &Deployment, options: &Publish) -> Result<usize> {
    let mut dropped = 0;
    if options.drop_queue {
        for (server, _) in queue::of_unpublished(at, queue::servers(at).await?).await? {
            dropped += queue::drop_all(at, server, queue::FOREVER).await?;
        }
    }
    Ok(dropped)
}

/// Stores the label that the options have, and says so.
async fn label(at: &Deployment, version: &str, options: &Publish) -> Result<String> {
    let Some(label) = &options.label else { return Ok(String::new()) };
    set_label(&at.db, version, label).await?;
    Ok(format!("\nIts label is {label:?}."))
}

/// Says that live data are not published, if there are any.
fn not_published(dir: &Path) -> String {
    if dir.join(LIVE).exists() {
        format!("\n{}", note!("{LIVE} is not published: only the local server loads it."))
    } else {
        String::new()
    }
}

/// Notes about what a deployed shop does not show with these files.
fn not_shown(shop: Option<&Shop>, store: &Compiled) -> String {
    let mut notes = String::new();
    let mut note = |text: &str| _ = write!(notes, "\n{}", note!("{text}"));
    if shop.is_some() && store.settings.shop.is_none() {
        note("The shop has no pages: store.yaml has no `shop` (`shop: {}` is enough).");
    }
    if shop.is_some() && store.config.player_avatar.starts_with('/') {
        note("The shop shows a sign in place of players' pictures: players.avatar is a path, not an https:// address.");
    }
    notes
}

/// Notes about targets of notices that are told nothing yet.
async fn not_told(at: &Deployment, store: &Compiled) -> String {
    let targets = &store.config.notify;
    let mut notes = match not_connected(at, targets).await {
        Ok(names) => names.iter().fold(String::new(), |notes, name| {
            let note = note!("The target {name} of `notify` is not connected: `storectl notify connect {name}`.");
            notes + "\n" + &note
        }),
        Err(failure) => {
            format!("\n{}", note!("It is not known whether the targets of `notify` are connected: {}", failure.what))
        }
    };
    if !targets.is_empty() && at.stack.as_ref().is_some_and(|stack| !stack.sends_notices) {
        notes = notes + "\n" + &note!("No notices are sent: the stack is deployed without `Notices=true`.");
    }
    notes
}

/// A note about pictures, for a target that has no bucket.
fn not_uploaded(files: &mut StoreFiles) -> String {
    match pictures::own_pictures(files).len() {
        0 => String::new(),
        count => {
            format!("\n{}", note!("{count} pictures are not uploaded: only --stack NAME finds the bucket of a shop."))
        }
    }
}

/// Uploads what a shop serves, before anything names it. Returns how many files were missing.
async fn fill(shop: Option<&Shop>, console: &Console, store: &Compiled) -> Result<u64> {
    let Some(shop) = shop else { return Ok(0) };
    shop.fill(console, &store.version).await.map_err(|failure| {
        let next = format!("{} Run again, it uploads only what is missing.", failure.next);
        failure.done("Nothing was switched: readers see what they saw before.").next(next)
    })
}

/// Publishes over the version that the changes were shown against; returns the name of the new version.
async fn send(at: &Deployment, console: &Console, store: &Compiled, plan: &Plan) -> Result<String> {
    let before = &plan.before;
    let progress = console.progress("Publishing", Some(store.parts("").len() as u64));
    let (now, seen) = (at.clock.seconds(), before.version.as_deref());
    let outcome = publish::publish_with(&at.db, store, seen, now, &|rows| progress.advance(rows)).await;
    let old = before.version.as_ref().map_or_else(|| "nothing".to_owned(), |version| format!("version {version}"));
    match outcome {
        Ok(Published::Switched { version, .. }) => Ok(version),
        // Another publisher published the same store.
        Ok(Published::Unchanged | Published::FilesReplaced) => Ok(store.version.clone()),
        Err(PublishError::OtherPublished { winner }) => {
            let plan = Plan::make(at, store, &plan.zone).await?;
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
        Err(PublishError::Digits { published, wanted }) => Err(other_digits(published, wanted)),
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
async fn tidy(at: &Deployment, console: &Console, grace: i64, shop: Option<&Shop>) -> Result<Vec<String>> {
    let progress = console.progress("Removing old versions", None);
    let now = at.clock.seconds();
    let removed = publish::remove_outdated(&at.db, now, grace, &|rows| progress.advance(rows)).await?;
    if let Some(shop) = shop {
        shop.tidy(at).await?;
    }
    Ok(removed)
}
