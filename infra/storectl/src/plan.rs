//! The changes of a publish or a rollback against what is published, and what of them is refused or has to be confirmed.

use crate::check::{self, FaultFacts};
use crate::delivery::queue;
use crate::prelude::*;
use crate::publishing::Publish;
use crate::{prices, subscription};
use jiff::tz::TimeZone;
use publish::{
    Compiled, Diff, Fault, LoadError, Moved, PriceChanges, PublishError, Reassigned, Removals, Thing, check_digits,
};
use serde::Serialize;
use shared::model::{Command, ItemId, Server, Settings};
use shared::shop::stock;
use shared::table::published::read_active_version;
use shared::table::{keys, read_published};
use std::collections::{BTreeMap, BTreeSet};

/// How many changes of one kind are listed for people; JSON has all of them.
const LISTED: usize = 40;

/// The published store.
pub struct Before {
    pub version: Option<String>,
    /// The store, if it could be read back.
    store: Option<Compiled>,
    /// Whether rows of it are missing or altered.
    pub damaged: bool,
}

impl Before {
    async fn read(at: &Deployment) -> Result<Self> {
        let Some(active) = read_active_version(&at.db).await? else {
            return Ok(Self { version: None, store: None, damaged: false });
        };
        let version = Some(active.version.clone());
        match publish::load_version(&at.db, &active.version).await {
            Ok(store) => {
                let damaged = active.config != store.config || publish::damage(&at.db, &store).await? > 0;
                Ok(Self { version, store: Some(store), damaged })
            }
            Err(LoadError::Store(error)) => Err(error.into()),
            Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => {
                Ok(Self { version, store: None, damaged: true })
            }
        }
    }

    /// Whether this very store is published, damaged or not.
    pub fn is(&self, store: &Compiled) -> bool {
        self.version.as_deref().map(publish::store_of) == Some(&store.version)
    }
}

/// A plan, as it is printed.
#[derive(Serialize)]
pub struct PlanFacts {
    version: String,
    previous: Option<String>,
    #[serde(flatten)]
    diff: Diff,
    rows: usize,
    /// About what is published.
    warnings: Vec<String>,
    /// Warnings of `check` about the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    likely_mistakes: Option<Vec<FaultFacts>>,
}

pub struct Plan {
    pub before: Before,
    pub shown: String,
    pub facts: PlanFacts,
    /// Whether buyers would own, or get their goods from, something else than what they bought.
    changes_ids: bool,
    /// Servers that would be removed while commands wait for them.
    queues: Vec<(Server, Vec<Command>)>,
    /// That of its days.
    pub zone: TimeZone,
}

impl Plan {
    /// Compares a store with what is published. `zone` is that of its days.
    pub async fn make(at: &Deployment, store: &Compiled, zone: &TimeZone) -> Result<Self> {
        let before = Before::read(at).await?;
        let diff = Diff::of(before.store.as_ref(), store);
        let queues = queue::of_removed(at, &diff.removed_servers).await?;
        let (mut warnings, changes_ids) = warnings(at, &diff).await?;
        warnings.extend(subscription::kept(at, &diff.changed_subscriptions).await?);
        warnings.extend(prices::warnings(at, store, zone).await?);
        let facts = PlanFacts {
            version: store.version.clone(),
            previous: before.version.clone(),
            diff,
            rows: store.parts("").len(),
            warnings,
            likely_mistakes: None,
        };
        let shown = shown(at, &before, &facts);
        Ok(Self { before, shown, facts, changes_ids, queues, zone: zone.clone() })
    }

    /// With what `check` warns of in the files.
    pub fn with_likely_mistakes(mut self, warnings: &[Fault]) -> Self {
        if !warnings.is_empty() {
            let more = if warnings.len() > LISTED { ", the first of them above" } else { "" };
            let count = format!("{}{more}", check::counted(WARN, warnings.len(), "warning"));
            self.shown = format!("{}\n{count}\n{}", check::lines(&warnings[..warnings.len().min(LISTED)]), self.shown);
        }
        self.facts.likely_mistakes = Some(check::facts_of(warnings));
        self
    }

    /// The difference in words, with a change of the currency, which is refused or has to be confirmed apart.
    pub async fn with_currency(&self, at: &Deployment, store: &Compiled, confirm: Confirm<'_>) -> Result<String> {
        let to = To { digits: store.config.digits, code: &store.settings.system_currency.name };
        guard(at, self.before.version.as_deref(), &to, self.shown.clone(), confirm).await
    }

