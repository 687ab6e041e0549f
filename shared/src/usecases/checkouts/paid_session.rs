//! A checkout that was paid at the provider and whose order is missing, as after a restore to an earlier time.

use super::provider::{Provider, ProviderError};
use crate::model::{InternalId, Money, ProviderAccount};
use crate::rules::payment::Progress;

/// A paid checkout at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidCheckout {
    /// The order that the checkout was made for.
    pub order: InternalId,
    /// The amount, in minor units of `currency`.
    pub amount: Money,
    /// Currency code, in capitals.
    pub currency: String,
    pub intent: String,
    pub account: ProviderAccount,
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
    Ok(PaidCheckout { order, amount, currency, intent, account: provider.account() })
}
