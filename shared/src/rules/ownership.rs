//! What users own by orders, and until when (rules.md, "Limits and availability"). Purchases of an item that ends form runs:
//! the first begins one, and each that is paid before its end makes it longer. Once it has ended, the next purchase begins
//! another one, in which nothing of those before counts. Each line keeps the run that it is part of, so that ledgers are
//! the sums of their orders in whatever order those are added up, and a refund takes off only what still counts.

use crate::model::{
    Holding, ItemId, Ledger, Order, OrderLine, OrderStatus, OrderSubscription, Owned, PaymentType, Run, Term, UserId,
};
use std::collections::BTreeMap;

/// The part of an order in what a user owns of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    pub owned: Owned,
    /// When its run began, seconds since 1970 UTC; `None` of what lasts.
    pub begun: Option<i64>,
    /// How many seconds later the run ends because of it.
    pub seconds: i64,
}

/// The shares of an order by the user that they count for (rules.md, "Gifts") and by item.
pub fn shares(order: &Order) -> BTreeMap<UserId, BTreeMap<ItemId, Share>> {
    let mut all: BTreeMap<UserId, BTreeMap<ItemId, Share>> = BTreeMap::new();
    for line in &order.lines {
        let Some(user) = line.beneficiary(order.player()) else { continue };
        let share = all.entry(user).or_default().entry(line.item).or_default();
        share.owned = plus(share.owned, line.owned_units(), line);
        if let Some(term) = line.term {
            share.begun = Some(term.begun);
            share.seconds = share.seconds.saturating_add(line.adds_seconds());
        }
    }
    all
}

fn plus(owned: Owned, units: u32, line: &OrderLine) -> Owned {
    Owned { units: owned.units.saturating_add(units), paid: owned.paid + line.total }
}

/// The lines of an order that is paid at `now` (seconds since 1970 UTC), each with its part in the run of its item.
/// `ledgers` are those of the order's users as they were read, `period` what it pays of a subscription.
pub fn with_terms(
    order: &Order,
    ledgers: &BTreeMap<UserId, Ledger>,
    period: Option<&OrderSubscription>,
    now: i64,
) -> Vec<OrderLine> {
    let with_term = |line: &OrderLine| {
        let user = line.beneficiary(order.player())?;
        let held = ledgers.get(&user).map(|ledger| ledger.of(line.item)).unwrap_or_default();
        match period.filter(|_| line.payment_type == PaymentType::Subscription) {
            Some(period) => of_subscription(period, held, now),
            None => of_units(line, held.run, now),
        }
    };
    order.lines.iter().map(|line| OrderLine { term: with_term(line), ..line.clone() }).collect()
}

/// Each unit makes the run longer by its period.
fn of_units(line: &OrderLine, run: Option<Run>, now: i64) -> Option<Term> {
    let seconds = i64::from(line.lasts?).saturating_mul(i64::from(line.units()));
    Some(match run.filter(|run| !run.has_ended(now)) {
        Some(run) => Term { begun: run.begun, seconds, first: false },
        None => Term { begun: now, seconds, first: true },
    })
}

/// A paid period makes the run last to its end. Providers charge about an hour after a period's end: a renewal continues the
/// run unless access has ended, or no unit is left in it because the order that gave it was refunded.
fn of_subscription(period: &OrderSubscription, held: Holding, now: i64) -> Option<Term> {
    let until = period.paid_until?;
    let goes_on = |run: &Run| {
        if period.only_renews() { held.all.units > run.lasting.units } else { !run.has_ended(now) }
    };
    match held.run.filter(goes_on) {
        Some(run) => Some(Term { begun: run.begun, seconds: until.saturating_sub(run.ends_at).max(0), first: false }),
        // One that began before ends were stored lasts.
        None if period.only_renews() && held.run.is_none() && held.all.units > 0 => None,
        None => Some(Term { begun: now, seconds: until.saturating_sub(now).max(0), first: true }),
    }
}

/// The ledgers that orders add up to.
#[derive(Debug, Clone, Default)]
pub struct Ownership(BTreeMap<(UserId, ItemId), Parts>);

/// What the orders of a user add up to for an item: what lasts, and each run.
#[derive(Debug, Clone, Default)]
struct Parts {
    lasting: Owned,
    /// Units and sums of each run, and how many seconds it lasts, by its beginning.
    runs: BTreeMap<i64, (Owned, i64)>,
}

impl Ownership {
    /// Adds an order, less what was returned of it. One that is not paid any more adds nothing, but its runs have begun.
    pub fn add(&mut self, order: &Order) {
        let is_paid = order.status == OrderStatus::Paid;
        for (user, items) in shares(order) {
            for (item, share) in items {
                if !is_paid && share.begun.is_none() {
                    continue;
                }
                let parts = self.0.entry((user, item)).or_default();
                let owned = match share.begun {
                    None => &mut parts.lasting,
                    Some(begun) => {
                        let (owned, seconds) = parts.runs.entry(begun).or_default();
                        *seconds = seconds.saturating_add(if is_paid { share.seconds } else { 0 });
                        owned
                    }
                };
                if is_paid {
                    *owned = sum(*owned, share.owned);
                }
            }
        }
        for line in &order.lines {
            for run in &line.left {
                // As a refund: the run stays, without what the line gave.
                self.0.entry((run.user, line.item)).or_default().runs.entry(run.begun).or_default();
            }
        }
    }

    /// The ledgers. Of the runs of an item only the last counts.
    pub fn ledgers(&self) -> BTreeMap<UserId, Ledger> {
        let mut ledgers: BTreeMap<UserId, Ledger> = BTreeMap::new();
        for ((user, item), parts) in &self.0 {
            let holding = ledgers.entry(*user).or_default().entry(*item);
            holding.all = parts.lasting;
            if let Some((begun, (owned, seconds))) = parts.runs.last_key_value() {
                holding.all = sum(holding.all, *owned);
                let ends_at = begun.saturating_add(*seconds);
                holding.run = Some(Run { begun: *begun, ends_at, lasting: parts.lasting });
            }
        }
        ledgers
    }
}

fn sum(one: Owned, other: Owned) -> Owned {
    Owned { units: one.units.saturating_add(other.units), paid: one.paid + other.paid }
}
