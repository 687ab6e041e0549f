//! Stripe as a payment provider.

use super::Pace;
use super::paid::Paid;
use super::words::{
    NotCreated, about, awaited_of, balance_change_of, confirmed, described, failed, not_created, of_attempt,
    webhook_event_of, without_named,
};
use crate::config::{Config, StripeKeys};
use crate::deadline;
use crate::model::{
    Cancellation, InternalId, Money, Order, PaymentFacts, Proceeds, ProviderAccount, RefundAttempt, RefundOutcome,
    TaxMode,
};
use crate::rules::checkout::bill;
use crate::rules::dispute::ConfirmedRefund;
use crate::rules::payment::{PaymentState, Progress};
use crate::rules::payment_methods::CARD;
use crate::rules::subscription::ProviderSubscription;
use crate::shop::orders::StoredOrder;
use crate::shop::payments::{
    AwaitedEvidence, BalancePage, DisputeState, PaymentPage, PaymentSubject, Provider, ProviderError, RefusedAttempt,
    Session, WebhookEvent, WebhookEventPage,
};
use crate::table::connector;
use crate::telemetry::{PaymentEvent, payment_event};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stripe::webhook::{SignatureError, verify};
use stripe::{
    API_VERSION, ApiBase, Call, Charge, Client, Dispute, DisputeStatus, Event, EventKind, Expandable, IdempotencyKey,
    Invalid, Invoice, InvoicePayment, InvoiceStatus, Line, ListedChange, NewRefund, NewSession, NewSubscription,
    NewTax, ObjectId, PaymentIntent, PortalConfiguration, PortalSession, Refund, WebhookSecret,
};

/// How many calls a second [`Stripe::for_many_calls`] makes. Stripe refuses above 25 in test mode; buyers need some,
/// too.
const CALLS: u32 = 20;
/// The largest response in bytes: of a page of twenty payments, with all that belongs to each, in lines that are indented.
const LARGEST_RESPONSE: usize = 4 * 1024 * 1024;
/// How often a call is repeated that Stripe refused because there were too many. The pause doubles, from [`PAUSE`] on.
const REPEATS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// How often a session is asked for with less: without a customer, without the methods that were refused, with cards alone.
const MOST_SESSIONS: u8 = 4;

/// Stripe, with the keys of one account.
#[derive(Debug, Clone)]
pub struct Stripe {
    client: Client,
    webhooks: Vec<WebhookSecret>,
    pace: Option<Arc<Pace>>,
    account: ProviderAccount,
}

impl Stripe {
    /// Stripe, if the configuration has its keys.
    pub fn of(config: &Config) -> Option<Self> {
        let keys = config.payment_keys.stripe.clone()?;
        Some(Self::new(keys, config.stripe_base.clone().unwrap_or_default()))
    }

    pub fn new(keys: StripeKeys, base: ApiBase) -> Self {
        let account = keys.provider_account();
        let client = outgoing::Client::new(connector::roots()).at_most(LARGEST_RESPONSE);
        Self { client: Client::new(client, base, keys.key), webhooks: keys.webhook, pace: None, account }
    }

    /// The same account for many calls: over connections that are kept as long as this value is, and at a pace that
    /// leaves room for buyers. All calls pause when Stripe says that there are too many.
    #[must_use]
    pub fn for_many_calls(&self) -> Self {
        let pace = Some(Arc::new(Pace::per_second(CALLS)));
        let (client, account) = (self.client.keeping(), self.account.clone());
        Self { client, webhooks: self.webhooks.clone(), pace, account }
    }

    /// The subject of a webhook; `None` if it is nothing that concerns orders. `header` is `Stripe-Signature`, `now` in
    /// seconds since 1970 UTC. Of the body only ids are used: what happened is asked for.
    pub fn webhook_event(
        &self,
        header: Option<&str>,
        body: &[u8],
        now: i64,
    ) -> Result<Option<WebhookEvent>, SignatureError> {
        verify(header, body, &self.webhooks, now)?;
        Ok(serde_json::from_slice(body).ok().and_then(|event: Event| webhook_event_of(&event)))
    }

    async fn send<T: serde::de::DeserializeOwned>(&self, call: Call<T>) -> Result<T, ProviderError> {
        self.send_or(call, failed).await
    }

