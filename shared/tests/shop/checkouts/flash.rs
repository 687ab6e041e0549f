//! A flash sale: many buyers at the same moment for one item, on a model of contention, in which a transaction takes some
//! time, and is cancelled if another one is on one of its items.

use crate::shop::{Instance, PLAIN, Refused, Shop, TWENTY, user};
use crate::sums::count_paid;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::model::{InternalId, ItemId, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::payments::Checkout;
use shared::table::{Access, Db, StoreError, connector, keys};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::count;

/// How long a transaction is on its items.
const TRANSACTION: Duration = Duration::from_millis(15);

/// The items that transactions are on, and how often one was cancelled. Clones share them.
#[derive(Debug, Clone, Default)]
struct Contention {
    busy: Arc<Mutex<BTreeSet<String>>>,
    cancelled: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
}

impl Contention {
    /// A table through a client that meets contention.
    fn db(&self, access: Access, table: &str) -> Db {
        let client = Contended { inner: connector::plain_client(), model: self.clone() };
        let (retries, http_client) = (RetryConfig::disabled(), SharedHttpClient::new(client));
        Db::new(Access { retries, http_client, ..access }, table)
    }

    /// How many writes were cancelled, and how many were sent.
    fn counts(&self) -> (usize, usize) {
        (self.cancelled.load(Ordering::SeqCst), self.sent.load(Ordering::SeqCst))
    }

    /// Takes a transaction's items; the places of those that are taken already, if there are any.
    fn begin(&self, keys: &[String]) -> Option<Vec<bool>> {
        let mut busy = self.busy.lock().unwrap();
        let taken: Vec<bool> = keys.iter().map(|key| busy.contains(key)).collect();
        if taken.contains(&true) {
            return Some(taken);
        }
        busy.extend(keys.iter().cloned());
        None
    }

    fn end(&self, keys: &[String]) {
        let mut busy = self.busy.lock().unwrap();
        for key in keys {
            busy.remove(key);
        }
    }
}

#[derive(Debug, Clone)]
struct Contended {
    inner: SharedHttpClient,
    model: Contention,
}

impl HttpClient for Contended {
    fn http_connector(&self, settings: &HttpConnectorSettings, parts: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, parts);
        SharedHttpConnector::new(Connector { inner, model: self.model.clone() })
    }
}

#[derive(Debug, Clone)]
struct Connector {
    inner: SharedHttpConnector,
    model: Contention,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { inner, model } = self.clone();
        let operation = tests::operation(&request).to_owned();
        if operation != "TransactWriteItems" && operation != "UpdateItem" {
            return inner.call(request);
        }
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
        let keys = written_keys(&body);
        let is_transaction = operation == "TransactWriteItems";
        HttpConnectorFuture::new(async move {
            model.sent.fetch_add(1, Ordering::SeqCst);
            if let Some(taken) = if is_transaction { model.begin(&keys) } else { model.is_busy(&keys) } {
                model.cancelled.fetch_add(1, Ordering::SeqCst);
                return Ok(cancelled(is_transaction, &taken));
            }
            if !is_transaction {
                return inner.call(request).await;
            }
            let response = inner.call(request).await;
            tokio::time::sleep(TRANSACTION).await;
            model.end(&keys);
            response
        })
    }
}

impl Contention {
    fn is_busy(&self, keys: &[String]) -> Option<Vec<bool>> {
        let busy = self.busy.lock().unwrap();
        let taken: Vec<bool> = keys.iter().map(|key| busy.contains(key)).collect();
        taken.contains(&true).then_some(taken)
    }
}

/// The keys of the items of a write.
fn written_keys(body: &Value) -> Vec<String> {
    let text = |key: &Value| format!("{} {}", key["pk"]["S"], key["sk"]["S"]);
    let Some(writes) = body["TransactItems"].as_array() else { return vec![text(&body["Key"])] };
    let writes = writes.iter().filter_map(Value::as_object).flat_map(|write| write.values());
    writes.map(|write| text(write.get("Key").unwrap_or(&write["Item"]))).collect()
}

fn cancelled(is_transaction: bool, taken: &[bool]) -> HttpResponse {
    let code = |taken: &bool| json!({ "Code": if *taken { "TransactionConflict" } else { "None" } });
    let kind = if is_transaction { "TransactionCanceledException" } else { "TransactionConflictException" };
    let reasons: Vec<Value> = taken.iter().map(code).collect();
    let kind = format!("com.amazonaws.dynamodb.v20120810#{kind}");
    let body = json!({ "__type": kind, "message": "in progress", "CancellationReasons": reasons });
    HttpResponse::new(400_u16.try_into().unwrap(), SdkBody::from(body.to_string()))
}

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
