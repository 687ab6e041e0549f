//! Stripe as a payment provider.

use crate::config::{Config, StripeKeys};
use crate::deadline;
use crate::model::{InternalId, Money, Order};
use crate::rules::checkout::bill;
use crate::rules::payment::{PaymentState, Progress};
use crate::store::connector;
use crate::store::orders::StoredOrder;
use crate::telemetry::{PaymentEvent, payment_event};
use crate::usecases::checkouts::{DisputeState, Notice, Provider, ProviderError, Session};
use outgoing::OutgoingError;
use stripe::webhook::{SignatureError, verify};
use stripe::{
    ApiBase, Call, Charge, Client, Dispute, Event, EventKind, Expandable, IdempotencyKey, IntentStatus, Invalid, Line,
    NewRefund, NewSession, ObjectId, PaymentIntent, PaymentStatus, Refund, RefusalKind, SessionStatus, WebhookSecret,
};

/// Stripe, with the keys of one account.
#[derive(Debug, Clone)]
pub struct Stripe {
    client: Client,
    webhooks: Vec<WebhookSecret>,
}

impl Stripe {
    /// Stripe, if the configuration has its keys.
    #[must_use]
    pub fn of(config: &Config) -> Option<Self> {
        let keys = config.payment_keys.stripe.clone()?;
        Some(Self::new(keys, config.stripe_base.clone().unwrap_or_default()))
    }

    /// Stripe with keys, at `base`.
    #[must_use]
    pub fn new(keys: StripeKeys, base: ApiBase) -> Self {
        let client = outgoing::Client::new(connector::roots());
        Self { client: Client::new(client, base, keys.key), webhooks: keys.webhook }
    }

    /// What a webhook is about; `None` if it is about nothing that concerns orders. `header` is `Stripe-Signature`, `now` in
    /// seconds since 1970 UTC. Of the body only ids are used: what happened is asked for.
    ///
    /// # Errors
    /// [`SignatureError`] if it is not from Stripe.
    pub fn notice(&self, header: Option<&str>, body: &[u8], now: i64) -> Result<Option<Notice>, SignatureError> {
        verify(header, body, &self.webhooks, now)?;
        Ok(serde_json::from_slice(body).ok().and_then(|event: Event| notice_of(&event)))
    }

    async fn send<T: serde::de::DeserializeOwned>(&self, call: Call<T>) -> Result<T, ProviderError> {
        let sent = deadline::within(self.client.send(&call)).await;
        sent.ok_or_else(|| ProviderError::Unavailable("the time of the request is up".to_owned()))?
            .map_err(|error| failed(&error))
    }

    fn is_live(&self) -> bool {
        self.client.key().is_live()
    }
}

impl Provider for Stripe {
    async fn open(&self, stored: &StoredOrder) -> Result<Session, ProviderError> {
        let order = &stored.order;
        let checkout = stored.effects.provider.as_ref();
        let checkout = checkout.ok_or_else(|| ProviderError::Refused("the order is not a checkout's".to_owned()))?;
        let bill = bill(&order.lines, stored.effects.gift_card.as_ref());
        let lines: Vec<Line<'_>> =
            bill.iter().map(|line| Line { name: &line.name, amount: line.amount.minor() }).collect();
        let new = NewSession {
            order: order.internal_id.as_str(),
            currency: &order.currency,
            lines: &lines,
            success_url: &return_url(&checkout.storefront, &order.internal_id, "{CHECKOUT_SESSION_ID}"),
            cancel_url: &format!("{}/checkout", checkout.storefront),
            expires_at: checkout.expires_at,
            delayed: checkout.delayed,
        };
        let session = self.send(stripe::Session::create(&new, key(&format!("{}-1", order.internal_id))?)).await?;
        let ended = || ProviderError::Unavailable("the checkout has ended".to_owned());
        Ok(Session { id: session.id.to_string(), url: session.url.ok_or_else(ended)? })
    }

    async fn look(&self, session: &str) -> Result<PaymentState, ProviderError> {
        let session = self.send(stripe::Session::retrieve(&id(session)?)).await?;
        let intent = session.payment_intent.as_ref();
        let object = intent.and_then(Expandable::object);
        Ok(PaymentState {
            order: session.client_reference_id.as_deref().map(InternalId::new),
            amount: Money::from_minor(session.amount_total.unwrap_or_default()),
            currency: session.currency.clone().unwrap_or_default(),
            same_mode: session.livemode == self.is_live(),
            progress: progress(&session, object),
            intent: intent.map(|intent| intent.id().to_string()),
            refunded: Money::from_minor(object.and_then(charge).map_or(0, |charge| charge.amount_refunded)),
        })
    }

