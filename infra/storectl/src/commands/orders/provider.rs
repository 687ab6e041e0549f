//! `order settle` and `cancel`: steps at the payment provider.

use super::{facts, unknown};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::ConfirmedOrder;
use crate::commands::common::published;
use crate::commands::payments::{no_keys, of_settle};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use shared::model::{InternalId, OrderStatus};
use shared::providers::Stripe;
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::{self, PaidCheckout, SetStatusError};
use shared::shop::payments::{self, Desk, NotPaid, OperatorError, Settled};

pub(in crate::commands) async fn settle(target: &Target, id: &str) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let (provider, id) = (provider(target).await?, InternalId::new(id));
    let settled = Desk::new(&target.db, target.clock.as_ref(), &provider).settle_now(&id).await;
    let (stored, settled) = settled.map_err(|error| failed(error, "The order is not settled"))?;
    let status = stored.order.status.as_str();
    let text = match settled {
        Settled::Open if stored.order.status == OrderStatus::Pending => {
            format!("Order {id} waits: its payment has not ended.")
        }
        Settled::Gone => format!(
            "{} The payment provider has no checkout of order {id}. The order ends once its time is over.\n\
             `storectl order cancel {id}` ends it now, if it is of the account that is connected.",
            paint(WARN, "note")
        ),
        Settled::Changed => format!("{} Order {id} is {status} now.", paint(GOOD, "ok")),
        Settled::Open | Settled::Unchanged => format!("Nothing to do: order {id} is {status}."),
    };
    Ok(Answer::new(text, facts(&stored, digits)))
}

/// Ends an order that is not paid, in any state.
pub(in crate::commands) async fn cancel(
    target: &Target,
    console: &Console,
    options: &ConfirmedOrder,
) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let id = InternalId::new(&options.id);
    let what = "The order is not cancelled";
    let stored = store::get(&target.db, &id).await?.ok_or_else(|| failed(OperatorError::Unknown(id.clone()), what))?;
    let status = stored.order.status;
    match status {
        OrderStatus::Pending => {}
        OrderStatus::Paid => return Err(is_paid(&id)),
        OrderStatus::Failed | OrderStatus::Cancelled | OrderStatus::Refunded => {
            let text = format!("Nothing to do: order {id} is {}.", status.as_str());
            return Ok(Answer::new(text, facts(&stored, digits)));
        }
    }
    let stored = match end(target, &stored, options.yes).await {
        Err(EndError::Gone) => {
            let shown = format!(
                "The payment provider has no checkout of order {id}. It was deleted there, or `payments connect` was \
                 given the wrong --account: then it can still be paid until its time is over."
            );
            console.confirm(&shown, "End the order now, and give back what it holds?", false)?;
            end(target, &stored, true).await?
        }
        ended => ended?,
    };
    let status = stored.order.status.as_str();
    let text = if stored.order.status == OrderStatus::Paid {
        let next = format!("`storectl order refund {id}` gives the money back.");
        format!("{} The buyer had paid already: order {id} is {status}. {next}", paint(WARN, "note"))
    } else {
        format!("{} Order {id} is {status}; what it held is free.", paint(GOOD, "ok"))
    };
    Ok(Answer::new(text, facts(&stored, digits)))
}

fn is_paid(id: &InternalId) -> Failure {
    let what = format!("The order is not cancelled: order {id} is PAID.");
    Failure::refused(what, format!("`storectl order refund {id}` gives the money back and ends it."))
}

/// Ends a pending order: its checkout at the provider, if it has one. The stored order, which may be paid by now.
async fn end(target: &Target, stored: &StoredOrder, ends_gone: bool) -> Result<StoredOrder, EndError> {
    let (id, what) = (&stored.order.internal_id, "The order is not cancelled");
    if stored.is_checkout() {
        let provider = provider(target).await?;
        let ended = Desk::new(&target.db, target.clock.as_ref(), &provider).cancel(id, ends_gone).await;
        return ended.map_err(|error| match error {
            OperatorError::Gone => EndError::Gone,
            error => failed(error, what).into(),
        });
    }
    let changed = orders::set_status(&target.db, target.clock.as_ref(), id, OrderStatus::Cancelled).await;
    let ended = changed.map(|changed| changed.stored).map_err(|error| match error {
        SetStatusError::Store(error) => unknown(error, id, "the order was cancelled"),
        SetStatusError::Forbidden { from: OrderStatus::Paid, .. } => is_paid(id),
        error => Failure::new(Exit::Raced, format!("{what}: {error}."), "Run the same command again."),
    });
    Ok(ended?)
}

/// The reason for which a pending order was not ended.
enum EndError {
    /// The provider does not have its checkout.
    Gone,
    Failed(Failure),
}

impl From<Failure> for EndError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<EndError> for Failure {
    fn from(error: EndError) -> Self {
        match error {
            EndError::Gone => failed(OperatorError::Gone, "The order is not cancelled"),
            EndError::Failed(failure) => failure,
        }
    }
}

/// Ends an open order before something else is done. An order that is not pending any more is not changed.
pub(in crate::commands) async fn end_order(target: &Target, id: &InternalId) -> Result<(), Failure> {
    let Some(stored) = store::get(&target.db, id).await? else { return Ok(()) };
    if stored.order.status != OrderStatus::Pending {
        return Ok(());
    }
    if let Err(failure) = end(target, &stored, true).await {
        // It may have been settled by another request in the meantime.
        let now = store::get(&target.db, id).await?;
        let is_open = now.is_some_and(|now| now.order.status == OrderStatus::Pending);
        return if is_open { Err(failure.into()) } else { Ok(()) };
    }
    Ok(())
}

/// The payment of a checkout whose order is missing.
pub(super) async fn paid_checkout(target: &Target, session: &str) -> Result<PaidCheckout, Failure> {
    let provider = provider(target).await?;
    payments::paid_checkout(&provider, session).await.map_err(|error| {
        let what = format!("The order is not recorded: {error}.");
        match error {
            NotPaid::Provider(error) => of_settle(error.into()),
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
pub(super) async fn settle_recorded(target: &Target, id: &InternalId) -> Result<StoredOrder, Failure> {
    let provider = provider(target).await?;
    let settled = Desk::new(&target.db, target.clock.as_ref(), &provider).settle_now(id).await;
    settled.map(|(stored, _)| stored).map_err(|error| {
        let next = format!("`storectl order settle {id}` asks the provider again.");
        failed(error, "What was refunded of it is not known").done("The order is recorded.").next(next)
    })
}

pub(in crate::commands) async fn provider(target: &Target) -> Result<Stripe, Failure> {
    target.payments.stripe().await?.ok_or_else(no_keys)
}

/// A failure of a step. `what` says what is not done, such as "The order is not settled".
pub(super) fn failed(error: OperatorError, what: &str) -> Failure {
    let text = format!("{what}: {error}.");
    match error {
        OperatorError::Settle(error) => of_settle(error),
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
