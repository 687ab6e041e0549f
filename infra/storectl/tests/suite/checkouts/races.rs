//! Many buyers at once, over connections of their own.

use super::books::{assert_books, assert_none_payable, assert_quiet, count_paid};
use super::support::{Market, PRICE, Refused, TWENTY, line};
use crate::orders_sums::orders;
use crate::orders_support::{BALANCE, FIVE, PLAIN, user};
use futures_util::future::join_all;
use shared::model::{InternalId, Money, OrderStatus, UserId};
use shared::rules::payment::{PaymentState, Progress};
use shared::store::{keys, statistics};
use shared::usecases::checkouts::{Settled, settle_with};
use std::collections::{BTreeMap, BTreeSet};

const NO_BALANCES: BTreeMap<u64, i64> = BTreeMap::new();

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn twenty_units_are_twenty_checkouts() {
    let market = Market::open().await;
    let buyers: Vec<u64> = (1_000..1_064).collect();
    for buyer in &buyers {
        market.shop.put(&keys::user(UserId::new(*buyer)), &user(*buyer)).await;
        market.fill(*buyer, &[(TWENTY, 1)], None).await;
    }
    let instances = market.instances(8);
    let all =
        join_all(buyers.iter().zip(instances.iter().cycle()).map(|(buyer, by)| market.create_by(by, *buyer))).await;
    let opened: Vec<InternalId> = all.iter().flatten().map(|checkout| checkout.order.clone()).collect();
    assert_eq!((opened.len(), market.provider.opened(), market.shop.sold(TWENTY).await), (20, 20, 20));
    for refused in all.iter().filter_map(|created| created.as_ref().err()) {
        assert!(matches!(refused, Refused::Refused(_)), "{refused:?}");
    }
    for order in &opened {
        assert!(market.provider.pay(order));
    }
    join_all(opened.iter().map(|order| market.settle(order))).await;
    assert_eq!(count_paid(&market).await, 20);
    market.sweep_later().await;
    assert_eq!(market.unfinished().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_coupon_is_on_as_many_checkouts_as_it_has_uses() {
    let market = Market::open().await;
    for buyer in 1..=24 {
        market.fill(buyer, &[(PLAIN, 1)], Some("few")).await;
    }
    let instances = market.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| market.create_by(by, buyer))).await;
    let ok = all.iter().filter(|created| created.is_ok()).count();
    let removed = all.iter().filter(|created| matches!(created, Err(Refused::CodeRemoved { .. }))).count();
    assert_eq!((ok, removed, market.shop.uses("few").await), (3, 21, 3), "{all:?}");
    assert_books(&market, &NO_BALANCES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_gift_card_is_spent_to_the_cent() {
    let market = Market::open().await;
    for buyer in 1..=24 {
        market.fill(buyer, &[(PLAIN, 3)], Some("card")).await;
    }
    let instances = market.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| market.create_by(by, buyer))).await;
    let orders = orders(&market.shop.db).await;
    let parts: BTreeSet<i64> =
        orders.iter().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).collect();
    assert_eq!((market.shop.balance().await, parts), (0, BTreeSet::from([BALANCE % (3 * PRICE), 3 * PRICE])));
    assert_eq!(all.iter().filter(|created| created.is_ok()).count(), 4, "{all:?}");
    assert_books(&market, &NO_BALANCES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn fifty_requests_for_one_cart_are_one_order() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], Some("once")).await;
    let instances = market.instances(8);
    let all = join_all((0..50).zip(instances.iter().cycle()).map(|(_, by)| market.create_by(by, 1))).await;
    let ids: BTreeSet<String> = all.iter().map(|created| created.as_ref().unwrap().order.to_string()).collect();
    assert_eq!((ids.len(), orders(&market.shop.db).await.len(), market.provider.opened()), (1, 1, 1));
    assert_eq!((market.shop.sold(FIVE).await, market.shop.uses("once").await), (2, 1));
    market.sweep_later().await;
    assert_quiet(&market, &NO_BALANCES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_checkout_a_changed_cart_a_payment_and_its_end_at_once() {
    for round in 0..12_u32 {
        let market = Market::open().await;
        market.fill(1, &[(FIVE, 2)], Some("once")).await;
        let first = market.create(1).await.unwrap().order;
        let instances = market.instances(8);
        let change = async {
            let mut cart = market.cart(1).await;
            cart.lines.push(line(9, PLAIN, 1));
            let _ = shared::store::carts::save(&instances[1].db, &cart).await.unwrap();
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
        assert_books(&market, &NO_BALANCES).await;
        market.sweep_later().await;
        assert_none_payable(&market).await;
        assert_quiet(&market, &NO_BALANCES).await;
    }
}

async fn look(market: &Market, order: &InternalId, db: &shared::store::Db) {
    let state = market.provider.state(order).unwrap();
    settle_with(db, market.clock(), &market.provider, order, &state).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_payment_that_is_seen_a_hundred_times_counts_once() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], Some("once")).await;
    let order = market.create(1).await.unwrap().order;
    market.provider.pay(&order);
    let instances = market.instances(8);
    let state = market.provider.state(&order).unwrap();
    let all = join_all(
        (0..100)
            .zip(instances.iter().cycle())
            .map(|(_, by)| settle_with(&by.db, market.clock(), &market.provider, &order, &state)),
    )
    .await;
    // Requests that send the same transaction concurrently all learn that it was written; it was written once.
    assert!(
        all.iter().all(Result::is_ok) && all.iter().any(|settled| matches!(settled, Ok(Settled::Changed))),
        "{all:?}"
    );
    market.sweep_later().await;
    assert_eq!((market.shop.sold(FIVE).await, market.shop.held(1, FIVE).await), (2, 2));
    let donors = statistics::patrons(&market.shop.db).await.unwrap();
    assert_eq!(donors.iter().map(|donor| donor.amount).collect::<Vec<_>>(), [Money::from_minor(180)]);
    assert_quiet(&market, &NO_BALANCES).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_of_a_payment_may_arrive_in_any_order() {
    let open = PaymentState {
        session: String::new(),
        order: None,
        amount: Money::from_minor(180),
        currency: "eur".to_owned(),
        same_mode: true,
        progress: Progress::Open,
        intent: None,
        refunded: Money::ZERO,
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
    };
    let paid = PaymentState { progress: Progress::Paid, intent: Some("intent".to_owned()), ..open.clone() };
    let processing = PaymentState { progress: Progress::Processing, ..open.clone() };
    let refunded = PaymentState { refunded: Money::from_minor(60), ..paid.clone() };
    for states in permutations(&[open, paid, processing, refunded]) {
        let market = Market::open().await;
        market.fill(1, &[(FIVE, 2)], Some("once")).await;
        let order = market.create(1).await.unwrap().order;
        for state in states.iter().chain(&states) {
            let state = PaymentState { session: order.to_string(), order: Some(order.clone()), ..state.clone() };
            settle_with(&market.shop.db, market.clock(), &market.provider, &order, &state).await.unwrap();
        }
        let stored = market.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, 60));
        assert_eq!(market.shop.number(&keys::ledger(UserId::new(1)), &format!("p{FIVE}")).await, 120);
        market.sweep().await;
        let donors = statistics::patrons(&market.shop.db).await.unwrap();
        assert_eq!(donors.len(), 1);
        assert_quiet(&market, &NO_BALANCES).await;
    }
}
