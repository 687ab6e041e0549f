//! Open checkouts of an address with limited items, by many buyers at once and under faults.

use super::books::assert_books;
use super::support::{Instance, Market, Refused, TWENTY};
use crate::orders_support::{PLAIN, Sabotage, user};
use futures_util::future::join_all;
use shared::model::UserId;
use shared::store::keys;
use shared::store::open_limited::MOST;
use shared::usecases::checkouts::{CHECKOUTS, Checkout, Request};
use std::collections::BTreeMap;
use std::time::Duration;

const HOME: &str = "203.0.113.5";

async fn create(market: &Market, by: &Instance, user: u64) -> Result<Checkout, Refused> {
    let request = Request {
        gateway: "Stripe",
        login: shared::model::Login::Proven,
        chat: None,
        has_consented: true,
        address: Some(HOME),
    };
    market.create_as(by, user, request).await
}

async fn market_with(buyers: impl Iterator<Item = u64>, item: u64) -> Market {
    let market = Market::open().await;
    for buyer in buyers {
        market.shop.put(&keys::user(UserId::new(buyer)), &user(buyer)).await;
        market.fill(buyer, &[(item, 1)], None).await;
    }
    market
}

/// Begins a checkout for each buyer, and waits until the address may begin as many again: here only what is open counts.
async fn begin_and_wait(market: &Market, buyers: impl Iterator<Item = u64>) -> Vec<Checkout> {
    let mut begun = Vec::new();
    for buyer in buyers {
        begun.push(create(market, &market.instance(), buyer).await.unwrap());
    }
    market.clock().advance(Duration::from_secs(CHECKOUTS.seconds + 1));
    begun
}

fn is_full(created: &Result<Checkout, Refused>) -> bool {
    matches!(created, Err(Refused::TooManyOpen { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_twenty_from_one_address_ten_begin_and_the_others_hold_nothing() {
    let market = market_with(1_000..1_020, TWENTY).await;
    let instances = market.instances(8);
    let all = begin_and_wait(&market, 1_000..1_005).await;
    let at_once =
        join_all((1_005..1_020).zip(instances.iter().cycle()).map(|(buyer, by)| create(&market, by, buyer))).await;
    let all: Vec<_> = all.into_iter().map(Ok).chain(at_once).collect();
    let begun: Vec<&Checkout> = all.iter().flatten().collect();
    assert_eq!((begun.len(), all.iter().filter(|created| is_full(created)).count()), (MOST, 20 - MOST), "{all:?}");
    assert_eq!((market.shop.sold(TWENTY).await, market.provider.opened()), (i64::try_from(MOST).unwrap(), MOST));
    assert_books(&market, &BTreeMap::new()).await;
    // Those that are paid leave their places to as many others, and not more.
    for checkout in begun.iter().take(4) {
        assert!(market.provider.pay(&checkout.order));
        market.settle(&checkout.order).await;
    }
    let late: Vec<u64> = (1_000..).zip(&all).filter(|(_, created)| is_full(created)).map(|(buyer, _)| buyer).collect();
    let again =
        join_all(late.iter().zip(instances.iter().cycle()).map(|(buyer, by)| create(&market, by, *buyer))).await;
    assert_eq!(again.iter().filter(|created| created.is_ok()).count(), 4, "{again:?}");
    assert_eq!(again.iter().filter(|created| is_full(created)).count(), late.len() - 4, "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_without_a_global_limit_need_no_place() {
    let market = market_with(1_000..1_012, PLAIN).await;
    begin_and_wait(&market, 1_000..1_006).await;
    begin_and_wait(&market, 1_006..1_012).await;
}

/// Whatever call is lost, before or after its effect: a place is not lost for longer than a minute, and none is had twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_checkout_takes_a_place_for_a_minute_at_most() {
    for fault in [Sabotage::Before, Sabotage::After] {
        for place in 0..14 {
            let market = market_with(1_000..1_012, TWENTY).await;
            begin_and_wait(&market, 1_000..1_009).await;
            let failing = market.failing(move |number, _| (number == place).then_some(fault));
            let interrupted = create(&market, &failing, 1_009).await;
            market.clock().advance(Duration::from_secs(61));
            market.sweep().await;
            let last = create(&market, &market.instance(), 1_010).await;
            let again = create(&market, &market.instance(), 1_009).await;
            // A checkout that was begun goes on; one that was not has left its place to the next.
            assert!(again.is_ok() != last.is_ok(), "{fault:?} {place}: {interrupted:?} {last:?} {again:?}");
            assert!(is_full(&create(&market, &market.instance(), 1_011).await), "{fault:?} {place}");
        }
    }
}
