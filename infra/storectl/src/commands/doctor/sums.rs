//! Whether what follows from orders is in the table, and whether their amounts are read as they were written.

use super::finding::Finding;
use crate::error::Failure;
use crate::target::Target;
use shared::shop::upkeep::{Audit, Difference, Waiting, audit, repair_table};
use shared::table::keys;
use shared::table::published::read_active_version;

const CHECK: &str = "sums of orders";
const NAMED: usize = 5;

/// Compares counters, ledgers and patrons with the orders, and the digits of the orders with the store's. With
/// `repairs` what differs is set.
pub(super) async fn check(target: &Target, repairs: bool) -> Vec<Finding> {
    let audit = match audit(&target.db, &|_| {}).await {
        Ok(audit) => audit,
        Err(error) => return vec![Finding::failed(CHECK, error.into())],
    };
    let sums = if audit.is_clean() {
        Finding::ok(CHECK, "units sold, what users own and what patrons gave agree with the orders")
    } else if repairs {
        repaired(target, &audit).await.unwrap_or_else(|failure| Finding::failed(CHECK, failure))
    } else {
        let next = "run `storectl doctor --repair`: it sets them to what the orders add up to";
        Finding::bad(CHECK, description(&audit), next)
    };
    let mut findings = vec![sums, digits(target, &audit).await];
    findings.extend(waiting(target, &audit.waiting));
    findings
}

/// Work that the sweep has still to finish. It is not a fault: repairing it would give the same units back twice.
fn waiting(target: &Target, waiting: &Waiting) -> Option<Finding> {
    let units =
        waiting.units.iter().map(|(item, units)| format!("{units} units of item {item} of checkouts that broke off"));
    let overdue = waiting.overdue(target.clock.seconds());
    let orders = overdue.iter().take(NAMED).map(|id| format!("order {id}"));
    let mut parts: Vec<String> = units.take(NAMED).chain(orders).collect();
    let all = waiting.units.len() + overdue.len();
    if parts.is_empty() {
        return None;
    }
    if all > parts.len() {
        parts.push(format!("and {} more", all - parts.len()));
    }
    let next = "the sweep, every minute, finishes them; `storectl order settle ID` does it for one that stays";
    Some(Finding::note("waiting for the sweep", parts.join(", "), next))
}

async fn repaired(target: &Target, audit: &Audit) -> Result<Finding, Failure> {
    let left = repair_table(&target.db, audit).await?;
    let done = format!("{}; set to what the orders add up to", description(audit));
    Ok(match left {
        0 => Finding::repaired(CHECK, done),
        left => Finding::bad(CHECK, format!("{done}, but {left} rows were changed by other writes"), "run it again"),
    })
}

/// The first differences of an audit, for people.
fn description(audit: &Audit) -> String {
    let mut parts: Vec<String> = audit.differences.iter().take(NAMED).map(one).collect();
    if audit.differences.len() > NAMED {
        parts.push(format!("and {} more", audit.differences.len() - NAMED));
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

async fn digits(target: &Target, audit: &Audit) -> Finding {
    const CHECK: &str = "currency digits";
    let published = match read_active_version(&target.db).await {
        Ok(active) => active.unwrap_or_default().config.digits,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    match audit.digits.iter().find(|digits| **digits != published) {
        None => Finding::ok(CHECK, format!("orders and the published store have {published}")),
        Some(other) => {
            let said = format!("orders were recorded with {other}, the published store has {published}");
            let next = "publish or roll back to a store with the digits of the orders: amounts are read wrongly";
            Finding::bad(CHECK, said, next)
        }
    }
}
