//! A database that throttles, hangs, is unreachable or refuses: the responses of rules.md, "Statuses and error bodies",
//! without partial writes. And connections that break or lose a response, with the timeouts and pacing of production.

use crate::support::put;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use serde_json::json;
use shared::http::lambda::LastResponse;
use shared::model::{CategoryHead, CategoryId, CategoryPath, CategoryWithItems, Item, ItemId, OnSale, Slug, UserId};
use shared::table::published::read_active_version;
use shared::table::{codec, keys};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tests::{Call, Endpoint, Fault, Reply, TestStore, endpoints};

async fn cart_of(store: &TestStore, user: u64) -> Option<codec::Item> {
    store.db.get(&keys::cart(UserId::new(user)), true).await.unwrap()
}

/// Asserts that a response is a 503 with a time to try again and a message, not to be cached.
pub fn is_busy(what: &str, reply: &Reply) {
    assert_eq!(reply.status, 503, "{what}: {}", reply.text);
    assert!(reply.header("retry-after").parse::<u32>().unwrap() > 0, "{what}");
    assert_eq!(reply.header("cache-control"), "no-store", "{what}");
    assert!(!message_of(what, reply).is_empty(), "{what}");
}

/// The message of a failure; of a page of the shop, the page.
fn message_of(what: &str, reply: &Reply) -> String {
    if what.starts_with("GET /shop/") {
        assert_eq!(reply.header("content-type"), "text/html; charset=utf-8", "{what}");
        assert!(reply.text.contains("Please try again"), "{what}: {}", reply.text);
        return reply.text.clone();
    }
    let body = reply.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{what}: {body}");
    body["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_missing_table_is_a_500_that_names_the_request_and_no_internals() {
    let store = TestStore::open().await;
    let before = cart_of(&store, 1).await;
    let calling = || endpoints().into_iter().filter(Endpoint::needs_database);
    store.faults.inject(|_| Some(Fault::NoTable));
    for endpoint in calling() {
        let (what, reply) = (endpoint.route, store.send(endpoint.call()).await);
        assert_eq!(reply.status, 500, "{what}: {}", reply.text);
        let message = message_of(what, &reply);
        assert!(message.contains("local-"), "{what}: {message}");
        for inside in ["table", "Resource", "DynamoDB", "injected", "GetItem"] {
            assert!(!message.contains(inside), "{what}: {message}");
        }
    }
    store.faults.clear();
    assert_eq!(cart_of(&store, 1).await, before, "nothing was written");
    for endpoint in calling() {
        let reply = store.send(endpoint.call()).await;
        assert_eq!(reply.status, endpoint.status(), "{} works again once the database does", endpoint.route);
    }
}

/// The process ends after its response: another one may have credentials that can be used.
#[tokio::test]
async fn without_usable_credentials_a_response_is_the_last_of_its_process() {
    let store = TestStore::open().await;
    for (code, is_last) in
        [("ExpiredTokenException", true), ("UnrecognizedClientException", true), ("AccessDeniedException", false)]
    {
        store.faults.inject(move |_| Some(Fault::Refused(code, "injected")));
        let error = store.functions_db().get(&keys::active_version(), true).await.unwrap_err();
        let response = shared::endpoint::failed("r", &error);
        assert_eq!(response.extensions().get::<LastResponse>().is_some(), is_last, "{code}: {error:?}");
    }
}

#[tokio::test]
async fn a_database_that_hangs_is_abandoned() {
    let store = TestStore::open().await;
    store.faults.inject(|_| Some(Fault::Hanging));
    is_busy("user", &store.send(Call::post("/user").token(&store.token("Thornwick"))).await);
}

#[tokio::test]
async fn unprocessed_keys_are_retried_and_then_abandoned() {
    let store = TestStore::open().await;
    let user = || Call::post("/user").token(&store.token("Thornwick"));
    let batches = AtomicUsize::new(0);
    store.faults.inject(move |operation| {
        let first_two = operation == "BatchGetItem" && batches.fetch_add(1, Ordering::SeqCst) < 2;
        first_two.then_some(Fault::Unprocessed)
    });
    assert_eq!(store.send(user()).await.status, 200);
    store.faults.inject(|operation| (operation == "BatchGetItem").then_some(Fault::Unprocessed));
    is_busy("user", &store.send(user()).await);
}

#[tokio::test]
async fn a_write_that_keeps_colliding_asks_the_buyer_to_try_again() {
    for collision in [Fault::ConditionFailed, Fault::TransactionConflict] {
        let store = TestStore::open().await;
        let before = cart_of(&store, 1).await;
        store.faults.inject(move |operation| (operation == "UpdateItem").then_some(collision));
        for (path, body, status) in [
            ("acceptCoupon", json!({ "coupon": "THREEBACK" }), 200),
            ("removeReferral", json!({}), 200),
            ("reload/2", json!({ "count": 5 }), 200),
            ("changePrice/6", json!({ "price": "4.50" }), 409),
            ("setSelectedServer/4", json!({ "server_id": 2 }), 409),
            ("setVariable/3", json!({ "var_id": 2, "var_value": "Midnight" }), 409),
        ] {
            let call = Call::post(&format!("/cart/{path}")).token(&store.token("Thornwick")).json(&body);
            let reply = store.send(call).await;
            assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (status, &json!(false)), "{path}");
            assert!(reply.json()["message"].as_str().unwrap().contains("try again"), "{}", reply.text);
        }
        assert_eq!(cart_of(&store, 1).await, before);
    }
}