    async fn send_about<T: serde::de::DeserializeOwned>(&self, call: Call<T>) -> Result<T, ProviderError> {
        self.send_or(call, about).await
    }

    async fn send_or<T: serde::de::DeserializeOwned, E: From<ProviderError>>(
        &self,
        call: Call<T>,
        failed: impl FnOnce(&stripe::Error) -> E,
    ) -> Result<T, E> {
        let sent = deadline::within(self.send_in_turn(&call)).await;
        sent.ok_or_else(|| ProviderError::Unavailable("the time of the request is up".to_owned()))?
            .map_err(|error| failed(&error))
    }

    async fn send_in_turn<T: serde::de::DeserializeOwned>(&self, call: &Call<T>) -> Result<T, stripe::Error> {
        let Some(pace) = &self.pace else { return self.client.send(call).await };
        for repeat in 0..REPEATS {
            pace.turn().await;
            match self.client.send(call).await {
                Err(error) if error.is_rate_limited() => pace.pause(PAUSE * 2_u32.pow(repeat)),
                sent => return sent,
            }
        }
        pace.turn().await;
        self.client.send(call).await
    }

    /// Every refund of a payment, those that failed among them. Most payments have none, and a session brings the
    /// newest ones.
    async fn refunds(&self, intent: Option<&PaymentIntent>) -> Result<Vec<Refund>, ProviderError> {
        let Some((intent, charge)) = intent.and_then(|intent| Some((intent, charge(intent)?))) else {
            return Ok(Vec::new());
        };
        let mut has_more = charge.refunds.as_ref().map_or(charge.amount_refunded > 0, |refunds| refunds.has_more);
        let mut all = charge.refunds.as_ref().map_or_else(Vec::new, |refunds| refunds.data.clone());
        while has_more {
            let page = self.send(Refund::list(&intent.id, all.last().map(|refund| &refund.id))).await?;
            has_more = page.has_more && !page.data.is_empty();
            all.extend(page.data);
        }
        Ok(all)
    }

    /// Writes the disputes of a payment into its state, and the amount that the store lost in them.
    async fn with_disputes(
        &self,
        state: PaymentState,
        intent: Option<&PaymentIntent>,
    ) -> Result<PaymentState, ProviderError> {
        let found = intent.filter(|intent| charge(intent).is_some_and(|charge| charge.disputed));
        let Some(intent) = found else { return Ok(state) };
        let all = self.send(Dispute::list(&intent.id)).await?.data;
        // One in another currency is the bank's, of the whole payment.
        let amount = |one: &Dispute| if one.currency == intent.currency { one.amount } else { intent.amount };
        let lost = all.iter().filter(|one| *one.outcome() == DisputeStatus::Lost);
        let lost: Money = lost.map(|one| Money::from_minor(amount(one))).sum();
        let disputes = all.iter().map(|one| (one.id.to_string(), one.outcome().as_str().to_owned()));
        Ok(PaymentState { refunded: (state.refunded + lost).min(state.amount), disputes: disputes.collect(), ..state })
    }

    async fn state_of(&self, paid: &Paid<'_>) -> Result<PaymentState, ProviderError> {
        let fetched = match paid.intent() {
            // An invoice has only the id of its payment.
            Some(Expandable::Id(id)) => Some(self.send(PaymentIntent::retrieve(id)).await?),
            _ => None,
        };
        let intent = fetched.as_ref().or_else(|| paid.intent()?.object());
        let refunds = self.refunds(intent).await?;
        let charge = intent.and_then(charge);
        let card = charge.and_then(Charge::fingerprint).map(str::to_owned);
        let facts = charge.map(facts_of).unwrap_or_default();
        self.with_disputes(PaymentState { facts, card, ..self.state(paid, intent, &refunds) }, intent).await
    }

    /// The rate of a session's tax, if the key may know it and there is one: nothing depends on it.
    async fn tax_rate(&self, session: &ObjectId) -> Option<u32> {
        let unknown = |error: &stripe::Error| ProviderError::Unavailable(error.to_string());
        let asked = self.send_or(stripe::Session::retrieve_taxes(session), unknown).await;
        asked.inspect_err(|error| tracing::info!(%error, "the rate of a tax is not known")).ok()?.tax_rate()
    }

