//! What an operator does: orders that need one are accepted or refunded, and their refunds and disputes are found; and the
//! status of a checkout's order is changed.

use crate::shop::{FIVE, Shop, TWO_EACH, money, paid};
use crate::sums::{assert_books, assert_none_payable, assert_quiet};
use shared::model::{InternalId, Money, OrderStatus, ReviewOutcome};
use shared::rules::payment::Progress;
use shared::shop::orders::{of_payment, set_status};
use shared::shop::payments::{OperatorError, RefundKind, Settled};
use stripe_stand_in::Action;

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

async fn open(shop: &Shop) -> InternalId {
    shop.fill(1, &[(FIVE, 2), (TWO_EACH, 1)], Some("once")).await;
    shop.create(1).await.unwrap().order
}

async fn set(shop: &Shop, order: &InternalId, to: OrderStatus) {
    shop.set_status(order.as_str(), to).await.unwrap();
}

#[tokio::test]
async fn what_is_held_is_not_taken_again() {
    let shop = Shop::open().await;
    let order = open(&shop).await;
    set(&shop, &order, OrderStatus::Paid).await;
    assert_eq!((shop.sold(FIVE).await, shop.uses("once").await), (2, 1));
    assert_eq!(shop.held(1, FIVE).await, 2);
    assert_books(&shop).await;
    shop.sweep_later().await;
    assert!(shop.cart(1).await.lines.is_empty());
    assert_quiet(&shop).await;
    set(&shop, &order, OrderStatus::Refunded).await;
    assert_eq!((shop.sold(FIVE).await, shop.uses("once").await), (0, 0));
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_is_held_is_given_back() {
    for status in [OrderStatus::Cancelled, OrderStatus::Failed] {
        let shop = Shop::open().await;
        let order = open(&shop).await;
        set(&shop, &order, status).await;
        assert_eq!((shop.sold(FIVE).await, shop.uses("once").await), (0, 0));
        assert_quiet(&shop).await;
        // It can still be paid at the provider until it is ended there; then it is taken or refunded.
        shop.pay(&order).await;
        assert_eq!(shop.status(&order).await, OrderStatus::Paid);
        shop.sweep_later().await;
        assert_quiet(&shop).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_an_operator_cancels_while_it_begins_is_ended_at_the_provider() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], None).await;
    // Right before the write that stores the session, the third transaction.
    let db = shop.interrupted(3, |db| async move {
        for stored in crate::sums::orders(&db).await {
            let id = &stored.order.internal_id;
            set_status(&db, &tests::TestClock::new(), id, OrderStatus::Cancelled).await.unwrap();
        }
    });
    let instance = crate::shop::Instance::new(db);
    drop(shop.create_by(&instance, 1).await);
    assert_none_payable(&shop).await;
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}