    /// Refuses to remove many active items, and servers while commands wait for them, unless that is allowed.
    pub fn must_be_allowed(&self, options: &Publish) -> Result<()> {
        let (shown, removals) = (&self.shown, self.facts.diff.removals);
        // Most often a folder is missing.
        if !options.allow_removals && removals.are_many() {
            let Removals { active, removed } = removals;
            let what = format!("{shown}\nThis removes {removed} of {active} active items.");
            let next = "Check that no file is missing. If it is meant, add --allow-removals.";
            return Err(Failure::refused(what, next));
        }
        let Some((Server { name, id, .. }, waiting)) = self.queues.first().filter(|_| !options.drop_queue) else {
            return Ok(());
        };
        let count = waiting.len();
        let what = format!("{shown}\nThis removes the server {name} ({id}) while {count} commands wait for it.");
        let next = "Wait until they have run, or add --drop-queue to cancel them; `storectl delivery list` shows them.";
        Err(Failure::refused(what, next))
    }

    /// Asks before what is most often a slip, unless that is allowed: prices whose decimal point or column slipped, commands that
    /// RCON may not take, and ids that were sold, or servers, that become others.
    pub fn confirm(&self, console: &Console, options: &Publish, shown: &str) -> Result<()> {
        let Diff { price_changes, long_commands: long, .. } = &self.facts.diff;
        let PriceChanges { compared, large } = price_changes;
        let are = if *long == 1 { "command is" } else { "commands are" };
        let slips = [
            (
                !options.allow_price_changes && price_changes.are_many(),
                format!("{large} of {compared} prices change by more than half, or fall to 0."),
                ("prices", "--allow-price-changes"),
            ),
            (
                !options.allow_long_commands && *long > 0,
                format!("{long} {are} too long for RCON with the longest values."),
                ("commands", "--allow-long-commands"),
            ),
            (
                !options.allow_id_changes && self.changes_ids,
                "Ids change that orders refer to: see the warnings.".to_owned(),
                ("ids", "--allow-id-changes"),
            ),
        ];
        slips.into_iter().filter(|(is_asked, ..)| *is_asked).try_for_each(|(_, line, (word, option))| {
            let (shown, what) = (format!("{shown}\n{}", paint(STRONG, &line)), format!("{shown}\n{line}"));
            console.confirm_word(&shown, &what, word, option, options.yes)
        })
    }

    /// With a warning for each server that a rollback removes while commands wait for it: unlike a publish it is not refused.
    pub fn with_waiting(mut self) -> Self {
        let warning = |(Server { name, id, .. }, waiting): &(Server, Vec<Command>)| {
            format!(
                "{} commands wait for the server {name} ({id}), which that version does not have: they run once a version with it is \
                 published, or `storectl publish --drop-queue` cancels them.",
                waiting.len()
            )
        };
        let warnings: Vec<String> = self.queues.iter().map(warning).collect();
        for warning in &warnings {
            self.shown = format!("{}\n{}", self.shown, warning!("{warning}"));
        }
        self.facts.warnings.extend(warnings);
        self
    }

    /// The options without which this plan is not carried out, as a line.
    pub fn needs(&self) -> String {
        let Diff { removals, price_changes, long_commands, .. } = &self.facts.diff;
        let needed = [
            (removals.are_many(), "--allow-removals"),
            (price_changes.are_many(), "--allow-price-changes"),
            (*long_commands > 0, "--allow-long-commands"),
            (self.changes_ids, "--allow-id-changes"),
            (!self.queues.is_empty(), "--drop-queue"),
        ];
        let needed: Vec<&str> = needed.into_iter().filter_map(|(is, option)| is.then_some(option)).collect();
        if needed.is_empty() { String::new() } else { format!("\nPublishing this needs {}.", needed.join(" and ")) }
    }
}

/// A plan in words.
fn shown(at: &Deployment, before: &Before, PlanFacts { version, diff, warnings, .. }: &PlanFacts) -> String {
    let changes = &diff.changes;
    let mut lines = vec![paint(STRONG, &format!("Changes on {}", at.name))];
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
    lines.extend(warnings.iter().map(|warning| warning!("{warning}")));
    let previous = before.version.as_ref().map_or_else(String::new, |version| format!(", now {version}"));
    let (more, other, fewer) = (changes.added.len(), changes.changed.len(), changes.removed.len());
    lines.push(format!("{more} added, {other} changed, {fewer} removed (version {version}{previous})"));
    lines.join("\n")
}

