//! The calls to a payment provider that checkouts need. It knows nothing of how a provider is called.

use crate::model::{BalanceChange, Cancellation, InternalId, Order, ProviderAccount, RefundAttempt};
use crate::rules::dispute::ConfirmedRefund;
use crate::rules::payment::PaymentState;
use crate::rules::subscription::ProviderSubscription;
use crate::shop::orders::StoredOrder;
use std::collections::BTreeMap;
use std::fmt::Debug;

pub trait Provider: Debug + Sync {
    /// The account of the keys. What it has is unknown to every other account.
    fn account(&self) -> ProviderAccount;

    /// Opens a checkout for an order. It is built only from the order, so that the same order opens the same checkout
    /// again.
    fn open(&self, order: &StoredOrder) -> impl Future<Output = Result<Session, ProviderError>> + Send;

    /// The state of a checkout, or of an invoice of a subscription; [`ProviderError::NoCheckout`] if it has none with this
    /// id.
    fn fetch(&self, session: &str) -> impl Future<Output = Result<PaymentState, ProviderError>> + Send;

    /// Ends a checkout. One that has ended or is paid already is not changed; [`Self::fetch`] says which. One that it
    /// does not have is [`ProviderError::NoCheckout`].
    fn expire(&self, session: &str) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// Makes an attempt to refund a part of an order's payment. The same attempt refunds once for a day at least, and
    /// [`Self::fetch`] returns it for ever.
    fn refund(
        &self,
        order: &Order,
        intent: &str,
        attempt: &RefundAttempt,
    ) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// What a payment is for.
    fn subject_of(&self, intent: &str) -> impl Future<Output = Result<PaymentSubject, ProviderError>> + Send;

    /// An attempt to pay that was refused; `None` if it was not, or is not ours.
    fn refused(&self, attempt: &str) -> impl Future<Output = Result<Option<RefusedAttempt>, ProviderError>> + Send;

    /// The fingerprint of the card that a payment was made with; `None` if it was not made by card.
    fn card_of(&self, intent: &str) -> impl Future<Output = Result<Option<String>, ProviderError>> + Send;

    fn dispute(&self, dispute: &str) -> impl Future<Output = Result<DisputeState, ProviderError>> + Send;

    /// A dispute with what the bank waits for; [`ProviderError::NoCheckout`] if it has none with this id.
    fn awaited(&self, dispute: &str) -> impl Future<Output = Result<AwaitedEvidence, ProviderError>> + Send;

    /// Submits evidence for good, under a key that is new for other evidence. The same call does it once for a day at least.
    /// `false` if the provider failed at it: what came of it is asked for, and the same call would fail again.
    fn submit_evidence(
        &self,
        dispute: &str,
        key: &str,
        evidence: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<bool, ProviderError>> + Send;

    /// The refunds of a payment whose money has gone back, the oldest first.
    fn confirmed_refunds(
        &self,
        intent: &str,
    ) -> impl Future<Output = Result<Vec<ConfirmedRefund>, ProviderError>> + Send;

    /// A page of the webhook events that it has sent in a time, newest first: webhook events can be lost. `times` are
    /// the first and the last second, since 1970 UTC; `after` is [`WebhookEventPage::next`] of the page before.
    fn webhook_events(
        &self,
        times: (i64, i64),
        after: Option<&str>,
    ) -> impl Future<Output = Result<WebhookEventPage, ProviderError>> + Send;

    /// A page of the checkouts that buyers have completed and that were opened since a second (since 1970 UTC), newest
    /// first, with those that are not ours. `after` is [`PaymentPage::next`] of the page before.
    fn payments(
        &self,
        since: i64,
        after: Option<&str>,
    ) -> impl Future<Output = Result<PaymentPage, ProviderError>> + Send;

    /// A page of the changes of the store's balance in a time, newest first. `times` are the first and the last second, since
    /// 1970 UTC; `after` is [`BalancePage::next`] of the page before.
    fn balance_changes(
        &self,
        times: (i64, i64),
        after: Option<&str>,
    ) -> impl Future<Output = Result<BalancePage, ProviderError>> + Send;

    /// The state of a subscription; [`ProviderError::NoCheckout`] if it has none with this id.
    fn subscription(&self, id: &str) -> impl Future<Output = Result<ProviderSubscription, ProviderError>> + Send;

    /// Cancels a subscription. One that has ended is not changed.
    fn cancel_subscription(
        &self,
        id: &str,
        how: Cancellation,
    ) -> impl Future<Output = Result<(), ProviderError>> + Send;

    /// A page of the paid invoices of a subscription, newest first. `after` is [`PaymentPage::next`] of the page before.
    fn invoices(
        &self,
        subscription: &str,
        after: Option<&str>,
    ) -> impl Future<Output = Result<PaymentPage, ProviderError>> + Send;

    /// The URL of a page on which a customer of the provider changes and cancels their subscriptions, and then returns.
    fn portal(&self, customer: &str, return_url: &str) -> impl Future<Output = Result<String, ProviderError>> + Send;

    /// The URL of a page on which any customer logs in, with a code that the provider mails to them, and does the same; `None`
    /// if the account has none.
    fn login_page(&self) -> impl Future<Output = Result<Option<String>, ProviderError>> + Send;

    /// The URL of the receipt of a payment, or of its invoice; `None` if it has neither. Not stored: who has it sees what the
    /// buyer gave with the payment.
    fn receipt(&self, session: &str) -> impl Future<Output = Result<Option<String>, ProviderError>> + Send;

    /// Refunds all that is left of a payment that no order has. It is done once.
    fn return_payment(&self, payment: &PaymentState) -> impl Future<Output = Result<(), ProviderError>> + Send;
}

/// An attempt to pay that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedAttempt {
    pub order: InternalId,
    /// When it was made, seconds since 1970 UTC.
    pub at: i64,
}

