//! Many buyers at once, over connections of their own.

use crate::books::{assert_books, assert_none_payable, assert_quiet};
use crate::market::{Market, PRICE, Refused, line};
use crate::provider::payment;
use crate::shop::{BALANCE, FIVE, PLAIN};
use crate::sums::orders;
use futures_util::future::join_all;
use shared::model::{InternalId, Money, OrderStatus, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::payments::{Desk, Settled};
use shared::shop::statistics;
use shared::table::keys;
use std::collections::BTreeSet;
use tests::TestClock;

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_coupon_is_on_as_many_checkouts_as_it_has_uses() {
    let market = Market::open().await;
    for buyer in 1..=24 {
        market.fill(buyer, &[(PLAIN, 1)], Some("few")).await;
    }
    let instances = market.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| market.create_by(by, buyer))).await;
    let ok = all.iter().filter(|created| created.is_ok()).count();
    let removed = all
        .iter()
        .filter(|created| matches!(created, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. }))))
        .count();
    assert_eq!((ok, removed, market.uses("few").await), (3, 21, 3), "{all:?}");
    assert_books(&market).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_gift_card_is_spent_to_the_cent() {
    let market = Market::open().await;
    for buyer in 1..=24 {
        market.fill(buyer, &[(PLAIN, 3)], Some("card")).await;
    }
    let instances = market.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| market.create_by(by, buyer))).await;
    let orders = orders(&market.db).await;
    let parts: BTreeSet<i64> =
        orders.iter().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).collect();
    assert_eq!((market.balance().await, parts), (0, BTreeSet::from([BALANCE % (3 * PRICE), 3 * PRICE])));
    assert_eq!(all.iter().filter(|created| created.is_ok()).count(), 4, "{all:?}");
    assert_books(&market).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn fifty_requests_for_one_cart_are_one_order() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], Some("once")).await;
    let instances = market.instances(8);
    let all = join_all((0..50).zip(instances.iter().cycle()).map(|(_, by)| market.create_by(by, 1))).await;
    let ids: BTreeSet<String> = all.iter().map(|created| created.as_ref().unwrap().order.to_string()).collect();
    assert_eq!((ids.len(), orders(&market.db).await.len(), market.provider.opened()), (1, 1, 1));
    assert_eq!((market.sold(FIVE).await, market.uses("once").await), (2, 1));
    market.sweep_later().await;
    assert_quiet(&market).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_checkout_a_changed_cart_a_payment_and_its_end_at_once() {
    for round in 0..12_u32 {
        let market = Market::open().await;
        let first = market.checkout(1, &[(FIVE, 2)], Some("once")).await;
        let instances = market.instances(8);
        let change = async {
            let mut cart = market.cart(1).await;
            cart.lines.push(line(9, PLAIN, 1));
            // It may lose against the payment.
            _ = shared::shop::carts::save(&instances[1].db, &cart).await;
        };
        let pay = async {
            if round % 3 != 0 {
                tokio::task::yield_now().await;
            }
            market.provider.pay(&first);
            look(&market, &first, &instances[2].db).await;
        };
        let expire = async {
            market.provider.end(&first, Progress::Expired);
            look(&market, &first, &instances[3].db).await;
        };
        let (created, again, (), (), ()) =
            tokio::join!(market.create_by(&instances[0], 1), market.create_by(&instances[4], 1), change, pay, expire);
        for created in [created, again] {
            assert!(!matches!(created, Err(Refused::Store(_) | Refused::Load(_))), "{created:?}");
        }
        market.settle(&first).await;
        let progress = market.provider.state(&first).unwrap().progress;
        let expected = if progress == Progress::Paid { OrderStatus::Paid } else { OrderStatus::Cancelled };
        assert_eq!(market.status(&first).await, expected);
        assert_books(&market).await;
        market.sweep_later().await;
        assert_none_payable(&market).await;
        assert_quiet(&market).await;
    }
}

