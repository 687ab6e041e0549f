//! A payment provider in memory: its checkouts are in the state that a test sets, and its calls fail as a test says.

use shared::model::{Cancellation, InternalId, Money, Order, ProviderAccount, RefundAttempt, RefundOutcome};
use shared::rules::payment::{PaymentState, Progress};
use shared::rules::subscription::ProviderSubscription;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{
    DisputeState, PaymentPage, PaymentSubject, Provider, ProviderError, Session, WebhookEvent, WebhookEventPage,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It never arrives.
    Away,
    /// It is done, and its response is lost.
    Lost,
    /// It is refused permanently; nothing is done.
    Refused,
}

#[derive(Debug, Default)]
struct Books {
    /// The checkouts by order, which is their idempotency key, with the state of each.
    sessions: BTreeMap<String, PaymentState>,
    /// The keys of refunds that were made.
    refunds: BTreeSet<String>,
    /// The number of calls so far.
    calls: usize,
    /// How many webhook events are on a page; all if it is not set.
    page: Option<usize>,
    /// The account of the keys; `None` is the first.
    account: Option<ProviderAccount>,
}

type Rule = Box<dyn FnMut(usize, &str) -> Option<Fault> + Send>;

/// A provider. Clones share what is at it.
#[derive(Clone, Default)]
pub struct TestProvider {
    books: Arc<Mutex<Books>>,
    rule: Arc<Mutex<Option<Rule>>>,
}

impl std::fmt::Debug for TestProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TestProvider")
    }
}

impl TestProvider {
    /// From now on `rule` says how a call fails, by its place among all calls and its name.
    pub fn fail(&self, rule: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) {
        *self.rule.lock().unwrap() = Some(Box::new(rule));
    }

    /// From now on no call fails.
    pub fn recover(&self) {
        *self.rule.lock().unwrap() = None;
    }

    /// From now on the keys are those of another account or mode, which has none of the checkouts.
    pub fn change_account(&self, id: Option<&str>, live: bool) {
        let mut books = self.books.lock().unwrap();
        books.account = Some(ProviderAccount { id: id.map(str::to_owned), live });
        books.sessions.clear();
    }

    /// The checkout of an order is deleted at the provider.
    pub fn lose(&self, order: &InternalId) {
        self.books.lock().unwrap().sessions.remove(order.as_str()).unwrap();
    }

    /// The checkout of an order is known again, in this state.
    pub fn restore(&self, order: &InternalId, state: PaymentState) {
        self.books.lock().unwrap().sessions.insert(order.to_string(), state);
    }

    /// How many checkouts were opened.
    pub fn opened(&self) -> usize {
        self.books.lock().unwrap().sessions.len()
    }

    /// How many refunds were made.
    pub fn refunds(&self) -> usize {
        self.books.lock().unwrap().refunds.len()
    }

    /// Sets how many webhook events are on a page.
    pub fn set_page(&self, events: usize) {
        self.books.lock().unwrap().page = Some(events);
    }

    /// Adds a checkout that was not opened by us.
    pub fn add(&self, state: PaymentState) {
        self.books.lock().unwrap().sessions.insert(state.session.clone(), state);
    }

    pub fn calls(&self) -> usize {
        self.books.lock().unwrap().calls
    }

    /// The checkouts that can still be paid, or are.
    pub fn in_state(&self, progress: Progress) -> Vec<InternalId> {
        let books = self.books.lock().unwrap();
        let found = books.sessions.iter().filter(|(_, state)| state.progress == progress);
        found.map(|(order, _)| InternalId::new(order)).collect()
    }

    /// State of an order's checkout; `None` if there is none.
    pub fn state(&self, order: &InternalId) -> Option<PaymentState> {
        self.books.lock().unwrap().sessions.get(order.as_str()).cloned()
    }

    /// Changes the state of an order's checkout.
    pub fn set(&self, order: &InternalId, change: impl FnOnce(&mut PaymentState)) {
        change(self.books.lock().unwrap().sessions.get_mut(order.as_str()).unwrap());
    }

    /// The buyer pays. Whether they could: a checkout that has ended cannot be paid.
    pub fn pay(&self, order: &InternalId) -> bool {
        let mut books = self.books.lock().unwrap();
        let Some(state) = books.sessions.get_mut(order.as_str()) else { return false };
        let open = state.progress == Progress::Open;
        if open {
            state.progress = Progress::Paid;
            state.intent = Some(format!("intent-{order}"));
        }
        open
    }

    /// An amount that was refunded comes back to the store.
    pub fn fail_refund(&self, order: &InternalId, amount: Money) {
        self.set(order, |state| {
            state.refunded = state.refunded.less(amount);
            state.failed_refunds = state.failed_refunds + amount;
        });
    }

    /// The buyer's payment fails permanently, or was not made in time.
    pub fn end(&self, order: &InternalId, progress: Progress) {
        self.set(order, |state| {
            if state.progress == Progress::Open {
                state.progress = progress;
            }
        });
    }

    /// A call: what it does, and whether its response arrives.
    fn call<T>(
        &self,
        name: &str,
        effect: impl FnOnce(&mut Books) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let mut books = self.books.lock().unwrap();
        let place = books.calls;
        books.calls += 1;
        let fault = self.rule.lock().unwrap().as_mut().and_then(|rule| rule(place, name));
        match fault {
            None => effect(&mut books),
            Some(Fault::Away) => Err(ProviderError::Unavailable("away".to_owned())),
            Some(Fault::Refused) => Err(ProviderError::Refused("refused".to_owned())),
            Some(Fault::Lost) => {
                effect(&mut books)?;
                Err(ProviderError::Unavailable("lost".to_owned()))
            }
        }
    }
}

