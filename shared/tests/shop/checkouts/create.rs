//! Beginning a checkout.

use crate::books::{assert_books, assert_quiet};
use crate::market::{FREE, GIFT, Market, PRICE, Refused, TWENTY, VIRTUAL, gift, line, load};
use crate::shop::{BALANCE, FIVE, PLAIN, TWO_EACH};
use crate::sums::orders;
use shared::clock::Clock as _;
use shared::model::{ItemId, Money, OrderStatus, Payments, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::accounts::names::NameRow;
use shared::shop::carts::{CartSources, LoadedCart};
use shared::shop::payments::Settled;
use shared::table::{keys, read_live};
use std::time::Duration;

#[tokio::test]
async fn a_cart_becomes_an_order_that_is_paid_once() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2), (TWO_EACH, 1)], Some("once")).await;
    let checkout = market.create(1).await.unwrap();
    let stored = market.order(&checkout.order).await;
    assert_eq!(stored.order.status, OrderStatus::Pending);
    assert_eq!(stored.order.price, Money::from_minor(270), "a tenth off 3.00");
    assert_eq!(checkout.url.as_deref(), Some(format!("https://pay.example/{}", checkout.order).as_str()));
    assert_eq!((market.sold(FIVE).await, market.uses("once").await), (2, 1));
    assert_eq!((market.held(1, FIVE).await, market.unfinished().await), (0, 1));
    assert_books(&market).await;
    assert_eq!(market.settle(&checkout.order).await, Settled::Open);
    assert_eq!(market.pay(&checkout.order).await, Settled::Changed);
    assert_eq!(market.settle(&checkout.order).await, Settled::Unchanged);
    let stored = market.order(&checkout.order).await;
    assert_eq!((stored.order.status, stored.effects.due), (OrderStatus::Paid, Some(market.clock.seconds())));
    assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (2, 2));
    let cart = market.cart(1).await;
    assert!(cart.lines.is_empty() && cart.coupon.is_none() && cart.checkout.is_none(), "{cart:?}");
    assert_quiet(&market).await;
}

#[tokio::test]
async fn asking_again_finds_the_same_order_and_holds_nothing_more() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], Some("card")).await;
    let first = market.create(1).await;
    assert!(first.as_ref().is_ok_and(|checkout| checkout.url.is_none()), "the card pays for all of it: {first:?}");
    market.fill(2, &[(FIVE, 3)], None).await;
    let first = market.create(2).await.unwrap();
    for _ in 0..3 {
        assert_eq!(market.create(2).await.unwrap(), first);
    }
    assert_eq!((market.sold(FIVE).await, market.provider.opened(), market.provider.calls()), (5, 1, 1));
}

#[tokio::test]
async fn a_checkout_that_was_paid_meanwhile_is_settled_before_the_next() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    let first = market.create(1).await.unwrap();
    market.fill_with(1, vec![line(1, FIVE, 3), line(2, PLAIN, 1)], None).await;
    assert!(market.provider.pay(&first.order));
    let second = market.create(1).await.unwrap();
    assert_eq!(market.status(&first.order).await, OrderStatus::Paid);
    let rest: Vec<(ItemId, u32)> = market.cart(1).await.lines.iter().map(|line| (line.item, line.count)).collect();
    assert_eq!(rest, [(ItemId::new(FIVE), 1), (ItemId::new(PLAIN), 1)]);
    assert_eq!(market.order(&second.order).await.order.price, Money::from_minor(2 * PRICE));
    assert_books(&market).await;
}

