//! An operator changes the status of a checkout's order.

use crate::books::{assert_books, assert_quiet};
use crate::market::Market;
use crate::shop::{FIVE, TWO_EACH};
use shared::model::{InternalId, OrderStatus};
use shared::rules::payment::Progress;
use shared::shop::orders::set_status;

async fn open(market: &Market) -> InternalId {
    market.fill(1, &[(FIVE, 2), (TWO_EACH, 1)], Some("once")).await;
    market.create(1).await.unwrap().order
}

async fn set(market: &Market, order: &InternalId, to: OrderStatus) {
    market.set_status(order.as_str(), to).await.unwrap();
}

#[tokio::test]
async fn what_is_held_is_not_taken_again() {
    let market = Market::open().await;
    let order = open(&market).await;
    set(&market, &order, OrderStatus::Paid).await;
    assert_eq!((market.sold(FIVE).await, market.uses("once").await), (2, 1));
    assert_eq!(market.held(1, FIVE).await, 2);
    assert_books(&market).await;
    market.sweep_later().await;
    assert!(market.cart(1).await.lines.is_empty());
    assert_quiet(&market).await;
    set(&market, &order, OrderStatus::Refunded).await;
    assert_eq!((market.sold(FIVE).await, market.uses("once").await), (0, 0));
    market.sweep_later().await;
    assert_quiet(&market).await;
}

#[tokio::test]
async fn what_is_held_is_given_back() {
    for status in [OrderStatus::Cancelled, OrderStatus::Failed] {
        let market = Market::open().await;
        let order = open(&market).await;
        set(&market, &order, status).await;
        assert_eq!((market.sold(FIVE).await, market.uses("once").await), (0, 0));
        assert_quiet(&market).await;
        // It can still be paid at the provider until it is ended there; then it is taken or refunded.
        market.pay(&order).await;
        assert_eq!(market.status(&order).await, OrderStatus::Paid);
        market.sweep_later().await;
        assert_quiet(&market).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_an_operator_cancels_while_it_begins_is_ended_at_the_provider() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    // Right before the write that stores the session, the third transaction.
    let db = market.interrupted(3, |db| async move {
        for stored in crate::sums::orders(&db).await {
            let id = &stored.order.internal_id;
            set_status(&db, &tests::TestClock::new(), id, OrderStatus::Cancelled).await.unwrap();
        }
    });
    let instance = crate::market::Instance::new(db);
    let created = market.create_by(&instance, 1).await;
    for order in market.provider.in_state(Progress::Open) {
        assert_eq!(market.status(&order).await, OrderStatus::Pending, "{created:?}");
    }
    market.sweep_later().await;
    assert_quiet(&market).await;
}
