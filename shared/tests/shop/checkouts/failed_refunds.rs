//! Refunds that fail days after they were made: what a partial refund took off is counted again, an order that was refunded in
//! full stays so, and the refund may be tried again.

use crate::at_provider::TOTAL;
use crate::shop::{FIVE, PLAIN, Shop, TWENTY, USERS, gift, line, money, user};
use crate::sums::{Facts, assert_sums};
use proptest::prelude::*;
use shared::model::{InternalId, OrderStatus, RefundOutcome, UserId};
use shared::rules::payment::PaymentState;
use shared::shop::payments::RefundKind;
use shared::table::keys;
use stripe_stand_in::Action;
use tests::count;

async fn paid_by_patron(shop: &Shop) -> i64 {
    shop.number(&keys::patron(UserId::new(1)), "amount").await
}

/// The order's sums: refunded, failed, and not returned.
async fn sums(shop: &Shop, order: &InternalId) -> (i64, i64, i64) {
    let effects = shop.order(order).await.effects;
    (effects.refunded.minor(), effects.failed_refunds.minor(), effects.unreturned.minor())
}

#[tokio::test]
async fn a_partial_refund_that_fails_is_counted_again_and_may_be_repeated() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.refund(&order, Some(200)).await.unwrap();
    assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((200, 0, 0), TOTAL - 200));
    shop.act(&order, Action::FailRefund);
    // The webhook event names the payment; that it is repeated or late changes nothing.
    for _ in 0..2 {
        assert!(shop.webhook_event(&order).await);
        shop.sweep().await;
        assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((0, 200, 200), TOTAL));
    }
    shop.assert_sums().await;
    let stored = shop.order(&order).await;
    assert_eq!(stored.order.status, OrderStatus::Paid);
    assert_eq!(stored.effects.refund.unwrap().outcome, Some(RefundOutcome::Failed));
    let again = shop.refund(&order, Some(200)).await.unwrap();
    assert_eq!((again.kind, again.stored.effects.refund.unwrap().number), (RefundKind::Made, 2));
    assert_eq!((sums(&shop, &order).await, paid_by_patron(&shop).await), ((200, 200, 0), TOTAL - 200));
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_refunded_order_whose_refund_fails_stays_refunded_and_is_marked() {
    let shop = Shop::open().await;
    let order = shop.paid().await;
    shop.refund(&order, None).await.unwrap();
    shop.act(&order, Action::FailRefund);
    for _ in 0..2 {
        shop.webhook_event(&order).await;
        assert_eq!(shop.order(&order).await.order.status, OrderStatus::Refunded);
        assert_eq!(sums(&shop, &order).await, (0, TOTAL, TOTAL));
    }
    let again = shop.refund(&order, None).await.unwrap();
    assert_eq!((again.kind, again.amount), (RefundKind::Made, money(TOTAL)));
    assert_eq!(sums(&shop, &order).await, (0, TOTAL, 0));
    assert_eq!(shop.refund(&order, None).await.unwrap().kind, RefundKind::Already);
    shop.act(&order, Action::FailRefund);
    shop.webhook_event(&order).await;
    assert_eq!(sums(&shop, &order).await, (0, 2 * TOTAL, TOTAL), "the second one fails as well");
    shop.assert_sums().await;
}

#[tokio::test]
async fn an_automatic_refund_that_fails_pays_nothing_and_is_marked() {
    let shop = Shop::open().await;
    let order = shop.late().await;
    shop.settle(&order).await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    shop.act(&order, Action::FailRefund);
    // What it bought is there again: it is not paid by itself.
    shop.set_status("other", OrderStatus::Refunded).await.unwrap();
    for _ in 0..2 {
        assert!(shop.webhook_event(&order).await);
        assert_eq!(shop.order(&order).await.order.status, OrderStatus::Cancelled);
    }
    let price = shop.order(&order).await.order.price.minor();
    assert_eq!(sums(&shop, &order).await, (0, price, price));
    assert_eq!(shop.refund(&order, None).await.unwrap().kind, RefundKind::Made);
    assert_eq!(sums(&shop, &order).await, (0, price, 0));
    assert_eq!(shop.says(&order).await.refunded, money(price));
}

/// A step of what happens to a payment: a refund of so many hundredths of what is left, or the failure of one.
#[derive(Debug, Clone, Copy)]
enum Step {
    Refund(i64),
    Fail,
}

/// Those whose purchases are compared: the buyer, and the player whose account the gift makes.
fn facts() -> Facts {
    Facts { users: [1, USERS + 1].map(user).into(), ..Facts::of_fixture() }
}

/// A paid order, of which nothing is refunded.
struct Paid {
    shop: Shop,
    order: InternalId,
    price: i64,
}

impl Paid {
    async fn open() -> Self {
        let shop = Shop::open().await;
        shop.fill_with(1, vec![line(1, FIVE, 2), line(2, PLAIN, 12), gift(3, TWENTY, "Newcomer")], None).await;
        let order = shop.create(1).await.unwrap().order;
        shop.pay(&order).await;
        shop.sweep().await;
        let price = shop.order(&order).await.order.price.minor();
        Self { shop, order, price }
    }

    async fn assert_refunded(&self, refunded: i64) {
        self.shop.sweep().await;
        let stored = self.shop.order(&self.order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        assert!(!stored.statistics_due());
    }

    /// Takes the steps, and settles by every state that the provider was in, in any order. At the end all refunds fail, so
    /// that nothing is refunded, as before.
    async fn walk(&self, steps: Vec<Step>, late: Vec<usize>) {
        let Self { shop, order, price } = self;
        let (mut made, mut refunded, mut states): (Vec<i64>, i64, Vec<PaymentState>) = (Vec::new(), 0, Vec::new());
        for step in steps {
            match step {
                Step::Refund(share) => {
                    let more = (price - refunded) * share / 100;
                    if more == 0 {
                        continue;
                    }
                    refunded += more;
                    made.push(more);
                    shop.act(order, Action::Refund(Some(more)));
                }
                Step::Fail => {
                    let Some(amount) = made.pop() else { continue };
                    refunded -= amount;
                    shop.act(order, Action::FailRefund);
                }
            }
            states.push(shop.says(order).await);
            // An older state may arrive after a newer one.
            for place in &late {
                let state = &states[place % states.len()];
                shop.desk().apply(order, state).await.unwrap();
            }
            shop.settle(order).await;
            self.assert_refunded(refunded).await;
        }
        // Whatever was the last step: shorter histories end at the others.
        assert_sums(&shop.db, &facts()).await;
        for _ in made {
            shop.act(order, Action::FailRefund);
        }
        shop.settle(order).await;
        self.assert_refunded(0).await;
    }
}

#[test]
fn whatever_fails_in_any_order_the_sums_are_what_is_refunded_now() {
    let step = prop_oneof![2 => (0_i64..60).prop_map(Step::Refund), 1 => Just(Step::Fail)];
    let steps = prop::collection::vec(step, 1..6);
    let config = ProptestConfig::with_cases(count("PROPTEST_CASES", 32));
    proptest!(config, |(steps in steps, late in prop::collection::vec(0_usize..8, 0..3))| {
        crate::block_on(async { Paid::open().await.walk(steps, late).await });
    });
}