    /// Creates a session. What Stripe refuses of it is left out, so that the buyer can pay: a customer who was deleted in the
    /// dashboard, the methods that are named, and then all but cards. A refused session was never opened, so there is one to pay.
    async fn create_session(&self, mut new: NewSession<'_>) -> Result<stripe::Session, ProviderError> {
        let mut methods = new.methods.to_vec();
        for attempt in 1..=MOST_SESSIONS {
            // Repeated by another version of the API, a call has other parameters, which Stripe refuses under the same key.
            let key = key(&format!("{}-{attempt}-{API_VERSION}", new.order))?;
            let refusal = match self
                .send_or(stripe::Session::create(&NewSession { methods: &methods, ..new }, key), not_created)
                .await
            {
                Ok(session) => return Ok(session),
                Err(NotCreated::Customer) => {
                    new.subscription = new.subscription.map(|own| NewSubscription { customer: None, ..own });
                    continue;
                }
                Err(NotCreated::Methods(refusal)) if methods != [CARD] => refusal,
                Err(NotCreated::Methods(refusal)) => return Err(ProviderError::Refused(refusal)),
                Err(NotCreated::Other(error)) => return Err(error),
            };
            let fewer = if methods == new.methods { without_named(&methods, &refusal) } else { Vec::new() };
            methods = if fewer.is_empty() { vec![CARD.to_owned()] } else { fewer };
            payment_event(PaymentEvent::ProviderError, 1);
            let offered = methods.join(", ");
            tracing::error!(refusal, offered, "Stripe refused a way to pay; the checkout goes on with others");
        }
        Err(ProviderError::Unavailable("Stripe refused every form of the checkout".to_owned()))
    }

