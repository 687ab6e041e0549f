//! Beginning a checkout.

use crate::at_provider::{AWAY, SESSIONS};
use crate::shop::{
    BALANCE, FIVE, FREE, GIFT, PLAIN, PRICE, Refused, Shop, TWENTY, TWO_EACH, VIRTUAL, gift, line, load,
};
use crate::sums::{assert_books, assert_quiet};
use shared::model::{InternalId, ItemId, Money, OrderStatus, Payments, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::accounts::names::NameRow;
use shared::shop::carts::LoadedCart;
use shared::shop::payments::{Settled, WebhookEvent};
use shared::table::{keys, read_live};
use shared::telemetry::payment_events;
use std::time::Duration;
use stripe_stand_in::Action;

#[tokio::test]
async fn a_cart_becomes_an_order_that_is_paid_once() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2), (TWO_EACH, 1)], Some("once")).await;
    let checkout = shop.create(1).await.unwrap();
    let stored = shop.order(&checkout.order).await;
    assert_eq!(stored.order.status, OrderStatus::Pending);
    assert_eq!(stored.order.price, Money::from_minor(270), "a tenth off 3.00");
    let page = format!("{}/c/pay/{}", shop.stand_in.base_url(), shop.says(&checkout.order).await.session);
    assert_eq!(checkout.url, Some(page));
    assert_eq!((shop.sold(FIVE).await, shop.uses("once").await), (2, 1));
    assert_eq!((shop.held(1, FIVE).await, shop.unfinished().await), (0, 1));
    assert_books(&shop).await;
    assert_eq!(shop.settle(&checkout.order).await, Settled::Open);
    assert_eq!(shop.pay(&checkout.order).await, Settled::Changed);
    assert_eq!(shop.settle(&checkout.order).await, Settled::Unchanged);
    let stored = shop.order(&checkout.order).await;
    assert_eq!((stored.order.status, stored.effects.due), (OrderStatus::Paid, Some(shop.now())));
    assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (2, 2));
    let cart = shop.cart(1).await;
    assert!(cart.lines.is_empty() && cart.coupon.is_none() && cart.checkout.is_none(), "{cart:?}");
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn asking_again_finds_the_same_order_and_holds_nothing_more() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], Some("card")).await;
    let first = shop.create(1).await;
    assert!(first.as_ref().is_ok_and(|checkout| checkout.url.is_none()), "the card pays for all of it: {first:?}");
    shop.fill(2, &[(FIVE, 3)], None).await;
    let first = shop.create(2).await.unwrap();
    for _ in 0..3 {
        assert_eq!(shop.create(2).await.unwrap(), first);
    }
    assert_eq!((shop.sold(FIVE).await, shop.stand_in.sessions().len(), shop.received("")), (5, 1, 1));
}

