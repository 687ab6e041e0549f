//! The calls about a line of the cart: POST /cart/reload/{cid}, POST /cart/setSelectedServer/{cid},
//! POST /cart/changePrice/{cid} and POST /cart/remove/{cid}. And what the calls that change one field of a line have in
//! common.

use super::support::{
    NEW, RICH, ask, cart_of, line, line_of, outcome, post, put_cart, refusal, refuses_values, stored, view,
};
use crate::support::fill_cart;
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::model::{Cart, LineId, Money, ServerId};
use tests::{Reply, TestStore};

/// Every call, a line of RICH's cart that it can change, and a body that changes it.
fn calls() -> [(&'static str, u64, Value); 3] {
    [
        ("changePrice", 6, json!({ "price": "4.50" })),
        ("setSelectedServer", 4, json!({ "server_id": 2 })),
        ("setVariable", 3, json!({ "var_id": 2, "var_value": "Midnight" })),
    ]
}

pub async fn set(store: &TestStore, call: &str, name: &str, line: u64, body: &Value) -> Reply {
    post(store, &format!("/cart/{call}/{line}"), name, body).await
}

/// The message with which a change is refused, with 422 and without a write.
pub async fn refused(store: &TestStore, call: &str, name: &str, line: u64, body: &Value) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&set(store, call, name, line, body).await, 422);
    assert_eq!(store.calls.writes(), 0, "{call} {line} {body}");
    assert_eq!(stored(store, name).await, before, "{call} {line} {body}");
    message
}

#[tokio::test]
async fn a_line_is_also_named_by_its_item_as_the_public_client_does() {
    for (call, line, body) in calls() {
        let (by_line, by_item) = (TestStore::open().await, TestStore::open().await);
        let mut lines = stored(&by_item, RICH).await.unwrap().lines.into_iter();
        let item = lines.find(|other| other.id.get() == line).unwrap().item.get();
        assert_eq!(set(&by_line, call, RICH, line, &body).await.status, 200);
        let reply = set(&by_item, call, RICH, item, &body).await;
        assert_eq!(reply.status, 200, "{call}: {}", reply.text);
        assert_eq!(stored(&by_item, RICH).await, stored(&by_line, RICH).await, "{call}");
    }
}

#[tokio::test]
async fn a_line_that_is_not_in_the_callers_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    for (call, line, body) in calls() {
        for (name, line) in [(RICH, 999), (NEW, line)] {
            assert_eq!(refused(&store, call, name, line, &body).await, "This line does not exist.", "{call}");
        }
    }
    assert_eq!(stored(&store, RICH).await, before);
}

async fn reload(store: &TestStore, name: &str, line: u64, count: u64) -> Reply {
    post(store, &format!("/cart/reload/{line}"), name, &json!({ "count": count })).await
}

/// The message with which a number of units is refused: 200, because the storefront reads the body.
async fn reload_refused(store: &TestStore, name: &str, line: u64, count: u64) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let message = refusal(&reload(store, name, line, count).await, 200);
    assert_eq!(store.calls.writes(), 0, "{line}: {count}");
    assert_eq!(stored(store, name).await, before);
    message
}

#[tokio::test]
async fn the_count_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = reload(&store, RICH, 2, 5).await;
    insta::assert_json_snapshot!("reload", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines.iter_mut().filter(|line| line.id == LineId::new(2)).for_each(|line| line.count = 5);
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(reload(&store, RICH, 2, 1000).await.json(), json!({ "success": true }));
    assert_eq!(line(&store, RICH, 2).await.count, 1000);
}

#[tokio::test]
async fn the_line_is_also_named_by_its_item_as_the_public_client_does() {
    let store = TestStore::open().await;
    assert_eq!(reload(&store, RICH, 201, 7).await.json(), json!({ "success": true }));
    assert_eq!(line(&store, RICH, 2).await.count, 7);
}

