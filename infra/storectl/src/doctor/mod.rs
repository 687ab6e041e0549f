//! `doctor`: first what needs a person, with what to do about it, and then what is well.

mod deployment;
mod payments;
mod person;
mod sums;

pub use person::{Undecided, of_store};

use crate::notify::not_connected;
use crate::prelude::*;
use publish::LoadError;
use serde::Serialize;
use shared::model::SCHEMA;
use shared::shop::accounts::names::complete;
use shared::shop::notices::{MOST_LISTED, waiting};
use shared::shop::upkeep::finish_statistics;
use shared::table::published::read_active_version;
use shared::table::restoring;
use std::cmp::Ordering;

#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Origin of a storefront that must be allowed, such as `https://shop.example`; may be given more than once.
    #[arg(long = "origin", value_name = "ORIGIN")]
    pub origins: Vec<String>,
    /// Correct units sold, what users own, what patrons gave and the rows by which orders are found, all from the orders, and what
    /// waits for game servers.
    #[arg(long)]
    pub repair: bool,
    /// Print a line for every check, also for what is well.
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub state: State,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether it is well because it was repaired just now.
    #[serde(skip)]
    is_repaired: bool,
}

/// The states of a check, those that need a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A fault.
    Bad,
    /// Something waits for a person.
    Todo,
    /// Worth knowing; nothing has to be done.
    Note,
    Ok,
}

impl State {
    /// Whether it needs a person.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Bad | Self::Todo)
    }
}

/// The finding of a check, without its name.
type Found = Result<Finding>;

impl Finding {
    pub fn ok(said: impl Into<String>) -> Self {
        Self { check: "", state: State::Ok, said: said.into(), next: None, is_repaired: false }
    }

    /// Something was repaired and is well now.
    pub fn repaired(said: impl Into<String>) -> Self {
        Self { is_repaired: true, ..Self::ok(said) }
    }

    pub fn note(said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Note, next: Some(next.into()), ..Self::ok(said) }
    }

    pub fn todo(said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Todo, ..Self::note(said, next) }
    }

    pub fn bad(said: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: State::Bad, ..Self::note(said, next) }
    }

    /// The same as a finding of the check with this name.
    pub fn named(self, check: &'static str) -> Self {
        Self { check, ..self }
    }

    /// The finding of a check, or that it failed.
    pub fn of(check: &'static str, found: Found) -> Self {
        found.unwrap_or_else(|failure| Self::bad(failure.what, failure.next)).named(check)
    }

    fn line(&self) -> String {
        let (style, word) = match self.state {
            State::Bad => (BAD, "bad "),
            State::Todo => (WARN, "todo"),
            State::Note => (WARN, "note"),
            State::Ok => (GOOD, "ok  "),
        };
        let next = self.next.as_ref().map(|next| format!(" → {next}")).unwrap_or_default();
        format!("{} {}: {}{next}", paint(style, word), self.check, self.said)
    }
}

/// Sorted findings as lines: a line for each that is not simply well, and one for all others; with `all`, one for each.
pub fn lines(findings: &[Finding], all: bool) -> Vec<String> {
    let is_told = |finding: &&Finding| all || finding.state != State::Ok || finding.is_repaired;
    let mut lines: Vec<String> = findings.iter().filter(is_told).map(Finding::line).collect();
    let well: Vec<&str> = findings.iter().filter(|finding| !is_told(finding)).map(|finding| finding.check).collect();
    if !well.is_empty() {
        let what = if lines.is_empty() { "all is well" } else { "the rest is well" };
        lines.push(format!("{} {what}: {}", paint(GOOD, "ok  "), well.join(", ")));
    }
    lines
}

/// Some things, for a finding: the first ten.
fn named<T: ToString>(things: impl ExactSizeIterator<Item = T>) -> String {
    first(10, things)
}

/// The first of some things.
fn first<T: ToString>(most: usize, things: impl ExactSizeIterator<Item = T>) -> String {
    let more = if things.len() > most { ", …" } else { "" };
    let named: Vec<String> = things.take(most).map(|thing| thing.to_string()).collect();
    format!("{}{more}", named.join(", "))
}

pub async fn run(at: &Deployment, options: &Doctor) -> Outcome {
    let (of, repairs) = (Finding::of, options.repair);
    let mut findings = vec![of("table", deployment::shape(at).await)];
    if findings.iter().all(|finding| finding.state == State::Ok) {
        findings.push(of("time to live", deployment::ttl(at).await));
        findings.push(of("clock", deployment::clock(at).await));
        let restored = of("restore", restore(at).await);
        let is_whole = restored.state == State::Ok;
        findings.push(restored);
        // While a restore is not done there is nothing else to look at, and nothing may be written.
        let data = if is_whole { schema(at).await.transpose() } else { None };
        let data = data.map(|found| of("schema", found));
        let is_current = data.as_ref().is_none_or(|finding| finding.state == State::Ok);
        findings.extend(data);
        // Data of an earlier format are for `upgrade` to complete.
        if is_whole && is_current {
            findings.push(of("published version", version(at).await));
            findings.push(of("user names", names(at).await));
            // First what the orders say: lists of patrons and donators are made from these sums.
            findings.extend(sums::check(at, repairs).await);
            findings.push(of("goals and donators", statistics(at).await));
            findings.push(of("referrals", sums::referrals(at).await));
            findings.push(of("subscriptions", sums::subscriptions(at, repairs).await));
            findings.push(of("open subscriptions", sums::open_subscriptions(at, repairs).await));
            findings.push(of("rows of orders", sums::order_rows(at, repairs).await));
            findings.extend(payments::check(at).await);
            findings
                .extend(payments::balance(at, repairs).await.transpose().map(|found| of("provider's balance", found)));
            findings.extend(all_of("what waits for you", person::check(at).await));
            findings.extend(all_of("delivery", person::check_delivery(at, repairs).await));
            findings.push(of("texts of orders", person::holders(at, repairs).await));
            findings.extend(notices(at).await.transpose().map(|found| of("notices", found)));
            let proxies = deployment::proxies(at).await.transpose();
            findings.extend(proxies.map(|found| of("client addresses", found)));
        }
    }
    let keys = at.keys.read().await;
    findings.push(of("token keys", keys.map(|keys| Finding::ok(format!("readable: {keys:?}, the first signs")))));
    findings.push(deployment::clients(at, &options.origins).named("origins"));
    findings.sort_by_key(|finding| finding.state);
    let ok = !findings.iter().any(|finding| finding.state.is_open());
    let text = lines(&findings, options.all).join("\n");
    let printed = Printed::new(text, &facts! { ok, target: &at.name, findings });
    Ok(if ok { printed } else { printed.with_exit(Exit::Faults) })
}

