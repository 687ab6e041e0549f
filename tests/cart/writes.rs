//! Every write to a cart: its id, a lost response, and lines whose item is no longer published.

use super::support::{NEW, RICH, WORN, ask, cart_of, outcome, post, put_cart, stored, tell, text, user, view};
use crate::support::fields;
use serde_json::json;
use shared::model::{Cart, ItemId, Line};
use shared::shop::carts;
use shared::table::codec::{self, Item};
use shared::table::keys;
use shared::table::published::read_active_version;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::{Fault, NOW, Reply, TestStore, delete, put};

const UNPUBLISHED: ItemId = ItemId::new(801);

/// Sends every request that writes, each to a cart that it changes; the first response is received or lost.
async fn write_each(is_lost: bool) -> Vec<(Reply, Item)> {
    let mut written = Vec::new();
    for (path, name, body) in [
        ("/cart/removeReferral", RICH, json!({})),
        ("/cart/setReferral", WORN, json!({ "ref_code": "toadmail" })),
        ("/cart/setReferral", NEW, json!({ "ref_code": "lantern" })),
        ("/cart/acceptCoupon", RICH, json!({ "coupon": "THREEBACK" })),
        ("/cart/acceptCoupon", RICH, json!({ "coupon": "GLOW-7QXM-2K4D" })),
        ("/cart/remove/1", RICH, json!({})),
        ("/cart/removeCoupon", RICH, json!({})),
        ("/cart/removeGiftcard", WORN, json!({})),
        ("/cart/add/201", RICH, json!({})),
        ("/cart/add/201", NEW, json!({})),
        ("/cart/reload/2", RICH, json!({ "count": 5 })),
        ("/cart/setVariable/3", RICH, json!({ "var_id": 2, "var_value": "Ash" })),
        ("/cart/setSelectedServer/4", RICH, json!({ "server_id": 2 })),
        ("/cart/changePrice/6", RICH, json!({ "price": "4.50" })),
    ] {
        let store = TestStore::open().await;
        if is_lost {
            let mut first = Some(Fault::ResponseLost);
            store.faults.inject(move |operation| if operation == "UpdateItem" { first.take() } else { None });
        }
        let reply = post(&store, path, name, &body).await;
        let tries = store.calls.operations().iter().filter(|operation| *operation == "UpdateItem").count();
        assert_eq!(tries, if is_lost { 2 } else { 1 }, "{path}");
        let mut cart = store.db.get(&keys::cart(user(name)), true).await.unwrap().unwrap();
        cart.remove("last_write").expect("the id of the write");
        written.push((reply, cart));
    }
    written
}

#[tokio::test]
async fn a_write_whose_response_is_lost_is_written_once_and_reported_the_same() {
    let (plain, lost) = (Box::pin(write_each(false)).await, Box::pin(write_each(true)).await);
    for ((plain, cart), (lost, cart_after_loss)) in plain.iter().zip(&lost) {
        assert_eq!((plain.status.as_u16(), &plain.json()["success"]), (200, &json!(true)), "{}", plain.text);
        assert_eq!(lost.text, plain.text);
        assert_eq!(cart_after_loss, cart);
    }
}

/// Status of a request that adds one unit, and the units in the cart after it, if its first write was done, and `retried`
/// happened before the second.
async fn added(retried: impl Fn(&TestStore) -> Option<Fault> + Send + Sync + 'static) -> (u16, u32) {
    let store = Arc::new(TestStore::open().await);
    let (writes, other) = (AtomicUsize::new(0), Arc::clone(&store));
    store.faults.inject(move |operation| match (operation, writes.load(Ordering::SeqCst)) {
        ("UpdateItem", 0) => {
            writes.store(1, Ordering::SeqCst);
            Some(Fault::ResponseLost)
        }
        ("UpdateItem", 1) => {
            writes.store(2, Ordering::SeqCst);
            retried(&other)
        }
        _ => None,
    });
    let reply = post(&store, "/cart/add/401", NEW, &json!({ "server_id": 1 })).await;
    store.faults.clear();
    (reply.status.as_u16(), stored(&store, NEW).await.unwrap().lines.iter().map(|line| line.count).sum())
}

/// Writes the cart so many times.
fn write_again(store: &TestStore, times: usize) -> Option<Fault> {
    let write = async {
        for _ in 0..times {
            let cart = stored(store, NEW).await.unwrap();
            carts::save(&store.db, &cart).await.unwrap();
        }
    };
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(write));
    None
}

