//! Open checkouts of an address with limited items, by many buyers at once and under faults.

use crate::books::assert_books;
use crate::shop::{Instance, PLAIN, Refused, Shop, TWENTY, code, request, user};
use futures_util::future::join_all;
use serde_json::json;
use shared::model::UserId;
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::payments::{CHECKOUTS, Checkout};
use shared::shop::stock::open_limited::MOST_OPEN;
use shared::table::keys;
use std::time::Duration;
use tests::{Fault, Prepared};

const HOME: &str = "203.0.113.5";
/// After this time an address may begin as many checkouts again.
const ATTEMPTS: Duration = Duration::from_secs(CHECKOUTS.seconds + 1);

async fn create(shop: &Shop, by: &Instance, user: u64) -> Result<Checkout, Refused> {
    shop.create_as(by, user, request(Some(HOME))).await
}

/// Gives each buyer an account and one of twenty units.
async fn enter(shop: &Shop, buyers: impl Iterator<Item = u64>) {
    for buyer in buyers {
        shop.put(&keys::user(UserId::new(buyer)), &user(buyer)).await;
        shop.fill(buyer, &[(TWENTY, 1)], None).await;
    }
}

/// Begins a checkout for each buyer, and waits until the address may begin as many again: here only what is open counts.
async fn begin_and_wait(shop: &Shop, buyers: impl Iterator<Item = u64>) -> Vec<Checkout> {
    let mut begun = Vec::new();
    for buyer in buyers {
        begun.push(create(shop, &shop.instance(), buyer).await.unwrap());
    }
    shop.clock.advance(ATTEMPTS);
    begun
}

fn is_full(created: &Result<Checkout, Refused>) -> bool {
    matches!(created, Err(Refused::Refused(CheckoutRefusal::TooManyOpen { .. })))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_twenty_from_one_address_ten_begin_and_the_others_hold_nothing() {
    let shop = Shop::open().await;
    enter(&shop, 1_000..1_020).await;
    let instances = shop.instances(8);
    let all = begin_and_wait(&shop, 1_000..1_005).await;
    let at_once =
        join_all((1_005..1_020).zip(instances.iter().cycle()).map(|(buyer, by)| create(&shop, by, buyer))).await;
    let all: Vec<_> = all.into_iter().map(Ok).chain(at_once).collect();
    let begun: Vec<&Checkout> = all.iter().flatten().collect();
    assert_eq!(
        (begun.len(), all.iter().filter(|created| is_full(created)).count()),
        (MOST_OPEN, 20 - MOST_OPEN),
        "{all:?}"
    );
    assert_eq!(
        (shop.sold(TWENTY).await, shop.stand_in.sessions().len()),
        (i64::try_from(MOST_OPEN).unwrap(), MOST_OPEN)
    );
    assert_books(&shop).await;
    // Those that are paid leave their places to as many others, and not more.
    for checkout in begun.iter().take(4) {
        shop.pay(&checkout.order).await;
    }
    let late: Vec<u64> = (1_000..).zip(&all).filter(|(_, created)| is_full(created)).map(|(buyer, _)| buyer).collect();
    let again = join_all(late.iter().zip(instances.iter().cycle()).map(|(buyer, by)| create(&shop, by, *buyer))).await;
    assert_eq!(again.iter().filter(|created| created.is_ok()).count(), 4, "{again:?}");
    assert_eq!(again.iter().filter(|created| is_full(created)).count(), late.len() - 4, "{again:?}");
}

#[tokio::test]
async fn an_address_holds_only_so_many_uses_of_a_coupon() {
    let shop = Shop::open().await;
    let coupon = json!({
        "kind": "coupon", "id": 9, "code": "many", "active": true, "discount": { "percentage": 1_000 }, "max_uses": 50,
    });
    shop.put(&keys::code(&code("many")), &coupon).await;
    for buyer in 1_000..=1_010 {
        shop.put(&keys::user(UserId::new(buyer)), &user(buyer)).await;
        shop.fill(buyer, &[(PLAIN, 1)], Some("many")).await;
    }
    begin_and_wait(&shop, 1_000..1_010).await;
    assert!(is_full(&create(&shop, &shop.instance(), 1_010).await));
    assert_eq!(shop.uses("many").await, 10);
}

/// A place is not lost for longer than a minute, and none is had twice, whichever call is lost before or after its effect.
#[tokio::test]
async fn an_interrupted_checkout_takes_a_place_for_a_minute_at_most() {
    static NINE_OPEN: Prepared = Prepared::new();
    let open = async || {
        let begin = |shop: Shop| async move {
            enter(&shop, 1_000..1_012).await;
            begin_and_wait(&shop, 1_000..1_009).await;
        };
        let shop = Shop::copy_of(&NINE_OPEN, begin).await;
        shop.clock.advance(ATTEMPTS);
        shop
    };
    for fault in [Fault::Internal, Fault::ResponseLost] {
        for place in 0..14 {
            let shop = open().await;
            let failing = shop.failing(move |number, _| (number == place).then_some(fault));
            let interrupted = create(&shop, &failing, 1_009).await;
            shop.clock.advance(Duration::from_secs(61));
            shop.sweep().await;
            let last = create(&shop, &shop.instance(), 1_010).await;
            let again = create(&shop, &shop.instance(), 1_009).await;
            // A checkout that was begun goes on; one that was not has left its place to the next.
            assert!(again.is_ok() != last.is_ok(), "{fault:?} {place}: {interrupted:?} {last:?} {again:?}");
            assert!(is_full(&create(&shop, &shop.instance(), 1_011).await), "{fault:?} {place}");
        }
    }
}
