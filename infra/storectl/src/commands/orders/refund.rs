//! `order refund` and `order accept`, and what `order show` says of refunds.

use super::provider::{failed, provider};
use super::{facts, format_of, refund_lines};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::{ConfirmedOrder, RefundOrder};
use crate::commands::common::{published, shown_time};
use crate::commands::items;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::model::{InternalId, Money, OrderStatus, RefundOutcome, ReviewOutcome};
use shared::money::CurrencyFormat;
use shared::providers::Stripe;
use shared::rules::refund::RefundRefusal;
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Desk, OperatorError, RefundKind, Refunded};

pub(super) const NOT_REFUNDED: &str = "The order is not refunded";

pub(in crate::commands) async fn refund(
    target: &Target,
    console: &Console,
    options: &RefundOrder,
) -> Result<Answer, Failure> {
    if !options.lines.is_empty() {
        return refund_lines::refund(target, console, options).await;
    }
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(&options.id));
    let stored = read(target, &id, NOT_REFUNDED).await?;
    let (order, format) = (&stored.order, format_of(&stored, digits));
    let of_order = order.digits.unwrap_or(digits);
    let total = options.to.as_deref().map(|text| items::money("--to", text, of_order)).transpose()?;
    let asked = total.map_or_else(
        || "the whole payment".to_owned(),
        |total| format!("{} {} in all", format.money(total), order.currency),
    );
    console.confirm(&introduced(&stored, format), &format!("Refund {asked}?"), options.yes)?;
    let (refunded, text) = give_back(target, &provider, &stored, total, digits).await?;
    let amount = format.money(refunded.amount);
    let mut json = facts(&refunded.stored, digits);
    json["amount"] = serde_json::to_value(amount).unwrap_or_default();
    Ok(Answer::new(text, json))
}

/// Refunds the payment of an order, in full or up to a total: the outcome, also in words.
pub(in crate::commands) async fn give_back(
    target: &Target,
    provider: &Stripe,
    stored: &StoredOrder,
    total: Option<Money>,
    digits: u8,
) -> Result<(Refunded, String), Failure> {
    let (id, format) = (&stored.order.internal_id, format_of(stored, digits));
    let refunded = Desk::new(&target.db, target.clock.as_ref(), provider).refund(id, total).await;
    let refunded = refunded.map_err(|error| not_refunded(error, stored, format))?;
    let text = format!("{}{}", render(&refunded, id, format), after(&refunded.stored, format));
    Ok((refunded, text))
}

pub(super) fn not_refunded(error: OperatorError, stored: &StoredOrder, format: CurrencyFormat) -> Failure {
    match error {
        OperatorError::Refund(refusal) => refused(refusal, stored, format),
        error => failed(error, NOT_REFUNDED),
    }
}

pub(super) async fn read(target: &Target, id: &InternalId, what: &str) -> Result<StoredOrder, Failure> {
    store::get(&target.db, id).await?.ok_or_else(|| failed(OperatorError::Unknown(id.clone()), what))
}

pub(super) fn introduced(stored: &StoredOrder, format: CurrencyFormat) -> String {
    let order = &stored.order;
    let review = stored.effects.review.as_ref().map(|review| format!("; {review}")).unwrap_or_default();
    let price = format.money(order.price);
    format!("Order {} of {price} {}, paid through {}{review}", order.internal_id, order.currency, order.gateway)
}

/// The outcome of the command, in a sentence.
pub(super) fn render(refunded: &Refunded, id: &InternalId, format: CurrencyFormat) -> String {
    let (amount, total) = (format.money(refunded.amount), format.money(refunded.total));
    let currency = &refunded.currency;
    match refunded.kind {
        RefundKind::Made => {
            format!("{} {amount} {currency} of order {id} are refunded, {total} in all.", paint(GOOD, "ok"))
        }
        RefundKind::Finished => format!(
            "{} The refund of {amount} {currency} that was begun before is finished: {total} in all of order {id}.",
            paint(GOOD, "ok")
        ),
        RefundKind::Already => format!("Nothing to do: {total} {currency} of order {id} are refunded."),
    }
}

