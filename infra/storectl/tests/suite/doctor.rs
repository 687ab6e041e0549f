//! `doctor`: one line for each check, and what to do if it fails.

use crate::bench::Bench;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use serde_json::Value;
use shared::clock::{Clock, SystemClock};
use shared::model::{
    ActiveVersion, InternalId, ItemId, Order, OrderNumber, ProviderAccount, ProviderCheckout, Units, UserId,
};
use shared::shop::orders::{self, Payment};
use shared::shop::stock::reservations::{self, Reservation, Reserved};
use shared::table::codec::decode_live;
use shared::table::keys;
use shared::table::limiter::{self, RateLimit};
use shared::table::transaction::{Write, send};
use storectl::error::Exit;

fn state<'a>(answer: &'a Value, check: &str) -> &'a Value {
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("{check}"))
}

#[tokio::test]
async fn what_is_not_well_is_told_with_what_to_do() {
    let bench = Bench::published().await;
    let off = TimeToLiveSpecification::builder().attribute_name("expires_at").enabled(false).build().unwrap();
    let update = bench.db.client().update_time_to_live().table_name(bench.db.table());
    update.time_to_live_specification(off).send().await.unwrap();
    bench.write("keys.json", r#"{"k1":"short"}"#);
    let sick = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(sick.trouble(), Some(Exit::Faults));
    for check in ["time to live", "token keys"] {
        let finding = state(sick.json(), check);
        assert_eq!(finding["state"], "bad");
        assert!(finding["next"].as_str().unwrap().len() > 5, "{finding}");
    }
    assert!(!sick.text().contains("\"short\""), "{}", sick.text());
    let missing = bench.run(&["doctor", "--table", "nowhere"]).await.unwrap();
    assert_eq!(state(missing.json(), "table")["said"], "There is no such table.");
}

#[tokio::test]
async fn buyers_who_are_counted_by_a_known_proxys_addresses_are_told_of() {
    let bench = Bench::published().await;
    let count = async |address: &str, minutes: u64| {
        let limit = RateLimit { kind: "login", requests: 20, seconds: 600 };
        let now = SystemClock.millis() + minutes * 60_000;
        assert!(limiter::hit(&bench.db, limit, address, now).await.unwrap().allowed);
    };
    let told = async || {
        let answer = bench.ok(&["doctor"]).await;
        let mut findings = answer["findings"].as_array().unwrap().iter();
        findings.find(|finding| finding["check"] == "client addresses").cloned()
    };
    count("203.0.113.1", 0).await;
    count("172.64.1.1", 0).await;
    assert_eq!(told().await, None, "half of them may be robots");
    count("2606:4700:1:2::/64", 0).await;
    let finding = told().await.unwrap();
    assert_eq!(finding["state"], "todo");
    assert!(finding["said"].as_str().unwrap().contains("Cloudflare"), "{finding}");
    assert!(finding["next"].as_str().unwrap().contains("TrustedProxies"), "{finding}");
    // The proxy is trusted now.
    for buyer in 2..12 {
        count(&format!("203.0.113.{buyer}"), 1).await;
    }
    assert_eq!(told().await, None);
}

/// A store with three orders of two users, one of them a gift.
async fn sold() -> Bench {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["user", "add", "Eft"]).await;
    for (id, line) in [("a", "201:2:3.98"), ("b", "302:3:9"), ("c", "101:1:4.99@Eft")] {
        bench.record(&format!("--past --id {id} --owner Newt --gateway g --line {line}")).await;
    }
    bench
}

#[tokio::test]
async fn sums_that_are_missing_or_differ_from_the_orders_are_told_and_repaired() {
    let bench = sold().await;
    let (newt, eft) = (UserId::new(1), UserId::new(2));
    let before = rows_but_their_version(&bench).await;
    let well = bench.ok(&["doctor"]).await;
    assert_eq!(state(&well, "sums of orders")["state"], "ok", "{well}");
    bench.delete(&keys::count(ItemId::new(201))).await;
    bench.set_number(&keys::count(ItemId::new(302)), "sold", 1).await;
    bench.set_number(&keys::count(ItemId::new(303)), "sold", 9).await;
    bench.delete(&keys::ledger(newt)).await;
    bench.set_number(&keys::ledger(eft), "p101", 1).await;
    bench.delete(&keys::patron(newt)).await;
    let sick = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(sick.trouble(), Some(Exit::Faults));
    let said = state(sick.json(), "sums of orders")["said"].as_str().unwrap();
    for part in ["COUNT#201 sold is missing instead of 2", "COUNT#302 sold is 1 instead of 3", "more"] {
        assert!(said.contains(part), "{said}");
    }
    let repaired = bench.ok(&["doctor", "--repair"]).await;
    assert_eq!(state(&repaired, "sums of orders")["state"], "ok", "{repaired}");
    // A counter that nothing was sold of stays as a nothing.
    let nothing = keys::count(ItemId::new(303));
    assert_eq!(bench.db.get(&nothing, true).await.unwrap().unwrap()["sold"].as_n().unwrap(), "0");
    bench.delete(&nothing).await;
    // Of the first day, which orders do not add up to, the row of the patrons says that it was.
    bench.set_number(&keys::ledger(newt), "spent", 1_797).await;
    bench.set_number(&keys::ledger(newt), "first_paid_at", bench.clock.seconds()).await;
    assert_eq!(rows_but_their_version(&bench).await, before);
}