/// The warnings, and whether one of them is about what was sold, or about a server. Units sold are counted per item, with and
/// without a limit, so one read says which items buyers own.
async fn warnings(at: &Deployment, diff: &Diff) -> Result<(Vec<String>, bool)> {
    let Diff { reassigned, moved, swapped_servers, .. } = diff;
    let ids = reassigned.iter().flat_map(|one| [Some(one.id), one.swapped_with]).flatten();
    let sold = sold(at, ids.chain(moved.iter().map(|one| one.before)).collect()).await?;
    let is_sold = |id: ItemId| sold.get(&id).is_some_and(|units| *units > 0);
    let (mut warnings, mut is_asked) = (Vec::new(), false);
    for Reassigned { id, before, after, swapped_with } in reassigned {
        match swapped_with {
            Some(other) => {
                is_asked |= is_sold(*id) || is_sold(*other);
                warnings.push(format!(
                    "Items {id} and {other} swap their names, {before} and {after}: who owns one owns the other then."
                ));
            }
            None if is_sold(*id) => {
                is_asked = true;
                let units = sold.get(id).copied().unwrap_or_default();
                warnings.push(format!(
                    "Item {id} was sold {units} times as {before} and gets another name, {after}, and another price: who \
                     owns it owns {after} then. Give a new item an id of its own."
                ));
            }
            None => {}
        }
    }
    for Moved { name, before, after } in moved.iter().filter(|one| is_sold(one.before)) {
        is_asked = true;
        let units = sold.get(before).copied().unwrap_or_default();
        warnings.push(format!(
            "{name} was sold {units} times as item {before} and becomes item {after}: no one owns it then, and limits count from \
             0. Write id: {before} again."
        ));
    }
    for (one, other) in swapped_servers {
        is_asked = true;
        warnings.push(format!(
            "Servers {} and {} swap their names, {} and {}: keys and commands stay with the ids, so that each would get what is \
             meant for the other.",
            one.id, other.id, one.name, other.name
        ));
    }
    Ok((warnings, is_asked))
}

/// How many units of each of these items were sold.
async fn sold(at: &Deployment, ids: BTreeSet<ItemId>) -> Result<BTreeMap<ItemId, u64>> {
    let mut rows = at.db.batch_get(ids.iter().map(|id| keys::count(*id)).collect()).await?;
    let mut sold = BTreeMap::new();
    for id in ids {
        let units = stock::take(&mut rows, id)?.unwrap_or_default();
        sold.insert(id, units.sold);
    }
    Ok(sold)
}

/// The version that is to be published, as far as its currency goes.
pub struct To<'a> {
    pub digits: u8,
    pub code: &'a str,
}

/// Checks a change from the published version `from`. Returns what is shown to people: `shown`, and a change of the
/// currency's code in bold. `allowed` is the code that `--allow-currency` names. With `asks` a change that is not
/// allowed has to be confirmed by typing the code; `--yes` (`yes`) is not enough for it. Fails with [`Exit::Refused`]
/// for other digits, [`Exit::Declined`] if the code is not confirmed.
pub async fn guard(
    at: &Deployment,
    from: Option<&str>,
    to: &To<'_>,
    shown: String,
    confirm: Confirm<'_>,
) -> Result<String> {
    match check_digits(&at.db, to.digits).await {
        Ok(()) => {}
        Err(PublishError::Digits { published, wanted }) => return Err(other_digits(published, wanted)),
        Err(PublishError::Store(error)) => return Err(error.into()),
        Err(other) => return Err(Failure::refused(format!("{other}."), "Look at `storectl versions`.")),
    }
    let Some(from) = from else { return Ok(shown) };
    let Some(old) = code_of(at, from).await?.filter(|old| old != to.code) else { return Ok(shown) };
    let line = format!("The store's currency changes from {old} to {}: amounts keep their numbers.", to.code);
    let shown = format!("{shown}\n{}", paint(STRONG, &line));
    match confirm {
        Confirm::No => {}
        Confirm::Asked { allowed: Some(allowed), .. } if allowed == to.code => {}
        Confirm::Asked { console, yes, .. } => {
            console.confirm_word(&shown, &line, to.code, &format!("--allow-currency {}", to.code), yes)?;
        }
    }
    Ok(shown)
}

/// Whether a change of the currency's code has to be confirmed.
pub enum Confirm<'a> {
    No,
    /// By the option, or by typing it.
    Asked {
        console: &'a Console,
        yes: bool,
        allowed: Option<&'a str>,
    },
}

/// The refusal of other digits, with the way to get them.
pub fn other_digits(published: u8, wanted: u8) -> Failure {
    let what = format!(
        "The currency has {wanted} digits in these files and {published} in the published store, and the table has \
         live rows: every balance, order and sum would be read as another amount."
    );
    let next = "Do not change `currency.digits`. For other digits publish into a new, empty table (another stack, or \
                --table), where users, codes and orders start from the beginning.";
    Failure::new(Exit::Refused, what, next).done("Nothing was published.")
}

/// The currency code of a version; `None` if its settings are gone.
pub async fn code_of(at: &Deployment, version: &str) -> Result<Option<String>> {
    let settings: Option<Settings> = read_published(&at.db, &keys::settings(version)).await?;
    Ok(settings.map(|settings| settings.system_currency.name))
}
