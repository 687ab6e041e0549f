//! Refunds that fail days after they were made, and orders that need an operator: they are accepted or refunded, and their
//! refunds and disputes are found.

use crate::at_provider::TOTAL;
use crate::books::{Facts, assert_quiet, assert_sums};
use crate::shop::{FIVE, PLAIN, Shop, TWENTY, USERS, gift, line, money, paid, user};
use proptest::prelude::*;
use shared::model::{InternalId, Money, OrderStatus, RefundOutcome, ReviewOutcome, UserId};
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::orders::of_payment;
use shared::shop::payments::{OperatorError, RefundKind, Settled};
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
    let config = ProptestConfig::with_cases(count("PROPTEST_CASES", 64));
    proptest!(config, |(steps in steps, late in prop::collection::vec(0_usize..8, 0..3))| {
        crate::block_on(async { Paid::open().await.walk(steps, late).await });
    });
}

/// An order of two of five, which cost 200, whose payment is of another amount or currency, or names another order.
async fn in_review(amount: i64, currency: &str, names: Option<&str>) -> (Shop, InternalId) {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(FIVE, 2)], None).await;
    let session = shop.replace_session(&order, Some(names.unwrap_or(order.as_str())), amount, currency).await;
    shop.act(session, Action::Pay);
    shop.settle(&order).await;
    assert!(shop.order(&order).await.effects.review.is_some());
    assert_eq!(shop.status(&order).await, OrderStatus::Pending);
    (shop, order)
}

async fn of_another_amount() -> (Shop, InternalId) {
    in_review(150, "eur", None).await
}

async fn accepted(shop: &Shop, order: &InternalId) -> Result<bool, OperatorError> {
    shop.desk().accept(order).await.map(|(_, is_new)| is_new)
}

#[tokio::test]
async fn the_payment_of_an_order_in_review_is_known_at_once() {
    let (shop, order) = of_another_amount().await;
    let intent = shop.says(&order).await.intent.unwrap();
    assert_eq!(of_payment(&shop.db, &intent).await.unwrap(), Some(order.clone()));
    shop.act(&order, Action::Dispute(None));
    shop.hear(&shop.events().await[0]).await;
    assert_eq!(shop.order(&order).await.effects.dispute.as_deref(), Some("needs_response"));
}

#[tokio::test]
async fn an_accepted_order_is_paid_as_it_is_and_its_refunds_count_in_proportion() {
    let (shop, order) = of_another_amount().await;
    assert!(accepted(&shop, &order).await.unwrap());
    assert!(!accepted(&shop, &order).await.unwrap(), "a repeated call succeeds");
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Paid, None));
    let reviewed = stored.effects.reviewed.unwrap();
    assert_eq!(reviewed.outcome, ReviewOutcome::Accepted);
    assert_eq!(reviewed.reason, "the payment is of another amount");
    assert_eq!(shop.settle(&order).await, Settled::Unchanged);
    assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (2, 2));
    // 75 of 150 are half of the order's 200.
    shop.refund_there(&order, 75).await;
    assert_eq!(shop.order(&order).await.effects.refunded, money(100));
    let part = shop.desk().refund(&order, Some(money(100))).await;
    assert!(matches!(part, Err(OperatorError::OnlyInFull)), "{part:?}");
    let rest = shop.desk().refund(&order, None).await.unwrap();
    assert_eq!((rest.amount, rest.stored.order.status), (money(75), OrderStatus::Refunded));
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn an_accepted_order_of_less_than_its_payment_is_refunded_by_the_last_part() {
    let (shop, order) = in_review(401, "eur", None).await;
    assert!(accepted(&shop, &order).await.unwrap());
    for (refunded, noted, status) in [(400, 199, OrderStatus::Paid), (1, 199, OrderStatus::Refunded)] {
        shop.refund_there(&order, refunded).await;
        let stored = shop.order(&order).await;
        assert_eq!((stored.effects.refunded, stored.order.status), (money(noted), status));
    }
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_cannot_be_taken_any_more_is_not_accepted() {
    let (shop, order) = of_another_amount().await;
    // The provider says that it has ended, and what it held is sold to another buyer.
    shop.said(&order, Progress::Expired).await;
    shop.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
    let gone = accepted(&shop, &order).await;
    assert!(matches!(gone, Err(OperatorError::SoldOut)), "{gone:?}");
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
}

#[tokio::test]
async fn an_order_whose_payment_is_disputed_meanwhile_is_not_accepted() {
    let (shop, order) = of_another_amount().await;
    shop.act(&order, Action::Dispute(None));
    let refused = accepted(&shop, &order).await;
    assert!(matches!(&refused, Err(OperatorError::Disputed(state)) if state == "needs_response"), "{refused:?}");
    assert_eq!(shop.status(&order).await, OrderStatus::Pending);
    shop.act(&order, Action::CloseDispute { won: true });
    assert!(accepted(&shop, &order).await.unwrap());
    assert_eq!(shop.status(&order).await, OrderStatus::Paid);
}

#[tokio::test]
async fn a_refund_ends_a_review_in_every_status() {
    for (progress, status) in [(None, OrderStatus::Cancelled), (Some(Progress::Failed), OrderStatus::Failed)] {
        for (amount, currency) in [(150, "eur"), (200, "usd")] {
            let (shop, order) = in_review(amount, currency, None).await;
            if let Some(progress) = progress {
                shop.said(&order, progress).await;
            }
            for kind in [RefundKind::Made, RefundKind::Already] {
                let refunded = shop.desk().refund(&order, None).await.unwrap();
                assert_eq!((refunded.kind, refunded.total), (kind, money(amount)));
                assert_eq!(refunded.stored.order.status, status);
                assert_eq!(refunded.stored.effects.review, None);
                assert_eq!(refunded.stored.effects.reviewed.unwrap().outcome, ReviewOutcome::Refunded);
            }
            assert!(matches!(accepted(&shop, &order).await, Err(OperatorError::NoReview)));
            assert_eq!(shop.settle(&order).await, Settled::Unchanged);
            assert_eq!((shop.sold(FIVE).await, shop.cart(1).await.checkout), (0, None));
        }
    }
}

#[tokio::test]
async fn a_refund_in_the_dashboard_ends_a_review_too() {
    let (shop, order) = of_another_amount().await;
    shop.act(&order, Action::Refund(None));
    shop.webhook_event(&order).await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Cancelled, None));
    assert_eq!(shop.sold(FIVE).await, 0);
}

#[tokio::test]
async fn another_orders_payment_is_never_refunded() {
    let (shop, order) = in_review(200, "eur", Some("another")).await;
    let refused = shop.desk().refund(&order, None).await;
    assert!(matches!(refused, Err(OperatorError::Foreign)), "{refused:?}");
    assert_eq!(of_payment(&shop.db, &shop.says(&order).await.intent.unwrap()).await.unwrap(), None);
    assert_eq!((shop.received("POST /v1/refunds"), shop.status(&order).await), (0, OrderStatus::Pending));
    assert_ne!(Money::ZERO, shop.order(&order).await.order.price);
}