#[tokio::test]
async fn rows_by_which_orders_are_found_are_missed_and_written_again() {
    let bench = sold().await;
    let mut order = orders::get(&bench.db, &InternalId::new("a")).await.unwrap().unwrap();
    let account = ProviderAccount { id: None, live: false };
    let payment = ProviderCheckout::paid("cs_1".to_owned(), Some("pi_1".to_owned()), account, bench.clock.seconds());
    order.effects.provider = Some(payment);
    bench.delete(&order.key()).await;
    let writes = vec![order.put_new().unwrap(), Payment::put(&order.order, "pi_1").unwrap()];
    send(&bench.db, writes).await.unwrap();
    let before = rows_but_their_version(&bench).await;
    let found = async |arguments: &[&str]| {
        let told = bench.run(arguments).await.unwrap();
        state(told.json(), "rows of orders").clone()
    };
    assert_eq!(found(&["doctor"]).await["state"], "ok");
    let Order { id, created_at, .. } = order.order;
    let rows = [keys::payment("pi_1"), keys::order_of(UserId::new(1), created_at, id), keys::sale(created_at, id)];
    for row in &rows {
        bench.delete(row).await;
    }
    let missing = found(&["doctor"]).await;
    assert_eq!(missing["state"], "bad");
    assert!(missing["said"].as_str().unwrap().starts_with("3 rows are missing"), "{missing}");
    assert_eq!(found(&["doctor", "--repair"]).await["state"], "ok");
    assert_eq!(rows_but_their_version(&bench).await, before);
}

#[tokio::test]
async fn what_waits_for_the_sweep_is_named_and_not_repaired() {
    let bench = sold().await;
    let mut order = orders::get(&bench.db, &InternalId::new("a")).await.unwrap().unwrap().order;
    (order.id, order.internal_id) = (OrderNumber::new(99), InternalId::new("broken-off"));
    let units = Units { item: ItemId::new(302), count: 2 };
    let reservation = Reservation::new(&order, vec![units], SystemClock.seconds() + 60);
    let put: Write = reservation.put().unwrap();
    send(&bench.db, vec![put]).await.unwrap();
    let reserved = reservations::reserve(&bench.db, &reservation, units, None).await.unwrap();
    assert!(matches!(reserved, Reserved::Yes(_)), "{reserved:?}");
    let before = rows_but_their_version(&bench).await;
    for arguments in [&["doctor"][..], &["doctor", "--repair"]] {
        let well = bench.ok(arguments).await;
        assert_eq!(state(&well, "sums of orders")["state"], "ok", "{well}");
        let waiting = state(&well, "waiting for the sweep");
        assert_eq!(waiting["state"], "note");
        assert!(waiting["said"].as_str().unwrap().contains("2 units of item 302"), "{waiting}");
    }
    assert_eq!(rows_but_their_version(&bench).await, before);
}

/// The rows of the table. Goals and donators, counters and ledgers count their own writes, also those of the doctor.
async fn rows_but_their_version(bench: &Bench) -> Vec<String> {
    let count = |row: String| match row.rsplit_once(",\"version\":{\"N\":") {
        Some((rest, _)) if ["DONATIONS", "COUNT#", "LEDGER#"].iter().any(|kind| row.contains(kind)) => rest.to_owned(),
        _ => row,
    };
    bench.rows().await.into_iter().map(count).collect()
}

#[tokio::test]
async fn the_sample_store_with_its_orders_is_in_step() {
    let store = tests::TestStore::open().await;
    assert!(shared::shop::upkeep::audit(&store.db, &|_| {}).await.unwrap().is_clean());
}

#[tokio::test]
async fn orders_with_other_digits_than_the_stores_are_told() {
    let bench = sold().await;
    let key = keys::active_version();
    let mut active: ActiveVersion = decode_live(&key, bench.db.get(&key, true).await.unwrap().unwrap()).unwrap();
    active.config.digits = 0;
    bench.put(&key, &active).await;
    let sick = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(state(sick.json(), "currency digits")["state"], "bad", "{}", sick.text());
    assert_eq!(bench.ok(&["order", "show", "a"]).await["price"].to_string(), "3.98", "an order keeps its digits");
}
