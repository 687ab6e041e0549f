//! The budget of round trips to the database, endpoint by endpoint: warm (the active version is fresh and the page is
//! cached) and cold (a sandbox that has cached only the active version, which it read during init). Concurrent calls
//! count once.

use serde_json::json;
use std::time::Duration;
use tests::{Call, TWO_CHAINS, TestStore, endpoints, needs_embedded_engine};

/// A request, its most round trips warm and cold, and whether it writes.
struct Row {
    what: &'static str,
    call: fn(&TestStore) -> Call,
    warm: usize,
    cold: usize,
}

const fn row(what: &'static str, call: fn(&TestStore) -> Call, warm: usize, cold: usize) -> Row {
    Row { what, call, warm, cold }
}

fn post(path: &str, store: &TestStore, user: &str) -> Call {
    Call::post(path).token(&store.token(user))
}

fn coupon(store: &TestStore, user: &str, code: &str) -> Call {
    post("/cart/acceptCoupon", store, user).json(&json!({ "coupon": code }))
}

/// A call that adds or changes a line of Thornwick's cart.
fn change(store: &TestStore, tail: &str, body: &serde_json::Value) -> Call {
    post(&format!("/cart/{tail}"), store, "Thornwick").json(body)
}

fn referral(store: &TestStore, user: &str, code: &str) -> Call {
    post("/cart/setReferral", store, user).json(&json!({ "ref_code": code }))
}

/// See rules.md, "Round trips". Nothing here writes, so that every row can be sent again on a warm function.
const READS: &[Row] = &[
    row("settings/get", |_| Call::get("/settings/get"), 0, 1),
    row("staff", |_| Call::get("/staff"), 0, 1),
    row("patrons/get", |_| Call::get("/patrons/get"), 0, 1),
    row("categories/get", |_| Call::get("/categories/get"), 0, 1),
    row("categories/get by POST", |_| Call::post("/categories/get"), 0, 1),
    row("pages/get", |s| post("/pages/get", s, "Thornwick").json(&json!({ "url": "/rules" })), 0, 1),
    row("auth/chat", |_| Call::get("/auth/chat"), 0, 1),
    row("a category", |s| post("/categories/get/ranks", s, "Thornwick"), 1, 2),
    row("a category with limits", |s| post("/categories/get/crates", s, "Thornwick"), 1, 2),
    row("a category by id", |s| post("/categories/get/2", s, "Thornwick"), 1, 2),
    row("deals, logged out", |_| Call::post("/items/getFeaturedDeals"), 0, 2),
    row("deals, logged in", |s| post("/items/getFeaturedDeals", s, "Thornwick"), 1, 2),
    row("a cart with a code", |s| post("/cart/get", s, "Thornwick"), 2, 2),
    row("an empty cart", |s| post("/cart/get", s, "Pebble"), 1, 1),
    row("getPromoted", |s| post("/cart/getPromoted", s, "Thornwick"), 1, 2),
    row("getSelectServers", |s| post("/cart/getSelectServers", s, "Thornwick"), 1, 2),
    row("user", |s| post("/user", s, "Thornwick"), 1, 1),
    row("acceptCoupon, expired", |s| coupon(s, "Thornwick", "midwinter"), 1, 1),
    row("acceptCoupon, on the cart already", |s| coupon(s, "Thornwick", "hearth10"), 1, 2),
    row("acceptCoupon, empty cart", |s| coupon(s, "Pebble", "hearth10"), 1, 1),
    row("setReferral, unknown", |s| referral(s, "Thornwick", "unknown"), 1, 1),
    // The second reads the code that is set: a code that is disabled or deleted does not block.
    row("setReferral, another is set", |s| referral(s, "Thornwick", "toadmail"), 2, 2),
    row("removeReferral, none set", |s| post("/cart/removeReferral", s, "Pebble"), 1, 1),
    row("an unknown category", |s| post("/categories/get/nowhere", s, "Thornwick"), 1, 1),
    row("nonsense for a category", |s| post("/categories/get/NO..WHERE!", s, "Thornwick"), 0, 0),
    row("a refused token", |_| Call::post("/cart/get").token("a.b.c"), 0, 0),
    row("no token", |_| Call::post("/cart/get"), 0, 0),
];

/// Reads the active version, as every function does while its sandbox starts.
async fn warm_up(store: &TestStore) {
    for call in [
        Call::get("/categories/get"),
        Call::post("/cart/get").token(&store.token("Pebble")),
        Call::get("/staff"),
        Call::get("/auth/chat"),
    ] {
        assert!(store.send(call).await.status.is_success());
    }
}

async fn measure(store: &TestStore, row: &Row) -> (usize, Vec<String>) {
    store.calls.clear();
    let reply = store.send((row.call)(store)).await;
    assert!(reply.status.as_u16() < 500, "{}: {}", row.what, reply.text);
    (store.calls.round_trips(), store.calls.operations())
}

