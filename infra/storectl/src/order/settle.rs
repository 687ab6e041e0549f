//! `order settle`, `cancel` and `accept`: steps at the payment provider.

use super::paid::introduced;
use super::show::facts;
use super::{ConfirmedOrder, unknown};
use crate::payments::no_keys;
use crate::prelude::*;
use shared::model::{InternalId, OrderStatus};
use shared::money::CurrencyFormat;
use shared::providers::Stripe;
use shared::shop::orders as store;
use shared::shop::orders::{self, PaidCheckout, SetStatusError, StoredOrder};
use shared::shop::payments::{self, Desk, NotPaid, OperatorError, SettleError, Settled};

pub async fn settle(at: &Deployment, id: &str) -> Outcome {
    let (provider, id) = (provider(at).await?, InternalId::new(id));
    let settled = Desk::new(&at.db, at.clock.as_ref(), &provider).settle_now(&id).await;
    let (stored, settled) = settled.map_err(|error| failed(error, "The order is not settled"))?;
    let status = stored.order.status.as_str();
    let text = match settled {
        Settled::Open if stored.order.status == OrderStatus::Pending => {
            format!("Order {id} waits: its payment has not ended.")
        }
        Settled::Gone => note!(
            "The payment provider has no checkout of order {id}. The order ends once its time is over.\n\
             `storectl order cancel {id}` ends it now, if it is of the account that is connected."
        ),
        Settled::Changed => ok!("Order {id} is {status} now."),
        Settled::Open | Settled::Unchanged => format!("Nothing to do: order {id} is {status}."),
    };
    Ok(Printed::new(text, &facts(&stored, None)))
}

/// Ends an order that is not paid, in any state.
pub async fn cancel(at: &Deployment, console: &Console, options: &ConfirmedOrder) -> Outcome {
    let id = InternalId::new(&options.id);
    let what = "The order is not cancelled";
    let stored = store::get(&at.db, &id).await?.ok_or_else(|| failed(OperatorError::Unknown(id.clone()), what))?;
    let status = stored.order.status;
    match status {
        OrderStatus::Pending => {}
        OrderStatus::Paid => return Err(is_paid(&id)),
        OrderStatus::Failed | OrderStatus::Cancelled | OrderStatus::Refunded => {
            let text = format!("Nothing to do: order {id} is {}.", status.as_str());
            return Ok(Printed::new(text, &facts(&stored, None)));
        }
    }
    let mut ended = end(at, &stored, options.yes).await?;
    if ended.is_none() {
        let shown = format!(
            "The payment provider has no checkout of order {id}. It was deleted there, or `payments connect` was \
             given the wrong --account: then it can still be paid until its time is over."
        );
        console.confirm(&shown, "End the order now, and give back what it holds?", false)?;
        ended = end(at, &stored, true).await?;
    }
    let stored = ended.unwrap_or(stored);
    let status = stored.order.status.as_str();
    let text = if stored.order.status == OrderStatus::Paid {
        let next = format!("`storectl order refund {id}` gives the money back.");
        note!("The buyer had paid already: order {id} is {status}. {next}")
    } else {
        ok!("Order {id} is {status}; what it held is free.")
    };
    Ok(Printed::new(text, &facts(&stored, None)))
}

fn is_paid(id: &InternalId) -> Failure {
    let what = format!("The order is not cancelled: order {id} is PAID.");
    Failure::refused(what, format!("`storectl order refund {id}` gives the money back and ends it."))
}

/// Ends a pending order: its checkout at the provider, if it has one. The stored order, which may be paid by now; `None` if the
/// provider does not have the checkout, and that does not end it.
async fn end(at: &Deployment, stored: &StoredOrder, ends_gone: bool) -> Result<Option<StoredOrder>> {
    let (id, what) = (&stored.order.internal_id, "The order is not cancelled");
    if stored.is_checkout() {
        let provider = provider(at).await?;
        return match Desk::new(&at.db, at.clock.as_ref(), &provider).cancel(id, ends_gone).await {
            Err(OperatorError::Gone) if !ends_gone => Ok(None),
            ended => Ok(Some(ended.map_err(|error| failed(error, what))?)),
        };
    }
    let changed = orders::set_status(&at.db, at.clock.as_ref(), id, OrderStatus::Cancelled).await;
    let ended = changed.map(|changed| changed.stored).map_err(|error| match error {
        SetStatusError::Store(error) => unknown(error, id, "the order was cancelled"),
        SetStatusError::Forbidden { from: OrderStatus::Paid, .. } => is_paid(id),
        error => Failure::new(Exit::Raced, format!("{what}: {error}."), AGAIN),
    });
    Ok(Some(ended?))
}

/// Ends an open order before something else is done. An order that is not pending any more is not changed.
pub async fn end_order(at: &Deployment, id: &InternalId) -> Result<()> {
    let Some(stored) = store::get(&at.db, id).await? else { return Ok(()) };
    if stored.order.status != OrderStatus::Pending {
        return Ok(());
    }
    if let Err(failure) = end(at, &stored, true).await {
        // It may have been settled by another request in the meantime.
        let now = store::get(&at.db, id).await?;
        let is_open = now.is_some_and(|now| now.order.status == OrderStatus::Pending);
        return if is_open { Err(failure) } else { Ok(()) };
    }
    Ok(())
}

