//! The provider's states of a checkout, and their effects; also those of a checkout that the provider does not have, because
//! it was deleted there, or the keys are of another account or mode.

use crate::at_provider::{LOST, MIXED_UP_KEY, SESSIONS};
use crate::shop::{FIVE, GIFT, PLAIN, PRICE, Refused, Shop, TWENTY, gift, line, paid, user};
use crate::sums::{assert_books, assert_quiet};
use shared::model::{InternalId, ItemId, OrderStatus, UserId};
use shared::providers::Stripe;
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::orders::StoredOrder;
use shared::shop::payments::{Desk, OperatorError, STRANDED, Settled};
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::{ACCOUNT, Action, KEY};

/// A checkout of two of five, and one that is not limited.
async fn open(shop: &Shop) -> shared::model::InternalId {
    shop.fill(1, &[(FIVE, 2), (PLAIN, 1)], Some("once")).await;
    shop.create(1).await.unwrap().order
}

#[tokio::test]
async fn every_end_without_a_payment_gives_back_once() {
    for (progress, status) in [(Progress::Expired, OrderStatus::Cancelled), (Progress::Failed, OrderStatus::Failed)] {
        let shop = Shop::open().await;
        let order = open(&shop).await;
        shop.act(&order, Action::Expire);
        assert_eq!(shop.said(&order, progress).await, Settled::Changed);
        assert_eq!(shop.said(&order, progress).await, Settled::Unchanged);
        assert_eq!((shop.status(&order).await, shop.sold(FIVE).await), (status, 0));
        assert_eq!(shop.uses("once").await, 0);
        assert_eq!(shop.cart(1).await.lines.len(), 2, "the lines stay in the cart");
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn a_late_payment_is_taken_if_it_can_be_and_refunded_otherwise() {
    for is_gone in [false, true] {
        let shop = Shop::open().await;
        let order = open(&shop).await;
        shop.pay_late(&order).await;
        if is_gone {
            shop.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
        }
        shop.settle(&order).await;
        shop.settle(&order).await;
        let (status, refunds) = if is_gone { (OrderStatus::Cancelled, 1) } else { (OrderStatus::Paid, 0) };
        assert_eq!((shop.status(&order).await, shop.received("POST /v1/refunds")), (status, refunds));
        shop.sweep_later().await;
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn a_recipient_over_the_limit_in_between_gets_the_gift_and_the_order_says_so() {
    let shop = Shop::open().await;
    shop.name(2, "Receiver").await;
    shop.fill_with(1, vec![gift(1, GIFT, "Receiver")], None).await;
    let order = shop.create(1).await.unwrap().order;
    let mut other = paid("other", Some(3), &[(GIFT, 1, PRICE)]);
    other.lines = other.lines.into_iter().map(|line| line.gift_for(UserId::new(2))).collect();
    shop.record(other).await.unwrap();
    shop.pay(&order).await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.over_limit), (OrderStatus::Paid, true));
    assert_eq!(shop.held(2, GIFT).await, 2);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_payment_that_disagrees_is_left_to_an_operator() {
    for (key, amount, currency, named) in
        [(KEY, 60, "eur", true), (KEY, 270, "pln", true), (MIXED_UP_KEY, 270, "eur", true), (KEY, 270, "eur", false)]
    {
        let mut shop = Shop::open().await;
        shop.connect(key, Some(ACCOUNT));
        let order = open(&shop).await;
        if key == KEY {
            shop.replace_session(&order, named.then_some(order.as_str()), amount, currency).await;
        }
        shop.act(shop.order(&order).await.session().unwrap(), Action::Pay);
        assert_eq!(shop.settle(&order).await, Settled::Changed);
        assert_eq!(shop.settle(&order).await, Settled::Open);
        let stored = shop.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.review.is_some()), (OrderStatus::Pending, true));
        shop.sweep_later().await;
        assert_eq!((shop.status(&order).await, shop.unfinished().await), (OrderStatus::Pending, 1));
        assert_books(&shop).await;
    }
}

#[tokio::test]
async fn units_that_were_added_meanwhile_stay_in_the_cart() {
    let shop = Shop::open().await;
    let order = open(&shop).await;
    shop.fill_with(1, vec![line(1, FIVE, 5), line(2, PLAIN, 1), line(3, TWENTY, 1)], Some("free")).await;
    shop.pay(&order).await;
    let cart = shop.cart(1).await;
    let rest: Vec<(ItemId, u32)> = cart.lines.iter().map(|line| (line.item, line.count)).collect();
    assert_eq!(rest, [(ItemId::new(FIVE), 3), (ItemId::new(TWENTY), 1)]);
    assert!(cart.coupon.is_some(), "another code was applied meanwhile");
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_sweep_without_a_provider_finishes_what_needs_none() {
    let shop = Shop::open().await;
    let order = open(&shop).await;
    shop.clock.advance(Duration::from_hours(1));
    let swept = Desk::new(&shop.db, &shop.clock, None::<&Stripe>).sweep().await.unwrap();
    assert_eq!((swept.due, swept.failed), (1, 0));
    assert_eq!(shop.status(&order).await, OrderStatus::Pending);
    shop.sweep_later().await;
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    assert_ne!(shop.says(&order).await.progress, Progress::Open);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_payment_of_an_order_that_does_not_exist_changes_nothing() {
    let shop = Shop::open().await;
    let order = open(&shop).await;
    shop.act(&order, Action::Pay);
    let state = shop.says(&order).await;
    let unknown = shared::model::InternalId::new("unknown");
    let settled = shop.desk().apply(&unknown, &state).await.unwrap();
    assert_eq!(settled, None);
    assert_books(&shop).await;
}

#[tokio::test]
async fn an_owner_who_is_erased_keeps_nothing_from_being_paid() {
    let shop = Shop::open().await;
    let order = open(&shop).await;
    for key in [keys::user(UserId::new(1)), keys::cart(UserId::new(1))] {
        shop.delete(&key).await;
    }
    shop.pay(&order).await;
    shop.settle(&order).await;
    shop.sweep().await;
    assert_eq!((shop.status(&order).await, shop.held(1, FIVE).await), (OrderStatus::Paid, 0));
    assert_eq!((shop.sold(FIVE).await, shop.unfinished().await), (2, 0));
    shop.put(&keys::user(UserId::new(1)), &user(1)).await;
}

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
