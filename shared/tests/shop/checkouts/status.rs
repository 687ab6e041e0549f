//! An operator changes the status of a checkout's order.

use crate::books::{assert_books, assert_none_payable, assert_quiet};
use crate::shop::{FIVE, Shop, TWO_EACH};
use shared::model::{InternalId, OrderStatus};
use shared::shop::orders::set_status;

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
