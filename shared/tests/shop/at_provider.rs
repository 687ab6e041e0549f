//! The payment provider of the tests' shop: what buyers, their banks and the account's owner do there, what it says, how its
//! requests fail, and the order desk that asks it.

use crate::shop::{FIVE, Instance, Shop, money, paid};
use shared::config::PaymentKeys;
use shared::model::InternalId;
use shared::providers::Stripe;
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::orders::of_payment;
use shared::shop::payments::{Desk, OperatorError, Provider as _, Refunded, Settled, Swept, WebhookEvent};
use shared::table::{Db, StoreError, connector, keys};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use stripe::ApiBase;
use stripe_stand_in::{ACCOUNT, API_VERSION, Account, Action, Fault, FaultKind, KEY, Options, StandIn};
use tests::TestClock;

/// Total of [`Shop::paid`].
pub const TOTAL: i64 = 500;
/// Keys of another account, and one whose objects say that the money is real, which the key does not.
pub const OTHER_KEY: &str = "rk_test_other";
const OTHER_LIVE_KEY: &str = "rk_live_other";
pub const MIXED_UP_KEY: &str = "rk_test_mixed";
/// No request arrives, or the response of none.
pub const AWAY: Fault = Fault::before(FaultKind::Cut);
pub const LOST: Fault = Fault::after(FaultKind::Cut);
pub const REFUSED: Fault = Fault::before(FaultKind::Status(400));
/// The path of what opens, fetches and ends checkouts.
pub const SESSIONS: &str = "/v1/checkout/sessions";

/// A stand-in with accounts, and the first of them.
pub async fn start(clock: &TestClock) -> (Arc<StandIn>, Stripe) {
    let others = [OTHER_KEY, OTHER_LIVE_KEY].map(|key| Account::new(key, "acct_other"));
    let mixed_up = Account { livemode: true, ..Account::new(MIXED_UP_KEY, ACCOUNT) };
    let others = others.into_iter().chain([mixed_up]).collect();
    let options = Options { clock: Arc::new(clock.clone()), others, ..Options::default() };
    let stand_in = Arc::new(stripe_stand_in::start(options).await.unwrap());
    let stripe = first_account(&stand_in);
    (stand_in, stripe)
}

/// The first account of a stand-in.
pub fn first_account(stand_in: &StandIn) -> Stripe {
    connected(stand_in, KEY, Some(ACCOUNT))
}

fn connected(stand_in: &StandIn, key: &str, account: Option<&str>) -> Stripe {
    let mut keys = serde_json::json!({ "stripe": { "key": key, "webhook": ["whsec_1"] } });
    if let Some(account) = account {
        keys["stripe"]["account"] = account.into();
    }
    let keys = PaymentKeys::parse(&keys.to_string()).unwrap().stripe.unwrap();
    Stripe::new(keys, ApiBase::parse(&stand_in.base_url()).unwrap())
}

impl Shop {
    /// Connects other keys, and says whose they are.
    pub fn connect(&mut self, key: &str, account: Option<&str>) {
        self.stripe = connected(&self.stand_in, key, account);
    }

    /// Connects keys of another account in a mode, and says whose they are.
    pub fn change_account(&mut self, account: Option<&str>, is_live: bool) {
        self.connect(if is_live { OTHER_LIVE_KEY } else { OTHER_KEY }, account);
    }

    /// What a buyer, a bank or the account's owner does at the provider, to a payment by its order, session or invoice.
    pub fn act(&self, to: impl Display, action: Action) {
        self.try_act(to, action).unwrap();
    }

    pub fn try_act(&self, to: impl Display, action: Action) -> Result<(), String> {
        self.stand_in.act(&to.to_string(), &action)
    }

    /// Ends an order's checkout without a payment, or lets the payment be processed, if it is open.
    pub fn end(&self, order: &InternalId, progress: Progress) {
        match progress {
            Progress::Expired => _ = self.try_act(order, Action::Expire),
            Progress::Processing => _ = self.try_act(order, Action::PayDelayed),
            _ => _ = self.try_act(order, Action::PayDelayed).and_then(|()| self.try_act(order, Action::Fail)),
        }
    }

