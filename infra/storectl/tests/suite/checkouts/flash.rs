//! A flash sale: many buyers at the same moment for one item, on a model of contention.

use super::contention::Contention;
use super::support::{Instance, Market, PRICE, Refused, TWENTY};
use crate::orders_support::{PLAIN, user};
use futures_util::future::join_all;
use shared::model::{ItemId, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::store::keys;
use std::time::{Duration, Instant};

/// Buyers from this id on.
const FIRST: u64 = 1_000;

async fn buyers(market: &Market, count: u64, item: u64, on_cart: Option<&str>) -> Vec<u64> {
    let buyers: Vec<u64> = (FIRST..FIRST + count).collect();
    join_all(buyers.iter().map(|id| async {
        market.shop.put(&keys::user(UserId::new(*id)), &user(*id)).await;
        market.fill(*id, &[(item, 1)], on_cart).await;
    }))
    .await;
    buyers
}

fn instances(market: &Market, model: &Contention, count: usize) -> Vec<Instance> {
    let db = || model.db(market.shop.access(), market.shop.db.table());
    (0..count).map(|_| Instance::new(db())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_of_two_hundred_buyers_get_the_last_twenty_and_the_others_are_told() {
    let market = Market::open().await;
    let buyers = buyers(&market, 200, TWENTY, None).await;
    let model = Contention::default();
    let instances = instances(&market, &model, 8);
    let began = Instant::now();
    let results = join_all(buyers.iter().zip(instances.iter().cycle()).map(|(buyer, instance)| async {
        let result = market.create_by(instance, *buyer).await;
        (result, began.elapsed())
    }))
    .await;
    let slowest = results.iter().map(|(_, took)| *took).max().unwrap();
    let (mut sold, mut told) = (0, 0);
    for (result, _) in &results {
        match result {
            Ok(_) => sold += 1,
            Err(Refused::Refused(CheckoutRefusal::SoldOut { .. })) => told += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!((sold, told, market.shop.sold(TWENTY).await), (20, 180, 20));
    assert_eq!(market.provider.in_state(Progress::Open).len(), 20);
    let (cancelled, sent) = model.counts();
    report(&format!("200 buyers: slowest {slowest:?}, {cancelled} of {sent} writes cancelled"));
    assert_eq!(cancelled, 0, "a sale in which nothing ends has no contention");
    assert!(slowest < Duration::from_secs(30), "{slowest:?}");
    let row = market.shop.db.get(&keys::count(ItemId::new(TWENTY)), true).await.unwrap().unwrap();
    assert!(!row.contains_key("taking"), "{row:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn checkouts_of_one_item_do_not_wait_for_each_other() {
    let market = Market::open().await;
    let buyers = buyers(&market, 200, PLAIN, None).await;
    let model = Contention::default();
    let instances = instances(&market, &model, 8);
    let began = Instant::now();
    let results = join_all(
        buyers.iter().zip(instances.iter().cycle()).map(|(buyer, instance)| market.create_by(instance, *buyer)),
    )
    .await;
    let took = began.elapsed();
    for result in results {
        assert!(result.unwrap().url.is_some());
    }
    assert_eq!(market.shop.sold(PLAIN).await * PRICE, 200 * PRICE);
    let (cancelled, sent) = model.counts();
    report(&format!("200 checkouts in {took:?}: {cancelled} of {sent} writes cancelled"));
    assert_eq!(cancelled, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_coupon_that_all_buyers_share_is_used_once_for_each_checkout() {
    let market = Market::open().await;
    let buyers = buyers(&market, 100, PLAIN, Some("free")).await;
    let model = Contention::default();
    let instances = instances(&market, &model, 8);
    let began = Instant::now();
    let results = join_all(
        buyers.iter().zip(instances.iter().cycle()).map(|(buyer, instance)| market.create_by(instance, *buyer)),
    )
    .await;
    let took = began.elapsed();
    let (mut open, mut again) = (0, 0);
    for result in &results {
        match result {
            Ok(_) => open += 1,
            Err(Refused::Conflict) => again += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!((market.shop.uses("free").await, market.shop.sold(PLAIN).await), (open, open));
    let (cancelled, sent) = model.counts();
    report(&format!(
        "100 checkouts with one coupon in {took:?}: {open} begun, {again} asked to try again, {cancelled} of {sent} writes \
         cancelled"
    ));
}

#[expect(clippy::print_stderr, reason = "a measurement, shown with --nocapture")]
fn report(text: &str) {
    eprintln!("{text}");
}
