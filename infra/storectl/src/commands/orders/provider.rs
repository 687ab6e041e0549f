//! `order settle`, `refund` and `cancel`: steps at the payment provider.

use super::{facts, format_of};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::RefundOrder;
use crate::commands::common::published;
use crate::commands::items;
use crate::commands::payments::{no_keys, of_settle};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::http::wire::CurrencyFormat;
use shared::model::{InternalId, OrderStatus};
use shared::providers::Stripe;
use shared::store::orders::{self as store, StoredOrder};
use shared::usecases::checkouts::{self, OperatorError, Settled};

pub(in crate::commands) async fn settle(target: &Target, id: &str) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(id));
    let settled = checkouts::settle_now(&target.db, target.clock.as_ref(), &provider, &id).await;
    let (stored, settled) = settled.map_err(|error| failed(error, "The order is not settled"))?;
    let status = stored.order.status.as_str();
    let text = match settled {
        Settled::Open => format!("Order {id} waits: its payment has not ended."),
        Settled::Changed => format!("{} Order {id} is {status} now.", paint(GOOD, "ok")),
        Settled::Unchanged => format!("Nothing to do: order {id} is {status}."),
    };
    Ok(Answer::new(text, facts(&stored, digits)))
}

pub(in crate::commands) async fn refund(
    target: &Target,
    console: &Console,
    options: &RefundOrder,
) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(&options.id));
    let what = "The order is not refunded";
    let stored = store::get(&target.db, &id).await?.ok_or_else(|| failed(OperatorError::Unknown(id.clone()), what))?;
    let (order, format) = (&stored.order, format_of(&stored, digits));
    let of_order = order.digits.unwrap_or(digits);
    let amount = options.amount.as_deref().map(|text| items::money("--amount", text, of_order)).transpose()?;
    let asked = amount
        .map_or_else(|| "what is left".to_owned(), |amount| format!("{} {}", format.money(amount), order.currency));
    let shown =
        format!("Order {id} of {} {}, paid through {}", format.money(order.price), order.currency, order.gateway);
    console.confirm(&shown, &format!("Refund {asked}?"), options.yes)?;
    let refunded = checkouts::refund(&target.db, target.clock.as_ref(), &provider, &id, amount).await;
    let refunded = refunded.map_err(|error| match error {
        OperatorError::TooMuch { rest } => {
            let what = format!("{what}: {} {} of the payment are left.", format.money(rest), order.currency);
            Failure::refused(what, "Give an amount from the smallest unit to that.")
        }
        error => failed(error, what),
    })?;
    let amount = format.money(refunded.amount);
    let mut text = format!("{} {amount} {} of order {id} are refunded.", paint(GOOD, "ok"), order.currency);
    text.push_str(&after(&refunded.stored, format));
    let mut json = facts(&refunded.stored, digits);
    json["amount"] = serde_json::to_value(amount).unwrap_or_default();
    Ok(Answer::new(text, json))
}

/// What the order says after a refund.
fn after(stored: &StoredOrder, format: CurrencyFormat) -> String {
    match stored.order.status {
        OrderStatus::Paid => format!(
            "\nIt stays PAID, with {} refunded in all; nothing is taken back from the buyer.",
            format.money(stored.effects.refunded)
        ),
        status => format!("\nIt is {} now.", status.as_str()),
    }
}

pub(in crate::commands) async fn cancel(target: &Target, id: &str) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(id));
    let stored = checkouts::cancel(&target.db, target.clock.as_ref(), &provider, &id).await;
    let stored = stored.map_err(|error| failed(error, "The order is not cancelled"))?;
    let status = stored.order.status.as_str();
    let text = if stored.order.status == OrderStatus::Paid {
        format!("{} The buyer had paid already: order {id} is {status}.", paint(WARN, "note"))
    } else {
        format!("{} Order {id} is {status}; what it held is free.", paint(GOOD, "ok"))
    };
    Ok(Answer::new(text, facts(&stored, digits)))
}

/// Ends an open checkout before something else is done. An order that is not pending any more is not changed.
pub(in crate::commands) async fn end_checkout(target: &Target, id: &InternalId) -> Result<(), Failure> {
    let stored = store::get(&target.db, id).await?;
    if stored.is_none_or(|stored| stored.order.status != OrderStatus::Pending) {
        return Ok(());
    }
    let provider = provider(target).await?;
    match checkouts::cancel(&target.db, target.clock.as_ref(), &provider, id).await {
        // It was settled by another request in the meantime.
        Ok(_) | Err(OperatorError::Status(_)) => Ok(()),
        Err(error) => Err(failed(error, "The open checkout is not settled")),
    }
}

async fn provider(target: &Target) -> Result<Stripe, Failure> {
    target.stripe().await?.ok_or_else(no_keys)
}

fn failed(error: OperatorError, what: &str) -> Failure {
    let text = format!("{what}: {error}.");
    match error {
        OperatorError::Settle(error) => of_settle(error),
        OperatorError::Unknown(_) => Failure::refused(text, "It is matched exactly, case included."),
        OperatorError::NoPayment => {
            let next = "Refund it where it was paid, then use `storectl order set-status`.";
            Failure::refused(text, next)
        }
        OperatorError::Processing => {
            Failure::new(Exit::Raced, text, "Wait until the provider confirms or fails it, which may take days.")
        }
        OperatorError::Status(_) | OperatorError::TooMuch { .. } => {
            Failure::refused(text, "Look at it with `storectl order show`.")
        }
    }
}
