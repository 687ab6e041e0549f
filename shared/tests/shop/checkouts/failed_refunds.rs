//! Refunds that fail days after they were made: what a partial refund took off is counted again, an order that was refunded in
//! full stays so, and the refund may be tried again.

use crate::market::{Market, TWENTY, gift, line};
use crate::shop::{FIVE, PLAIN, USERS, user};
use crate::sums::{Facts, assert_sums};
use crate::till::{PRICE, Till, money};
use proptest::prelude::*;
use shared::model::{InternalId, OrderStatus, RefundOutcome, UserId};
use shared::rules::payment::PaymentState;
use shared::shop::payments::RefundKind;
use shared::table::keys;
use std::sync::Mutex;
use stripe_stand_in::Action;
use tests::count;

async fn paid_by_patron(till: &Till) -> i64 {
    till.market.number(&keys::patron(UserId::new(1)), "amount").await
}

/// The order's sums: refunded, failed, and not returned.
async fn sums(till: &Till, order: &InternalId) -> (i64, i64, i64) {
    let effects = till.order(order).await.effects;
    (effects.refunded.minor(), effects.failed_refunds.minor(), effects.unreturned.minor())
}

#[tokio::test]
async fn a_partial_refund_that_fails_is_counted_again_and_may_be_repeated() {
    let till = Till::open().await;
    let (order, session) = till.paid().await;
    till.refund(&order, Some(200)).await.unwrap();
    assert_eq!((sums(&till, &order).await, paid_by_patron(&till).await), ((200, 0, 0), PRICE - 200));
    till.stand_in.act(&session, &Action::FailRefund).unwrap();
    // The webhook event names the payment; that it is repeated or late changes nothing.
    for _ in 0..2 {
        assert!(till.webhook_event(&order).await);
        till.market.sweep().await;
        assert_eq!((sums(&till, &order).await, paid_by_patron(&till).await), ((0, 200, 200), PRICE));
    }
    till.market.assert_sums().await;
    let stored = till.order(&order).await;
    assert_eq!(stored.order.status, OrderStatus::Paid);
    assert_eq!(stored.effects.refund.unwrap().outcome, Some(RefundOutcome::Failed));
    let again = till.refund(&order, Some(200)).await.unwrap();
    assert_eq!((again.kind, again.stored.effects.refund.unwrap().number), (RefundKind::Made, 2));
    assert_eq!((sums(&till, &order).await, paid_by_patron(&till).await), ((200, 200, 0), PRICE - 200));
    till.market.assert_sums().await;
}

#[tokio::test]
async fn a_refunded_order_whose_refund_fails_stays_refunded_and_is_marked() {
    let till = Till::open().await;
    let (order, session) = till.paid().await;
    till.refund(&order, None).await.unwrap();
    till.stand_in.act(&session, &Action::FailRefund).unwrap();
    for _ in 0..2 {
        till.webhook_event(&order).await;
        assert_eq!(till.order(&order).await.order.status, OrderStatus::Refunded);
        assert_eq!(sums(&till, &order).await, (0, PRICE, PRICE));
    }
    let again = till.refund(&order, None).await.unwrap();
    assert_eq!((again.kind, again.amount), (RefundKind::Made, money(PRICE)));
    assert_eq!(sums(&till, &order).await, (0, PRICE, 0));
    assert_eq!(till.refund(&order, None).await.unwrap().kind, RefundKind::Already);
    till.stand_in.act(&session, &Action::FailRefund).unwrap();
    till.webhook_event(&order).await;
    assert_eq!(sums(&till, &order).await, (0, 2 * PRICE, PRICE), "the second one fails as well");
    till.market.assert_sums().await;
}