#[tokio::test]
async fn a_buyer_who_has_paid_for_all_of_the_cart_is_sent_to_the_order() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    let checkout = market.create(1).await.unwrap();
    assert!(market.provider.pay(&checkout.order));
    // The cart was written since, so that its checkout is ended, which is how the payment is seen.
    market.fill(1, &[(FIVE, 2)], None).await;
    let again = market.create(1).await.unwrap();
    assert_eq!((again.order, again.url), (checkout.order, None));
    assert_eq!(market.refusal(1).await, "Your cart is empty.");
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_payment_that_is_being_processed_keeps_the_buyer_waiting() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    let first = market.create(1).await.unwrap();
    market.provider.end(&first.order, Progress::Processing);
    market.fill(1, &[(PLAIN, 1)], None).await;
    assert!(matches!(market.create(1).await, Err(Refused::Refused(CheckoutRefusal::Processing))));
    market.sweep_later().await;
    assert_eq!((market.status(&first.order).await, market.unfinished().await), (OrderStatus::Pending, 1));
    assert_books(&market).await;
    market.provider.set(&first.order, |state| {
        (state.progress, state.intent) = (Progress::Paid, Some("late".to_owned()));
    });
    market.sweep_later().await;
    assert_eq!(market.status(&first.order).await, OrderStatus::Paid);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn what_costs_nothing_is_paid_at_once() {
    for payments in [Payments::default(), Payments { hold_minutes: 0, ..Payments::default() }] {
        let market = Market::open_with(payments).await;
        market.fill(1, &[(FIVE, 1), (FREE, 1)], Some("card")).await;
        market.fill(2, &[(FREE, 2)], None).await;
        for buyer in [1, 2] {
            let checkout = market.create(buyer).await.unwrap();
            assert_eq!((checkout.url, market.status(&checkout.order).await), (None, OrderStatus::Paid));
        }
        assert_eq!((market.provider.calls(), market.balance().await), (0, BALANCE - PRICE));
        assert_quiet(&market).await;
    }
}

#[tokio::test]
async fn what_costs_nothing_and_was_interrupted_is_paid_by_the_sweep_after_a_minute() {
    let market = Market::open().await;
    market.fill(1, &[(PLAIN, 1)], Some("card")).await;
    let killed = market.killed_at_transaction(2, true);
    assert!(market.create_by(&killed, 1).await.is_err());
    let order = orders(&market.db).await.remove(0).order.internal_id;
    assert_eq!((market.status(&order).await, market.balance().await), (OrderStatus::Pending, BALANCE - PRICE));
    market.clock.advance(Duration::from_secs(61));
    market.sweep().await;
    assert_eq!(market.status(&order).await, OrderStatus::Paid);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn virtual_currency_is_held_and_given_back() {
    let market = Market::open().await;
    market.set_virtual_balance(1, 120).await;
    market.fill(1, &[(VIRTUAL, 2), (PLAIN, 1)], None).await;
    let checkout = market.create(1).await.unwrap();
    assert_eq!((market.virtual_balance(1).await, market.order(&checkout.order).await.order.price.minor()), (20, PRICE));
    // What the own checkout holds does not count against the own cart.
    market.fill(1, &[(VIRTUAL, 2), (PLAIN, 2)], None).await;
    let second = market.create(1).await.unwrap();
    assert_books(&market).await;
    market.provider.end(&second.order, Progress::Failed);
    market.settle(&second.order).await;
    assert_eq!((market.virtual_balance(1).await, market.status(&second.order).await), (120, OrderStatus::Failed));
    market.fill(1, &[(VIRTUAL, 2)], None).await;
    assert_eq!(market.create(1).await.unwrap().url, None);
    assert_eq!(market.virtual_balance(1).await, 20);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_store_that_holds_nothing_takes_when_it_is_paid() {
    let market = Market::open_with(Payments { hold_minutes: 0, ..Payments::default() }).await;
    for buyer in 1..=3 {
        market.fill(buyer, &[(FIVE, 3)], None).await;
    }
    let mut orders = Vec::new();
    for buyer in 1..=3 {
        orders.push(market.create(buyer).await.unwrap().order);
    }
    assert_eq!(market.sold(FIVE).await, 0);
    for order in &orders {
        market.pay(order).await;
    }
    let mut all = Vec::new();
    for order in &orders {
        all.push(market.status(order).await);
    }
    assert_eq!(all, [OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Cancelled]);
    assert_eq!((market.sold(FIVE).await, market.provider.refunds()), (3, 2));
    for order in &orders {
        market.settle(order).await;
    }
    assert_eq!(market.provider.refunds(), 2);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn what_the_own_checkout_holds_does_not_count_against_the_own_cart() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 5)], Some("once")).await;
    market.create(1).await.unwrap();
    let instance = market.instance();
    let sources = CartSources {
        db: &instance.db,
        items: &shared::table::caches::VersionedCache::default(),
        counters: &shared::shop::stock::Counters::new(Duration::ZERO),
        clock: &market.clock,
    };
    for (user, left, applies) in [(1, 0, true), (2, 5, false)] {
        if user == 2 {
            let mut cart = market.cart(1).await;
            (cart.user, cart.version, cart.checkout) = (UserId::new(2), 0, None);
            shared::shop::carts::save(&market.db, &cart).await.unwrap();
        }
        let context = load(&instance.db, user, None).await.unwrap();
        let loaded = LoadedCart::load(&sources, context, None).await.unwrap();
        let lines = loaded.lines();
        assert_eq!(lines[0].availability.limits.global_current, Some(left), "user {user}");
        assert_eq!(loaded.codes(&lines, tests::NOW).coupon.unwrap().is_ok(), applies, "user {user}");
    }
}