#[tokio::test]
async fn a_checkout_that_was_paid_meanwhile_is_settled_before_the_next() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], None).await;
    let first = shop.create(1).await.unwrap();
    shop.fill_with(1, vec![line(1, FIVE, 3), line(2, PLAIN, 1)], None).await;
    shop.act(&first.order, Action::Pay);
    let second = shop.create(1).await.unwrap();
    assert_eq!(shop.status(&first.order).await, OrderStatus::Paid);
    let rest: Vec<(ItemId, u32)> = shop.cart(1).await.lines.iter().map(|line| (line.item, line.count)).collect();
    assert_eq!(rest, [(ItemId::new(FIVE), 1), (ItemId::new(PLAIN), 1)]);
    assert_eq!(shop.order(&second.order).await.order.price, Money::from_minor(2 * PRICE));
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_buyer_who_has_paid_for_all_of_the_cart_is_sent_to_the_order() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], None).await;
    let checkout = shop.create(1).await.unwrap();
    shop.act(&checkout.order, Action::Pay);
    // The cart was written since, so that its checkout is ended, which is how the payment is seen.
    shop.fill(1, &[(FIVE, 2)], None).await;
    let again = shop.create(1).await.unwrap();
    assert_eq!((again.order, again.url), (checkout.order, None));
    assert_eq!(shop.refusal(1).await, "Your cart is empty.");
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_payment_that_is_being_processed_keeps_the_buyer_waiting() {
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    shop.fill(1, &[(PLAIN, 2)], None).await;
    let first = shop.create(1).await.unwrap();
    shop.act(&first.order, Action::PayDelayed);
    shop.settle(&first.order).await;
    assert!(matches!(shop.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))), "the same cart");
    shop.fill(1, &[(PLAIN, 1)], None).await;
    assert!(matches!(shop.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    shop.sweep_later().await;
    assert_eq!((shop.status(&first.order).await, shop.unfinished().await), (OrderStatus::Pending, 1));
    assert_books(&shop).await;
    shop.act(&first.order, Action::Succeed);
    shop.sweep_later().await;
    assert_eq!(shop.status(&first.order).await, OrderStatus::Paid);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_costs_nothing_is_paid_at_once() {
    for hold_minutes in [Payments::default().hold_minutes, 0] {
        let shop = Shop::open_with(|payments| payments.hold_minutes = hold_minutes).await;
        shop.fill(1, &[(FIVE, 1), (FREE, 1)], Some("card")).await;
        shop.fill(2, &[(FREE, 2)], None).await;
        for buyer in [1, 2] {
            let checkout = shop.create(buyer).await.unwrap();
            assert_eq!((checkout.url, shop.status(&checkout.order).await), (None, OrderStatus::Paid));
        }
        assert_eq!((shop.received(""), shop.balance().await), (0, BALANCE - PRICE));
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn what_costs_nothing_and_was_interrupted_is_paid_by_the_sweep_after_a_minute() {
    let shop = Shop::open().await;
    shop.fill(1, &[(PLAIN, 1)], Some("card")).await;
    let killed = shop.killed_at_transaction(2, true);
    assert!(shop.create_by(&killed, 1).await.is_err());
    let order = shop.orders().await.remove(0).order.internal_id;
    assert_eq!((shop.status(&order).await, shop.balance().await), (OrderStatus::Pending, BALANCE - PRICE));
    shop.clock.advance(Duration::from_secs(61));
    shop.sweep().await;
    assert_eq!(shop.status(&order).await, OrderStatus::Paid);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn virtual_currency_is_held_and_given_back() {
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    shop.set_virtual_balance(1, 120).await;
    shop.fill(1, &[(VIRTUAL, 2), (PLAIN, 1)], None).await;
    let checkout = shop.create(1).await.unwrap();
    assert_eq!((shop.virtual_balance(1).await, shop.order(&checkout.order).await.order.price.minor()), (20, PRICE));
    // What the own checkout holds does not count against the own cart.
    shop.fill(1, &[(VIRTUAL, 2), (PLAIN, 2)], None).await;
    let second = shop.create(1).await.unwrap();
    assert_books(&shop).await;
    shop.end(&second.order, Progress::Failed);
    shop.settle(&second.order).await;
    assert_eq!((shop.virtual_balance(1).await, shop.status(&second.order).await), (120, OrderStatus::Failed));
    shop.fill(1, &[(VIRTUAL, 2)], None).await;
    assert_eq!(shop.create(1).await.unwrap().url, None);
    assert_eq!(shop.virtual_balance(1).await, 20);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_store_that_holds_nothing_takes_when_it_is_paid() {
    let shop = Shop::open_with(|payments| payments.hold_minutes = 0).await;
    for buyer in 1..=3 {
        shop.fill(buyer, &[(FIVE, 3)], None).await;
    }
    let mut orders = Vec::new();
    for buyer in 1..=3 {
        orders.push(shop.create(buyer).await.unwrap().order);
    }
    assert_eq!(shop.sold(FIVE).await, 0);
    for order in &orders {
        shop.pay(order).await;
    }
    let mut all = Vec::new();
    for order in &orders {
        all.push(shop.status(order).await);
    }
    assert_eq!(all, [OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Cancelled]);
    assert_eq!((shop.sold(FIVE).await, shop.received("POST /v1/refunds")), (3, 2));
    for order in &orders {
        shop.settle(order).await;
    }
    assert_eq!(shop.received("POST /v1/refunds"), 2);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn what_the_own_checkout_holds_does_not_count_against_the_own_cart() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 5)], Some("once")).await;
    shop.create(1).await.unwrap();
    let instance = shop.instance();
    for (user, left, applies) in [(1, 0, true), (2, 5, false)] {
        if user == 2 {
            let mut cart = shop.cart(1).await;
            (cart.user, cart.version, cart.checkout) = (UserId::new(2), 0, None);
            shared::shop::carts::save(&shop.db, &cart).await.unwrap();
        }
        let context = load(&instance.db, user, None).await.unwrap();
        let loaded = LoadedCart::load(&instance.sources(&shop), context, None).await.unwrap();
        let lines = loaded.lines();
        assert_eq!(lines[0].availability.limits.global_current, Some(left), "user {user}");
        assert_eq!(loaded.codes(&lines, true, tests::NOW).coupon.unwrap().is_ok(), applies, "user {user}");
    }
}

#[tokio::test]
async fn a_player_without_an_account_gets_one_when_the_gift_is_paid() {
    let shop = Shop::open().await;
    shop.fill_with(1, vec![gift(1, GIFT, "Newcomer"), gift(2, TWENTY, "newcomer")], None).await;
    let checkout = shop.create(1).await.unwrap();
    let name = shared::model::PlayerName::parse("Newcomer").unwrap();
    let key = keys::name(name.key());
    let row = || read_live::<NameRow>(&shop.db, &key);
    assert_eq!(row().await.unwrap(), None);
    shop.pay(&checkout.order).await;
    let user = row().await.unwrap().unwrap().user;
    let stored = shop.order(&checkout.order).await;
    assert!(stored.order.lines.iter().all(|line| line.recipient == Some(user)), "{:?}", stored.order.lines);
    assert_eq!((shop.held(user.get(), GIFT).await, shop.held(user.get(), TWENTY).await), (1, 1));
    assert_eq!(shop.held(1, GIFT).await, 0);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_request_that_was_killed_with_its_order_written_is_taken_over_at_once() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 5)], None).await;
    // The first transaction notes the units that are about to be counted, the second writes the order.
    shop.create_by(&shop.killed_at_transaction(2, true), 1).await.unwrap_err();
    assert_eq!((shop.sold(FIVE).await, shop.stand_in.sessions().len()), (5, 0));
    let order = shop.create(1).await.unwrap().order;
    assert_eq!((shop.sold(FIVE).await, shop.stand_in.sessions().len()), (5, 1));
    assert_eq!(shop.orders().await.len(), 1, "the same order goes on");
    shop.pay(&order).await;
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn units_of_a_request_that_was_killed_before_its_order_come_back_within_six_minutes() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 5)], None).await;
    shop.create_by(&shop.killed_at_transaction(2, false), 1).await.unwrap_err();
    assert_eq!(shop.sold(FIVE).await, 5);
    // Nothing says whose units they are before the row is due.
    let refused = shop.create(1).await.unwrap_err();
    let is_gone =
        |refusal: &CheckoutRefusal| matches!(refusal, CheckoutRefusal::SoldOut { .. } | CheckoutRefusal::Left { .. });
    assert!(matches!(&refused, Refused::Refused(refusal) if is_gone(refusal)), "{refused:?}");
    shop.clock.advance(Duration::from_mins(6));
    shop.sweep().await;
    assert_eq!(shop.sold(FIVE).await, 0);
    shop.create(1).await.unwrap();
    assert_eq!(shop.sold(FIVE).await, 5);
}