async fn look(market: &Market, order: &InternalId, db: &shared::table::Db) {
    let state = market.provider.state(order).unwrap();
    Desk::new(db, &market.clock, &market.provider).apply(order, &state).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_payment_that_is_seen_a_hundred_times_counts_once() {
    let market = Market::open().await;
    let order = market.checkout(1, &[(FIVE, 2)], Some("once")).await;
    market.provider.pay(&order);
    let instances = market.instances(8);
    let state = market.provider.state(&order).unwrap();
    let all = join_all(
        (0..100)
            .zip(instances.iter().cycle())
            .map(|(_, by)| async { Desk::new(&by.db, &market.clock, &market.provider).apply(&order, &state).await }),
    )
    .await;
    // Requests that send the same transaction concurrently all learn that it was written; it was written once.
    assert!(
        all.iter().all(Result::is_ok) && all.iter().any(|settled| matches!(settled, Ok(Some(Settled::Changed)))),
        "{all:?}"
    );
    market.sweep_later().await;
    assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (2, 2));
    let donors = statistics::patrons(&market.db).await.unwrap();
    assert_eq!(donors.iter().map(|donor| donor.amount).collect::<Vec<_>>(), [Money::from_minor(180)]);
    assert_quiet(&market).await;
}

/// Every order of these.
fn permutations(of: &[PaymentState]) -> Vec<Vec<PaymentState>> {
    let [first, rest @ ..] = of else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for permutation in permutations(rest) {
        for place in 0..=permutation.len() {
            let mut with = permutation.clone();
            with.insert(place, first.clone());
            all.push(with);
        }
    }
    all
}

/// The states of a payment of 180 that was refunded up to this amount, in every order.
fn said_in_any_order(refunded: i64) -> Vec<Vec<PaymentState>> {
    let open = payment(&InternalId::new("order"), Money::from_minor(180));
    let paid = PaymentState { progress: Progress::Paid, intent: Some("intent".to_owned()), ..open.clone() };
    let processing = PaymentState { progress: Progress::Processing, ..open.clone() };
    let refunded = PaymentState { refunded: Money::from_minor(refunded), ..paid.clone() };
    permutations(&[open, paid, processing, refunded])
}

async fn hear(market: &Market, order: &InternalId, state: &PaymentState) {
    let state = PaymentState { session: order.to_string(), order: Some(order.clone()), ..state.clone() };
    market.desk().apply(order, &state).await.unwrap();
}

#[tokio::test]
async fn what_is_refunded_in_full_is_not_paid_by_an_older_read() {
    for states in said_in_any_order(180) {
        let market = Market::open().await;
        let order = market.checkout(1, &[(FIVE, 2)], Some("once")).await;
        let mut is_refunded = false;
        for state in states.iter().chain(&states) {
            hear(&market, &order, state).await;
            is_refunded |= state.is_refunded();
            assert_ne!((is_refunded, market.status(&order).await), (true, OrderStatus::Paid), "{states:?}");
        }
        market.sweep().await;
        assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (0, 0));
        assert_quiet(&market).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_reads_that_meet_an_older_one_does_not_pay_what_is_refunded_in_full() {
    for is_older_first in [true, false] {
        let market = Market::open().await;
        let order = market.checkout(1, &[(FIVE, 2)], Some("once")).await;
        market.provider.end(&order, Progress::Failed);
        market.settle(&order).await;
        let [mut first, mut second] = [0, 180].map(|refunded| PaymentState {
            progress: Progress::Paid,
            intent: Some("intent".to_owned()),
            refunded: Money::from_minor(refunded),
            ..payment(&order, Money::from_minor(180))
        });
        if !is_older_first {
            std::mem::swap(&mut first, &mut second);
        }
        // The first has read the order, and writes when the second has written.
        let (provider, id) = (market.provider.clone(), order.clone());
        let interrupted = market.interrupted(1, move |db| {
            let (provider, id, second) = (provider.clone(), id.clone(), second.clone());
            async move {
                Desk::new(&db, &TestClock::new(), &provider).apply(&id, &second).await.unwrap();
            }
        });
        Desk::new(&interrupted, &market.clock, &market.provider).apply(&order, &first).await.unwrap();
        assert_ne!(market.status(&order).await, OrderStatus::Paid, "the older one first: {is_older_first}");
        market.sweep_later().await;
        assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (0, 0));
        assert_quiet(&market).await;
    }
}

#[tokio::test]
async fn what_was_said_of_a_payment_may_arrive_in_any_order() {
    for states in said_in_any_order(60) {
        let market = Market::open().await;
        let order = market.checkout(1, &[(FIVE, 2)], Some("once")).await;
        for state in states.iter().chain(&states) {
            hear(&market, &order, state).await;
        }
        let stored = market.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, 60));
        assert_eq!(market.number(&keys::ledger(UserId::new(1)), &format!("p{FIVE}")).await, 120);
        market.sweep().await;
        let donors = statistics::patrons(&market.db).await.unwrap();
        assert_eq!(donors.len(), 1);
        assert_quiet(&market).await;
    }
}
