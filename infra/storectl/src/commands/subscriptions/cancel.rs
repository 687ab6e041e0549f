//! `subscription settle` and `cancel`.

use super::{Shown, found, renewing, show};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::CancelSubscription;
use crate::commands::codes;
use crate::commands::common::{shown_account, shown_time};
use crate::commands::orders::{give_back, provider};
use crate::commands::payments::of_settle;
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::Value;
use shared::model::{Cancellation, ProviderAccount, Subscription, UserId};
use shared::providers::Stripe;
use shared::rules::payment::may_be_same;
use shared::rules::subscription::{access_until, call_of, cancelled, is_over_for};
use shared::shop::orders;
use shared::shop::payments::{Desk, Provider as _, SettleError};

pub(in crate::commands) async fn cancel(
    target: &Target,
    console: &Console,
    options: &CancelSubscription,
) -> Result<Answer, Failure> {
    let before = found(target, &options.id).await?;
    let how = if options.now || options.refund { Cancellation::Now } else { Cancellation::AtPeriodEnd };
    let now = target.clock.seconds();
    if is_over_for(&before.subscription, how, now) && !options.refund {
        let text = format!("Nothing to do: subscription {} is over at the provider.", before.subscription.id);
        return Ok(Answer::new(text, before.facts()));
    }
    let provider = provider(target).await?;
    must_be_of(&before.subscription, &provider.account())?;
    console.confirm(&introduced(&before, how, now), &question(&before, options), options.yes)?;
    let refund = if options.refund { Some(refunded(target, &provider, &before.subscription).await?) } else { None };
    let id = &before.subscription.id;
    let outcome = Desk::new(&target.db, target.clock.as_ref(), &provider).cancel_subscription(id, how).await;
    outcome.map_err(|error| not_cancelled(error, refund.is_some()))?;
    let after = found(target, id).await?;
    let mut lines: Vec<String> = refund.iter().map(|(text, _)| text.clone()).collect();
    lines.push(render(&after, target.clock.seconds()));
    let mut json = after.facts();
    json["refunded"] = refund.map_or(Value::Null, |(_, amount)| amount);
    Ok(Answer::new(lines.join("\n"), json))
}

/// Asks the provider about a subscription, and writes what it says.
pub(in crate::commands) async fn settle(target: &Target, id: &str) -> Result<Answer, Failure> {
    let before = found(target, id).await?;
    let provider = provider(target).await?;
    must_be_of(&before.subscription, &provider.account())?;
    let id = &before.subscription.id;
    Desk::new(&target.db, target.clock.as_ref(), &provider).settle_subscription(id).await.map_err(of_settle)?;
    show(target, id).await
}

/// Refuses a subscription that is certainly not one of the account that is connected.
fn must_be_of(subscription: &Subscription, ours: &ProviderAccount) -> Result<(), Failure> {
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
pub(in crate::commands) async fn end_all(target: &Target, user: UserId) -> Result<usize, Failure> {
    let own: Vec<Subscription> = renewing(target).await?.into_iter().filter(|one| one.user == user).collect();
    if own.is_empty() {
        return Ok(0);
    }
    let provider = provider(target).await?;
    for subscription in &own {
        must_be_of(subscription, &provider.account())?;
    }
    for subscription in &own {
        let (clock, id) = (target.clock.as_ref(), &subscription.id);
        let ended = Desk::new(&target.db, clock, &provider).cancel_subscription(id, Cancellation::Now).await;
        ended.map_err(|error| not_cancelled(error, false))?;
    }
    Ok(own.len())
}

fn introduced(found: &Shown, how: Cancellation, now: i64) -> String {
    let subscription = &found.subscription;
    let until = access_until(&cancelled(subscription, how, now));
    let kept =
        if until > now { format!("keeps it until {}", shown_time(until)) } else { "loses it at once".to_owned() };
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
async fn refunded(target: &Target, provider: &Stripe, subscription: &Subscription) -> Result<(String, Value), Failure> {
    let digits = codes::digits(target).await?;
    let id = &subscription.newest;
    let stored = orders::get(&target.db, id).await?.ok_or_else(|| {
        Failure::refused(format!("Its newest order, {id}, is missing."), "Cancel it without --refund.")
    })?;
    let (refunded, text) = give_back(target, provider, &stored, None, digits).await?;
    let amount = crate::commands::orders::format_of(&stored, digits).money(refunded.amount);
    Ok((text, serde_json::to_value(amount).unwrap_or_default()))
}

fn not_cancelled(error: SettleError, is_refunded: bool) -> Failure {
    let done = match error {
        SettleError::Provider(_) => {
            "The cancellation is stored: the sweep asks the provider until it is done. Run the command again to ask now."
        }
        SettleError::Store(_) => "It is not known whether it is cancelled; run the same command again.",
    };
    let refund = if is_refunded { "The payment is refunded. " } else { "" };
    of_settle(error).done(format!("{refund}{done}"))
}

/// The outcome, and what the buyer keeps.
fn render(found: &Shown, now: i64) -> String {
    let subscription = &found.subscription;
    let until = access_until(subscription);
    let kept = if until > now {
        format!("{} keeps {} until {}", found.player(), subscription.name, shown_time(until))
    } else {
        format!("{} no longer has {}", found.player(), subscription.name)
    };
    if call_of(subscription).is_some() {
        let note = "the provider has not confirmed it yet; the sweep asks again.";
        return format!("{} Subscription {} is cancelled: {kept}; {note}", paint(WARN, "note"), subscription.id);
    }
    format!("{} Subscription {} is cancelled: {kept}, and is not charged again.", paint(GOOD, "ok"), subscription.id)
}