    /// Voids the invoices of a subscription that has ended and that wait for a payment.
    async fn void_open(&self, subscription: &ObjectId) -> Result<(), ProviderError> {
        loop {
            let open = self.send_about(Invoice::list(subscription, &InvoiceStatus::Open, None)).await;
            let page = match open {
                Err(ProviderError::NoCheckout(_)) => return Ok(()),
                open => open?,
            };
            let mut is_any_void = false;
            for invoice in &page.data {
                match self.send_about(Invoice::void(&invoice.id)).await {
                    Ok(_) => is_any_void = true,
                    // It was paid or voided meanwhile.
                    Err(ProviderError::Refused(_) | ProviderError::NoCheckout(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            if !page.has_more || !is_any_void {
                return Ok(());
            }
        }
    }

    fn is_live(&self) -> bool {
        self.client.key().is_live()
    }

    fn state(&self, paid: &Paid<'_>, intent: Option<&PaymentIntent>, refunds: &[Refund]) -> PaymentState {
        let sum = |failed: bool| {
            let amounts = refunds.iter().filter(|refund| refund.has_failed() == failed).map(|refund| refund.amount);
            amounts.map(Money::from_minor).sum()
        };
        PaymentState {
            session: paid.id().to_string(),
            order: paid.order(),
            amount: Money::from_minor(paid.amount()),
            currency: paid.currency(),
            same_mode: paid.livemode() == self.is_live(),
            progress: paid.progress(intent),
            intent: paid.intent().map(|intent| intent.id().to_string()),
            refunded: sum(false),
            failed_refunds: sum(true),
            attempts: refunds.iter().filter_map(attempt_of).collect(),
            disputes: Vec::new(),
            period: paid.period(),
            tax: paid.tax(),
            facts: PaymentFacts::default(),
            card: None,
        }
    }
}

impl Provider for Stripe {
    fn account(&self) -> ProviderAccount {
        self.account.clone()
    }

    async fn open(&self, stored: &StoredOrder) -> Result<Session, ProviderError> {
        let order = &stored.order;
        let checkout = stored.effects.provider.as_ref();
        let checkout = checkout.ok_or_else(|| ProviderError::Refused("the order is not a checkout's".to_owned()))?;
        let bill = bill(&order.lines, stored.effects.gift_card.as_ref());
        let lines = bill.iter().map(|line| Line {
            name: &line.name,
            amount: line.amount.minor(),
            tax_code: line.tax_code.as_deref(),
        });
        let lines: Vec<Line<'_>> = lines.collect();
        let own = stored.effects.subscription.as_ref();
        let customer = own.and_then(|own| own.customer.as_deref()).map(id).transpose()?;
        let subscription = own.map(|own| NewSubscription {
            interval: own.plan.unit.as_str(),
            count: own.plan.every.into(),
            customer: customer.as_ref(),
        });
        let cards = [CARD.to_owned()];
        let new = NewSession {
            order: order.internal_id.as_str(),
            currency: &order.currency,
            lines: &lines,
            success_url: &return_url(&checkout.storefront, &order.internal_id, "{CHECKOUT_SESSION_ID}"),
            cancel_url: &format!("{}/checkout", checkout.storefront),
            expires_at: checkout.expires_at,
            // Orders of before they were stored have none.
            methods: if checkout.methods.is_empty() { &cards } else { &checkout.methods },
            adaptive: checkout.adaptive,
            three_d_secure: checkout.three_d_secure,
            subscription,
            tax: match checkout.tax {
                TaxMode::None => NewTax::None,
                TaxMode::Stripe => NewTax::Automatic { on_top: checkout.tax_on_top },
                TaxMode::Managed => NewTax::Managed { on_top: checkout.tax_on_top },
            },
            invoice: checkout.invoice,
        };
        let session = self.create_session(new).await?;
        let ended = || ProviderError::Unavailable("the checkout has ended".to_owned());
        Ok(Session { id: session.id.to_string(), url: session.url.ok_or_else(ended)? })
    }

    async fn fetch(&self, session: &str) -> Result<PaymentState, ProviderError> {
        let id = id(session)?;
        if is_invoice(session) {
            let invoice = self.send_about(Invoice::retrieve(&id)).await?;
            return self.state_of(&Paid::Invoice(&invoice)).await;
        }
        let session = self.send_about(stripe::Session::retrieve(&id)).await?;
        let mut state = self.state_of(&Paid::Session(&session)).await?;
        if state.tax.amount > Money::ZERO && state.progress == Progress::Paid {
            state.tax.rate = self.tax_rate(&id).await;
        }
        Ok(state)
    }

    async fn expire(&self, session: &str) -> Result<(), ProviderError> {
        if is_invoice(session) {
            // Its order is made once it is paid.
            return Ok(());
        }
        match self.send_about(stripe::Session::expire(&id(session)?)).await {
            // One that is not open any more cannot be ended.
            Ok(_) | Err(ProviderError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn refund(&self, order: &Order, intent: &str, attempt: &RefundAttempt) -> Result<(), ProviderError> {
        let new = NewRefund {
            payment_intent: &id(intent)?,
            amount: Some(attempt.amount().minor()),
            order: order.internal_id.as_str(),
            attempt: attempt.number,
        };
        let create = Refund::create(&new, key(&attempt.key(&order.internal_id))?);
        self.send_or(create, of_attempt).await.map(|_| ())
    }

    async fn subject_of(&self, intent: &str) -> Result<PaymentSubject, ProviderError> {
        let intent = self.send_about(PaymentIntent::retrieve(&id(intent)?)).await?;
        if let Some(order) = intent.metadata.order.as_deref() {
            return Ok(PaymentSubject::Order(InternalId::new(order)));
        }
        // The payment of an invoice has no metadata of ours.
        let paid = self.send(InvoicePayment::list(&intent.id)).await?.data;
        let invoice = paid.first().map(|payment| PaymentSubject::Invoice(payment.invoice.to_string()));
        Ok(invoice.unwrap_or(PaymentSubject::Unknown { since: intent.created }))
    }

    async fn refused(&self, attempt: &str) -> Result<Option<RefusedAttempt>, ProviderError> {
        let charge = self.send_about(Charge::retrieve(&id(attempt)?)).await?;
        let order = charge.metadata.order.filter(|_| charge.status == "failed");
        Ok(order.map(|order| RefusedAttempt { order: InternalId::new(&order), at: charge.created }))
    }

    async fn card_of(&self, intent: &str) -> Result<Option<String>, ProviderError> {
        let intent = self.send_about(PaymentIntent::retrieve(&id(intent)?)).await?;
        Ok(charge(&intent).and_then(Charge::fingerprint).map(str::to_owned))
    }

    async fn dispute(&self, dispute: &str) -> Result<DisputeState, ProviderError> {
        let dispute = self.send(Dispute::retrieve(&id(dispute)?)).await?;
        let state = dispute.outcome().as_str().to_owned();
        let intent = dispute.payment_intent.map(|intent| intent.to_string());
        Ok(DisputeState { id: dispute.id.to_string(), intent, state })
    }

    async fn awaited(&self, dispute: &str) -> Result<AwaitedEvidence, ProviderError> {
        let dispute = self.send_about(Dispute::retrieve(&id(dispute)?)).await?;
        Ok(awaited_of(&dispute))
    }

    async fn submit_evidence(
        &self,
        dispute: &str,
        key_text: &str,
        evidence: &BTreeMap<String, String>,
    ) -> Result<bool, ProviderError> {
        let submit = Dispute::submit(&id(dispute)?, evidence, key(key_text)?);
        let unless_failed = |error: &stripe::Error| (!matches!(error, stripe::Error::Failed(_))).then(|| failed(error));
        match self.send_or(submit, unless_failed).await {
            Ok(_) => Ok(true),
            // Stripe failed, and repeats that under the same key.
            Err(None) => Ok(false),
            Err(Some(error)) => Err(error),
        }
    }

    async fn confirmed_refunds(&self, intent: &str) -> Result<Vec<ConfirmedRefund>, ProviderError> {
        let page = self.send(Refund::list(&id(intent)?, None)).await?;
        Ok(page.data.iter().rev().filter_map(confirmed).collect())
    }

    async fn webhook_events(&self, times: (i64, i64), after: Option<&str>) -> Result<WebhookEventPage, ProviderError> {
        let after = after.map(id).transpose()?;
        let page = self.send(Event::list(&EventKind::ALL, times, after.as_ref())).await?;
        if page.unreadable > 0 {
            tracing::error!(events = page.unreadable, "events of Stripe cannot be read and are skipped");
        }
        let events = page.events.iter().filter_map(webhook_event_of).collect();
        Ok(WebhookEventPage { events, next: page.last.map(|last| last.to_string()) })
    }

    async fn payments(&self, since: i64, after: Option<&str>) -> Result<PaymentPage, ProviderError> {
        let after = after.map(id).transpose()?;
        let page = self.send(stripe::Session::list_complete(since, after.as_ref())).await?;
        let next = page.data.last().filter(|_| page.has_more).map(|session| session.id.to_string());
        let mut payments = Vec::with_capacity(page.data.len());
        for session in &page.data {
            payments.push(self.state_of(&Paid::Session(session)).await?);
        }
        Ok(PaymentPage { payments, next })
    }

    async fn balance_changes(&self, times: (i64, i64), after: Option<&str>) -> Result<BalancePage, ProviderError> {
        let after = after.map(id).transpose()?;
        let page = self.send(ListedChange::list(times, after.as_ref())).await?;
        let next = page.data.last().filter(|_| page.has_more).map(|change| change.id.to_string());
        Ok(BalancePage { changes: page.data.iter().map(balance_change_of).collect(), next })
    }

    async fn subscription(&self, subscription: &str) -> Result<ProviderSubscription, ProviderError> {
        let found = self.send_about(stripe::Subscription::retrieve(&id(subscription)?)).await?;
        Ok(described(&found))
    }

    async fn cancel_subscription(&self, subscription: &str, how: Cancellation) -> Result<(), ProviderError> {
        let id = id(subscription)?;
        let call = match how {
            Cancellation::AtPeriodEnd => stripe::Subscription::cancel_at_period_end(&id),
            Cancellation::Now => stripe::Subscription::cancel(&id),
        };
        match self.send_about(call).await {
            // One that has ended cannot be cancelled any more: its state says so.
            Ok(_) | Err(ProviderError::Refused(_) | ProviderError::NoCheckout(_)) => {}
            Err(error) => return Err(error),
        }
        match how {
            Cancellation::AtPeriodEnd => Ok(()),
            // Its buyer can still pay what is open, from an e-mail or in the portal.
            Cancellation::Now => self.void_open(&id).await,
        }
    }

    async fn invoices(&self, subscription: &str, after: Option<&str>) -> Result<PaymentPage, ProviderError> {
        let after = after.map(id).transpose()?;
        let page = self.send_about(Invoice::list(&id(subscription)?, &InvoiceStatus::Paid, after.as_ref())).await?;
        let next = page.data.last().filter(|_| page.has_more).map(|invoice| invoice.id.to_string());
        let mut payments = Vec::with_capacity(page.data.len());
        for invoice in &page.data {
            payments.push(self.state_of(&Paid::Invoice(invoice)).await?);
        }
        Ok(PaymentPage { payments, next })
    }

    async fn portal(&self, customer: &str, return_url: &str) -> Result<String, ProviderError> {
        Ok(self.send_about(PortalSession::create(&id(customer)?, return_url)).await?.url)
    }

    async fn login_page(&self) -> Result<Option<String>, ProviderError> {
        let configurations = self.send(PortalConfiguration::list()).await?.data;
        let default = configurations.into_iter().find(|configuration| configuration.is_default);
        Ok(default.map(|default| default.login_page).filter(|page| page.enabled).and_then(|page| page.url))
    }

    async fn receipt(&self, session: &str) -> Result<Option<String>, ProviderError> {
        let id = id(session)?;
        if is_invoice(session) {
            return Ok(self.send_about(Invoice::retrieve(&id)).await?.hosted_invoice_url);
        }
        let session = self.send_about(stripe::Session::retrieve(&id)).await?;
        let invoice = session.invoice.as_ref().and_then(Expandable::object);
        let of_charge = || charge(session.payment_intent.as_ref()?.object()?)?.receipt_url.clone();
        Ok(invoice.and_then(|invoice| invoice.hosted_invoice_url.clone()).or_else(of_charge))
    }

    async fn return_payment(&self, payment: &PaymentState) -> Result<(), ProviderError> {
        let intent = id(payment.intent.as_deref().unwrap_or_default())?;
        let order = payment.order.as_ref().map(InternalId::as_str).unwrap_or_default();
        let new = NewRefund { payment_intent: &intent, amount: None, order, attempt: 1 };
        // Once a refund has failed, the next is another one: for a day the provider repeats what it said of the first.
        let text = match payment.failed_refunds.minor() {
            0 => format!("return-{intent}"),
            failed => format!("return-{intent}-{failed}"),
        };
        self.send(Refund::create(&new, key(&text)?)).await.map(|_| ())
    }
}

/// The storefront's page to which a buyer returns. `checkout` is the provider's id of the checkout.
pub fn return_url(storefront: &str, order: &InternalId, checkout: &str) -> String {
    format!("{storefront}/payment/flow?order_id={order}&checkout_id={checkout}")
}

/// Whether an id is that of an invoice, and not of a session.
fn is_invoice(id: &str) -> bool {
    id.starts_with("in_")
}

fn charge(intent: &PaymentIntent) -> Option<&Charge> {
    intent.latest_charge.as_ref().and_then(Expandable::object)
}

/// What a charge says for reports. Whatever is missing is left out.
fn facts_of(charge: &Charge) -> PaymentFacts {
    let details = charge.payment_method_details.as_ref();
    let of_card = details.and_then(|details| details.card.as_ref()?.country.clone());
    let of_buyer = || charge.billing_details.as_ref()?.address.as_ref()?.country.clone();
    let proceeds = charge.balance_transaction.as_ref().and_then(Expandable::object).and_then(|change| {
        let currency = change.currency.as_ref()?.to_ascii_uppercase();
        Some(Proceeds { fee: Money::from_minor(change.fee?), net: Money::from_minor(change.net?), currency })
    });
    PaymentFacts {
        method: details.and_then(|details| details.kind.clone()),
        country: of_card.or_else(of_buyer),
        proceeds,
    }
}

/// The number of our attempt that a refund was made by, and its state.
fn attempt_of(refund: &Refund) -> Option<(u32, RefundOutcome)> {
    let number = refund.metadata.attempt.as_deref()?.parse().ok()?;
    Some((number, if refund.has_failed() { RefundOutcome::Failed } else { RefundOutcome::Refunded }))
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
