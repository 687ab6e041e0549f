//! `doctor`: first what needs a person, with what to do about it, and then what is well.

mod delivery;
mod finding;
mod holders;
mod names;
mod origins;
mod payments;
mod person;
mod proxies;
mod referrals;
mod skew;
mod subscriptions;
mod sums;
mod table;

pub(super) use person::{Undecided, of_store};

use crate::answer::Answer;
use crate::cli::Doctor;
use crate::error::{Exit, Failure};
use crate::target::Target;
use finding::{Finding, State, lines};
use publish::LoadError;
use serde_json::json;
use shared::model::SCHEMA;
use shared::shop::upkeep::finish_statistics;
use shared::table::published::read_active_version;
use shared::table::restoring;
use std::cmp::Ordering;

pub(super) async fn run(target: &Target, options: &Doctor) -> Result<Answer, Failure> {
    let mut findings = vec![table::shape(target).await];
    if findings.iter().all(|finding| finding.state == State::Ok) {
        findings.push(table::ttl(target).await);
        findings.push(skew::clock(target).await);
        let restored = restore(target).await;
        let is_whole = restored.state == State::Ok;
        findings.push(restored);
        // While a restore is not done there is nothing else to look at, and nothing may be written.
        let data = if is_whole { schema(target).await } else { None };
        let is_current = data.as_ref().is_none_or(|finding| finding.state == State::Ok);
        findings.extend(data);
        // Data of an earlier format are for `upgrade` to complete.
        if is_whole && is_current {
            findings.push(version(target).await);
            findings.push(names::unique(target).await);
            // First what the orders say: lists of patrons and donators are made from these sums.
            findings.extend(sums::check(target, options.repair).await);
            findings.push(statistics(target).await);
            findings.push(referrals::check(target).await);
            findings.push(subscriptions::check(target, options.repair).await);
            findings.push(subscriptions::rows(target, options.repair).await);
            findings.extend(payments::check(target).await);
            findings.extend(person::check(target).await);
            findings.extend(delivery::check(target, options.repair).await);
            findings.push(holders::check(target, options.repair).await);
            findings.extend(proxies::check(target).await);
        }
    }
    findings.push(keys_of(target).await);
    findings.push(origins::clients(target, &options.origins));
    findings.sort_by_key(|finding| finding.state);
    let is_open = findings.iter().any(|finding| finding.state.is_open());
    let text = lines(&findings, options.all).join("\n");
    let answer = Answer::new(text, json!({ "ok": !is_open, "target": target.name, "findings": findings }));
    Ok(if is_open { answer.with_exit(Exit::Faults) } else { answer })
}

async fn keys_of(target: &Target) -> Finding {
    match target.keys.read().await {
        Ok(keys) => Finding::ok("token keys", format!("readable: {keys:?}, the first signs")),
        Err(failure) => Finding::failed("token keys", failure),
    }
}

/// Whether a restore was left half done.
async fn restore(target: &Target) -> Finding {
    const CHECK: &str = "restore";
    match restoring::read(&target.db).await {
        Ok(None) => Finding::ok(CHECK, "none is half done"),
        Ok(Some(_)) => Finding::bad(CHECK, "one was begun and is not done", "run the same `storectl restore` again"),
        Err(error) => Finding::failed(CHECK, error.into()),
    }
}

/// Whether this version works on the data; `None` if nothing is published.
async fn schema(target: &Target) -> Option<Finding> {
    const CHECK: &str = "schema";
    let found = match read_active_version(&target.db).await {
        Ok(active) => active?.schema,
        Err(error) => return Some(Finding::failed(CHECK, error.into())),
    };
    Some(match found.cmp(&SCHEMA) {
        Ordering::Less => {
            let said = format!("the data have the number {found}, this version needs {SCHEMA}");
            Finding::bad(CHECK, said, "take a backup, then run `storectl upgrade`")
        }
        Ordering::Equal => Finding::ok(CHECK, format!("the data have the number {found}")),
        Ordering::Greater => {
            let said = format!("the data have the number {found}, this version of storectl knows {SCHEMA}");
            Finding::ok(CHECK, format!("{said}: what it repairs may be incomplete, use the newer one"))
        }
    })
}

/// Whether every row of the published version is there and is what was published.
async fn version(target: &Target) -> Finding {
    const CHECK: &str = "published version";
    let fix = "publish the files again: `storectl publish DIR`";
    match whole(target).await {
        Ok(None) => Finding::bad(CHECK, "nothing was published yet", "publish a store: `storectl publish DIR`"),
        Ok(Some((version, 0))) => Finding::ok(CHECK, format!("{version} is whole")),
        Ok(Some((version, rows))) => {
            Finding::bad(CHECK, format!("{rows} rows of {version} are missing or altered"), fix)
        }
        Err(LoadError::Store(error)) => Finding::failed(CHECK, error.into()),
        Err(damaged) => Finding::bad(CHECK, damaged.to_string(), fix),
    }
}

async fn whole(target: &Target) -> Result<Option<(String, usize)>, LoadError> {
    let Some(active) = read_active_version(&target.db).await? else { return Ok(None) };
    let store = publish::load_version(&target.db, &active.version).await?;
    let rows = publish::damage(&target.db, &store).await? + usize::from(active.config != store.config);
    Ok(Some((active.version, rows)))
}

/// Lets goals and donators follow every order that they are behind of.
async fn statistics(target: &Target) -> Finding {
    const CHECK: &str = "goals and donators";
    match finish_statistics(&target.db).await {
        Ok(done) if !done.left.is_empty() => {
            let said = format!("{} orders could not be counted, others were writing", done.left.len());
            Finding::bad(CHECK, said, "run `storectl doctor` again")
        }
        Ok(done) if done.finished > 0 => {
            Finding::repaired(CHECK, format!("{} orders were behind and count now", done.finished))
        }
        Ok(done) if done.patrons_repaired => {
            Finding::repaired(CHECK, "the patrons were compiled again from their sums")
        }
        Ok(_) => Finding::ok(CHECK, "show every order"),
        Err(error) => Finding::failed(CHECK, error.into()),
    }
}
