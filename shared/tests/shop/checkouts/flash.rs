//! A flash sale: many buyers at the same moment for one item, on a model of contention.

use crate::books::count_paid;
use crate::contention::Contention;
use crate::shop::{Instance, PLAIN, Refused, Shop, TWENTY, user};
use futures_util::future::join_all;
use shared::model::{InternalId, ItemId, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::payments::Checkout;
use shared::table::{StoreError, keys};
use std::time::{Duration, Instant};
use tests::count;

/// Buyers from this id on.
const FIRST: u64 = 1_000;

/// Each has one unit in the cart. `BUYERS` sets how many there are.
async fn buyers(shop: &Shop, item: u64, on_cart: Option<&str>) -> Vec<u64> {
    let buyers: Vec<u64> = (FIRST..FIRST + u64::from(count("BUYERS", 64))).collect();
    join_all(buyers.iter().map(|id| async {
        shop.put(&keys::user(UserId::new(*id)), &user(*id)).await;
        shop.fill(*id, &[(item, 1)], on_cart).await;
    }))
    .await;
    buyers
}

/// Every buyer begins a checkout at the same moment, through eight instances. The results and the slowest one's time.
async fn all_begin(shop: &Shop, model: &Contention, buyers: &[u64]) -> (Vec<Result<Checkout, Refused>>, Duration) {
    let db = || model.db(shop.access(), shop.db.table());
    let instances: Vec<Instance> = (0..8).map(|_| Instance::new(db())).collect();
    let started = Instant::now();
    let begin = buyers.iter().zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, *buyer));
    let results = join_all(begin).await;
    (results, started.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_of_many_buyers_get_the_last_twenty_and_the_others_are_refused() {
    let shop = Shop::open().await;
    let buyers = buyers(&shop, TWENTY, None).await;
    let model = Contention::default();
    let (results, slowest) = all_begin(&shop, &model, &buyers).await;
    let opened: Vec<InternalId> = results.iter().flatten().map(|checkout| checkout.order.clone()).collect();
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(refused, Refused::Refused(CheckoutRefusal::SoldOut { .. })), "{refused:?}");
    }
    assert_eq!((opened.len(), shop.stand_in.sessions().len(), shop.sold(TWENTY).await), (20, 20, 20));
    let (cancelled, sent) = model.counts();
    report(&format!("{} buyers: slowest {slowest:?}, {cancelled} of {sent} writes cancelled", buyers.len()));
    assert_eq!(cancelled, 0, "a sale in which nothing ends has no contention");
    assert!(slowest < Duration::from_secs(30), "{slowest:?}");
    join_all(opened.iter().map(|order| shop.pay(order))).await;
    assert_eq!(count_paid(&shop).await, 20);
    shop.sweep_later().await;
    assert_eq!(shop.unfinished().await, 0);
    let row = shop.db.get(&keys::count(ItemId::new(TWENTY)), true).await.unwrap().unwrap();
    assert!(!row.contains_key("reserving"), "{row:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn checkouts_of_one_item_do_not_wait_for_each_other() {
    let shop = Shop::open().await;
    let buyers = buyers(&shop, PLAIN, None).await;
    let model = Contention::default();
    let (results, took) = all_begin(&shop, &model, &buyers).await;
    for result in results {
        assert!(result.unwrap().url.is_some());
    }
    assert_eq!(shop.sold(PLAIN).await, i64::try_from(buyers.len()).unwrap());
    let (cancelled, sent) = model.counts();
    report(&format!("{} checkouts in {took:?}: {cancelled} of {sent} writes cancelled", buyers.len()));
    assert_eq!(cancelled, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_coupon_that_all_buyers_share_is_used_once_for_each_checkout() {
    let shop = Shop::open().await;
    let buyers = buyers(&shop, PLAIN, Some("free")).await;
    let model = Contention::default();
    let (results, took) = all_begin(&shop, &model, &buyers).await;
    let open = results.iter().filter(|result| result.is_ok()).count();
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(error, Refused::Store(StoreError::Contended)), "{error:?}");
    }
    let sums = (shop.uses("free").await, shop.sold(PLAIN).await);
    assert_eq!(sums, (i64::try_from(open).unwrap(), i64::try_from(open).unwrap()));
    let (cancelled, sent) = model.counts();
    let again = buyers.len() - open;
    report(&format!(
        "{} checkouts with one coupon in {took:?}: {again} asked to try again, {cancelled} of {sent} writes cancelled",
        buyers.len()
    ));
}

#[expect(clippy::print_stderr, reason = "a measurement, shown with --nocapture")]
fn report(text: &str) {
    eprintln!("{text}");
}