/// Findings that have their names, or that this check failed.
fn all_of(check: &'static str, found: Result<Vec<Finding>>) -> Vec<Finding> {
    found.unwrap_or_else(|failure| vec![Finding::of(check, Err(failure))])
}

/// Whether the targets of notices are connected, and none waits for the owner; `None` without targets.
async fn notices(at: &Deployment) -> Result<Option<Finding>> {
    let targets = read_active_version(&at.db).await?.unwrap_or_default().config.notify;
    if targets.is_empty() {
        return Ok(None);
    }
    let missing = not_connected(at, &targets).await?;
    if !missing.is_empty() {
        let said = format!("not connected: {}", named(missing.iter()));
        return Ok(Some(Finding::todo(said, format!("`storectl notify connect {}`", missing[0]))));
    }
    if at.stack.as_ref().is_some_and(|stack| !stack.sends_notices) {
        return Ok(Some(Finding::todo("nothing is sent", "deploy the stack with `Notices=true`")));
    }
    Ok(Some(match waiting(&at.db, MOST_LISTED).await?.len() {
        0 => Finding::ok("every target is connected, and no notice waits"),
        count => {
            Finding::todo(format!("{count} wait"), "`storectl notify list --waiting`, then `storectl notify resend`")
        }
    }))
}

/// Whether a restore was left half done.
async fn restore(at: &Deployment) -> Found {
    Ok(match restoring::read(&at.db).await? {
        None => Finding::ok("none is half done"),
        Some(_) => Finding::bad("one was begun and is not done", "run the same `storectl restore` again"),
    })
}

/// Whether this version works on the data; `None` if nothing is published.
async fn schema(at: &Deployment) -> Result<Option<Finding>> {
    let Some(active) = read_active_version(&at.db).await? else { return Ok(None) };
    let found = active.schema;
    Ok(Some(match found.cmp(&SCHEMA) {
        Ordering::Less => {
            let said = format!("the data have the number {found}, this version needs {SCHEMA}");
            Finding::bad(said, "take a backup, then run `storectl upgrade`")
        }
        Ordering::Equal => Finding::ok(format!("the data have the number {found}")),
        Ordering::Greater => {
            let said = format!("the data have the number {found}, this version of storectl knows {SCHEMA}");
            Finding::ok(format!("{said}: what it repairs may be incomplete, use the newer one"))
        }
    }))
}

/// Whether every row of the published version is there and is what was published.
async fn version(at: &Deployment) -> Found {
    let fix = "publish the files again: `storectl publish DIR`";
    Ok(match whole(at).await {
        Ok(None) => Finding::bad("nothing was published yet", "publish a store: `storectl publish DIR`"),
        Ok(Some((version, 0))) => Finding::ok(format!("{version} is whole")),
        Ok(Some((version, rows))) => Finding::bad(format!("{rows} rows of {version} are missing or altered"), fix),
        Err(LoadError::Store(error)) => return Err(error.into()),
        Err(damaged) => Finding::bad(damaged.to_string(), fix),
    })
}

async fn whole(at: &Deployment) -> Result<Option<(String, usize)>, LoadError> {
    let Some(active) = read_active_version(&at.db).await? else { return Ok(None) };
    let store = publish::load_version(&at.db, &active.version).await?;
    let rows = publish::damage(&at.db, &store).await? + usize::from(active.config != store.config);
    Ok(Some((active.version, rows)))
}

/// Lets goals and donators follow every order that they are behind of.
async fn statistics(at: &Deployment) -> Found {
    let done = finish_statistics(&at.db).await?;
    if !done.left.is_empty() {
        let said = format!("{} orders could not be counted, others were writing", done.left.len());
        return Ok(Finding::bad(said, "run `storectl doctor` again"));
    }
    Ok(match done.finished {
        0 if done.patrons_repaired => Finding::repaired("the patrons were compiled again from their sums"),
        0 => Finding::ok("show every order"),
        finished => Finding::repaired(format!("{finished} orders were behind and count now")),
    })
}

/// Advice about users who cannot be found by name.
const WITHOUT: &str = "only their ids find them (--id); make a new account under another name, then erase this one";

/// Whether every user is found by name. Index rows that are missing or wrong are written.
async fn names(at: &Deployment) -> Found {
    Ok(match complete(&at.db, &|_| {}).await? {
        (_, without) if !without.is_empty() => Finding::bad(without.join("; "), WITHOUT),
        (0, _) => Finding::ok("every user is found by name"),
        (written, _) => Finding::repaired(format!("{written} index rows were missing or wrong and are right now")),
    })
}