#[tokio::test]
async fn an_automatic_refund_that_fails_pays_nothing_and_is_marked() {
    let till = Till::open().await;
    let (order, session) = till.late().await;
    till.settle(&order).await;
    assert_eq!(till.order(&order).await.order.status, OrderStatus::Cancelled);
    till.stand_in.act(&session, &Action::FailRefund).unwrap();
    // What it bought is there again: it is not paid by itself.
    till.market.set_status("other", OrderStatus::Refunded).await.unwrap();
    for _ in 0..2 {
        assert!(till.webhook_event(&order).await);
        assert_eq!(till.order(&order).await.order.status, OrderStatus::Cancelled);
    }
    let price = till.order(&order).await.order.price.minor();
    assert_eq!(sums(&till, &order).await, (0, price, price));
    assert_eq!(till.refund(&order, None).await.unwrap().kind, RefundKind::Made);
    assert_eq!(sums(&till, &order).await, (0, price, 0));
    assert_eq!(till.says(&order).await.refunded, money(price));
}

/// A step of what happens to a payment: a refund of so many hundredths of what is left, or the failure of one.
#[derive(Debug, Clone, Copy)]
enum Step {
    Refund(i64),
    Fail(usize),
}

/// Those whose purchases are compared: the buyer, and the player whose account the gift makes.
fn facts() -> Facts {
    Facts { users: [1, USERS + 1].map(user).into(), ..Facts::of_fixture() }
}

/// A paid order, of which nothing is refunded.
struct Paid {
    market: Market,
    order: InternalId,
    price: i64,
}

impl Paid {
    async fn open() -> Self {
        let market = Market::open().await;
        market.fill_with(1, vec![line(1, FIVE, 2), line(2, PLAIN, 12), gift(3, TWENTY, "Newcomer")], None).await;
        let order = market.create(1).await.unwrap().order;
        market.pay(&order).await;
        market.sweep().await;
        let price = market.order(&order).await.order.price.minor();
        Self { market, order, price }
    }

    async fn assert_refunded(&self, refunded: i64) {
        self.market.sweep().await;
        let stored = self.market.order(&self.order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        assert!(!stored.statistics_due());
    }

    /// Takes the steps, and settles by every state that the provider was in, in any order. At the end all refunds fail, so
    /// that nothing is refunded, as before.
    async fn walk(&self, steps: Vec<Step>, late: Vec<usize>) {
        let Self { market, order, price } = self;
        let (mut made, mut refunded, mut states): (Vec<i64>, i64, Vec<PaymentState>) = (Vec::new(), 0, Vec::new());
        for step in steps {
            match step {
                Step::Refund(share) => {
                    let more = (price - refunded) * share / 100;
                    (refunded, made) = (refunded + more, made.into_iter().chain([more]).collect());
                    market.provider.set(order, |state| state.refunded = money(refunded));
                }
                Step::Fail(place) if !made.is_empty() => {
                    let amount = made.remove(place % made.len());
                    refunded -= amount;
                    market.provider.fail_refund(order, money(amount));
                }
                Step::Fail(_) => continue,
            }
            states.push(market.provider.state(order).unwrap());
            // An older state may arrive after a newer one.
            for place in &late {
                let state = &states[place % states.len()];
                market.desk().apply(order, state).await.unwrap();
            }
            market.settle(order).await;
            self.assert_refunded(refunded).await;
        }
        // Whatever was the last step: shorter histories end at the others.
        assert_sums(&market.db, &facts()).await;
        market.provider.fail_refund(order, money(refunded));
        market.settle(order).await;
        self.assert_refunded(0).await;
    }
}

#[test]
fn whatever_fails_in_any_order_the_sums_are_what_is_refunded_now() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // A case that fails leaves its order behind: what follows begins with another.
    let paid = Mutex::new(None);
    let step = prop_oneof![2 => (0_i64..60).prop_map(Step::Refund), 1 => (0_usize..4).prop_map(Step::Fail)];
    let steps = prop::collection::vec(step, 1..6);
    let config = ProptestConfig::with_cases(count("PROPTEST_CASES", 64));
    proptest!(config, |(steps in steps, late in prop::collection::vec(0_usize..8, 0..3))| {
        let former = paid.lock().unwrap().take();
        let used = runtime.block_on(async {
            let used = match former {
                Some(used) => used,
                None => Paid::open().await,
            };
            used.walk(steps, late).await;
            used
        });
        *paid.lock().unwrap() = Some(used);
    });
}
