//! The provider's payments beside the orders, for an operator: what they disagree about, and payments whose order is missing.

use super::desk::SettleError;
use super::provider::{Provider, ProviderError};
use crate::model::{Cancellation, InternalId, Money, OrderStatus};
use crate::rules::payment::{PaymentState, Progress, agrees, is_own};
use crate::shop::orders::{self, PaidCheckout, StoredOrder};
use crate::table::Db;
use std::collections::{HashMap, HashSet};

/// Something that the provider and the orders disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A paid checkout of ours that is not an order's own. `order` is the order that it names, if the table has it: its
    /// checkout is another one.
    WithoutOrder { payment: PaymentState, order: Option<Box<StoredOrder>> },
    /// The amount, its currency, or what of it was refunded is not what the order says.
    Amount { payment: PaymentState, order: Box<StoredOrder> },
    /// A paid checkout whose order is neither paid nor refunded.
    NotPaid { payment: PaymentState, order: Box<StoredOrder> },
    /// A paid order without a payment at the provider.
    WithoutPayment { order: Box<StoredOrder>, reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compared {
    /// How many paid checkouts of ours were compared.
    pub payments: usize,
    pub orders: usize,
    pub differences: Vec<Difference>,
}

/// Compares the payments of checkouts that were opened since a second (since 1970 UTC) with the orders. `made` are the
/// orders that were made since then; others are read.
pub async fn compare<P: Provider>(
    db: &Db,
    provider: &P,
    since: i64,
    made: Vec<StoredOrder>,
) -> Result<Compared, SettleError> {
    let made: HashMap<InternalId, StoredOrder> =
        made.into_iter().map(|stored| (stored.order.internal_id.clone(), stored)).collect();
    let mut compared = Compared::default();
    let mut paid = HashSet::new();
    let mut after = None;
    loop {
        let page = provider.payments(since, after.as_deref()).await?;
        for payment in page.payments {
            let Some(id) = payment.order.clone().filter(|_| payment.progress == Progress::Paid) else { continue };
            let stored = match made.get(&id) {
                Some(stored) => Some(stored.clone()),
                None => orders::get(db, &id).await?,
            };
            compared.payments += 1;
            paid.insert(payment.session.clone());
            compared.differences.extend(of_payment(payment, stored));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    for stored in made.into_values().filter(is_paid_there) {
        compared.orders += 1;
        let session = stored.effects.provider.as_ref().and_then(|checkout| checkout.session.clone());
        if session.as_ref().is_some_and(|session| paid.contains(session)) {
            continue;
        }
        if let Some(reason) = missing_payment(provider, session.as_deref()).await? {
            compared.differences.push(Difference::WithoutPayment { order: Box::new(stored), reason });
        }
    }
    Ok(compared)
}

/// Whether an order must have a payment at the provider.
fn is_paid_there(stored: &StoredOrder) -> bool {
    stored.is_checkout() && stored.order.status == OrderStatus::Paid && stored.order.price > Money::ZERO
}

fn of_payment(payment: PaymentState, stored: Option<StoredOrder>) -> Option<Difference> {
    let Some(stored) = stored else {
        // What was refunded in full is settled, for any reason.
        let is_kept = payment.refunded < payment.amount;
        return is_kept.then_some(Difference::WithoutOrder { payment, order: None });
    };
    let (order, effects) = (&stored.order, &stored.effects);
    if !is_own(order, effects, &payment) {
        let is_kept = payment.refunded < payment.amount;
        return is_kept.then(|| Difference::WithoutOrder { payment, order: Some(Box::new(stored)) });
    }
    let is_same = agrees(order, effects, &payment);
    let is_refunded = payment.refunded >= payment.amount && payment.refunded > Money::ZERO;
    let (is_settled, is_same_refund) = match order.status {
        OrderStatus::Paid => (true, payment.refunded == effects.refunded),
        OrderStatus::Refunded => (true, is_refunded),
        // A payment that came too late was returned.
        OrderStatus::Pending | OrderStatus::Failed | OrderStatus::Cancelled => (is_refunded, true),
    };
    if !is_same || !is_same_refund {
        Some(Difference::Amount { payment, order: Box::new(stored) })
    } else if !is_settled {
        Some(Difference::NotPaid { payment, order: Box::new(stored) })
    } else {
        None
    }
}

/// The reason for which a paid order's checkout is not paid; `None` if it is.
async fn missing_payment<P: Provider>(provider: &P, session: Option<&str>) -> Result<Option<String>, SettleError> {
    let Some(session) = session else { return Ok(Some("its checkout is not known".to_owned())) };
    match provider.fetch(session).await {
        Ok(state) if state.progress == Progress::Paid => Ok(None),
        Ok(_) => Ok(Some("its checkout is not paid".to_owned())),
        Err(ProviderError::Refused(reason) | ProviderError::NoCheckout(reason)) => Ok(Some(reason)),
        Err(error) => Err(error.into()),
    }
}

/// Refunds all that is left of a payment that is not an order's own, once, and ends the subscription that it began. Returns
/// what the provider says of it then. Fails if the provider refuses or does not respond; the same call may be repeated.
pub async fn return_payment<P: Provider>(provider: &P, payment: &PaymentState) -> Result<PaymentState, SettleError> {
    if let Some(period) = &payment.period {
        // No order here would know of its renewals.
        provider.cancel_subscription(&period.subscription, Cancellation::Now).await?;
    }
    // A list of payments does not have the refunds that have failed.
    provider.return_payment(&provider.fetch(&payment.session).await?).await?;
    Ok(provider.fetch(&payment.session).await?)
}

/// The reason for which no order is recorded for a checkout.
#[derive(Debug, thiserror::Error)]
pub enum NotPaid {
    #[error("the checkout was not made for an order of this store")]
    NotOurs,
    #[error("the checkout is of another mode, test or live")]
    OtherMode,
    #[error("the checkout is not paid")]
    NotPaid,
    #[error("the payment was refunded in full")]
    Refunded,
    /// Its renewals could not be followed.
    #[error("the checkout began a subscription")]
    Subscription,
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

/// Asks the provider about a checkout for which an order is to be recorded.
pub async fn paid_checkout<P: Provider>(provider: &P, session: &str) -> Result<PaidCheckout, NotPaid> {
    let state = provider.fetch(session).await?;
    let order = state.order.ok_or(NotPaid::NotOurs)?;
    if !state.same_mode {
        return Err(NotPaid::OtherMode);
    }
    if state.period.is_some() {
        return Err(NotPaid::Subscription);
    }
    let intent = state.intent.filter(|_| state.progress == Progress::Paid).ok_or(NotPaid::NotPaid)?;
    if state.refunded >= state.amount {
        return Err(NotPaid::Refunded);
    }
    let (amount, currency) = (state.amount, state.currency.to_uppercase());
    let account = provider.account();
    Ok(PaidCheckout { order, session: state.session, amount, currency, intent, account, tax: state.tax })
}