#[tokio::test]
async fn a_player_without_an_account_gets_one_when_the_gift_is_paid() {
    let market = Market::open().await;
    market.fill_with(1, vec![gift(1, GIFT, "Newcomer"), gift(2, TWENTY, "newcomer")], None).await;
    let checkout = market.create(1).await.unwrap();
    let name = shared::model::PlayerName::parse("Newcomer").unwrap();
    let key = keys::name(name.key());
    let row = || read_live::<NameRow>(&market.db, &key);
    assert_eq!(row().await.unwrap(), None);
    market.pay(&checkout.order).await;
    let user = row().await.unwrap().unwrap().user;
    let stored = market.order(&checkout.order).await;
    assert!(stored.order.lines.iter().all(|line| line.recipient == Some(user)), "{:?}", stored.order.lines);
    assert_eq!((market.held(user.get(), GIFT).await, market.held(user.get(), TWENTY).await), (1, 1));
    assert_eq!(market.held(1, GIFT).await, 0);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn a_request_that_was_killed_with_its_order_written_is_taken_over_at_once() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 5)], None).await;
    // The first transaction notes the units that are about to be counted, the second writes the order.
    market.create_by(&market.killed_at_transaction(2, true), 1).await.unwrap_err();
    assert_eq!((market.sold(FIVE).await, market.provider.opened()), (5, 0));
    let order = market.create(1).await.unwrap().order;
    assert_eq!((market.sold(FIVE).await, market.provider.opened()), (5, 1));
    assert_eq!(orders(&market.db).await.len(), 1, "the same order goes on");
    market.pay(&order).await;
    market.sweep_later().await;
    assert_quiet(&market).await;
}

#[tokio::test]
async fn units_of_a_request_that_was_killed_before_its_order_come_back_within_six_minutes() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 5)], None).await;
    market.create_by(&market.killed_at_transaction(2, false), 1).await.unwrap_err();
    assert_eq!(market.sold(FIVE).await, 5);
    // Nothing says whose units they are before the row is due.
    let refused = market.create(1).await.unwrap_err();
    let is_gone =
        |refusal: &CheckoutRefusal| matches!(refusal, CheckoutRefusal::SoldOut { .. } | CheckoutRefusal::Left { .. });
    assert!(matches!(&refused, Refused::Refused(refusal) if is_gone(refusal)), "{refused:?}");
    market.clock.advance(Duration::from_mins(6));
    market.sweep().await;
    assert_eq!(market.sold(FIVE).await, 0);
    market.create(1).await.unwrap();
    assert_eq!(market.sold(FIVE).await, 5);
}
