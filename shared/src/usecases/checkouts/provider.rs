//! What a checkout needs of a payment provider. It knows nothing of how a provider is called.

use crate::model::{Money, Order};
use crate::rules::payment::PaymentState;
use crate::store::orders::StoredOrder;
use std::fmt::Debug;

/// A payment provider.
pub trait Provider: Debug + Sync {
    /// Opens a checkout for an order. It is built only from the order, so that the same order opens the same checkout again.
    fn open(&self, order: &StoredOrder) -> impl Future<Output = Result<Session, ProviderError>> + Send;

    /// What became of a checkout.
    fn look(&self, session: &str) -> impl Future<Output = Result<PaymentState, ProviderError>> + Send;

    /// Ends a checkout. One that has ended or is paid already is not changed; [`Self::look`] says which.
    fn expire(&self, session: &str) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// Refunds an amount of an order's payment. The same `key` refunds once.
    fn refund(
        &self,
        order: &Order,
        intent: &str,
        amount: Money,
        key: &str,
    ) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// What became of a dispute.
    fn dispute(&self, dispute: &str) -> impl Future<Output = Result<DisputeState, ProviderError>> + Send;

    /// Everything that it has sent notices about since `second` (since 1970 UTC): notices can be lost.
    fn notices_since(&self, second: i64) -> impl Future<Output = Result<Vec<Notice>, ProviderError>> + Send;
}

/// What a provider's notice is about. It says only where to look.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// A checkout, by its id.
    Checkout(String),
    /// A payment, by its id.
    Payment(String),
    /// A dispute, by its id.
    Dispute(String),
}

/// A dispute about a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeState {
    /// The payment.
    pub intent: Option<String>,
    /// Its state, in the provider's words.
    pub state: String,
}

/// A checkout at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The URL of its page.
    pub url: String,
}

/// Why the provider did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// It did not respond, or wants the call again later. It is not known whether it was done; the same call may be
    /// repeated.
    #[error("the payment provider is not available: {0}")]
    Unavailable(String),
    /// It refuses the call, now and later. Nothing was done.
    #[error("the payment provider refuses: {0}")]
    Refused(String),
    /// It refuses our key, until an operator changes it. Nothing was done.
    #[error("the payment provider refuses the key: {0}")]
    Key(String),
}

impl ProviderError {
    /// Whether it is certain that nothing was done.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Key(_))
    }
}