#[tokio::test]
async fn a_write_that_collides_three_times_still_succeeds() {
    let store = TestStore::open().await;
    let collisions = AtomicUsize::new(0);
    store.faults.inject(move |operation| {
        let collides = operation == "UpdateItem" && collisions.fetch_add(1, Ordering::SeqCst) < 3;
        collides.then_some(Fault::ConditionFailed)
    });
    let reply = store.send(Call::post("/cart/removeReferral").token(&store.token("Thornwick"))).await;
    assert_eq!(reply.json()["success"], true, "{}", reply.text);
    let cart = cart_of(&store, 1).await.unwrap();
    assert!(!cart.contains_key("referral"));
}

#[tokio::test]
async fn a_rate_limiter_that_keeps_colliding_is_a_503() {
    let store = TestStore::open().await;
    store.faults.inject(|operation| (operation == "UpdateItem").then_some(Fault::ConditionFailed));
    let call = Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" }));
    let reply = store.send(call).await;
    is_busy("checkStatus", &reply);
    assert_eq!(reply.header("ratelimit-limit"), "", "the request was not counted");
}

#[tokio::test]
async fn a_failed_lookup_still_has_the_rate_limit_headers() {
    let store = TestStore::open().await;
    store.faults.inject(|operation| (operation == "BatchGetItem").then_some(Fault::Throttled));
    let call = Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" }));
    let reply = store.send(call).await;
    is_busy("checkStatus", &reply);
    assert_eq!(reply.header("ratelimit-remaining"), "17");
}

#[tokio::test]
async fn an_unreadable_item_is_a_500_and_does_not_affect_the_rest() {
    let store = TestStore::open().await;
    let mut user = store.db.get(&keys::user(UserId::new(1)), true).await.unwrap().unwrap();
    user.insert("created_at".to_owned(), AttributeValue::S("yesterday".to_owned()));
    put(&store, user).await;
    let broken = store.send(Call::post("/user").token(&store.token("Thornwick"))).await;
    assert_eq!(broken.status, 500);
    assert!(!broken.text.contains("created_at") && !broken.text.contains("yesterday"), "{}", broken.text);
    assert_eq!(store.send(Call::post("/user").token(&store.token("Pebble"))).await.status, 200);
}

#[tokio::test]
async fn a_category_of_more_than_one_page_is_read_whole() {
    let store = TestStore::open().await;
    let active = read_active_version(&store.db).await.unwrap().unwrap();
    let slug = Slug::parse("/large").unwrap();
    // A query returns one megabyte at a time.
    for place in 0..5_usize {
        let id = 10_000 + place as u64;
        let description = Some("x".repeat(300_000));
        let item: Item = serde_json::from_value(json!({
            "id": ItemId::new(id), "name": format!("Item {place}"), "description": description, "price": 100, "active": true
        }))
        .unwrap();
        let head = CategoryHead {
            id: CategoryId::new(id),
            slug: if place == 0 { slug.clone() } else { Slug::parse(&format!("/large/s{place}")).unwrap() },
            name: format!("Category {place}"),
            description: None,
            image: None,
            on_sale: OnSale::default(),
        };
        let category = CategoryWithItems { head, comparison: Vec::new(), cumulative: false, items: vec![item] };
        let key = keys::category_row(&active.version, &CategoryPath::Slug(slug.clone()), place);
        put(&store, codec::encode_published(&key, &category).unwrap()).await;
    }
    let reply = store.send(Call::post("/categories/get/large").token(&store.token("Pebble"))).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["subcategories"].as_array().unwrap().len(), 4);
    let queries = store.calls.operations().iter().filter(|operation| *operation == "Query").count();
    assert!(queries > 1, "the test needs more than one page");
}