/// An open checkout of an order.
pub fn payment(order: &InternalId, amount: Money) -> PaymentState {
    PaymentState {
        session: order.to_string(),
        order: Some(order.clone()),
        amount,
        currency: "eur".to_owned(),
        same_mode: true,
        progress: Progress::Open,
        intent: None,
        refunded: Money::ZERO,
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
    }
}

/// The ids of so many checkouts after one of them, and the last one if more follow.
fn page(books: &Books, after: Option<&str>, most: usize) -> (Vec<String>, Option<String>) {
    let rest = books.sessions.keys().filter(|id| after.is_none_or(|after| id.as_str() > after));
    let mut ids: Vec<String> = rest.take(most.saturating_add(1)).cloned().collect();
    let has_more = ids.len() > most;
    ids.truncate(most);
    let next = ids.last().filter(|_| has_more).cloned();
    (ids, next)
}

fn unknown(session: &str) -> ProviderError {
    ProviderError::NoCheckout(session.to_owned())
}

impl Provider for TestProvider {
    fn account(&self) -> ProviderAccount {
        let first = ProviderAccount { id: Some("acct_first".to_owned()), live: false };
        self.books.lock().unwrap().account.clone().unwrap_or(first)
    }

    async fn open(&self, stored: &StoredOrder) -> Result<Session, ProviderError> {
        let order = &stored.order;
        let id = order.internal_id.to_string();
        self.call("open", |books| {
            let opened =
                || PaymentState { currency: order.currency.to_lowercase(), ..payment(&order.internal_id, order.price) };
            books.sessions.entry(id.clone()).or_insert_with(opened);
            Ok(Session { url: format!("https://pay.example/{id}"), id })
        })
    }

    async fn fetch(&self, session: &str) -> Result<PaymentState, ProviderError> {
        self.call("fetch", |books| books.sessions.get(session).cloned().ok_or_else(|| unknown(session)))
    }

    async fn expire(&self, session: &str) -> Result<(), ProviderError> {
        self.call("expire", |books| {
            let state = books.sessions.get_mut(session).ok_or_else(|| unknown(session))?;
            if state.progress == Progress::Open {
                state.progress = Progress::Expired;
            }
            Ok(())
        })
    }

    async fn refund(&self, order: &Order, intent: &str, attempt: &RefundAttempt) -> Result<(), ProviderError> {
        self.call("refund", |books| {
            if books.refunds.insert(attempt.key(&order.internal_id)) {
                let paid = books.sessions.values_mut().find(|state| state.intent.as_deref() == Some(intent));
                let state = paid.ok_or_else(|| unknown(intent))?;
                state.refunded = (state.refunded + attempt.amount()).min(state.amount);
                state.attempts.push((attempt.number, RefundOutcome::Refunded));
            }
            Ok(())
        })
    }

    async fn subject_of(&self, intent: &str) -> Result<Option<PaymentSubject>, ProviderError> {
        let is_of = |state: &&PaymentState| state.intent.as_deref() == Some(intent);
        let subject = |state: &PaymentState| match &state.period {
            Some(_) => Some(PaymentSubject::Invoice(state.session.clone())),
            None => state.order.clone().map(PaymentSubject::Order),
        };
        self.call("subject_of", |books| Ok(books.sessions.values().find(is_of).and_then(subject)))
    }

    async fn dispute(&self, dispute: &str) -> Result<DisputeState, ProviderError> {
        let (id, intent) = (dispute.to_owned(), Some(dispute.to_owned()));
        self.call("dispute", |_| Ok(DisputeState { id, intent, state: "open".to_owned() }))
    }

    async fn webhook_events(&self, _: (i64, i64), after: Option<&str>) -> Result<WebhookEventPage, ProviderError> {
        self.call("webhook_events", |books| {
            let (ids, next) = page(books, after, books.page.unwrap_or(usize::MAX));
            Ok(WebhookEventPage { events: ids.into_iter().map(WebhookEvent::Checkout).collect(), next })
        })
    }

    async fn payments(&self, _: i64, after: Option<&str>) -> Result<PaymentPage, ProviderError> {
        self.call("payments", |books| {
            let (ids, next) = page(books, after, 2);
            Ok(PaymentPage { payments: ids.iter().map(|id| books.sessions[id].clone()).collect(), next })
        })
    }

    async fn subscription(&self, id: &str) -> Result<ProviderSubscription, ProviderError> {
        self.call("subscription", |_| Err(unknown(id)))
    }

    async fn cancel_subscription(&self, id: &str, _: Cancellation) -> Result<(), ProviderError> {
        self.call("cancel_subscription", |_| Err(unknown(id)))
    }

    async fn invoices(&self, subscription: &str, _: Option<&str>) -> Result<PaymentPage, ProviderError> {
        self.call("invoices", |_| Err(unknown(subscription)))
    }

    async fn portal(&self, customer: &str, _: &str) -> Result<String, ProviderError> {
        self.call("portal", |_| Err(unknown(customer)))
    }

    async fn login_page(&self) -> Result<Option<String>, ProviderError> {
        self.call("login_page", |_| Ok(None))
    }

    async fn return_payment(&self, payment: &PaymentState) -> Result<(), ProviderError> {
        self.call("return", |books| {
            let state = books.sessions.get_mut(&payment.session).ok_or_else(|| unknown(&payment.session))?;
            state.refunded = state.amount;
            Ok(())
        })
    }
}
