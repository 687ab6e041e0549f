//! Orders whose checkout the provider does not have: it was deleted there, or the keys are of another account or mode.

use crate::at_provider::{LOST, SESSIONS};
use crate::books::{assert_books, assert_quiet};
use crate::shop::{FIVE, Refused, Shop};
use shared::model::{InternalId, OrderStatus};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{OperatorError, STRANDED, Settled};
use std::time::Duration;
use stripe_stand_in::{ACCOUNT, Action, KEY};

/// A checkout of the default hold is open for this long.
const OPEN: Duration = Duration::from_mins(35);
const GRACE: Duration = Duration::from_mins(1);

/// A shop with a checkout of three of five units.
async fn begun() -> (Shop, InternalId) {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(FIVE, 3)], None).await;
    (shop, order)
}

async fn settled(shop: &Shop, order: &InternalId) -> Settled {
    shop.desk().settle_now(order).await.unwrap().1
}

async fn cancelled(shop: &Shop, order: &InternalId, ends_gone: bool) -> Result<OrderStatus, OperatorError> {
    let cancelled = shop.desk().cancel(order, ends_gone).await;
    cancelled.map(|stored| stored.order.status)
}

async fn review(shop: &Shop, order: &InternalId) -> Option<String> {
    shop.order(order).await.effects.review
}

/// The buyer can buy again, and nothing is held twice.
async fn assert_can_buy_again(shop: &Shop) {
    shop.fill(1, &[(FIVE, 5)], None).await;
    let again = shop.create(1).await.unwrap();
    shop.pay(&again.order).await;
    assert_quiet(shop).await;
}

#[tokio::test]
async fn an_order_stores_the_account_and_the_mode() {
    let (shop, order) = begun().await;
    let checkout = shop.order(&order).await.effects.provider.unwrap();
    assert_eq!((checkout.account.as_deref(), checkout.live), (Some(ACCOUNT), false));
}

#[tokio::test]
async fn a_deleted_checkout_ends_at_the_sweep_once_its_time_is_over_and_its_buyer_can_buy_again() {
    let (shop, order) = begun().await;
    shop.stand_in.delete_test_data();
    assert_eq!(settled(&shop, &order).await, Settled::Gone);
    shop.clock.advance(OPEN.saturating_sub(Duration::from_secs(1)));
    assert_eq!((shop.sweep().await.due, shop.status(&order).await), (0, OrderStatus::Pending));
    assert_books(&shop).await;
    shop.clock.advance(GRACE + Duration::from_secs(1));
    let swept = shop.sweep().await;
    assert_eq!((swept.due, swept.failed, shop.status(&order).await), (1, 0, OrderStatus::Cancelled));
    assert_eq!((review(&shop, &order).await, shop.sold(FIVE).await), (None, 0));
    assert_can_buy_again(&shop).await;
}

#[tokio::test]
async fn settling_a_deleted_checkout_ends_it_once_its_time_is_over() {
    let (shop, order) = begun().await;
    shop.stand_in.delete_test_data();
    shop.clock.advance(OPEN);
    assert_eq!(settled(&shop, &order).await, Settled::Changed);
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    assert_can_buy_again(&shop).await;
}

#[tokio::test]
async fn cancelling_a_deleted_checkout_ends_it_at_once_if_it_was_confirmed() {
    let (shop, order) = begun().await;
    shop.stand_in.delete_test_data();
    assert!(matches!(cancelled(&shop, &order, false).await, Err(OperatorError::Gone)));
    assert_eq!(shop.status(&order).await, OrderStatus::Pending);
    assert_eq!(cancelled(&shop, &order, true).await.unwrap(), OrderStatus::Cancelled);
    assert_eq!(shop.sold(FIVE).await, 0);
    assert_can_buy_again(&shop).await;
}

#[tokio::test]
async fn a_buyer_whose_checkout_was_deleted_can_buy_again_once_its_time_is_over() {
    let (shop, order) = begun().await;
    shop.stand_in.delete_test_data();
    shop.fill(1, &[(FIVE, 1)], None).await;
    assert!(matches!(shop.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    shop.clock.advance(OPEN);
    assert_can_buy_again(&shop).await;
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
}

#[tokio::test]
async fn an_order_of_another_account_or_mode_is_marked_and_released_after_its_end() {
    // The keys then, and whether the order knows its account: older ones do not.
    for (account, live, is_known) in [
        (Some("acct_other"), false, true),
        (Some(ACCOUNT), true, true),
        (None, false, true),
        (None, true, true),
        (Some(ACCOUNT), false, false),
    ] {
        let (mut shop, order) = begun().await;
        if !is_known {
            {
                let forget = |stored: &mut StoredOrder| {
                    let checkout = stored.effects.provider.as_mut().unwrap();
                    checkout.account = None;
                };
                shop.rewrite(&order, forget).await;
            };
        }
        shop.change_account(account, live);
        assert!(matches!(cancelled(&shop, &order, true).await, Err(OperatorError::Stranded)), "{account:?} {live}");
        assert_eq!(review(&shop, &order).await.as_deref(), Some(STRANDED));
        assert_eq!(settled(&shop, &order).await, Settled::Gone);
        shop.fill(1, &[(FIVE, 1)], None).await;
        assert!(matches!(shop.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
        assert_eq!((shop.status(&order).await, shop.sold(FIVE).await), (OrderStatus::Pending, 3));
        shop.clock.advance(OPEN);
        assert_eq!(settled(&shop, &order).await, Settled::Gone, "it is kept for the grace");
        shop.clock.advance(GRACE);
        let swept = shop.sweep().await;
        assert_eq!((swept.due, swept.failed, shop.status(&order).await), (1, 0, OrderStatus::Cancelled));
        assert_eq!((review(&shop, &order).await.as_deref(), shop.sold(FIVE).await), (Some(STRANDED), 0));
        assert_can_buy_again(&shop).await;
    }
}

#[tokio::test]
async fn an_interrupted_order_of_another_account_is_not_opened_in_this_one() {
    let mut shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 3)], None).await;
    // Its checkout is opened, and the response is lost.
    shop.stand_in.inject(LOST.on(SESSIONS));
    shop.create(1).await.unwrap_err();
    let order = shop.cart(1).await.checkout.unwrap().order;
    shop.change_account(Some("acct_other"), false);
    assert!(matches!(shop.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    assert_eq!(shop.stand_in.sessions().len(), 1);
    shop.sweep_later().await;
    assert_eq!((shop.status(&order).await, shop.stand_in.sessions().len()), (OrderStatus::Cancelled, 1));
    assert_eq!(review(&shop, &order).await.as_deref(), Some(STRANDED));
}

#[tokio::test]
async fn the_former_account_finds_its_orders_when_it_is_connected_again() {
    let (mut shop, order) = begun().await;
    shop.act(&order, Action::Pay);
    shop.change_account(Some("acct_other"), false);
    assert_eq!(settled(&shop, &order).await, Settled::Gone);
    shop.connect(KEY, Some(ACCOUNT));
    assert_eq!(settled(&shop, &order).await, Settled::Changed);
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review.is_some()), (OrderStatus::Paid, true));
}
