//! Acting on a provider's webhook event.

use super::dispute::note_dispute;
use super::provider::{DisputeState, PaymentSubject, Provider, WebhookEvent};
use super::renew::{settle_invoice, without_order};
use super::settle::{settle, settle_known};
use super::status::SettleError;
use super::subscription::{end_replaced, settle_subscription};
use crate::clock::Clock;
use crate::model::InternalId;
use crate::rules::dispute::{FRAUD_WARNING, LOST};
use crate::store::orders::{self, StoredOrder};
use crate::store::{Db, subscriptions};

/// Settles what a webhook event is about: fetches it from the provider, and writes what it says. A webhook event about
/// something that is not ours changes nothing; one of a payment whose order is missing is logged and counted. Order and
/// number of webhook events do not matter. After an error the same webhook event may be acted on again.
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
                without_order(&state, "a paid checkout has no order");
            }
            if let Some(period) = &state.period {
                let begun = subscriptions::get(db, &period.subscription).await?;
                end_replaced(db, clock, provider, begun.as_ref()).await?;
            }
        }
        WebhookEvent::Invoice(invoice) => {
            let state = provider.fetch(invoice).await?;
            settle_invoice(db, clock, provider, &state).await?;
            if let Some(period) = &state.period {
                let paid = settle_subscription(db, clock, provider, &period.subscription).await?;
                end_replaced(db, clock, provider, paid.as_ref()).await?;
            }
        }
        WebhookEvent::Subscription(id) => {
            settle_subscription(db, clock, provider, id).await?;
        }
        WebhookEvent::Payment(intent) => {
            let Some(order) = orders::of_payment(db, intent).await? else { return Ok(()) };
            if let Some(stored) = orders::get(db, &order).await? {
                settle(db, clock, provider, &stored).await?;
                settle_own(db, clock, provider, &stored).await?;
            }
        }
        WebhookEvent::Dispute(dispute) => {
            let dispute = provider.dispute(dispute).await?;
            let Some(intent) = &dispute.intent else { return Ok(()) };
            let Some(order) = orders::of_payment(db, intent).await? else { return Ok(()) };
            let noted = note_dispute(db, clock, &order, &dispute).await?;
            let Some(stored) = noted else { return Ok(()) };
            if dispute.state == LOST {
                settle(db, clock, provider, &stored).await?;
            }
            settle_own(db, clock, provider, &stored).await?;
        }
        WebhookEvent::FraudWarning(intent) => {
            let Some(order) = order_of(db, clock, provider, intent).await? else { return Ok(()) };
            let state = FRAUD_WARNING.to_owned();
            let warning = DisputeState { id: intent.clone(), intent: None, state };
            note_dispute(db, clock, &order, &warning).await?;
        }
    }
    Ok(())
}

/// The order of a payment. One whose payment is not known yet is settled first: a warning is in no later state of the payment.
async fn order_of<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    intent: &str,
) -> Result<Option<InternalId>, SettleError> {
    let known = orders::of_payment(db, intent).await?;
    if known.is_some() {
        return Ok(known);
    }
    match provider.subject_of(intent).await? {
        None => return Ok(None),
        Some(PaymentSubject::Order(named)) => {
            let Some(stored) = orders::get(db, &named).await? else { return Ok(None) };
            settle(db, clock, provider, &stored).await?;
        }
        Some(PaymentSubject::Invoice(invoice)) => {
            let state = provider.fetch(&invoice).await?;
            if state.order.is_none() {
                return Ok(None);
            }
            settle_invoice(db, clock, provider, &state).await?;
        }
    }
    // The payment of an open order is known as soon as the order is paid: Stripe sends the warning again.
    orders::of_payment(db, intent).await?.map(Some).ok_or(SettleError::Conflict)
}

/// Settles the subscription of an order, which a refund or a dispute may have ended: it must not be charged again.
async fn settle_own<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<(), SettleError> {
    if let Some(id) = stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref()) {
        settle_subscription(db, clock, provider, id).await?;
    }
    Ok(())
}