pub async fn accept(at: &Deployment, console: &Console, options: &ConfirmedOrder) -> Outcome {
    let what = "The order is not accepted";
    let (provider, id) = (provider(at).await?, InternalId::new(&options.id));
    let stored = read(at, &id, what).await?;
    console.confirm(
        &introduced(&stored, CurrencyFormat::of(&stored.order)),
        "Accept it and make it PAID?",
        options.yes,
    )?;
    let accepted = Desk::new(&at.db, at.clock.as_ref(), &provider).accept(&id).await;
    let (stored, is_new) = accepted.map_err(|error| failed(error, what))?;
    let status = stored.order.status.as_str();
    let text = if is_new {
        ok!("Order {id} is accepted: {status}.")
    } else {
        format!("Nothing to do: order {id} was accepted, and is {status}.")
    };
    Ok(Printed::new(text, &facts(&stored, None)))
}

pub async fn read(at: &Deployment, id: &InternalId, what: &str) -> Result<StoredOrder> {
    store::get(&at.db, id).await?.ok_or_else(|| failed(OperatorError::Unknown(id.clone()), what))
}

/// The payment of a checkout whose order is missing.
pub async fn paid_checkout(at: &Deployment, session: &str) -> Result<PaidCheckout> {
    let provider = provider(at).await?;
    payments::paid_checkout(&provider, session).await.map_err(|error| {
        let what = format!("The order is not recorded: {error}.");
        match error {
            NotPaid::Provider(error) => SettleError::from(error).into(),
            NotPaid::Subscription => {
                let next = "`storectl payments reconcile --refund SESSION` refunds it, and ends the subscription.";
                Failure::refused(what, next)
            }
            NotPaid::NotOurs | NotPaid::OtherMode | NotPaid::NotPaid | NotPaid::Refunded => {
                Failure::refused(what, "`storectl payments reconcile` lists the payments that have no order.")
            }
        }
    })
}

/// Writes what was refunded of a payment before its order was recorded.
pub async fn settle_recorded(at: &Deployment, id: &InternalId) -> Result<StoredOrder> {
    let provider = provider(at).await?;
    let settled = Desk::new(&at.db, at.clock.as_ref(), &provider).settle_now(id).await;
    settled.map(|(stored, _)| stored).map_err(|error| {
        let next = format!("`storectl order settle {id}` asks the provider again.");
        failed(error, "What was refunded of it is not known").done("The order is recorded.").next(next)
    })
}

pub async fn provider(at: &Deployment) -> Result<Stripe> {
    at.payments.stripe().await?.ok_or_else(no_keys)
}

/// A failure of a step. `what` says what is not done, such as "The order is not settled".
pub fn failed(error: OperatorError, what: &str) -> Failure {
    let text = format!("{what}: {error}.");
    match error {
        OperatorError::Settle(error) => error.into(),
        OperatorError::Unknown(_) => Failure::refused(text, "It is matched exactly, case included."),
        OperatorError::NoPayment => {
            let next = "Refund what was paid elsewhere there; `storectl order set-status ID REFUNDED` gives a gift card and \
                        virtual currency back.";
            Failure::refused(text, next)
        }
        OperatorError::Gone => Failure::refused(text, "Run `storectl order cancel` again with --yes."),
        OperatorError::Stranded => {
            let next = "It ends by itself after its time, marked for review; or connect that account again.";
            Failure::refused(text, next)
        }
        OperatorError::Processing => {
            Failure::new(Exit::Raced, text, "Wait until the provider confirms or fails it, which may take days.")
        }
        OperatorError::Final(_) => {
            let next = "Nothing is changed. Give the money back yourself, and note it where you keep your books; what was bought \
                        stays with the buyer.";
            Failure::refused(text, next)
        }
        OperatorError::OnlyInFull => Failure::refused(text, "Leave out --to."),
        OperatorError::Foreign => Failure::refused(text, "Look at the payment in the provider's dashboard."),
        OperatorError::Moving => Failure::refused(text, "Run the same command again in some minutes."),
        OperatorError::SoldOut => {
            Failure::refused(text, "Raise the limit and publish, or refund the buyer: `storectl order refund`.")
        }
        OperatorError::Disputed(_) => {
            let next =
                "Wait for the dispute's end: one that is won can be accepted, one that is lost has returned the money.";
            Failure::refused(text, next)
        }
        OperatorError::Line(_) => {
            let next = "`storectl order show` has the lines with their units; --line is LINE:UNITS, the units that are refunded \
                        afterwards.";
            Failure::refused(text, next)
        }
        OperatorError::NoProvider => no_keys(),
        OperatorError::Status(_) | OperatorError::NoReview | OperatorError::Refund(_) => {
            Failure::refused(text, "Look at it with `storectl order show`.")
        }
    }
}