    async fn expire(&self, session: &str) -> Result<(), ProviderError> {
        match self.send(stripe::Session::expire(&id(session)?)).await {
            // One that is not open any more cannot be ended.
            Ok(_) | Err(ProviderError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn refund(&self, order: &Order, intent: &str, amount: Money, once: &str) -> Result<(), ProviderError> {
        let intent = id(intent)?;
        let amount = Some(amount.minor());
        let new = NewRefund { payment_intent: &intent, amount, order: order.internal_id.as_str() };
        self.send(Refund::create(&new, key(once)?)).await.map(|_| ())
    }

    async fn dispute(&self, dispute: &str) -> Result<DisputeState, ProviderError> {
        let dispute = self.send(Dispute::retrieve(&id(dispute)?)).await?;
        let intent = dispute.payment_intent.map(|intent| intent.to_string());
        Ok(DisputeState { intent, state: dispute.status.as_str().to_owned() })
    }

    async fn notices_since(&self, second: i64) -> Result<Vec<Notice>, ProviderError> {
        let (mut notices, mut after) = (Vec::new(), None);
        loop {
            let page = self.send(Event::list(&EventKind::ALL, second, after.as_ref())).await?;
            notices.extend(page.data.iter().filter_map(notice_of));
            after = page.data.last().map(|event| event.id.clone());
            if !page.has_more || after.is_none() {
                return Ok(notices);
            }
        }
    }
}

/// The storefront's page to which a buyer returns. `checkout` is the provider's id of the checkout.
#[must_use]
pub fn return_url(storefront: &str, order: &InternalId, checkout: &str) -> String {
    format!("{storefront}/payment/flow?order_id={order}&checkout_id={checkout}")
}

fn notice_of(event: &Event) -> Option<Notice> {
    let object = || event.object.as_ref().map(ObjectId::to_string);
    match event.kind {
        EventKind::SessionCompleted
        | EventKind::SessionPaymentSucceeded
        | EventKind::SessionPaymentFailed
        | EventKind::SessionExpired => object().map(Notice::Checkout),
        EventKind::ChargeRefunded => event.payment_intent.as_ref().map(|intent| Notice::Payment(intent.to_string())),
        EventKind::DisputeCreated | EventKind::DisputeClosed => object().map(Notice::Dispute),
        EventKind::Other(_) => None,
    }
}

fn progress(session: &stripe::Session, intent: Option<&PaymentIntent>) -> Progress {
    match (session.status.as_ref(), &session.payment_status) {
        (Some(SessionStatus::Complete), PaymentStatus::Paid | PaymentStatus::NoPaymentRequired) => Progress::Paid,
        (Some(SessionStatus::Complete), _) => match intent.map(|intent| &intent.status) {
            Some(IntentStatus::RequiresPaymentMethod | IntentStatus::Canceled) => Progress::Failed,
            _ => Progress::Processing,
        },
        (Some(SessionStatus::Expired), _) => Progress::Expired,
        _ => Progress::Open,
    }
}

fn charge(intent: &PaymentIntent) -> Option<&Charge> {
    intent.latest_charge.as_ref().and_then(Expandable::object)
}

fn id(text: &str) -> Result<ObjectId, ProviderError> {
    ObjectId::parse(text).map_err(invalid)
}

fn key(text: &str) -> Result<IdempotencyKey, ProviderError> {
    IdempotencyKey::parse(text).map_err(invalid)
}

fn invalid(error: Invalid) -> ProviderError {
    ProviderError::Refused(error.to_string())
}

fn failed(error: &stripe::Error) -> ProviderError {
    let text = match error {
        stripe::Error::NoResponse(OutgoingError::Connect(source) | OutgoingError::Broken(source)) => {
            format!("{error}: {source}")
        }
        _ => error.to_string(),
    };
    if error.refusal().is_some_and(|refusal| matches!(refusal.kind, RefusalKind::Key | RefusalKind::Permission)) {
        payment_event(PaymentEvent::ProviderError, 1);
        return ProviderError::Key(text);
    }
    if error.is_final() {
        return ProviderError::Refused(text);
    }
    payment_event(PaymentEvent::ProviderError, 1);
    ProviderError::Unavailable(text)
}