#[tokio::test]
async fn the_same_count_writes_nothing_and_reads_only_the_cart_for_every_line() {
    let store = TestStore::open().await;
    // Also lines that cannot be bought: the storefront sends the count of every row when the page opens.
    put_cart(&store, &cart_of(NEW, &[(205, 2), (801, 1), (102, 3)])).await;
    for (name, lines) in [(RICH, stored(&store, RICH).await), (NEW, stored(&store, NEW).await)] {
        for line in lines.unwrap().lines {
            store.calls.clear();
            let reply = reload(&store, name, line.id.get(), line.count.into()).await;
            assert_eq!(reply.json(), json!({ "success": true }));
            assert!(store.calls.round_trips() <= 1, "{:?}", store.calls.operations());
            assert_eq!(store.calls.writes(), 0);
        }
    }
}

#[tokio::test]
async fn a_refusal_is_200_so_that_the_client_reads_it() {
    let store = TestStore::open().await;
    assert!(reload_refused(&store, RICH, 999, 1).await.contains("does not exist"));
    assert!(reload_refused(&store, RICH, 1, 2).await.contains("Only one"));
    put_cart(&store, &cart_of(NEW, &[(203, 1), (313, 1), (205, 1)])).await;
    assert!(reload_refused(&store, NEW, 1, 4).await.contains("Only 2 more"), "the buyer has one of three");
    assert!(reload_refused(&store, NEW, 2, 2).await.contains("No more"));
    assert!(reload_refused(&store, NEW, 3, 2).await.contains("not on sale"));
    assert_eq!(reload(&store, NEW, 1, 3).await.json(), json!({ "success": true }));
}

#[tokio::test]
async fn a_line_of_another_users_cart_does_not_exist() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(201, 1)])).await;
    let before = stored(&store, RICH).await;
    assert_eq!(reload_refused(&store, NEW, 2, 5).await, "This line does not exist.");
    assert_eq!(stored(&store, RICH).await, before);
}

#[tokio::test]
async fn a_body_with_a_wrong_count_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[("count", &["null", "0", "-1", "1001", "1e400", "2.0", "\"2\"", "[2]"])];
    refuses_values(&store, "/cart/reload/2", RICH, fields).await;
}

/// The call that these tests make.
const SET_SERVER: &str = "setSelectedServer";