    /// The buyer pays, and the provider is asked about it.
    pub async fn pay(&self, order: &InternalId) -> Settled {
        self.act(order, Action::Pay);
        self.settle(order).await
    }

    /// State of an order's payment at the provider.
    pub async fn says(&self, order: &InternalId) -> PaymentState {
        self.fetch(&self.order(order).await.effects.provider.unwrap().session.unwrap()).await
    }

    pub async fn fetch(&self, session: &str) -> PaymentState {
        self.stripe.fetch(session).await.unwrap()
    }

    /// States of all payments, the oldest first.
    pub async fn payments(&self) -> Vec<PaymentState> {
        let mut all = Vec::new();
        for session in self.stand_in.sessions() {
            all.push(self.fetch(&session).await);
        }
        all
    }

    /// A payment that came after its hold had ended, and that cannot buy what it paid for.
    pub async fn late(&self) -> InternalId {
        let order = self.checkout(1, &[(FIVE, 4)], None).await;
        self.pay_late(&order).await;
        self.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
        order
    }

    /// The provider confirms the payment after the order was given up, which only an operator can bring about.
    pub async fn pay_late(&self, order: &InternalId) {
        self.act(order, Action::Pay);
        self.said(order, Progress::Expired).await;
    }

    /// The desk is told another state of a payment than the provider's of now.
    pub async fn said(&self, order: &InternalId, progress: Progress) -> Settled {
        let state = PaymentState { progress, ..self.says(order).await };
        self.desk().apply(order, &state).await.unwrap().unwrap()
    }

    /// A session that another program of the account has opened, of an amount in a currency. It names an order, or none.
    pub async fn foreign(&self, order: Option<&str>, amount: i64, currency: &str) -> String {
        self.foreign_under(None, order, amount, currency).await
    }

    /// [`Self::foreign`], under an idempotency key.
    pub async fn foreign_under(&self, key: Option<String>, order: Option<&str>, amount: i64, currency: &str) -> String {
        let names = |order| {
            format!("&client_reference_id={order}&metadata[order]={order}&payment_intent_data[metadata][order]={order}")
        };
        let (names, line) = (order.map(names).unwrap_or_default(), "line_items[0]");
        let body = format!(
            "mode=payment&success_url=https://other.example&{line}[quantity]=1&{line}[price_data][currency]={currency}\
             &{line}[price_data][unit_amount]={amount}&{line}[price_data][product_data][name]=thing{names}"
        );
        let request = http::Request::post(format!("{}{SESSIONS}", self.stand_in.base_url()))
            .header("authorization", format!("Bearer {KEY}"))
            .header("stripe-version", API_VERSION)
            .header("content-type", "application/x-www-form-urlencoded");
        let request = key.into_iter().fold(request, |request, key| request.header("idempotency-key", key));
        let client = outgoing::Client::new(connector::roots());
        let response = client.send(request.body(body.into()).unwrap()).await.unwrap();
        let session: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        session["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned()
    }

    /// Gives an order a session that another program has opened; the session.
    pub async fn replace_session(
        &self,
        order: &InternalId,
        names: Option<&str>,
        amount: i64,
        currency: &str,
    ) -> String {
        let session = self.foreign(names, amount, currency).await;
        self.rewrite(order, |stored| stored.effects.provider.as_mut().unwrap().session = Some(session.clone())).await;
        session
    }

    pub fn desk(&self) -> Desk<'_, &Stripe> {
        self.desk_of(&self.db)
    }