#[tokio::test]
async fn a_failed_refresh_of_the_pointer_is_tried_again_by_the_next_request() {
    let store = TestStore::open().await;
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
    store.clock.advance(Duration::from_secs(6));
    store.faults.inject(|_| Some(Fault::Throttled));
    is_busy("staff", &store.send(Call::get("/staff")).await);
    store.faults.clear();
    assert_eq!(store.send(Call::get("/staff")).await.status, 200);
}

fn calls(store: &TestStore) -> Vec<Call> {
    let token = store.token("Thornwick");
    vec![
        Call::post("/cart/get").token(&token),
        Call::post("/user").token(&token),
        Call::post("/cart/acceptCoupon").token(&token).json(&json!({ "coupon": "THREEBACK" })),
        Call::post("/categories/get/ranks").token(&token),
        look_up(),
        Call::get("/settings/get"),
    ]
}

fn look_up() -> Call {
    Call::post("/payments/checkStatus").json(&json!({ "order_id": "ska237syhxydekce" }))
}

/// After a sandbox was frozen, every connection may be dead.
#[tokio::test]
async fn connections_that_died_during_a_pause_cost_less_than_a_second() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for number in 0..calls(&store).len() {
        // Leaves about a dozen connections.
        for reply in join_all(calls(&store).into_iter().map(|call| store.send(call))).await {
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        proxy.kill_connections();
        // The active version, trusted for five seconds, has to be read again.
        store.clock.advance(Duration::from_mins(10));
        let started = Instant::now();
        let reply = store.send(calls(&store).remove(number)).await;
        let elapsed = started.elapsed();
        assert_eq!(reply.status, 200, "{number}: {}", reply.text);
        assert!(elapsed < Duration::from_secs(1), "{number}: {elapsed:?}");
    }
}

#[tokio::test]
async fn a_request_whose_count_was_written_twice_counts_once() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for left in [17, 16] {
        // First the write that opens the window, then one that adds to it.
        proxy.lose_responses_to_writes(1);
        let reply = store.send(look_up()).await;
        assert_eq!((reply.status.as_u16(), reply.header("ratelimit-remaining")), (200, &*left.to_string()));
    }
    proxy.lose_responses_to_writes(3);
    for reply in join_all((0..6).map(|_| store.send(look_up()))).await {
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    let counter = store.db.get(&keys::rate("", "198.51.100.7"), true).await.unwrap().unwrap();
    assert_eq!(counter["hits"].as_n().unwrap(), "8");
}

#[tokio::test]
async fn a_full_window_stays_full_when_responses_are_lost() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    for _ in 0..17 {
        assert_eq!(store.send(look_up()).await.status, 200);
    }
    proxy.lose_responses_to_writes(1);
    let last = store.send(look_up()).await;
    assert_eq!((last.status.as_u16(), last.header("ratelimit-remaining")), (200, "0"));
    assert_eq!(store.send(look_up()).await.status, 429);
}

#[tokio::test]
async fn a_cart_that_was_written_before_its_response_was_lost_is_a_success() {
    let (store, proxy) = TestStore::open_as_deployed().await;
    proxy.lose_responses_to_writes(1);
    let call = Call::post("/cart/acceptCoupon").token(&store.token("Thornwick"));
    let reply = store.send(call.json(&json!({ "coupon": "THREEBACK" }))).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["success"]), (200, &json!(true)), "{}", reply.text);
    let cart = store.db.get(&keys::cart(UserId::new(1)), true).await.unwrap().unwrap();
    assert_eq!(cart["version"].as_n().unwrap(), "2", "written once");
}
