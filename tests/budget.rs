//! The budget of round trips to the database, endpoint by endpoint: warm (the active version is fresh and the page is
//! cached) and cold (a sandbox that has cached only the active version, which it read during init). Concurrent calls
//! count once. And the warm-up of a function before its first request: it reads, writes nothing, ignores failures, and
//! does not change the first response.

use serde_json::json;
use shared::endpoint::RoundTrips;
use std::time::Duration;
use tests::{Call, Fault, TWO_CHAINS, TestStore, endpoints, needs_embedded_engine};

/// A name and a request.
type Row = (&'static str, fn(&TestStore) -> Call);

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

/// Outcomes besides those of the events. Nothing here writes, so that every row can be sent again on a warm function.
const READS: &[Row] = &[
    ("a category with limits", |s| post("/categories/get/crates", s, "Thornwick")),
    ("deals, logged in", |s| post("/items/getFeaturedDeals", s, "Thornwick")),
    ("acceptCoupon, on the cart already", |s| coupon(s, "Thornwick", "hearth10")),
    // It reads the code that is set: a code that is disabled or deleted does not block.
    ("setReferral, another is set", |s| referral(s, "Thornwick", "toadmail")),
    ("an unknown category", |s| post("/categories/get/nowhere", s, "Thornwick")),
];

/// Refused before anything is read.
const READ_NOTHING: &[Row] = &[
    ("nonsense for a category", |s| post("/categories/get/NO..WHERE!", s, "Thornwick")),
    ("a refused token", |_| Call::post("/cart/get").token("a.b.c")),
    ("no token", |_| Call::post("/cart/get")),
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

/// Sends a request, and compares its round trips with those that its endpoint declares.
async fn measure(store: &TestStore, (what, call): &Row, state: &str) -> usize {
    let call = call(store);
    let declared = call.endpoint().declaration.round_trips;
    store.calls.clear();
    let reply = store.send(call).await;
    assert!(reply.status.as_u16() < 500, "{what}: {}", reply.text);
    let (trips, operations) = (store.calls.round_trips(), store.calls.operations());
    let allowed = most(declared, state);
    assert!(trips <= allowed, "{what}, {state}: {trips} round trips, {allowed} declared: {operations:?}");
    trips
}

/// A stale version is read concurrently with the rest.
fn most(declared: RoundTrips, state: &str) -> usize {
    match state {
        "cold" => declared.cold,
        "stale" => declared.warm.max(1),
        _ => declared.warm,
    }
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
            for state in ["cold", "warm", "stale"] {
                if state != "warm" {
                    store.clock.advance(Duration::from_secs(6));
                }
                store.calls.clear();
                let reply = store.invoke_file(&name).await;
                assert!(reply.status.as_u16() < 500, "{name}: {}", reply.text);
                let (trips, operations) = (store.calls.round_trips(), store.calls.operations());
                let allowed = most(declared, state);
                assert!(trips <= allowed, "{name}, {state}: {trips} round trips, {allowed} declared: {operations:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_read_stays_within_its_budget_cold_warm_and_stale() {
    for row in READS.iter().chain(READ_NOTHING) {
        let store = TestStore::open().await;
        warm_up(&store).await;
        for state in ["cold", "warm", "stale"] {
            if state != "warm" {
                // Live values count as an expired cache: what was read before is stale.
                store.clock.advance(Duration::from_secs(6));
            }
            let trips = measure(&store, row, state).await;
            assert!(trips == 0 || !READ_NOTHING.iter().any(|(what, _)| *what == row.0), "{}: {trips}", row.0);
            assert_eq!(store.calls.writes(), 0, "{} writes nothing", row.0);
        }
    }
}

#[tokio::test]
async fn writes_of_the_cart_function_stay_within_their_budget() {
    let store = TestStore::open().await;
    let cold: Row = ("acceptCoupon, cold", |s| coupon(s, "Thornwick", "threeback"));
    let warm: [Row; 15] = [
        ("acceptCoupon, unknown, the first of a window", |s| coupon(s, "Thornwick", "nothing")),
        ("acceptCoupon, unknown", |s| coupon(s, "Thornwick", "nothing")),
        ("acceptCoupon, replacing", |s| coupon(s, "Thornwick", "eighth")),
        ("acceptCoupon, a gift card without a coupon", |s| coupon(s, "Burdock", "GLOW-7QXM-2K4D")),
        // It pays what the coupon on the cart leaves, and which coupon that is, the cart says.
        ("acceptCoupon, a gift card with a coupon", |s| coupon(s, "Thornwick", "GLOW-7QXM-2K4D")),
        ("removeReferral", |s| post("/cart/removeReferral", s, "Thornwick")),
        ("setReferral", |s| referral(s, "Thornwick", "toadmail")),
        ("setReferral without a cart", |s| referral(s, "Pebble", "toadmail")),
        ("cart/add, an item of the cart", |s| change(s, "add/201", &json!({}))),
        ("cart/add, an item that is not cached", |s| change(s, "add/302", &json!({}))),
        ("cart/add, a gift", |s| change(s, "add/311", &json!({ "payment_type": 2, "gift_to": "Nobody_Yet" }))),
        ("cart/reload", |s| change(s, "reload/2", &json!({ "count": 9 }))),
        ("cart/setVariable", |s| change(s, "setVariable/3", &json!({ "var_id": 2, "var_value": "Ash" }))),
        ("cart/setSelectedServer", |s| change(s, "setSelectedServer/4", &json!({ "server_id": 2 }))),
        ("cart/changePrice", |s| change(s, "changePrice/6", &json!({ "price": "4.50" }))),
    ];
    warm_up(&store).await;
    measure(&store, &cold, "cold").await;
    assert_eq!(store.calls.writes(), 1);
    for row in &warm {
        measure(&store, row, "warm").await;
        assert_eq!(store.calls.writes(), 1, "{}", row.0);
    }
}

#[tokio::test]
async fn the_state_of_a_payment_costs_two_round_trips_and_three_for_the_first_of_a_window() {
    let store = TestStore::open().await;
    let call =
        |s: &TestStore| post("/payments/checkStatus", s, "Thornwick").json(&json!({ "order_id": "4mjyi2i34hbzt6b6" }));
    let row: Row = ("checkStatus", call);
    measure(&store, &row, "cold").await;
    // A refusal costs no more than a success.
    for _ in 1..18 {
        measure(&store, &row, "warm").await;
    }
    assert_eq!(measure(&store, &row, "warm").await, 1, "over the limit a request is only counted");
    assert_eq!(store.send(call(&store)).await.status, 429);
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

const WARM: [&str; 2] = ["content/get_settings", "catalog/list_categories"];

#[tokio::test]
async fn the_first_requests_of_a_visit_read_nothing_on_a_warm_function() {
    let store = TestStore::open().await;
    store.warm_up().await;
    assert_eq!(store.calls.writes(), 0, "{:?}", store.calls.operations());
    for file in WARM {
        store.calls.clear();
        let cold = TestStore::open().await.invoke_file(file).await;
        let warm = store.invoke_file(file).await;
        assert_eq!((warm.status, &warm.text), (cold.status, &cold.text), "{file}");
        assert_eq!(store.calls.operations(), Vec::<String>::new(), "{file}");
    }
}

#[tokio::test]
async fn a_database_failure_during_warm_up_is_ignored() {
    for fault in [Fault::Throttled, Fault::NoTable] {
        let store = TestStore::open().await;
        store.faults.inject(move |_| Some(fault));
        store.warm_up().await;
        store.faults.clear();
        for file in WARM {
            assert_eq!(store.invoke_file(file).await.status, 200, "{file}");
        }
    }
}

#[tokio::test]
async fn a_store_that_is_not_published_yet_does_not_fail_the_warm_up() {
    let store = TestStore::empty().await;
    store.warm_up().await;
    assert_eq!(store.calls.writes(), 0);
}