    /// The desk of an instance with a connection of its own.
    pub fn desk_of<'a>(&'a self, db: &'a Db) -> Desk<'a, &'a Stripe> {
        Desk::new(db, &self.clock, &self.stripe)
    }

    /// Asks the provider about an order.
    pub async fn settle(&self, id: &InternalId) -> Settled {
        let stored = self.order(id).await;
        self.desk().settle(&stored).await.unwrap()
    }

    pub async fn hear(&self, event: &WebhookEvent) {
        self.desk().act(event).await.unwrap();
    }

    pub async fn refund(&self, order: &InternalId, total: Option<i64>) -> Result<Refunded, OperatorError> {
        self.refund_by(&self.db, order, total).await
    }

    pub async fn refund_by(&self, db: &Db, order: &InternalId, total: Option<i64>) -> Result<Refunded, OperatorError> {
        self.desk_of(db).refund(order, total.map(money)).await
    }

    /// Refunds a part of an order's payment in the provider's dashboard, and asks about it.
    pub async fn refund_there(&self, order: &InternalId, amount: i64) -> Settled {
        self.act(order, Action::Refund(Some(amount)));
        self.settle(order).await
    }

    /// Acts on the provider's webhook event of an order's payment, as the webhook does. Whether the order was found.
    pub async fn webhook_event(&self, order: &InternalId) -> bool {
        let intent = self.says(order).await.intent.unwrap();
        let found = of_payment(&self.db, &intent).await.unwrap().as_ref() == Some(order);
        self.hear(&WebhookEvent::Payment(intent)).await;
        found
    }

    /// The provider's events that concern the store, the newest first.
    pub async fn events(&self) -> Vec<WebhookEvent> {
        let (mut events, mut after) = (Vec::new(), None);
        loop {
            let page = self.stripe.webhook_events((0, i64::from(i32::MAX)), after.as_deref()).await.unwrap();
            events.extend(page.events);
            after = page.next;
            if after.is_none() {
                return events;
            }
        }
    }

    pub async fn sweep(&self) -> Swept {
        self.sweep_by(&self.db).await.unwrap()
    }

    pub async fn sweep_by(&self, db: &Db) -> Result<Swept, StoreError> {
        Desk::new(db, &self.clock, Some(&self.stripe)).sweep().await
    }

    /// Lets an hour pass and sweeps until nothing is due, also what had lost against others and is tried again after five
    /// minutes.
    pub async fn sweep_later(&self) {
        self.clock.advance(Duration::from_hours(1));
        for _ in 0..4 {
            if self.sweep().await == Swept::default() {
                return;
            }
            self.clock.advance(Duration::from_mins(6));
        }
    }

    /// The rows of what is not finished.
    pub async fn unfinished(&self) -> usize {
        let rows = self.db.query(&keys::unfinished()).await.unwrap();
        rows.into_iter().filter(|row| row.key().unwrap() != keys::webhook_events()).count()
    }

    /// How many requests with this beginning the provider has received, such as `POST /v1/refunds`.
    pub fn received(&self, route: &str) -> usize {
        self.stand_in.received().iter().filter(|received| received.route.starts_with(route)).count()
    }

    /// Counts the requests that the provider has received from now on.
    pub fn requests(&self) -> impl Fn() -> usize + Send + 'static {
        let (stand_in, before) = (Arc::clone(&self.stand_in), self.stand_in.received().len());
        move || stand_in.received().len() - before
    }

    /// Lets the request to the fault's path after the next `skipped` ones fail.
    pub fn fail_request(&self, skipped: usize, fault: Fault) {
        for _ in 0..skipped {
            self.stand_in.inject(Fault::before(FaultKind::Slow(Duration::ZERO)).on(&fault.path));
        }
        self.stand_in.inject(fault);
    }

    /// An instance whose process is killed when `rule` says so first: from then on no request to the provider arrives either.
    pub fn killed(&self, mut rule: impl FnMut(usize, &str) -> Option<tests::Fault> + Send + 'static) -> Instance {
        let (stand_in, mut is_dead) = (Arc::clone(&self.stand_in), false);
        self.failing(move |at, operation| {
            let fault = rule(at, operation);
            if fault.is_some() && !std::mem::replace(&mut is_dead, true) {
                stand_in.inject(AWAY.for_ever());
            }
            fault
        })
    }
}
