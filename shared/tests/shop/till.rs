//! A shop whose buyers have paid at the stand-in for Stripe, so that keys are forgotten and refunds are found as Stripe does.

use crate::market::{Market, request};
use crate::shop::{FIVE, PLAIN, paid};
use shared::config::PaymentKeys;
use shared::model::{InternalId, Money};
use shared::providers::Stripe;
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Desk, OperatorError, Provider as _, Refunded, Settled, Swept, WebhookEvent};
use shared::table::Db;
use std::sync::Arc;
use std::time::Duration;
use stripe::ApiBase;
use stripe_stand_in::{Action, Fault, FaultKind, Options, StandIn, payment_keys, start};
use tests::TestClock;

/// Total of every order.
pub const PRICE: i64 = 500;

pub struct Till {
    pub market: Market,
    pub stand_in: Arc<StandIn>,
    pub stripe: Stripe,
    clock: Arc<TestClock>,
}

pub fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

impl Till {
    pub async fn open() -> Self {
        let clock = Arc::new(TestClock::new());
        let stand_in = start(Options { clock: Arc::clone(&clock) as _, ..Options::default() }).await.unwrap();
        let keys = PaymentKeys::parse(&payment_keys()).unwrap().stripe.unwrap();
        let stripe = Stripe::new(keys, ApiBase::parse(&stand_in.base_url()).unwrap());
        Self { market: Market::open().await, stand_in: Arc::new(stand_in), stripe, clock }
    }

    pub fn db(&self) -> &Db {
        &self.market.db
    }

    pub fn desk(&self) -> Desk<'_, &Stripe> {
        Desk::new(self.db(), &self.market.clock, &self.stripe)
    }

    pub async fn sweep(&self) -> Swept {
        Desk::new(self.db(), &self.market.clock, Some(&self.stripe)).sweep().await.unwrap()
    }

    /// Lets time pass, here and at the provider.
    pub fn wait(&self, time: Duration) {
        self.market.clock.advance(time);
        self.clock.advance(time);
    }

    /// A checkout of [`PRICE`], and its session.
    pub async fn checkout(&self) -> (InternalId, String) {
        self.market.fill(1, &[(PLAIN, 5)], None).await;
        self.begin().await
    }

    /// A checkout of what is in the cart, and its session.
    pub async fn begin(&self) -> (InternalId, String) {
        let created = self.market.create_at(&self.stripe, &self.market.instance(), 1, request(None)).await;
        (created.unwrap().order, self.stand_in.sessions().pop().unwrap())
    }

    /// A payment that came after its hold had ended, and that cannot buy what it paid for.
    pub async fn late(&self) -> (InternalId, String) {
        self.market.fill(1, &[(FIVE, 4)], None).await;
        let (order, session) = self.begin().await;
        // The provider confirms the payment after the order was given up, which only an operator can bring about.
        self.stand_in.act(&session, &Action::Pay).unwrap();
        let gone = PaymentState { progress: Progress::Expired, ..self.says(&order).await };
        self.desk().apply(&order, &gone).await.unwrap();
        self.market.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
        (order, session)
    }

    /// A paid order, and its session.
    pub async fn paid(&self) -> (InternalId, String) {
        let (order, session) = self.checkout().await;
        self.stand_in.act(&session, &Action::Pay).unwrap();
        self.settle(&order).await;
        (order, session)
    }

    pub async fn settle(&self, order: &InternalId) -> Settled {
        let stored = self.order(order).await;
        self.desk().settle(&stored).await.unwrap()
    }

    pub async fn order(&self, order: &InternalId) -> StoredOrder {
        self.market.order(order).await
    }

    /// State of an order's payment at the provider.
    pub async fn says(&self, order: &InternalId) -> PaymentState {
        let session = self.order(order).await.effects.provider.unwrap().session.unwrap();
        self.stripe.fetch(&session).await.unwrap()
    }

    pub async fn refund(&self, order: &InternalId, total: Option<i64>) -> Result<Refunded, OperatorError> {
        self.refund_by(self.db(), order, total).await
    }

    pub async fn refund_by(&self, db: &Db, order: &InternalId, total: Option<i64>) -> Result<Refunded, OperatorError> {
        Desk::new(db, &self.market.clock, &self.stripe).refund(order, total.map(money)).await
    }

    /// Acts on the provider's webhook event of an order's payment, as the webhook does. Whether the order was found.
    pub async fn webhook_event(&self, order: &InternalId) -> bool {
        let intent = self.says(order).await.intent.unwrap();
        let found = shared::shop::orders::of_payment(self.db(), &intent).await.unwrap().as_ref() == Some(order);
        let event = WebhookEvent::Payment(intent);
        self.desk().act(&event).await.unwrap();
        found
    }

    /// Counts the requests that the provider has received from now on.
    pub fn requests(&self) -> impl Fn() -> usize + Send + 'static {
        let (stand_in, before) = (Arc::clone(&self.stand_in), self.stand_in.received().len());
        move || stand_in.received().len() - before
    }

    /// Lets the request after the next `skipped` ones fail.
    pub fn fail_request(&self, skipped: usize, fault: Fault) {
        for _ in 0..skipped {
            self.stand_in.inject(Fault::before(FaultKind::Slow(Duration::ZERO)));
        }
        self.stand_in.inject(fault);
    }
}
