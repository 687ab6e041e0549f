//! The provider's states of a checkout, and their effects.

use crate::books::{assert_books, assert_quiet};
use crate::market::{GIFT, Market, PRICE, TWENTY, gift, line};
use crate::shop::{FIVE, PLAIN, paid, user};
use shared::model::{ItemId, Money, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::shop::payments::{Desk, Settled};
use shared::table::keys;
use std::time::Duration;

/// A checkout of two of five, and one that is not limited.
async fn open(market: &Market) -> shared::model::InternalId {
    market.fill(1, &[(FIVE, 2), (PLAIN, 1)], Some("once")).await;
    market.create(1).await.unwrap().order
}

#[tokio::test]
async fn every_end_without_a_payment_gives_back_once() {
    for (progress, status) in [(Progress::Expired, OrderStatus::Cancelled), (Progress::Failed, OrderStatus::Failed)] {
        let market = Market::open().await;
        let order = open(&market).await;
        market.provider.end(&order, progress);
        assert_eq!(market.settle(&order).await, Settled::Changed);
        assert_eq!(market.settle(&order).await, Settled::Unchanged);
        assert_eq!((market.status(&order).await, market.sold(FIVE).await), (status, 0));
        assert_eq!(market.uses("once").await, 0);
        assert_eq!(market.cart(1).await.lines.len(), 2, "the lines stay in the cart");
        assert_quiet(&market).await;
    }
}

#[tokio::test]
async fn a_late_payment_is_taken_if_it_can_be_and_refunded_otherwise() {
    for is_gone in [false, true] {
        let market = Market::open().await;
        let order = open(&market).await;
        market.provider.end(&order, Progress::Expired);
        market.settle(&order).await;
        if is_gone {
            market.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
        }
        market.provider.set(&order, |state| {
            (state.progress, state.intent) = (Progress::Paid, Some("late".to_owned()));
        });
        market.settle(&order).await;
        market.settle(&order).await;
        let (status, refunds) = if is_gone { (OrderStatus::Cancelled, 1) } else { (OrderStatus::Paid, 0) };
        assert_eq!((market.status(&order).await, market.provider.refunds()), (status, refunds));
        market.sweep_later().await;
        assert_quiet(&market).await;
    }
}

#[tokio::test]
async fn a_recipient_over_the_limit_in_between_gets_the_gift_and_the_order_says_so() {
    let market = Market::open().await;
    market.name(2, "Receiver").await;
    market.fill_with(1, vec![gift(1, GIFT, "Receiver")], None).await;
    let order = market.create(1).await.unwrap().order;
    let mut other = paid("other", Some(3), &[(GIFT, 1, PRICE)]);
    other.lines = other.lines.into_iter().map(|line| line.gift_for(UserId::new(2))).collect();
    market.record(other).await.unwrap();
    market.pay(&order).await;
    let stored = market.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.over_limit), (OrderStatus::Paid, true));
    assert_eq!(market.held(2, GIFT).await, 2);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_payment_that_disagrees_is_left_to_an_operator() {
    type Change = fn(&mut shared::rules::payment::PaymentState);
    let wrong: [Change; 4] = [
        |state| state.amount = Money::from_minor(1),
        |state| state.currency = "pln".to_owned(),
        |state| state.same_mode = false,
        |state| state.order = None,
    ];
    for change in wrong {
        let market = Market::open().await;
        let order = open(&market).await;
        market.provider.pay(&order);
        market.provider.set(&order, change);
        assert_eq!(market.settle(&order).await, Settled::Changed);
        assert_eq!(market.settle(&order).await, Settled::Open);
        let stored = market.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.review.is_some()), (OrderStatus::Pending, true));
        market.sweep_later().await;
        assert_eq!((market.status(&order).await, market.unfinished().await), (OrderStatus::Pending, 1));
        assert_books(&market).await;
    }
}

#[tokio::test]
async fn units_that_were_added_meanwhile_stay_in_the_cart() {
    let market = Market::open().await;
    let order = open(&market).await;
    market.fill_with(1, vec![line(1, FIVE, 5), line(2, PLAIN, 1), line(3, TWENTY, 1)], Some("free")).await;
    market.pay(&order).await;
    let cart = market.cart(1).await;
    let rest: Vec<(ItemId, u32)> = cart.lines.iter().map(|line| (line.item, line.count)).collect();
    assert_eq!(rest, [(ItemId::new(FIVE), 3), (ItemId::new(TWENTY), 1)]);
    assert!(cart.coupon.is_some(), "another code was applied meanwhile");
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_sweep_without_a_provider_finishes_what_needs_none() {
    let market = Market::open().await;
    let order = open(&market).await;
    market.clock.advance(Duration::from_hours(1));
    let swept = Desk::new(&market.db, &market.clock, None::<&crate::provider::TestProvider>).sweep().await.unwrap();
    assert_eq!((swept.due, swept.failed), (1, 0));
    assert_eq!(market.status(&order).await, OrderStatus::Pending);
    market.sweep_later().await;
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
    assert_eq!(market.provider.in_state(Progress::Open), []);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_payment_of_an_order_that_does_not_exist_changes_nothing() {
    let market = Market::open().await;
    let order = open(&market).await;
    market.provider.pay(&order);
    let state = market.provider.state(&order).unwrap();
    let (db, clock) = (&market.db, &market.clock);
    let unknown = shared::model::InternalId::new("unknown");
    let settled = Desk::new(db, clock, &market.provider).apply(&unknown, &state).await.unwrap();
    assert_eq!(settled, None);
    assert_books(&market).await;
}

#[tokio::test]
async fn an_owner_who_is_erased_keeps_nothing_from_being_paid() {
    let market = Market::open().await;
    let order = open(&market).await;
    for key in [keys::user(UserId::new(1)), keys::cart(UserId::new(1))] {
        market.delete(&key).await;
    }
    market.pay(&order).await;
    market.settle(&order).await;
    market.sweep().await;
    assert_eq!((market.status(&order).await, market.held(1, FIVE).await), (OrderStatus::Paid, 0));
    assert_eq!((market.sold(FIVE).await, market.unfinished().await), (2, 0));
    market.put(&keys::user(UserId::new(1)), &user(1)).await;
}