#[tokio::test]
async fn the_server_is_selected_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, SET_SERVER, RICH, 4, &json!({ "server_id": 2 })).await;
    insta::assert_json_snapshot!("set_selected_server", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[3].server = Some(ServerId::new(2));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 401)["selected_server"], 2);
    store.calls.clear();
    assert_eq!(set(&store, SET_SERVER, RICH, 4, &json!({ "server_id": 2 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same server writes nothing");
}

#[tokio::test]
async fn a_server_that_is_not_one_of_the_items_is_a_422() {
    let store = TestStore::open().await;
    // Another item's server, none at all, and an item whose server is not selected.
    for (line, server) in [(4, 3), (4, 999), (4, u64::MAX), (2, 1)] {
        let message = refused(&store, SET_SERVER, RICH, line, &json!({ "server_id": server })).await;
        assert!(message.contains("selected server"), "{line} {server}: {message}");
    }
    put_cart(&store, &cart_of(NEW, &[(405, 1)])).await;
    assert!(refused(&store, SET_SERVER, NEW, 1, &json!({ "server_id": 4 })).await.contains("selected server"));
}

#[tokio::test]
async fn a_body_with_a_wrong_server_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[("server_id", &["null", "\"2\"", "-1", "2.5", "1e400", "true"])];
    refuses_values(&store, "/cart/setSelectedServer/4", RICH, fields).await;
}

/// The call that these tests make.
const CHANGE_PRICE: &str = "changePrice";

#[tokio::test]
async fn the_price_is_set_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = set(&store, CHANGE_PRICE, RICH, 6, &json!({ "price": "4.50" })).await;
    insta::assert_json_snapshot!("change_price", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let mut lines = before.lines.clone();
    lines[5].price = Some(Money::from_minor(450));
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
    assert_eq!(line_of(&view(&store, RICH).await, 601)["price"], 4.5);
    store.calls.clear();
    assert_eq!(set(&store, CHANGE_PRICE, RICH, 6, &json!({ "price": 4.5 })).await.status, 200);
    assert_eq!(store.calls.writes(), 0, "the same price writes nothing");
}

#[tokio::test]
async fn a_price_that_the_item_does_not_have_is_a_422() {
    let store = TestStore::open().await;
    for (line, price, part) in [
        (2, json!("1.99"), "cannot be chosen"),
        (6, json!("0.99"), "below this item's minimum"),
        (6, json!(0), "below this item's minimum"),
        (6, json!("10000000000.01"), "too high"),
        (6, json!("9".repeat(400)), "too high"),
    ] {
        let message = refused(&store, CHANGE_PRICE, RICH, line, &json!({ "price": price })).await;
        assert!(message.contains(part), "{line} {price}: {message}");
    }
}

#[tokio::test]
async fn a_body_with_a_wrong_price_is_a_400_that_names_it() {
    let store = TestStore::open().await;
    let fields: &[(&str, &[&str])] = &[
        (
            "price",
            &["null", "\"\"", "true", "[1]", "\"1e3\"", "1e3", "1e400", "\"-0\"", "-0", "-1.5", "\"0.001\"", "1.001"],
        ),
        ("price", &["\"\u{661}\"", "\"1,50\"", "\"+1\"", "\"017\"", "\"NaN\""]),
    ];
    refuses_values(&store, "/cart/changePrice/6", RICH, fields).await;
}

fn path(cid: &str) -> String {
    format!("/cart/remove/{cid}")
}

async fn first_line(store: &TestStore, name: &str) -> String {
    view(store, name).await["items"][0]["cid"].to_string()
}

#[tokio::test]
async fn the_line_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let line = before.lines[0].id;
    let reply = ask(&store, &path(&line.to_string()), RICH).await;
    insta::assert_json_snapshot!("remove", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let lines = before.lines.iter().filter(|other| other.id != line).cloned().collect();
    assert_eq!(stored(&store, RICH).await.unwrap(), Cart { lines, version: before.version + 1, ..before });
}

#[tokio::test]
async fn a_line_that_is_gone_already_counts_as_removed_and_nothing_is_written() {
    let store = TestStore::open().await;
    let line = first_line(&store, RICH).await;
    assert!(outcome(&ask(&store, &path(&line), RICH).await).0);
    store.calls.clear();
    assert!(outcome(&ask(&store, &path(&line), RICH).await).0);
    assert!(outcome(&ask(&store, &path("999999"), RICH).await).0);
    assert!(outcome(&ask(&store, &path("1"), NEW).await).0);
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn the_first_line_of_an_item_is_removed_by_the_items_id_as_the_public_client_sends_it() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(401, 1), (201, 1), (401, 2)])).await;
    assert!(outcome(&ask(&store, &path("401"), NEW).await).0);
    let left: Vec<_> = stored(&store, NEW).await.unwrap().lines.iter().map(|line| line.id.get()).collect();
    assert_eq!(left, [2, 3]);
}

#[tokio::test]
async fn a_line_of_another_users_cart_stays() {
    let store = TestStore::open().await;
    fill_cart(&store, 3, &[201]).await;
    let (own, other) = (stored(&store, NEW).await.unwrap(), stored(&store, RICH).await.unwrap());
    let foreign = other.lines.iter().find(|line| own.lines.iter().all(|own| own.id != line.id)).unwrap();
    assert!(outcome(&ask(&store, &path(&foreign.id.to_string()), NEW).await).0);
    assert_eq!(stored(&store, RICH).await.unwrap(), other);
    assert_eq!(stored(&store, NEW).await.unwrap(), own);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn lines_that_are_removed_at_the_same_time_are_all_removed_or_the_request_says_so() {
    let store = TestStore::open().await;
    let lines = stored(&store, RICH).await.unwrap().lines;
    let paths: Vec<String> = lines.iter().map(|line| path(&line.id.to_string())).collect();
    let replies = join_all(paths.iter().map(|path| ask(&store, path, RICH))).await;
    let left = stored(&store, RICH).await.unwrap().lines;
    for (line, reply) in lines.iter().zip(&replies) {
        let is_left = left.iter().any(|other| other.id == line.id);
        assert_eq!(reply.status.as_u16(), if is_left { 409 } else { 200 }, "{}: {}", line.id, reply.text);
    }
}