/// The refund as the order has it afterwards.
fn after(stored: &StoredOrder, format: CurrencyFormat) -> String {
    match stored.order.status {
        OrderStatus::Paid => format!(
            "\nIt stays PAID, with {} refunded in all; nothing is taken back from the buyer.",
            format.money(stored.effects.refunded)
        ),
        status => format!("\nIt is {}.", status.as_str()),
    }
}

fn refused(refusal: RefundRefusal, stored: &StoredOrder, format: CurrencyFormat) -> Failure {
    let (id, currency) = (&stored.order.internal_id, &stored.order.currency);
    let money = |amount| format!("{} {currency}", format.money(amount));
    match refusal {
        RefundRefusal::Bounds { amount } => Failure::refused(
            format!("{NOT_REFUNDED}: the payment is {}.", money(amount)),
            "Give a total from the smallest unit to that.",
        ),
        RefundRefusal::Exceeded { refunded } => Failure::refused(
            format!("{NOT_REFUNDED}: {} are refunded already.", money(refunded)),
            "--to is the total to be refunded, with what was refunded before.",
        ),
        RefundRefusal::Unfinished { total } => {
            let total = format.money(total);
            Failure::refused(
                format!("{NOT_REFUNDED}: a refund up to {total} {currency} was begun, and may have been made."),
                format!("Finish it first: `storectl order refund {id} --to {total}`."),
            )
        }
        RefundRefusal::Unclear { seconds } => Failure::new(
            Exit::Raced,
            format!("{NOT_REFUNDED}: another refund was made while one was begun."),
            format!("Run the same command again in {seconds} seconds: nothing is refunded twice."),
        ),
    }
}

pub(in crate::commands) async fn accept(
    target: &Target,
    console: &Console,
    options: &ConfirmedOrder,
) -> Result<Answer, Failure> {
    let what = "The order is not accepted";
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(&options.id));
    let stored = read(target, &id, what).await?;
    console.confirm(&introduced(&stored, format_of(&stored, digits)), "Accept it and make it PAID?", options.yes)?;
    let accepted = Desk::new(&target.db, target.clock.as_ref(), &provider).accept(&id).await;
    let (stored, is_new) = accepted.map_err(|error| failed(error, what))?;
    let status = stored.order.status.as_str();
    let text = if is_new {
        format!("{} Order {id} is accepted: {status}.", paint(GOOD, "ok"))
    } else {
        format!("Nothing to do: order {id} was accepted, and is {status}.")
    };
    Ok(Answer::new(text, facts(&stored, digits)))
}

/// An order's last attempt to refund, refunds that failed, and an operator's decisions.
pub(super) fn lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    let open = effects.refund_to.less(effects.refunded);
    if stored.order.status == OrderStatus::Paid && open > Money::ZERO {
        let open = format.money(open);
        let line =
            format!("{open} for returned units are still to be refunded: run `storectl order refund --line` again");
        lines.push(paint(WARN, &line));
    }
    if let Some(last) = &effects.refund {
        let outcome = last.outcome.map_or("not known to have ended", RefundOutcome::as_str);
        let reason = last.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (before, after) = (format.money(last.before), format.money(last.after));
        let line =
            format!("refund {} from {before} to {after}, {}: {outcome}{reason}", last.number, shown_time(last.at));
        lines.push(if last.is_open() { paint(WARN, &line) } else { line });
    }
    lines
}

/// Open work on an order's refunds, and what an operator decided, in words.
pub(super) fn own_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    if effects.failed_refunds > Money::ZERO {
        let (failed, open) = (format.money(effects.failed_refunds), format.money(effects.unreturned));
        let line = format!("refunds of {failed} failed; {open} have not been refunded again: `storectl order refund`");
        lines.push(if effects.unreturned > Money::ZERO { paint(WARN, &line) } else { line });
    }
    lines.extend(effects.reviewed.as_ref().map(|reviewed| {
        let outcome = match reviewed.outcome {
            ReviewOutcome::Accepted => "accepted",
            ReviewOutcome::Refunded => "refunded",
        };
        format!("needed an operator: {}; {outcome} {}", reviewed.reason, shown_time(reviewed.at))
    }));
    lines
}
