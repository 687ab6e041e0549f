//! The provider's states of a checkout, and their effects.

use crate::at_provider::MIXED_UP_KEY;
use crate::books::{assert_books, assert_quiet};
use crate::shop::{FIVE, GIFT, PLAIN, PRICE, Shop, TWENTY, gift, line, paid, user};
use shared::model::{ItemId, OrderStatus, UserId};
use shared::providers::Stripe;
use shared::rules::payment::Progress;
use shared::shop::payments::{Desk, Settled};
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
