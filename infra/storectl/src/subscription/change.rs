//! `subscription settle`, `cancel` and `extend`: an outage is given back to who pays for a time.

use super::{Shown, found, renewing, show};
use crate::delivery::decide::{begin, nameless, taken};
use crate::order::{give_back, provider};
use crate::payments::shown_account;
use crate::prelude::*;
use shared::model::{Cancellation, Extension, OwnerRun, ProviderAccount, RunName, Subscription, UserId};
use shared::money::{CurrencyFormat, Decimal};
use shared::providers::Stripe;
use shared::rules::payment::may_be_same;
use shared::rules::subscription::{access_until, call_of, cancelled, extended, is_over_for};
use shared::shop::delivery::{TimedEnd, extend_end, run, timed_ends};
use shared::shop::orders;
use shared::shop::payments::{Desk, Provider as _, SettleError};
use shared::shop::subscriptions::extend_subscription;
use shared::table::bulk::all;
use shared::table::keys::prefix;

#[derive(Debug, Clone, Args)]
pub struct CancelSubscription {
    /// The provider's id, `sub_…`.
    pub id: String,
    /// End access at once, not with the paid period.
    #[arg(long)]
    pub now: bool,
    /// Refund the newest payment in full, which ends access at once.
    #[arg(long)]
    pub refund: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

pub async fn cancel(at: &Deployment, console: &Console, options: &CancelSubscription) -> Outcome {
    let before = found(at, &options.id).await?;
    let how = if options.now || options.refund { Cancellation::Now } else { Cancellation::AtPeriodEnd };
    let now = at.clock.seconds();
    if is_over_for(&before.subscription, how, now) && !options.refund {
        let text = format!("Nothing to do: subscription {} is over at the provider.", before.subscription.id);
        return Ok(Printed::new(text, &before.facts()));
    }
    let provider = provider(at).await?;
    must_be_of(&before.subscription, &provider.account())?;
    console.confirm(&introduced(&before, how, now), &question(&before, options), options.yes)?;
    let refund = if options.refund { Some(refunded(at, &provider, &before.subscription).await?) } else { None };
    let id = &before.subscription.id;
    let outcome = Desk::new(&at.db, at.clock.as_ref(), &provider).cancel_subscription(id, how).await;
    outcome.map_err(|error| not_cancelled(error, refund.is_some()))?;
    let after = found(at, id).await?;
    let mut lines: Vec<String> = refund.iter().map(|(text, _)| text.clone()).collect();
    lines.push(render(&after, at.clock.seconds()));
    let refunded = refund.map(|(_, amount)| amount);
    Ok(Printed::new(lines.join("\n"), &facts! { #[serde(flatten)] subscription: after.facts(), refunded }))
}

/// Asks the provider about a subscription, and writes what it says.
pub async fn settle(at: &Deployment, id: &str) -> Outcome {
    let before = found(at, id).await?;
    let provider = provider(at).await?;
    must_be_of(&before.subscription, &provider.account())?;
    let id = &before.subscription.id;
    Desk::new(&at.db, at.clock.as_ref(), &provider).settle_subscription(id).await?;
    show(at, id).await
}

/// Refuses a subscription that is certainly not one of the account that is connected.
fn must_be_of(subscription: &Subscription, ours: &ProviderAccount) -> Result<()> {
    let account = &subscription.account;
    if may_be_same(account, ours) {
        return Ok(());
    }
    let what = format!(
        "The subscription is one of {}; the store is connected with {}.",
        shown_account(account),
        shown_account(ours)
    );
    Err(Failure::refused(what, "Cancel it in that account's dashboard, or connect that account again."))
}

/// Ends what a user is subscribed to, at once, before the account is erased. Returns how many were ended.
pub async fn end_all(at: &Deployment, user: UserId) -> Result<usize> {
    let own: Vec<Subscription> = renewing(at).await?.into_iter().filter(|one| one.user == user).collect();
    if own.is_empty() {
        return Ok(0);
    }
    let provider = provider(at).await?;
    for subscription in &own {
        must_be_of(subscription, &provider.account())?;
    }
    for subscription in &own {
        let (clock, id) = (at.clock.as_ref(), &subscription.id);
        let ended = Desk::new(&at.db, clock, &provider).cancel_subscription(id, Cancellation::Now).await;
        ended.map_err(|error| not_cancelled(error, false))?;
    }
    Ok(own.len())
}

fn introduced(found: &Shown, how: Cancellation, now: i64) -> String {
    let subscription = &found.subscription;
    let until = access_until(&cancelled(subscription, how, now));
    let kept = if until > now { format!("keeps it until {}", Time(until)) } else { "loses it at once".to_owned() };
    format!(
        "{} of {}, {}: the buyer {kept}, and is not charged again",
        subscription.name,
        found.player(),
        found.price()
    )
}

fn question(found: &Shown, options: &CancelSubscription) -> String {
    if options.refund {
        return format!("Cancel it at once, and refund the whole payment of order {}?", found.subscription.newest);
    }
    let at_once = if options.now { " at once" } else { "" };
    format!("Cancel it{at_once}?")
}

/// Refunds the newest payment in full: the outcome in words, and the amount.
async fn refunded(at: &Deployment, provider: &Stripe, subscription: &Subscription) -> Result<(String, Decimal)> {
    let id = &subscription.newest;
    let stored = orders::get(&at.db, id).await?.ok_or_else(|| {
        Failure::refused(format!("Its newest order, {id}, is missing."), "Cancel it without --refund.")
    })?;
    let (refunded, text) = give_back(at, provider, &stored, None).await?;
    Ok((text, CurrencyFormat::of(&stored.order).money(refunded.amount)))
}

fn not_cancelled(error: SettleError, is_refunded: bool) -> Failure {
    let done = match error {
        SettleError::Provider(_) => {
            "The cancellation is stored: the sweep asks the provider until it is done. Run the command again to ask now."
        }
        SettleError::Store(_) => "It is not known whether it is cancelled; run the same command again.",
    };
    let refund = if is_refunded { "The payment is refunded. " } else { "" };
    Failure::from(error).done(format!("{refund}{done}"))
}

/// The outcome, and what the buyer keeps.
fn render(found: &Shown, now: i64) -> String {
    let subscription = &found.subscription;
    let until = access_until(subscription);
    let kept = if until > now {
        format!("{} keeps {} until {}", found.player(), subscription.name, Time(until))
    } else {
        format!("{} no longer has {}", found.player(), subscription.name)
    };
    if call_of(subscription).is_some() {
        let note = "the provider has not confirmed it yet; the sweep asks again.";
        return note!("Subscription {} is cancelled: {kept}; {note}", subscription.id);
    }
    ok!("Subscription {} is cancelled: {kept}, and is not charged again.", subscription.id)
}

#[derive(Debug, Clone, Args)]
pub struct ExtendSubscriptions {
    /// Only the subscription with this id of the provider's, `sub_…`.
    pub id: Option<String>,
    /// How many days longer, from 1 to 366.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=366))]
    pub days: u16,
    /// A name for this run, under which nothing is extended twice.
    #[arg(long, value_name = "NAME", value_parser = RunName::parse)]
    pub run: Option<RunName>,
    /// Show what would be extended, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
}

const DAY: i64 = 86_400;

pub async fn extend(at: &Deployment, console: &Console, options: &ExtendSubscriptions) -> Outcome {
    let now = at.clock.seconds();
    let name = options
        .run
        .as_ref()
        .ok_or_else(|| nameless("This needs a name, under which nothing is extended twice.", "outage", now))?;
    let seconds = i64::from(options.days) * DAY;
    let run = Extension { seconds, subscription: options.id.clone(), done: false };
    let said = Said { name, days: options.days };
    let before = run::get(&at.db, name).await?;
    let is_begun = before.is_some();
    match before {
        None => {}
        Some(OwnerRun::Extension(before)) if before == run => {}
        Some(OwnerRun::Extension(before)) if (Extension { done: false, ..before.clone() }) == run => {
            return Ok(said.answer(&[], 0, format!("Nothing to do: run {name} is done.")));
        }
        Some(OwnerRun::Extension(before)) => {
            let of = before.subscription.map_or_else(String::new, |id| format!(" of {id}"));
            let what = format!("There is a run {name} already, for {} days{of}.", before.seconds / DAY);
            return Err(Failure::refused(what, "Repeat it with the same days and id, or take another name."));
        }
        Some(OwnerRun::Delivery(_) | OwnerRun::Try(_)) => return Err(taken(name)),
    }
    let (subscriptions, ends) = planned(at, options, (name, seconds), now).await?;
    let counted = format!("{} subscriptions and {} ends of timed items", subscriptions.len(), ends.len());
    let shown = format!("{counted} are moved by {} days. The provider's days of payment stay.", options.days);
    if options.dry_run {
        return Ok(said.answer(&subscriptions, ends.len(), shown));
    }
    if !(subscriptions.is_empty() && ends.is_empty()) {
        console.confirm(&shown, "Extend these?", options.yes)?;
    } else if !is_begun {
        return Ok(said.answer(&[], 0, "Nothing to do: nothing lasts for a time.".to_owned()));
    }
    begin(at, name, &OwnerRun::Extension(run)).await?;
    let (mut written, mut moved) = (Vec::new(), 0);
    let progress = console.progress("Moving", Some((subscriptions.len() + ends.len()) as u64));
    let (db, clock) = (&at.db, at.clock.as_ref());
    for id in subscriptions {
        let extended = extend_subscription(db, clock, &id, (name, seconds)).await.map_err(interrupted)?;
        written.extend(extended.map(|one| one.id));
        progress.advance(1);
    }
    for end in &ends {
        moved += usize::from(extend_end(db, clock, end, (name, seconds)).await.map_err(interrupted)?);
        progress.advance(1);
    }
    run::finish(db, name).await.map_err(interrupted)?;
    let text = ok!(
        "{} subscriptions and {moved} ends of timed items are moved by {} days. The provider's days of payment stay.",
        written.len(),
        options.days
    );
    Ok(said.answer(&written, moved, text))
}

/// The subscriptions and ends of timed items that the run is about and has not moved.
async fn planned(
    at: &Deployment,
    options: &ExtendSubscriptions,
    (name, seconds): (&RunName, i64),
    now: i64,
) -> Result<(Vec<String>, Vec<TimedEnd>)> {
    let is_moved = |one: &Subscription| extended(one, name, seconds, now).is_some();
    if let Some(id) = &options.id {
        let one = found(at, id).await?.subscription;
        let is_before = one.runs.contains(name);
        if !is_moved(&one) && !is_before {
            let what = format!("Subscription {} gives no access any more.", one.id);
            return Err(Failure::refused(what, "Only what still lasts can last longer."));
        }
        return Ok(([one.id].into_iter().filter(|_| !is_before).collect(), Vec::new()));
    }
    let stored = all::<Subscription>(&at.db, prefix::SUBSCRIPTION).await?.into_iter().map(|(_, one)| one);
    let subscriptions = stored.filter(is_moved).map(|one| one.id).collect();
    Ok((subscriptions, timed_ends(&at.db, name, now).await?))
}

fn interrupted(error: shared::table::StoreError) -> Failure {
    let next = "Run the same command with the same --run again: it goes on, and extends nothing twice.";
    Failure::from(error).done("Some are extended, and not all.").next(next)
}

struct Said<'a> {
    name: &'a RunName,
    days: u16,
}

impl Said<'_> {
    fn answer(&self, subscriptions: &[String], ends: usize, text: String) -> Printed {
        Printed::new(text, &facts! { run: self.name, days: self.days, subscriptions, timed_ends: ends })
    }
}
