//! `publish`: check, show what changes, ask, write, switch, tidy up.

use super::check;
use super::currency::{self, Confirm};
use super::id_changes::warnings;
use super::queues;
use super::subscriptions;
use crate::answer::{Answer, BAD, GOOD, STRONG, WARN, paint};
use crate::cli::Publish;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::shop::Shop;
use crate::target::Target;
use local::live::FILE;
use publish::files::StoreFiles;
use publish::{Changes, Compiled, Fault, LoadError, PriceChanges, PublishError, Published, Removals, Thing, changes};
use serde_json::{Value, json};
use shared::model::{Command, Server};
use shared::shop::publishing::set_label;
use shared::table::published::read_active_version;
use std::fmt::Write as _;
use std::path::Path;

/// How many changes of one kind are listed for people; JSON has all of them.
const LISTED: usize = 40;

/// The files of a store without faults.
pub(super) fn read(dir: &Path) -> Result<StoreFiles, Failure> {
    check::must_be_there(dir)?;
    let files = publish::read(dir).map_err(|faults| check::failure(dir, &faults))?;
    publish::compile(&files).map_err(|faults| check::failure(dir, &faults))?;
    Ok(files)
}

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
        match publish::load_version(&target.db, &active.version).await {
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

pub(super) struct Plan {
    before: Before,
    pub(super) shown: String,
    removals: Removals,
    /// Prices that would change by more than half.
    prices: PriceChanges,
    /// How many commands would newly be able to be too long for RCON.
    long_commands: usize,
    /// Whether buyers would own, or get their goods from, something else than what they bought.
    changes_ids: bool,
    /// Servers that would be removed while commands wait for them.
    queues: Vec<(Server, Vec<Command>)>,
    pub(super) json: Value,
}

impl Plan {
    /// Compares a store with what is published.
    pub(super) async fn make(target: &Target, store: &Compiled) -> Result<Self, Failure> {
        let before = Before::read(target).await?;
        let changes = changes(before.store.as_ref(), store);
        let removals = publish::removals(before.store.as_ref(), store);
        let prices = publish::price_changes(before.store.as_ref(), store);
        let known = before.store.as_ref().map(publish::long_commands).unwrap_or_default();
        let long_commands = publish::long_commands(store).difference(&known).count();
        let servers = |store: &Compiled| store.config.delivery.servers.clone();
        let before_servers = before.store.as_ref().map(servers).unwrap_or_default();
        let queues = queues::of_removed(target, &before_servers, &servers(store)).await?;
        let (mut warnings, changes_ids) = warnings(target, before.store.as_ref(), store).await?;
        let subscriptions = publish::changed_subscriptions(before.store.as_ref(), store);
        warnings.extend(subscriptions::kept(target, &subscriptions).await?);
        let shown = shown(target, &before, store, &changes, &warnings);
        let json = json!({
            "version": store.version, "previous": before.version, "changes": changes, "rows": store.parts("").len(),
            "removals": removals, "price_changes": prices, "warnings": warnings,
        });
        Ok(Self { before, shown, removals, prices, long_commands, changes_ids, queues, json })
    }

    /// With what `check` warns of in the files; the plan's own `warnings` are about what is published.
    fn with_likely_mistakes(mut self, warnings: &[Fault]) -> Self {
        if !warnings.is_empty() {
            let more = if warnings.len() > LISTED { ", the first of them above" } else { "" };
            let count = format!("{}{more}", check::counted(WARN, warnings.len(), "warning"));
            self.shown = format!("{}\n{count}\n{}", check::lines(&warnings[..warnings.len().min(LISTED)]), self.shown);
        }
        self.json["likely_mistakes"] = warnings.iter().map(check::fault_json).collect();
        self
    }

    /// The difference in words, with a change of the currency, which is refused or has to be confirmed apart.
    async fn with_currency(&self, target: &Target, store: &Compiled, confirm: Confirm<'_>) -> Result<String, Failure> {
        let to = currency::To { digits: store.config.digits, code: &store.settings.system_currency.name };
        currency::guard(target, self.before.version.as_deref(), &to, self.shown.clone(), confirm).await
    }

    /// Asks before many prices change a lot, unless that is allowed: most often a decimal point or a column slipped.
    fn confirm_prices(&self, console: &Console, options: &Publish, shown: &str) -> Result<(), Failure> {
        if options.allow_price_changes || !self.prices.are_many() {
            return Ok(());
        }
        let PriceChanges { compared, large } = self.prices;
        let line = format!("{large} of {compared} prices change by more than half, or fall to 0.");
        let (shown, what) = (format!("{shown}\n{}", paint(STRONG, &line)), format!("{shown}\n{line}"));
        console.confirm_word(&shown, &what, "prices", "--allow-price-changes", options.yes)
    }

    /// Asks before commands that RCON may not take are published, unless that is allowed.
    fn confirm_commands(&self, console: &Console, options: &Publish, shown: &str) -> Result<(), Failure> {
        if options.allow_long_commands || self.long_commands == 0 {
            return Ok(());
        }
        let (count, are) = (self.long_commands, if self.long_commands == 1 { "command is" } else { "commands are" });
        let line = format!("{count} {are} too long for RCON with the longest values.");
        let (shown, what) = (format!("{shown}\n{}", paint(STRONG, &line)), format!("{shown}\n{line}"));
        console.confirm_word(&shown, &what, "commands", "--allow-long-commands", options.yes)
    }

    /// Asks before an id that was sold, or a server, becomes another one, unless that is allowed.
    fn confirm_ids(&self, console: &Console, options: &Publish, shown: &str) -> Result<(), Failure> {
        if options.allow_id_changes || !self.changes_ids {
            return Ok(());
        }
        let line = "Ids change that orders refer to: see the warnings.";
        let (shown, what) = (format!("{shown}\n{}", paint(STRONG, line)), format!("{shown}\n{line}"));
        console.confirm_word(&shown, &what, "ids", "--allow-id-changes", options.yes)
    }

    /// The options without which this plan is not carried out, as a line.
    fn needs(&self) -> String {
        let needed = [
            (self.removals.are_many(), "--allow-removals"),
            (self.prices.are_many(), "--allow-price-changes"),
            (self.long_commands > 0, "--allow-long-commands"),
            (self.changes_ids, "--allow-id-changes"),
            (!self.queues.is_empty(), "--drop-queue"),
        ];
        let needed: Vec<&str> = needed.into_iter().filter_map(|(is, option)| is.then_some(option)).collect();
        if needed.is_empty() { String::new() } else { format!("\nPublishing this needs {}.", needed.join(" and ")) }
    }

    /// Refuses to remove a server while commands wait for it, unless they are to be cancelled.
    fn allows_servers(&self, options: &Publish) -> Result<(), Failure> {
        let Some((server, waiting)) = self.queues.first().filter(|_| !options.drop_queue) else { return Ok(()) };
        let (shown, name, id, count) = (&self.shown, &server.name, server.id, waiting.len());
        let what = format!("{shown}\nThis removes the server {name} ({id}) while {count} commands wait for it.");
        let next = "Wait until they have run, or add --drop-queue to cancel them; `storectl delivery list` shows them.";
        Err(Failure::refused(what, next))
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
    mut files: StoreFiles,
) -> Result<Answer, Failure> {
    let faulty = |faults: Vec<Fault>| check::failure(&options.dir, &faults);
    let shop = Shop::prepare(target, console, &options.dir, &mut files).map_err(faulty)?;
    let not_uploaded = if target.stack.is_some() || target.is_local { String::new() } else { not_uploaded(&mut files) };
    let store = &publish::compile(&files).map_err(faulty)?;
    let plan = Plan::make(target, store).await?.with_likely_mistakes(&publish::warnings(&files));
    let (before, same) = (&plan.before, plan.before.is(store));
    let live = not_published(&options.dir) + &not_shown(shop.as_ref(), store) + &not_uploaded;
    if same && !before.damaged {
        let uploaded = if options.dry_run { 0 } else { fill(shop.as_ref(), console, store).await? };
        return unchanged(target, options, store, before.version.as_deref().unwrap_or_default(), uploaded, &live).await;
    }
    if options.dry_run {
        let needed = plan.needs();
        let shown = plan.with_currency(target, store, Confirm::No).await?;
        let text = format!("{shown}\nNothing was written (--dry-run).{needed}{live}");
        return Ok(Answer::new(text, json!({ "published": false, "dry_run": true, "plan": plan.json })));
    }
    plan.allows(options)?;
    plan.allows_servers(options)?;
    let asked = Confirm::Asked { console, yes: options.yes, allowed: options.allow_currency.as_deref() };
    let shown = plan.with_currency(target, store, asked).await?;
    plan.confirm_prices(console, options, &shown)?;
    plan.confirm_commands(console, options, &shown)?;
    plan.confirm_ids(console, options, &shown)?;
    console.confirm(&shown, "Publish?", options.yes)?;
    // The first publish sets the schema number: what is there already must have today's format.
    if before.version.is_none() {
        super::upgrade::bring(target, console).await?;
    }
    let uploaded = fill(shop.as_ref(), console, store).await?;
    let version = send(target, console, store, before).await?;
    let labelled = label(target, &version, options).await.map_err(|failure| {
        failure.done(format!("Version {version} is published, without its label.")).next("Run the same command again.")
    })?;
    let dropped = drop_queues(target, options).await.map_err(|failure| {
        failure.done(format!("Version {version} is published; some commands of removed servers still wait."))
    })?;
    let removed = tidy(target, console, options.grace, shop.as_ref()).await;
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
    text.push_str(&told_uploaded(uploaded));
    text.push_str(&told_dropped(dropped));
    text.push_str(&labelled);
    text.push_str(&told_removed(&removed));
    text.push_str(&live);
    let removed = removed.unwrap_or_default();
    let json = json!({
        "published": true, "repaired": same, "version": version, "plan": plan.json, "removed": removed,
        "dropped_commands": dropped, "uploaded": uploaded,
    });
    Ok(Answer::new(text, json))
}

/// The store is published already. Of an earlier attempt that was interrupted after the switch, the rest is done.
async fn unchanged(
    target: &Target,
    options: &Publish,
    store: &Compiled,
    version: &str,
    uploaded: u64,
    live: &str,
) -> Result<Answer, Failure> {
    let (mut labelled, mut dropped) = (String::new(), 0);
    let files_replaced = !options.dry_run && publish::keep_files(&target.db, version, &store.files).await?;
    if !options.dry_run {
        labelled = label(target, version, options).await?;
        dropped = drop_queues(target, options).await?;
    }
    let done = format!("{}{}", told_uploaded(uploaded), told_dropped(dropped));
    let kept =
        format!("version {version}, which stays published on {}: only comments or hidden parts differ", target.name);
    let text = if files_replaced {
        format!("{} Your files replace those of {kept}.", paint(GOOD, "ok"))
    } else if options.dry_run && publish::files_differ(&target.db, version, &store.files).await? {
        format!("A publish replaces the files of {kept}. Nothing was written (--dry-run).")
    } else {
        format!("Nothing to do: this very store is published on {} (version {version}).", target.name)
    };
    let text = format!("{text}{done}{labelled}{live}");
    let json = json!({ "published": false, "unchanged": true, "version": version, "dropped_commands": dropped,
        "uploaded": uploaded, "files_replaced": files_replaced });
    Ok(Answer::new(text, json))
}

/// Cancels what waits for servers that are not published, if the options say so; returns how many commands.
async fn drop_queues(target: &Target, options: &Publish) -> Result<usize, Failure> {
    let mut dropped = 0;
    if options.drop_queue {
        for (server, _) in queues::of_unpublished(target, queues::servers(target).await?).await? {
            dropped += queues::drop_all(target, server, queues::FOREVER).await?;
        }
    }
    Ok(dropped)
}

/// Stores the label that the options have, and says so.
async fn label(target: &Target, version: &str, options: &Publish) -> Result<String, Failure> {
    let Some(label) = &options.label else { return Ok(String::new()) };
    set_label(&target.db, version, label).await?;
    Ok(format!("\nIts label is {label:?}."))
}

/// Says that live data are not published, if there are any.
fn not_published(dir: &Path) -> String {
    if dir.join(FILE).exists() {
        format!("\n{} {FILE} is not published: only the local server loads it.", paint(WARN, "note"))
    } else {
        String::new()
    }
}

/// Notes about what a deployed shop does not show with these files.
fn not_shown(shop: Option<&Shop>, store: &Compiled) -> String {
    let mut notes = String::new();
    let mut note = |text: &str| _ = write!(notes, "\n{} {text}", paint(WARN, "note"));
    if shop.is_some() && store.settings.shop.is_none() {
        note("The shop has no pages: store.yaml has no `shop` (`shop: {}` is enough).");
    }
    if shop.is_some() && store.config.player_avatar.starts_with('/') {
        note("The shop shows a sign in place of players' pictures: players.avatar is a path, not an https:// address.");
    }
    notes
}

/// A note about pictures, for a target that has no bucket.
fn not_uploaded(files: &mut StoreFiles) -> String {
    match pictures::own_pictures(files).len() {
        0 => String::new(),
        count => format!(
            "\n{} {count} pictures are not uploaded: only --stack NAME finds the bucket of a shop.",
            paint(WARN, "note")
        ),
    }
}

/// Uploads what a shop serves, before anything names it. Returns how many files were missing.
async fn fill(shop: Option<&Shop>, console: &Console, store: &Compiled) -> Result<u64, Failure> {
    let Some(shop) = shop else { return Ok(0) };
    shop.fill(console, &store.version).await.map_err(|failure| {
        let next = format!("{} Run again, it uploads only what is missing.", failure.next);
        failure.done("Nothing was switched: readers see what they saw before.").next(next)
    })
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
        Ok(Published::Unchanged | Published::FilesReplaced) => Ok(store.version.clone()),
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
async fn tidy(target: &Target, console: &Console, grace: i64, shop: Option<&Shop>) -> Result<Vec<String>, Failure> {
    let progress = console.progress("Removing old versions", None);
    let now = target.clock.seconds();
    let removed = publish::remove_outdated(&target.db, now, grace, &|rows| progress.advance(rows)).await?;
    if let Some(shop) = shop {
        shop.tidy(target).await?;
    }
    Ok(removed)
}

fn told_uploaded(uploaded: u64) -> String {
    if uploaded == 0 { String::new() } else { format!("\n{uploaded} files were uploaded for the shop.") }
}

fn told_dropped(dropped: usize) -> String {
    if dropped == 0 {
        return String::new();
    }
    format!("\n{dropped} commands that waited for removed servers were cancelled.")
}

fn told_removed(removed: &Result<Vec<String>, Failure>) -> String {
    match removed {
        Ok(removed) if removed.is_empty() => String::new(),
        Ok(removed) => format!("\nRemoved: {}", removed.join(", ")),
        Err(failure) => format!("\n{} Old versions stay until the next publish: {}", paint(WARN, "note"), failure.what),
    }
}

fn shown(target: &Target, before: &Before, store: &Compiled, changes: &Changes, warnings: &[String]) -> String {
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
    lines.extend(warnings.iter().map(|warning| format!("{} {warning}", paint(WARN, "warning"))));
    let previous = before.version.as_ref().map_or_else(String::new, |version| format!(", now {version}"));
    let (more, other, fewer) = (changes.added.len(), changes.changed.len(), changes.removed.len());
    lines.push(format!("{more} added, {other} changed, {fewer} removed (version {}{previous})", store.version));
    lines.join("\n")
}
