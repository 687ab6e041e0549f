//! Whether what follows from orders and subscriptions is in the table, and whether their amounts are read as they were written.

use super::{Finding, Found, first};
use crate::prelude::*;
use crate::user::read;
use shared::shop::upkeep::subscription_lists::{DueRows, differing, rewrite};
use shared::shop::upkeep::{Audit, Difference, Waiting, audit, credits, missing_rows, repair_table, write_rows};
use shared::table::keys;
use shared::table::published::read_active_version;
use std::collections::BTreeSet;

const DIFFERENCES_NAMED: usize = 5;

/// Compares counters, ledgers and patrons with the orders, and the digits of the orders with the store's. With
/// `repairs` what differs is set.
pub async fn check(at: &Deployment, repairs: bool) -> Vec<Finding> {
    const CHECK: &str = "sums of orders";
    let audit = match audit(&at.db, &|_| {}).await {
        Ok(audit) => audit,
        Err(error) => return vec![Finding::of(CHECK, Err(error.into()))],
    };
    let sums = if audit.is_clean() {
        Ok(Finding::ok("units sold, what users own and what patrons gave agree with the orders"))
    } else if repairs {
        repaired(at, &audit).await
    } else {
        let next = "run `storectl doctor --repair`: it sets them to what the orders add up to";
        Ok(Finding::bad(description(&audit), next))
    };
    let mut findings = vec![Finding::of(CHECK, sums), Finding::of("currency digits", digits(at, &audit).await)];
    findings.extend(waiting(at, &audit.waiting));
    findings
}

/// Work that the sweep has still to finish. It is not a fault: repairing it would give the same units back twice.
fn waiting(at: &Deployment, waiting: &Waiting) -> Option<Finding> {
    let units =
        waiting.units.iter().map(|(item, units)| format!("{units} units of item {item} of checkouts that broke off"));
    let overdue = waiting.overdue(at.clock.seconds());
    let orders = overdue.iter().take(DIFFERENCES_NAMED).map(|id| format!("order {id}"));
    let mut parts: Vec<String> = units.take(DIFFERENCES_NAMED).chain(orders).collect();
    let all = waiting.units.len() + overdue.len();
    if parts.is_empty() {
        return None;
    }
    if all > parts.len() {
        parts.push(format!("and {} more", all - parts.len()));
    }
    let next = "the sweep, every minute, finishes them; `storectl order settle ID` does it for one that stays";
    Some(Finding::note(parts.join(", "), next).named("waiting for the sweep"))
}

async fn repaired(at: &Deployment, audit: &Audit) -> Found {
    let left = repair_table(&at.db, audit).await?;
    let done = format!("{}; set to what the orders add up to", description(audit));
    Ok(match left {
        0 => Finding::repaired(done),
        left => Finding::bad(format!("{done}, but {left} rows were changed by other writes"), "run it again"),
    })
}

/// The first differences of an audit, for people.
fn description(audit: &Audit) -> String {
    let mut parts: Vec<String> = audit.differences.iter().take(DIFFERENCES_NAMED).map(one).collect();
    if audit.differences.len() > DIFFERENCES_NAMED {
        parts.push(format!("and {} more", audit.differences.len() - DIFFERENCES_NAMED));
    }
    if audit.no_donations {
        parts.push("the row with goals and donators is missing".to_owned());
    }
    parts.join(", ")
}

fn one(difference: &Difference) -> String {
    let Difference { key, attribute, found, expected, .. } = difference;
    let found = found.map_or_else(|| "missing".to_owned(), |found| found.to_string());
    // A patron's row is named by its sort key, every other by its partition key.
    let row = if key.pk == keys::patrons() { format!("{}#{}", key.pk, key.sk) } else { key.pk.clone() };
    format!("{row} {attribute} is {found} instead of {expected}")
}

