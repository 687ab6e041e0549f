//! Calls to the table and time of the page of a category with many items, and of a checkout: with sales and without.

use super::{player, published};
use crate::payments::support::{agreed, call};
use serde_json::json;
use std::fmt::Write;
use std::time::{Duration, Instant};
use tests::{Call, TestStore};

const ITEMS: u64 = 200;
const SALES: u64 = 20;
/// An item with a limit; in the store with sales it has more, and is reduced.
const LIMITED: u64 = 1_000;
/// How many pages of each store are timed, in turn.
const PAGES: usize = 300;

/// A store with a category of many items; with so many sales of which each is for a part of them, and every fourth for owners.
async fn open(sales: u64) -> TestStore {
    let mut category = "id: 1\nslug: shelf\nname: Shelf\nitems:\n".to_owned();
    let limits =
        if sales == 0 { "" } else { ", limit: [{per_user: 1, every: 7 days}, {total: 50, every: day}], excludes: [5]" };
    writeln!(
        category,
        "  - {{id: {LIMITED}, name: Crate, price: 2.00, global_limit: 100, price_from: {{10: 1.50}}{limits}}}"
    )
    .unwrap();
    for id in 1..=ITEMS {
        writeln!(category, "  - {{id: {id}, name: Thing {id}, price: {}.99}}", id % 40 + 1).unwrap();
    }
    let mut written = String::new();
    for id in 1..=sales {
        let who = if id % 4 == 0 { format!(", who: {{owners_of: [{id}]}}") } else { String::new() };
        let items: Vec<u64> = (1..=ITEMS).filter(|item| item % 5 == id % 5).chain([LIMITED]).collect();
        let percentage = 5 + id;
        let line = format!("- {{id: {id}, name: Sale {id}, percentage: {percentage}, for: {{items: {items:?}}}{who}}}");
        writeln!(written, "{line}").unwrap();
    }
    let store = "format: 1\nname: Shelf\nguest_mode: true\ncurrency: {code: EUR}\n\
                 storefront: {url: \"https://shop.example\"}\npayments: {methods: [Stripe], least: 0.50}\n";
    let mut files = vec![("store.yaml", store.to_owned()), ("categories/shelf.yaml", category)];
    if sales > 0 {
        files.push(("sales.yaml", written));
    }
    published(files).await
}

/// The token of a player who owns the fourth item.
async fn owner(store: &TestStore) -> String {
    player(store, "Caller", &[(4, 100)]).await
}

async fn page(store: &TestStore, token: &str) -> usize {
    let reply = store.send(Call::post("/categories/get/shelf").token(token)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text.matches("\"sale\":{").count()
}

/// The calls since they were cleared. Those of concurrent chains come in any order.
fn operations(store: &TestStore) -> Vec<String> {
    let mut operations = store.calls.operations();
    operations.sort_unstable();
    operations
}

#[tokio::test]
async fn sales_cost_a_page_no_further_call() {
    let mut found = Vec::new();
    for sales in [0, SALES] {
        let store = open(sales).await;
        let token = owner(&store).await;
        for (_, seconds) in [("cold", 1), ("warm", 6), ("stale", 0)] {
            store.calls.clear();
            let reduced = page(&store, &token).await;
            assert_eq!(reduced, if sales == 0 { 0 } else { usize::try_from(ITEMS).unwrap() + 1 });
            found.push(operations(&store));
            store.clock.advance(Duration::from_secs(seconds));
        }
    }
    let (without, with) = found.split_at(3);
    assert_eq!(without, with);
}

#[tokio::test]
async fn sales_and_limits_cost_a_checkout_no_further_call() {
    let mut found = Vec::new();
    for sales in [0, SALES] {
        let store = open(sales).await;
        let token = owner(&store).await;
        let added = call(&store, &token, &format!("/cart/add/{LIMITED}"), &json!({ "count": 1 })).await;
        assert_eq!(added.status, 200, "{}", added.text);
        store.calls.clear();
        let begun = call(&store, &token, "/payments/create", &agreed()).await;
        assert_eq!(begun.data()["success"], true, "{}", begun.text);
        found.push(operations(&store));
    }
    assert_eq!(found[0], found[1]);
}

/// Prints the median of each and their ratio; `infra/scripts/prove prices` runs it.
#[tokio::test]
#[ignore = "by the clock"]
#[expect(clippy::print_stdout, reason = "the figures are for who runs it with --nocapture")]
async fn sales_cost_a_page_little_time() {
    let (without, with) = (open(0).await, open(SALES).await);
    let stores = [(&without, owner(&without).await), (&with, owner(&with).await)];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..PAGES + 20 {
        for ((store, token), times) in stores.iter().zip(&mut times) {
            let began = Instant::now();
            page(store, token).await;
            if round >= 20 {
                times.push(began.elapsed());
            }
        }
    }
    let [without, with] = times.map(|mut times| {
        times.sort_unstable();
        times[PAGES / 2].as_secs_f64()
    });
    println!(
        "a page of {ITEMS} items: {:.2} ms, with {SALES} sales {:.2} ms, {:.3} ×",
        without * 1e3,
        with * 1e3,
        with / without
    );
    assert!(with / without <= 1.15, "{:.3} ×", with / without);
}