/// A checkout that has not been opened: its request to the provider was lost.
async fn not_opened(shop: &Shop) -> InternalId {
    shop.fill(1, &[(FIVE, 1)], None).await;
    shop.stand_in.inject(AWAY.on(SESSIONS));
    assert!(matches!(shop.create(1).await.unwrap_err(), Refused::Provider(_)));
    shop.cart(1).await.checkout.unwrap().order
}

#[tokio::test]
async fn a_session_of_the_version_before_whose_response_was_lost_is_followed_by_one_to_pay() {
    for (is_paid_first, is_retried) in [(false, true), (true, true), (false, false)] {
        let shop = Shop::open().await;
        let order = not_opened(&shop).await;
        let before = shop.foreign_under(Some(format!("{order}-1")), Some(order.as_str()), 100, "eur").await;
        if !is_retried {
            // The order has no other session: its end is the order's.
            shop.act(&before, Action::Expire);
            shop.hear(&WebhookEvent::Checkout(before)).await;
            assert_eq!((shop.status(&order).await, shop.sold(FIVE).await), (OrderStatus::Cancelled, 0));
            continue;
        }
        assert_eq!(shop.create(1).await.unwrap().order, order);
        let own = shop.says(&order).await.session;
        assert_ne!(own, before);
        if is_paid_first {
            shop.pay(&order).await;
        }
        shop.act(&before, Action::Expire);
        let (acted, events) = Box::pin(payment_events(shop.desk().act(&WebhookEvent::Checkout(before)))).await;
        acted.unwrap();
        assert_eq!(events, [], "nobody has to look at it");
        if !is_paid_first {
            assert_eq!(shop.status(&order).await, OrderStatus::Pending);
            shop.pay(&order).await;
        }
        assert_eq!((shop.status(&order).await, shop.sold(FIVE).await), (OrderStatus::Paid, 1));
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn a_buyer_whose_checkout_can_no_longer_be_opened_gets_another_at_once() {
    let shop = Shop::open().await;
    let order = not_opened(&shop).await;
    shop.clock.advance(Duration::from_mins(10));
    let next = shop.create(1).await.unwrap();
    assert!(next.order != order && next.url.is_some());
    assert_eq!((shop.status(&order).await, shop.sold(FIVE).await), (OrderStatus::Cancelled, 1));
    shop.pay(&next.order).await;
    assert_quiet(&shop).await;
}
