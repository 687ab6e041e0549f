//! Acting on a provider's webhook event.

use super::provider::{Provider, WebhookEvent};
use super::settle::{settle, settle_known};
use super::status::SettleError;
use crate::clock::Clock;
use crate::model::InternalId;
use crate::rules::delivery::takes_back;
use crate::rules::payment::{PaymentState, Progress};
use crate::store::Db;
use crate::store::orders;
use crate::store::transaction::{Sent, Write, send};
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::delivery::follow_or_leave;

/// Settles what a webhook event is about: fetches it from the provider, and writes what it says. A webhook event about
/// something that is not ours changes nothing; one of a payment whose order is missing is logged and counted. Order and
/// number of webhook events do not matter.
///
/// # Errors
/// [`SettleError`]; the same webhook event may be acted on again.
pub async fn act<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    event: &WebhookEvent,
) -> Result<(), SettleError> {
    match event {
        WebhookEvent::Checkout(session) => {
            let state = provider.fetch(session).await?;
            let Some(order) = &state.order else { return Ok(()) };
            if settle_known(db, clock, provider, order, &state).await?.is_none() {
                without_order(order, &state);
            }
        }
        WebhookEvent::Payment(intent) => {
            let Some(order) = orders::of_payment(db, intent).await? else { return Ok(()) };
            if let Some(stored) = orders::get(db, &order).await? {
                settle(db, clock, provider, &stored).await?;
            }
        }
        WebhookEvent::Dispute(dispute) => {
            let dispute = provider.dispute(dispute).await?;
            let Some(intent) = dispute.intent else { return Ok(()) };
            let Some(order) = orders::of_payment(db, &intent).await? else { return Ok(()) };
            let Some(stored) = orders::get(db, &order).await? else { return Ok(()) };
            tracing::error!(order = %order, state = dispute.state, "a payment is disputed");
            payment_event(PaymentEvent::Dispute, 1);
            let taken_back =
                if takes_back(&dispute.state) { stored.take_back(&dispute.state, clock.seconds())? } else { None };
            let writes: Vec<Write> = taken_back.unwrap_or_else(|| vec![stored.set_dispute(&dispute.state)]);
            if send(db, writes).await? != Sent::Written {
                return Err(SettleError::Conflict);
            }
            if stored.effects.delivery.is_some() {
                follow_or_leave(db, clock, &stored).await;
            }
        }
    }
    Ok(())
}

/// Notes that a buyer has paid for an order that the table does not have: it was restored to an earlier time, for
/// example.
fn without_order(order: &InternalId, state: &PaymentState) {
    if state.progress == Progress::Paid && state.refunded < state.amount {
        tracing::error!(order = %order, session = state.session, "a paid checkout has no order");
        payment_event(PaymentEvent::PaidWithoutOrder, 1);
    }
}
