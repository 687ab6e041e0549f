//! The provider's webhook events: acting on one, how far they were asked for, and which of them failed.

use super::desk::{Desk, SettleError, note_dispute};
use super::provider::{DisputeState, PaymentSubject, Provider, WebhookEvent};
use crate::model::InternalId;
use crate::rules::dispute::{FRAUD_WARNING, LOST};
use crate::shop::orders::{self, StoredOrder};
use crate::shop::stock::addresses;
use crate::shop::subscriptions;
use crate::shop::subscriptions::without_order;
use crate::table::client::Db;
use crate::table::transaction::Write;
use crate::table::{StoreError, keys, read_live};
use serde::{Deserialize, Serialize};

/// For how many seconds the first payment of a subscription may have no invoice yet.
const WITHOUT_INVOICE: i64 = 900;

/// How far the provider's webhook events were asked for. Times are seconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCursor {
    /// All webhook events before this were acted on, but those in `failed`.
    pub since: i64,
    /// The time that is being asked for; `None` between two times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Webhook events that failed and are acted on again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedEvent>,
    /// How often the row was written since this was stored; the condition of the next write.
    #[serde(default)]
    version: u64,
}

/// A time that is being asked for, from the newest webhook event to the oldest. It begins at [`EventCursor::since`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its last second.
    pub until: i64,
    /// The position of the provider's next page; `None` at the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEvent {
    pub kind: String,
    pub id: String,
    /// When it failed first.
    pub since: i64,
    pub failed: u32,
    /// When it is acted on again.
    pub again_at: i64,
}

impl EventCursor {
    /// A row that was not stored before.
    pub const fn beginning(since: i64) -> Self {
        Self { since, window: None, failed: Vec::new(), version: 0 }
    }

    /// Reads the row, strongly consistent; `None` before the first time.
    pub async fn read(db: &Db) -> Result<Option<Self>, StoreError> {
        read_live(db, &keys::webhook_events()).await
    }

    /// The write of the row, on the condition that no other sweep has written it since it was read.
    pub fn put(&mut self) -> Result<Write, StoreError> {
        let (key, read) = (keys::webhook_events(), self.version);
        self.version += 1;
        Ok(Write::put_live(key, self)?.and_at(read))
    }
}

impl<P: Provider> Desk<'_, &P> {
    /// Settles what a webhook event is about: fetches it from the provider, and writes what it says. A webhook event about
    /// something that is not ours changes nothing; one of a payment whose order is missing is logged and counted. Order and
    /// number of webhook events do not matter. After an error the same webhook event may be acted on again.
    pub async fn act(&self, event: &WebhookEvent) -> Result<(), SettleError> {
        match event {
            WebhookEvent::Checkout(session) => {
                let state = self.provider.fetch(session).await?;
                let Some(order) = &state.order else { return Ok(()) };
                if self.apply(order, &state).await?.is_none() {
                    without_order(&state, "a paid checkout has no order");
                }
                if let Some(period) = &state.period {
                    let begun = subscriptions::get(self.db, &period.subscription).await?;
                    self.end_replaced(begun.as_ref()).await?;
                }
            }
            WebhookEvent::Invoice(invoice) => {
                let state = self.provider.fetch(invoice).await?;
                self.settle_invoice(&state).await?;
                if let Some(period) = &state.period {
                    let paid = self.settle_subscription(&period.subscription).await?;
                    self.end_replaced(paid.as_ref()).await?;
                }
            }
            WebhookEvent::Subscription(id) => {
                self.settle_subscription(id).await?;
            }
            WebhookEvent::Payment(intent) => {
                let Some(order) = orders::of_payment(self.db, intent).await? else { return Ok(()) };
                if let Some(stored) = orders::get(self.db, &order).await? {
                    self.settle(&stored).await?;
                    self.settle_own(&stored).await?;
                }
            }
            WebhookEvent::Refused(attempt) => {
                let Some(refused) = self.provider.refused(attempt).await? else { return Ok(()) };
                let stored = orders::get(self.db, &refused.order).await?;
                if let Some(address) = stored.as_ref().and_then(StoredOrder::address) {
                    addresses::count_refused(self.db, &address.hash, attempt, refused.at, self.clock.seconds()).await?;
                }
            }
            WebhookEvent::Dispute(dispute) => {
                let dispute = self.provider.dispute(dispute).await?;
                let Some(intent) = &dispute.intent else { return Ok(()) };
                let Some(order) = orders::of_payment(self.db, intent).await? else { return Ok(()) };
                let noted = note_dispute(self.db, self.clock, &order, &dispute).await?;
                let Some(stored) = noted else { return Ok(()) };
                if dispute.state == LOST {
                    self.settle(&stored).await?;
                }
                self.settle_own(&stored).await?;
            }
            WebhookEvent::FraudWarning(intent) => {
                let Some(order) = self.order_of(intent).await? else { return Ok(()) };
                let state = FRAUD_WARNING.to_owned();
                let warning = DisputeState { id: intent.clone(), intent: None, state };
                note_dispute(self.db, self.clock, &order, &warning).await?;
            }
        }
        Ok(())
    }

    /// The order of a payment. One whose payment is not known yet is settled first: a warning is in no later state of the payment.
    async fn order_of(&self, intent: &str) -> Result<Option<InternalId>, SettleError> {
        let known = orders::of_payment(self.db, intent).await?;
        if known.is_some() {
            return Ok(known);
        }
        match self.provider.subject_of(intent).await? {
            PaymentSubject::Unknown { since } => {
                let is_new = self.clock.seconds().saturating_sub(since) < WITHOUT_INVOICE;
                return if is_new { Err(StoreError::Contended.into()) } else { Ok(None) };
            }
            PaymentSubject::Order(named) => {
                let Some(stored) = orders::get(self.db, &named).await? else { return Ok(None) };
                self.settle(&stored).await?;
            }
            PaymentSubject::Invoice(invoice) => {
                let state = self.provider.fetch(&invoice).await?;
                if state.order.is_none() {
                    return Ok(None);
                }
                self.settle_invoice(&state).await?;
            }
        }
        // The payment of an open order is known as soon as the order is paid: Stripe sends the warning again.
        orders::of_payment(self.db, intent).await?.map(Some).ok_or_else(|| StoreError::Contended.into())
    }

    /// Settles the subscription of an order, which a refund or a dispute may have ended: it must not be charged again.
    async fn settle_own(&self, stored: &StoredOrder) -> Result<(), SettleError> {
        if let Some(id) = stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref()) {
            self.settle_subscription(id).await?;
        }
        Ok(())
    }
}