#[tokio::test]
async fn a_lost_write_that_then_meets_a_transaction_is_not_done_again() {
    assert_eq!(added(|_| Some(Fault::TransactionConflict)).await, (200, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_write_is_recognised_after_other_requests_have_written() {
    for times in [1, 5] {
        assert_eq!(added(move |store| write_again(store, times)).await, (200, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_write_that_can_no_longer_be_recognised_is_not_done_again() {
    for times in [6, 20] {
        assert_eq!(added(move |store| write_again(store, times)).await, (503, 1));
    }
}

#[tokio::test]
async fn an_id_that_is_not_a_decimal_number_is_404_and_blanks_around_one_do_not_matter() {
    let long = ["9".repeat(5_000), "0".repeat(300)];
    let short = ["x", "-1", "1e0", "+1", "1.0", "%D9%A1", "18446744073709551616", "%20", "undefined"];
    let store = TestStore::open().await;
    for (path, good, body) in [
        ("add", 201, json!({})),
        ("reload", 2, json!({ "count": 5 })),
        ("changePrice", 6, json!({ "price": "4.50" })),
        ("setSelectedServer", 4, json!({ "server_id": 2 })),
        ("setVariable", 3, json!({ "var_id": 2, "var_value": "Midnight" })),
        ("remove", 1, json!({})),
    ] {
        for id in short.into_iter().chain(long.iter().map(String::as_str)) {
            let reply = post(&store, &format!("/cart/{path}/{id}"), RICH, &body).await;
            assert_eq!((reply.status.as_u16(), fields(&reply.json())), (404, vec!["message"]), "{path} {id:.30}");
        }
        store.calls.clear();
        let reply = post(&store, &format!("/cart/{path}/{good}%20"), RICH, &body).await;
        assert_eq!((reply.status.as_u16(), store.calls.writes()), (200, 1), "{path}: {}", reply.text);
    }
}

async fn lines(store: &TestStore, name: &str) -> Vec<ItemId> {
    let lines: Vec<Line> = stored(store, name).await.unwrap().lines;
    lines.iter().map(|line| line.item).collect()
}

#[tokio::test]
async fn every_write_removes_the_lines_whose_item_it_knows_to_be_no_longer_published() {
    for (path, body) in [
        ("/cart/add/202", json!({})),
        ("/cart/reload/2", json!({ "count": 5 })),
        ("/cart/remove/3", json!({})),
        ("/cart/acceptCoupon", json!({ "coupon": "THREEBACK" })),
        ("/cart/setReferral", json!({ "ref_code": "lantern" })),
        ("/cart/removeReferral", json!({})),
    ] {
        let store = TestStore::open().await;
        let before = cart_of(NEW, &[(801, 1), (201, 1), (302, 1)]);
        put_cart(&store, &Cart { referral: Some(text("gone")), ..before }).await;
        view(&store, NEW).await;
        let reply = post(&store, path, NEW, &body).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(true)), "{path}: {}", reply.text);
        assert_eq!(lines(&store, NEW).await[0], ItemId::new(201), "{path}");
        let next = stored(&store, NEW).await.unwrap().next_line;
        assert_eq!(next, if path == "/cart/add/202" { 5 } else { 4 }, "{path}: no line gets the id of a removed one");
    }
}

/// Every kind of write, after the function has found out which items are not published.
async fn write_after_a_read(store: &TestStore) {
    view(store, WORN).await;
    assert!(outcome(&tell(store, "/cart/setReferral", WORN, "ref_code", "toadmail").await).0);
    assert!(outcome(&ask(store, "/cart/removeReferral", WORN).await).0);
}

/// Publishes the same store under another version, unknown to the functions.
async fn publish_again(store: &TestStore) {
    let mut compiled = TestStore::sample().compiled.clone();
    compiled.version = format!("{}again", compiled.version);
    publish::publish(&store.db, &compiled, NOW).await.unwrap();
}

#[tokio::test]
async fn while_no_version_is_published_no_line_is_removed() {
    let store = TestStore::open().await;
    let before = lines(&store, RICH).await;
    delete(&store.db, &keys::active_version()).await;
    assert_eq!(view(&store, RICH).await["items"], serde_json::json!([]), "nothing is published");
    assert!(outcome(&ask(&store, "/cart/removeReferral", RICH).await).0);
    assert_eq!(lines(&store, RICH).await, before);
}

#[tokio::test]
async fn a_pointer_that_is_stale_removes_no_line() {
    let store = TestStore::open().await;
    let before = lines(&store, WORN).await;
    assert!(before.contains(&UNPUBLISHED));
    view(&store, WORN).await;
    publish_again(&store).await;
    write_after_a_read(&store).await;
    assert_eq!(lines(&store, WORN).await, before);
    store.clock.advance(Duration::from_secs(6));
    write_after_a_read(&store).await;
    assert!(!lines(&store, WORN).await.contains(&UNPUBLISHED), "the active version was read again");
}

#[tokio::test]
async fn a_coupon_that_is_accepted_on_a_stale_pointer_removes_no_line() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(801, 1), (301, 1)])).await;
    view(&store, NEW).await;
    publish_again(&store).await;
    assert!(outcome(&tell(&store, "/cart/acceptCoupon", NEW, "coupon", "HEARTH10").await).0);
    assert_eq!(lines(&store, NEW).await, [801, 301].map(ItemId::new));
}

#[tokio::test]
async fn an_item_that_was_missing_and_is_published_again_keeps_its_line() {
    let store = TestStore::open().await;
    let before = lines(&store, WORN).await;
    view(&store, WORN).await;
    let version = read_active_version(&store.db).await.unwrap().unwrap().version;
    let mut item = store.db.get(&keys::item(&version, ItemId::new(301)), true).await.unwrap().unwrap();
    item.extend(codec::key_attributes(&keys::item(&version, UNPUBLISHED)));
    put(&store.db, item).await;
    write_after_a_read(&store).await;
    assert_eq!(lines(&store, WORN).await, before);
}
