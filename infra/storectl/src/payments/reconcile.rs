//! `payments reconcile`: the provider's payments against the orders.

use super::no_keys;
use crate::arguments::past;
use crate::prelude::*;
use serde::Serialize;
use shared::model::{Money, OrderStatus};
use shared::money::CurrencyFormat;
use shared::providers::Stripe;
use shared::rules::payment::PaymentState;
use shared::shop::orders::each_order;
use shared::shop::payments::{Difference, Provider as _, ProviderError, SettleError, compare, return_payment};

#[derive(Debug, Clone, Args)]
pub struct Reconcile {
    /// Checkouts that were opened and orders that were made since then, such as `7 days ago`, 2026-05-01 (UTC) or
    /// 2026-05-01T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: String,
    /// Refund the payment of this checkout, which has no order.
    #[arg(long, value_name = "SESSION")]
    pub refund: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

pub async fn reconcile(at: &Deployment, console: &Console, options: &Reconcile) -> Outcome {
    let digits = at.published().await?.config.digits;
    let since = past(Some(&options.since), None, at.clock.seconds())?.start;
    let provider = at.payments.stripe().await?.ok_or_else(no_keys)?.for_many_calls();
    let mut made = Vec::new();
    each_order(&at.db, |stored| made.extend((stored.order.created_at >= since).then_some(stored))).await?;
    let compared = compare(&at.db, &provider, since, made).await?;
    let differences = &compared.differences;
    if let Some(session) = &options.refund {
        let payment = differences.iter().find_map(|difference| match difference {
            Difference::WithoutOrder { payment, .. } if payment.session == *session => Some(payment),
            _ => None,
        });
        let format = CurrencyFormat::new(digits);
        return match payment {
            Some(payment) => refund(&provider, console, payment, format, options.yes).await,
            None => refunded_before(&provider, session, format).await,
        };
    }
    let (payments, orders) = (compared.payments, compared.orders);
    let mut lines: Vec<String> =
        differences.iter().map(|difference| line(difference, digits, &Time(since).to_string())).collect();
    lines.push(match lines.len() {
        0 => ok!("{payments} payments and {orders} paid orders agree."),
        found => format!("{found} differences in {payments} payments and {orders} paid orders."),
    });
    let is_clean = differences.is_empty();
    let differences: Vec<_> = differences.iter().map(|difference| facts(difference, digits)).collect();
    let printed = Printed::new(lines.join("\n"), &facts! { payments, orders, differences });
    Ok(if is_clean { printed } else { printed.with_exit(Exit::Faults) })
}

/// The response if a payment is not in the list: it may have been refunded by the same command, whose response was lost.
async fn refunded_before(provider: &Stripe, session: &str, format: CurrencyFormat) -> Outcome {
    let payment = match provider.fetch(session).await {
        Ok(payment) => {
            Some(payment).filter(|payment| payment.refunded >= payment.amount && payment.amount > Money::ZERO)
        }
        Err(ProviderError::NoCheckout(_) | ProviderError::Refused(_)) => None,
        Err(error) => return Err(SettleError::from(error).into()),
    };
    let Some(payment) = payment else {
        let what = format!("{session} is not a paid checkout without an order since then.");
        let next = "Look at the list without --refund. An order is refunded by `storectl order refund`.";
        return Err(Failure::refused(what, next));
    };
    let refunded = of_currency(&payment, format, payment.refunded);
    let text = format!("Nothing to do: {refunded} of {session} are refunded.");
    Ok(Printed::new(text, &facts! { session, refunded: format.money(payment.refunded) }))
}

async fn refund(
    provider: &Stripe,
    console: &Console,
    payment: &PaymentState,
    format: CurrencyFormat,
    yes: bool,
) -> Outcome {
    let rest = of_currency(payment, format, payment.amount.less(payment.refunded));
    let shown = format!("{} has no order here, and {rest} of its payment are left.", payment.session);
    console.confirm(&shown, &format!("Refund {rest}?"), yes)?;
    let after = return_payment(provider, payment).await?;
    let refunded = of_currency(payment, format, after.refunded);
    if after.refunded < payment.amount {
        let what = format!("Only {refunded} of {} are refunded at the provider.", payment.session);
        return Err(Failure::new(
            Exit::Refused,
            what,
            "Look at the payment in the provider's dashboard, then run it again.",
        )
        .done("A refund was asked for."));
    }
    let text = ok!("{refunded} of {} are refunded.", payment.session);
    Ok(Printed::new(text, &facts! { session: &payment.session, refunded: format.money(after.refunded) }))
}

fn of_currency(payment: &PaymentState, format: CurrencyFormat, amount: Money) -> String {
    format!("{} {}", format.money(amount), payment.currency.to_uppercase())
}

/// The amount and what of it was refunded.
fn amount(payment: &PaymentState, format: CurrencyFormat) -> String {
    let amount = of_currency(payment, format, payment.amount);
    if payment.refunded == Money::ZERO {
        return amount;
    }
    format!("{amount}, of it refunded {}", format.money(payment.refunded))
}

fn without_order(payment: &PaymentState, is_other: bool, format: CurrencyFormat, since: &str) -> String {
    let session = &payment.session;
    let names = payment.order.as_ref().map(ToString::to_string).unwrap_or_default();
    let why = if is_other {
        format!("is not the checkout of the order {names} that it names")
    } else {
        format!("has no order: {names} is not in the table")
    };
    // The order of a subscription can only be made by a checkout.
    let or_written = if payment.period.is_some() {
        String::new()
    } else {
        format!(", `storectl order record --session {session}` writes its order")
    };
    format!(
        "{} paid without order: {session} of {} {why} → `storectl payments reconcile --since {since} --refund {session}` \
         refunds it{or_written}",
        paint(BAD, "bad "),
        amount(payment, format)
    )
}

fn line(difference: &Difference, digits: u8, since: &str) -> String {
    let plain = CurrencyFormat::new(digits);
    match difference {
        Difference::WithoutOrder { payment, order } => without_order(payment, order.is_some(), plain, since),
        Difference::Amount { payment, order: stored } => {
            let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
            let refunded = stored.effects.refunded;
            let is_ended = order.status == OrderStatus::Refunded;
            let noted = if refunded == Money::ZERO || is_ended {
                String::new()
            } else {
                format!(", of it refunded {}", format.money(refunded))
            };
            let step = if is_ended { "refund" } else { "settle" };
            format!(
                "{} amounts differ: {} is {}, its order {} ({}) says {} {}{noted} → `storectl order {step} {}`",
                paint(BAD, "bad "),
                payment.session,
                amount(payment, format),
                order.internal_id,
                order.status.as_str(),
                format.money(order.price),
                order.currency,
                order.internal_id
            )
        }
        Difference::NotPaid { payment, order: stored } => note!(
            "not settled: {} of {} is paid, its order {} is {} → `storectl order settle {}`",
            payment.session,
            amount(payment, CurrencyFormat::of(&stored.order)),
            stored.order.internal_id,
            stored.order.status.as_str(),
            stored.order.internal_id
        ),
        Difference::WithoutPayment { order: stored, reason } => {
            let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
            format!(
                "{} paid order without payment: {} of {} {}: {reason} → look at it with `storectl order show {}`",
                paint(BAD, "bad "),
                order.internal_id,
                format.money(order.price),
                order.currency,
                order.internal_id
            )
        }
    }
}

fn facts(difference: &Difference, digits: u8) -> impl Serialize + use<'_> {
    let (kind, payment, stored, reason) = match difference {
        Difference::WithoutOrder { payment, order } => ("paid_without_order", Some(payment), order.as_deref(), None),
        Difference::Amount { payment, order } => ("amount", Some(payment), Some(&**order), None),
        Difference::NotPaid { payment, order } => ("not_settled", Some(payment), Some(&**order), None),
        Difference::WithoutPayment { order, reason } => ("without_payment", None, Some(&**order), Some(reason)),
    };
    let format = stored.map_or_else(|| CurrencyFormat::new(digits), |stored| CurrencyFormat::of(&stored.order));
    facts! {
        kind, reason: reason.map(ToString::to_string),
        payment: payment.map(|payment| facts! {
            session: &payment.session, intent: &payment.intent, order: &payment.order,
            amount: format.money(payment.amount), currency: payment.currency.to_uppercase(),
            refunded: format.money(payment.refunded),
        }),
        order: stored.map(|stored| facts! {
            internal_id: &stored.order.internal_id, status: stored.order.status,
            price: format.money(stored.order.price), currency: &stored.order.currency,
            refunded: format.money(stored.effects.refunded),
        }),
    }
}
