//! Orders whose checkout the provider does not have: it was deleted there, or the keys are of another account or mode.

use crate::books::{assert_books, assert_quiet};
use crate::market::{Market, Refused};
use crate::shop::FIVE;
use shared::model::{InternalId, OrderStatus};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::orders;
use shared::shop::payments::{OperatorError, STRANDED, Settled};
use std::time::Duration;

/// A checkout of the default hold is open for this long.
const OPEN: Duration = Duration::from_mins(35);
const GRACE: Duration = Duration::from_mins(1);

/// A market with a checkout of three of five units.
async fn begun() -> (Market, InternalId) {
    let market = Market::open().await;
    let order = market.checkout(1, &[(FIVE, 3)], None).await;
    (market, order)
}

async fn settled(market: &Market, order: &InternalId) -> Settled {
    market.desk().settle_now(order).await.unwrap().1
}

async fn cancelled(market: &Market, order: &InternalId, ends_gone: bool) -> Result<OrderStatus, OperatorError> {
    let cancelled = market.desk().cancel(order, ends_gone).await;
    cancelled.map(|stored| stored.order.status)
}

async fn review(market: &Market, order: &InternalId) -> Option<String> {
    market.order(order).await.effects.review
}

/// The buyer can buy again, and nothing is held twice.
async fn assert_can_buy_again(market: &Market) {
    market.fill(1, &[(FIVE, 5)], None).await;
    let again = market.create(1).await.unwrap();
    market.pay(&again.order).await;
    assert_quiet(market).await;
}

#[tokio::test]
async fn an_order_stores_the_account_and_the_mode() {
    let (market, order) = begun().await;
    let checkout = market.order(&order).await.effects.provider.unwrap();
    assert_eq!((checkout.account.as_deref(), checkout.live), (Some("acct_first"), Some(false)));
}

#[tokio::test]
async fn a_deleted_checkout_ends_at_the_sweep_once_its_time_is_over_and_its_buyer_can_buy_again() {
    let (market, order) = begun().await;
    market.provider.lose(&order);
    assert_eq!(settled(&market, &order).await, Settled::Gone);
    market.clock.advance(OPEN.saturating_sub(Duration::from_secs(1)));
    assert_eq!((market.sweep().await.due, market.status(&order).await), (0, OrderStatus::Pending));
    assert_books(&market).await;
    market.clock.advance(GRACE + Duration::from_secs(1));
    let swept = market.sweep().await;
    assert_eq!((swept.due, swept.failed, market.status(&order).await), (1, 0, OrderStatus::Cancelled));
    assert_eq!((review(&market, &order).await, market.sold(FIVE).await), (None, 0));
    assert_can_buy_again(&market).await;
}

#[tokio::test]
async fn settling_a_deleted_checkout_ends_it_once_its_time_is_over() {
    let (market, order) = begun().await;
    market.provider.lose(&order);
    market.clock.advance(OPEN);
    assert_eq!(settled(&market, &order).await, Settled::Changed);
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
    assert_can_buy_again(&market).await;
}

#[tokio::test]
async fn cancelling_a_deleted_checkout_ends_it_at_once_if_it_was_confirmed() {
    let (market, order) = begun().await;
    market.provider.lose(&order);
    assert!(matches!(cancelled(&market, &order, false).await, Err(OperatorError::Gone)));
    assert_eq!(market.status(&order).await, OrderStatus::Pending);
    assert_eq!(cancelled(&market, &order, true).await.unwrap(), OrderStatus::Cancelled);
    assert_eq!(market.sold(FIVE).await, 0);
    assert_can_buy_again(&market).await;
}

#[tokio::test]
async fn a_buyer_whose_checkout_was_deleted_can_buy_again_once_its_time_is_over() {
    let (market, order) = begun().await;
    market.provider.lose(&order);
    market.fill(1, &[(FIVE, 1)], None).await;
    assert!(matches!(market.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    market.clock.advance(OPEN);
    assert_can_buy_again(&market).await;
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
}

#[tokio::test]
async fn an_order_of_another_account_or_mode_is_marked_and_released_after_its_end() {
    // The keys then, and whether the order knows its account: older ones do not.
    for (account, live, is_known) in [
        (Some("acct_other"), false, true),
        (Some("acct_first"), true, true),
        (None, false, true),
        (None, true, true),
        (Some("acct_first"), false, false),
    ] {
        let (market, order) = begun().await;
        if !is_known {
            market.forget_account(&order).await;
        }
        market.provider.change_account(account, live);
        assert!(matches!(cancelled(&market, &order, true).await, Err(OperatorError::Stranded)), "{account:?} {live}");
        assert_eq!(review(&market, &order).await.as_deref(), Some(STRANDED));
        assert_eq!(settled(&market, &order).await, Settled::Gone);
        market.fill(1, &[(FIVE, 1)], None).await;
        assert!(matches!(market.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
        assert_eq!((market.status(&order).await, market.sold(FIVE).await), (OrderStatus::Pending, 3));
        market.clock.advance(OPEN);
        assert_eq!(settled(&market, &order).await, Settled::Gone, "it is kept for the grace");
        market.clock.advance(GRACE);
        let swept = market.sweep().await;
        assert_eq!((swept.due, swept.failed, market.status(&order).await), (1, 0, OrderStatus::Cancelled));
        assert_eq!((review(&market, &order).await.as_deref(), market.sold(FIVE).await), (Some(STRANDED), 0));
        assert_can_buy_again(&market).await;
    }
}

#[tokio::test]
async fn an_interrupted_order_of_another_account_is_not_opened_in_this_one() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 3)], None).await;
    // Its checkout is opened, and the response is lost.
    market.provider.fail(|_, name| (name == "open").then_some(crate::provider::Fault::Lost));
    market.create(1).await.unwrap_err();
    market.provider.recover();
    let order = market.cart(1).await.checkout.unwrap().order;
    market.provider.change_account(Some("acct_other"), false);
    assert!(matches!(market.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    assert_eq!(market.provider.opened(), 0);
    market.sweep_later().await;
    assert_eq!((market.status(&order).await, market.provider.opened()), (OrderStatus::Cancelled, 0));
    assert_eq!(review(&market, &order).await.as_deref(), Some(STRANDED));
}

#[tokio::test]
async fn the_former_account_finds_its_orders_when_it_is_connected_again() {
    let (market, order) = begun().await;
    assert!(market.provider.pay(&order));
    let state = market.provider.state(&order).unwrap();
    market.provider.change_account(Some("acct_other"), false);
    assert_eq!(settled(&market, &order).await, Settled::Gone);
    market.provider.change_account(Some("acct_first"), false);
    market.provider.restore(&order, state);
    assert_eq!(settled(&market, &order).await, Settled::Changed);
    let stored = orders::get(&market.db, &order).await.unwrap().unwrap();
    assert_eq!((stored.order.status, stored.effects.review.is_some()), (OrderStatus::Paid, true));
}