#[tokio::test]
async fn every_event_stays_within_the_round_trips_of_its_endpoint() {
    if needs_embedded_engine(TWO_CHAINS) {
        return;
    }
    for endpoint in endpoints() {
        let declared = endpoint.declaration.round_trips;
        for name in endpoint.events() {
            let store = TestStore::open().await;
            store.warm_up().await;
            for (what, allowed) in [("cold", declared.cold), ("warm", declared.warm), ("stale", declared.warm.max(1))] {
                if what != "warm" {
                    store.clock.advance(Duration::from_secs(6));
                }
                store.calls.clear();
                let reply = store.invoke_file(&name).await;
                assert!(reply.status.as_u16() < 500, "{name}: {}", reply.text);
                let (trips, operations) = (store.calls.round_trips(), store.calls.operations());
                assert!(trips <= allowed, "{name} {what}: {trips} round trips, {allowed} declared: {operations:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_read_stays_within_its_budget_cold_and_warm() {
    for row in READS {
        let store = TestStore::open().await;
        warm_up(&store).await;
        // Live values count as an expired cache: what was read during the warm-up is stale.
        store.clock.advance(Duration::from_secs(6));
        let (cold, operations) = measure(&store, row).await;
        assert!(cold <= row.cold, "{} cold: {cold} round trips, {} allowed: {operations:?}", row.what, row.cold);
        let (warm, operations) = measure(&store, row).await;
        assert!(warm <= row.warm, "{} warm: {warm} round trips, {} allowed: {operations:?}", row.what, row.warm);
        assert_eq!(store.calls.writes(), 0, "{} writes nothing", row.what);
    }
}

#[tokio::test]
async fn a_stale_pointer_is_read_concurrently_with_the_rest() {
    for row in READS {
        let store = TestStore::open().await;
        warm_up(&store).await;
        measure(&store, row).await;
        store.clock.advance(Duration::from_secs(6));
        let (stale, operations) = measure(&store, row).await;
        let allowed = row.warm.max(1);
        assert!(stale <= allowed, "{} stale: {stale} round trips, {allowed} allowed: {operations:?}", row.what);
    }
}

#[tokio::test]
async fn writes_of_the_cart_function_stay_within_their_budget() {
    let store = TestStore::open().await;
    let cold = row("acceptCoupon, cold", |s| coupon(s, "Thornwick", "threeback"), 3, 3);
    let warm = [
        row("acceptCoupon, unknown, the first of a window", |s| coupon(s, "Thornwick", "nothing"), 2, 2),
        row("acceptCoupon, unknown", |s| coupon(s, "Thornwick", "nothing"), 2, 2),
        row("acceptCoupon, replacing", |s| coupon(s, "Thornwick", "eighth"), 2, 2),
        row("acceptCoupon, a gift card without a coupon", |s| coupon(s, "Burdock", "GLOW-7QXM-2K4D"), 2, 2),
        // It pays what the coupon on the cart leaves, and which coupon that is, the cart says.
        row("acceptCoupon, a gift card with a coupon", |s| coupon(s, "Thornwick", "GLOW-7QXM-2K4D"), 3, 3),
        row("removeReferral", |s| post("/cart/removeReferral", s, "Thornwick"), 2, 2),
        row("setReferral", |s| referral(s, "Thornwick", "toadmail"), 2, 2),
        row("setReferral without a cart", |s| referral(s, "Pebble", "toadmail"), 2, 2),
        row("cart/add, an item of the cart", |s| change(s, "add/201", &json!({})), 2, 2),
        row("cart/add, an item that is not cached", |s| change(s, "add/302", &json!({})), 3, 3),
        row("cart/add, a gift", |s| change(s, "add/311", &json!({ "payment_type": 2, "gift_to": "Nobody_Yet" })), 2, 2),
        row("cart/reload", |s| change(s, "reload/2", &json!({ "count": 9 })), 2, 2),
        row("cart/setVariable", |s| change(s, "setVariable/3", &json!({ "var_id": 2, "var_value": "Ash" })), 2, 2),
        row("cart/setSelectedServer", |s| change(s, "setSelectedServer/4", &json!({ "server_id": 2 })), 2, 2),
        row("cart/changePrice", |s| change(s, "changePrice/6", &json!({ "price": "4.50" })), 2, 2),
    ];
    warm_up(&store).await;
    for row in std::iter::once(&cold).chain(&warm) {
        let (trips, operations) = measure(&store, row).await;
        assert!(trips <= row.warm, "{}: {trips} round trips, {} allowed: {operations:?}", row.what, row.warm);
        assert_eq!(store.calls.writes(), 1, "{}", row.what);
    }
}

#[tokio::test]
async fn the_state_of_a_payment_costs_two_round_trips_and_three_for_the_first_of_a_window() {
    let store = TestStore::open().await;
    let call =
        |s: &TestStore| post("/payments/checkStatus", s, "Thornwick").json(&json!({ "order_id": "4mjyi2i34hbzt6b6" }));
    let row = row("checkStatus", call, 2, 3);
    let (first, operations) = measure(&store, &row).await;
    assert!(first <= row.cold, "{first}: {operations:?}");
    let (next, operations) = measure(&store, &row).await;
    assert!(next <= row.warm, "{next}: {operations:?}");
    for _ in 2..18 {
        measure(&store, &row).await;
    }
    let (limited, operations) = measure(&store, &row).await;
    assert_eq!(store.send(call(&store)).await.status, 429);
    assert_eq!(limited, 1, "over the limit a request is only counted: {operations:?}");
}

#[tokio::test]
async fn a_moved_pointer_costs_exactly_one_more_read_of_the_page() {
    let store = TestStore::open().await;
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    let mut changed =
        publish::compile(&publish::read(&tests::repository().join("infra/sample-store")).unwrap()).unwrap();
    changed.version = "another".to_owned();
    publish::publish(&store.db, &changed, tests::NOW).await.unwrap();
    store.clock.advance(Duration::from_secs(6));
    store.calls.clear();
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    assert_eq!(store.calls.round_trips(), 2, "{:?}", store.calls.operations());
    store.calls.clear();
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    assert_eq!(store.calls.round_trips(), 0);
}