async fn digits(at: &Deployment, audit: &Audit) -> Found {
    let published = read_active_version(&at.db).await?.unwrap_or_default().config.digits;
    Ok(match audit.digits.iter().find(|digits| **digits != published) {
        None => Finding::ok(format!("orders and the published store have {published}")),
        Some(other) => {
            let said = format!("orders were recorded with {other}, the published store has {published}");
            let next = "publish or roll back to a store with the digits of the orders: amounts are read wrongly";
            Finding::bad(said, next)
        }
    })
}

/// Whether every user that an order credits for a referral still has an account.
pub async fn referrals(at: &Deployment) -> Found {
    let credits = credits(&at.db, &(i64::MIN..i64::MAX)).await?;
    let orders: u64 = credits.0.values().map(|credit| credit.orders).sum();
    let owners: BTreeSet<_> = credits.0.keys().map(|(_, owner)| *owner).collect();
    let mut erased = Vec::new();
    for owner in &owners {
        if read(at, *owner).await?.is_none() {
            erased.push(format!("user {owner}"));
        }
    }
    Ok(if erased.is_empty() {
        Finding::ok(format!("{orders} paid orders credit {} users", owners.len()))
    } else {
        let said = format!("paid orders credit users who have no account any more: {}", erased.join(", "));
        Finding::note(said, "`storectl referral report` has what they brought")
    })
}

/// Whether every order is found by its month, its account and its payment. With `repairs` what is missing is written.
pub async fn order_rows(at: &Deployment, repairs: bool) -> Found {
    let missing = missing_rows(&at.db).await?;
    if missing.is_empty() {
        return Ok(Finding::ok("every order is found by its month, its account and its payment"));
    }
    let said = format!(
        "{} rows are missing by which orders are found: reports, the buyer's list or what the provider says of a payment \
         miss them",
        missing.len()
    );
    if !repairs {
        return Ok(Finding::bad(said, "run `storectl doctor --repair`: it writes them"));
    }
    write_rows(&at.db, missing).await?;
    Ok(Finding::repaired(format!("{said}; written")))
}

/// Compares the rows by which the sweep finds subscriptions with these. With `repairs` they are made to agree.
pub async fn open_subscriptions(at: &Deployment, repairs: bool) -> Found {
    let differing = DueRows::differing(&at.db).await?;
    if differing.is_empty() {
        return Ok(Finding::ok("the sweep finds each that has something left to do"));
    }
    let ids: Vec<&str> = differing.ids().into_iter().collect();
    let said = format!(
        "the sweep's rows of {} do not agree with them: {}",
        ids.len(),
        first(DIFFERENCES_NAMED, ids.into_iter())
    );
    if !repairs {
        return Ok(Finding::bad(said, "run `storectl doctor --repair`: it writes the rows again"));
    }
    Ok(written_again(&said, differing.repair(&at.db).await?))
}

fn written_again(said: &str, left: usize) -> Finding {
    match left {
        0 => Finding::repaired(format!("{said}; written again")),
        left => Finding::bad(format!("{said}; {left} were changed by other writes"), "run it again"),
    }
}

/// Compares the users' lists with the subscriptions. With `repairs` they are written again, unless they have changed since.
pub async fn subscriptions(at: &Deployment, repairs: bool) -> Found {
    let differing = differing(&at.db, at.clock.seconds()).await?;
    if differing.is_empty() {
        return Ok(Finding::ok("the users' lists agree with them"));
    }
    let named = first(DIFFERENCES_NAMED, differing.iter().map(|(user, _)| format!("user {}", user.id)));
    let said = format!("the lists of {} do not agree with them: {named}", differing.len());
    if !repairs {
        return Ok(Finding::bad(said, "run `storectl doctor --repair`: it writes the lists again"));
    }
    let mut left = 0;
    for (user, expected) in &differing {
        left += usize::from(!rewrite(&at.db, user, expected).await?);
    }
    Ok(written_again(&said, left))
}