/// What a payment is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentSubject {
    /// The order that it names.
    Order(InternalId),
    /// An invoice of a subscription, by its id. It may not be ours.
    Invoice(String),
    /// It names none. It is not ours, or, if it was begun just now, that of a subscription whose first invoice follows it.
    /// Seconds since 1970 UTC.
    Unknown { since: i64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookEventPage {
    /// The webhook events. One that cannot be read is left out.
    pub events: Vec<WebhookEvent>,
    /// The position of the next page; `None` after the last one.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaymentPage {
    pub payments: Vec<PaymentState>,
    /// The position of the next page; `None` after the last one.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BalancePage {
    pub changes: Vec<BalanceChange>,
    /// The position of the next page; `None` after the last one.
    pub next: Option<String>,
}

/// The subject of a provider's webhook event: the id of what to fetch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebhookEvent {
    /// A checkout, by its id.
    Checkout(String),
    /// A payment, by its id.
    Payment(String),
    /// An attempt to pay that was refused, by its id.
    Refused(String),
    /// A dispute, by its id.
    Dispute(String),
    /// A warning that a person other than the owner of the card has paid, by the payment's id.
    FraudWarning(String),
    /// An invoice of a subscription, by its id.
    Invoice(String),
    /// A subscription, by its id.
    Subscription(String),
}

impl WebhookEvent {
    /// Its kind, and the id of what it is about, as they are stored.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Checkout(id) => ("checkout", id),
            Self::Payment(id) => ("payment", id),
            Self::Refused(id) => ("refused", id),
            Self::Dispute(id) => ("dispute", id),
            Self::FraudWarning(id) => ("fraud_warning", id),
            Self::Invoice(id) => ("invoice", id),
            Self::Subscription(id) => ("subscription", id),
        }
    }

    /// The webhook event with these [`parts`](Self::parts); `None` if the kind is unknown.
    pub fn of(kind: &str, id: &str) -> Option<Self> {
        let make = match kind {
            "checkout" => Self::Checkout,
            "payment" => Self::Payment,
            "refused" => Self::Refused,
            "dispute" => Self::Dispute,
            "fraud_warning" => Self::FraudWarning,
            "invoice" => Self::Invoice,
            "subscription" => Self::Subscription,
            _ => return None,
        };
        Some(make(id.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputeState {
    pub id: String,
    pub intent: Option<String>,
    /// Its state, in the provider's words.
    pub state: String,
}

/// A dispute, and what the bank waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedEvidence {
    /// Its state, in the provider's words.
    pub state: String,
    /// Until when evidence is taken, seconds since 1970 UTC; `None` if none is.
    pub due_by: Option<i64>,
    /// Whether the bank has evidence.
    pub is_submitted: bool,
    /// Whether there is evidence that is not submitted yet, or the provider sends some by itself.
    pub has_others: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub url: String,
}

/// The reason why the provider did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// It did not respond, or wants the call again later. It is not known whether it was done; the same call may be
    /// repeated.
    #[error("the payment provider is not available: {0}")]
    Unavailable(String),
    /// It refuses the call, now and later. Nothing was done.
    #[error("the payment provider refuses: {0}")]
    Refused(String),
    /// It has no such checkout: it was deleted, or is one of another account or mode.
    #[error("the payment provider has no such checkout: {0}")]
    NoCheckout(String),
    /// It refuses our key, until an operator changes it. Nothing was done.
    #[error("the payment provider refuses the key: {0}")]
    Key(String),
}

impl ProviderError {
    /// Whether it is certain that nothing was done.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::NoCheckout(_) | Self::Key(_))
    }
}
