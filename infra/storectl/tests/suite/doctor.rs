//! `doctor`: one line for each check, and what to do if it fails. What waits for a person: `doctor` names it with the command for it, and
//! `status` counts it.

use crate::bench::Bench;
use crate::payments::Paying;
use crate::subscriptions::{put, subscription};
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use serde_json::{Value, json};
use shared::clock::{Clock as _, SystemClock};
use shared::model::{
    ActiveVersion, InternalId, ItemId, Order, OrderNumber, ProviderAccount, ProviderCheckout, ServerId, Subscription,
    SubscriptionStatus, Units, UserId,
};
use shared::shop::delivery::add_key;
use shared::shop::delivery::servers::Lease;
use shared::shop::orders::{self, Payment};
use shared::shop::stock::reservations::{self, Reservation, Reserved};
use shared::table::codec::decode_live;
use shared::table::keys;
use shared::table::limiter::{self, RateLimit};
use shared::table::transaction::{Write, send};
use std::time::Duration;
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::configure;

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

/// What a check says, and what is to be done; `None` if it finds nothing.
async fn todo(paying: &Paying, check: &str) -> Option<(String, String)> {
    let findings = paying.findings().await;
    let found = findings.into_iter().find(|finding| finding["check"] == check && finding["state"] == "todo")?;
    Some([&found["said"], &found["next"]].map(|text| text.as_str().unwrap().to_owned()).into())
}

async fn write(bench: &Bench, write: Write) {
    send(&bench.db, vec![write]).await.unwrap();
}

/// Lets the bank open a dispute of an order, and the store hear of it.
async fn dispute(paying: &Paying, order: &InternalId) {
    let session = paying.stand_in.sessions().pop().unwrap();
    paying.stand_in.act(&session, &Action::Dispute(None)).unwrap();
    paying.ok(&["order", "settle", order.as_str()]).await;
    paying.sweep(Duration::ZERO).await;
}

#[tokio::test]
async fn a_dispute_is_told_with_its_deadline_until_the_bank_has_the_response() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    assert_eq!(todo(&paying, "disputes").await, None);
    dispute(&paying, &order).await;
    let (said, next) = todo(&paying, "disputes").await.unwrap();
    assert_eq!(said, format!("{order} (until 2026-06-22T12:00:00Z)"));
    assert!(next.contains("storectl order evidence ID"), "{next}");
    paying.stand_in.act(&paying.stand_in.sessions().pop().unwrap(), &Action::CloseDispute { won: true }).unwrap();
    paying.sweep(Duration::from_hours(2)).await;
    assert_eq!(todo(&paying, "disputes").await, None, "the bank has decided");
}

#[tokio::test]
async fn what_is_sent_by_itself_is_told_before_and_shown_after() {
    const DAY: Duration = Duration::from_hours(24);
    let paying = Paying::connected().await;
    configure(&paying.bench.db, |config| config.payments.answer_disputes = true).await;
    let order = paying.paid().await;
    dispute(&paying, &order).await;
    let status = async || paying.answer(&["status"]).await.json()["todo"].clone();
    assert_eq!(status().await, json!([]), "there is time, and nothing has to be done");
    paying.sweep(DAY * 4).await;
    assert_eq!(status().await, json!(["disputes"]), "from three days before");
    let (said, _) = todo(&paying, "disputes").await.unwrap();
    let told = "until 2026-06-22T12:00:00Z; evidence is sent by itself at 2026-06-21T12:00:00Z";
    assert_eq!(said, format!("{order} ({told})"));
    paying.sweep(DAY * 2).await;
    assert_eq!(status().await, json!([]));
    let shown = paying.answer(&["order", "show", order.as_str()]).await;
    let text = shown.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "evidence is taken until 2026-06-22T12:00:00Z; evidence sent by itself 2026-06-21T12:00:00Z";
    assert!(text.contains(line), "{text}");
    let answers = shown.json()["answers"].as_object().unwrap().values().next().unwrap().clone();
    let expected =
        json!({ "until": "2026-06-22T12:00:00Z", "sent_at": "2026-06-21T12:00:00Z", "outcome": "submitted" });
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn a_key_that_may_not_answer_disputes_is_told_only_if_it_must() {
    let paying = Paying::connected().await;
    for (answers, route) in [(false, "GET /v1/disputes/du_none"), (true, "POST /v1/disputes/du_none")] {
        configure(&paying.bench.db, |config| config.payments.answer_disputes = answers).await;
        paying.findings().await;
        let last = paying.stand_in.received().into_iter().rfind(|one| one.route.ends_with("/du_none")).unwrap();
        assert_eq!(last.route, route);
    }
}

#[tokio::test]
async fn an_order_in_review_and_one_with_a_failed_refund_are_told() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    let key = keys::order(&order);
    for (check, attribute, value) in
        [("orders in review", "review", "of another amount"), ("failed refunds", "unreturned", "")]
    {
        assert_eq!(todo(&paying, check).await, None);
        let set: Write = Write::update(key.clone(), "SET #it = :it").name("#it", attribute);
        write(&paying.bench, if value.is_empty() { set.number(":it", 150) } else { set.text(":it", value) }).await;
        let (said, next) = todo(&paying, check).await.unwrap();
        assert_eq!(said, order.as_str());
        assert!(next.contains("storectl order"), "{next}");
    }
}

#[tokio::test]
async fn a_subscription_is_told_while_its_renewal_is_not_paid_with_the_end_of_its_access() {
    let paying = Paying::connected().await;
    let unpaid = Subscription { status: SubscriptionStatus::PastDue, ..subscription(&paying, "sub_1") };
    put(&paying, unpaid).await;
    put(&paying, subscription(&paying, "sub_2")).await;
    let (said, next) = todo(&paying, "past due").await.unwrap();
    assert_eq!(said, "sub_1 of user 1 (access until 2026-06-28T12:00:00Z)");
    assert!(next.contains("subscription cancel ID"), "{next}");
}

#[tokio::test]
async fn sales_to_nobody_and_commands_for_a_server_without_a_key_are_told() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.tell_the_time();
    let well = bench.run(&["doctor"]).await.unwrap();
    assert_eq!((well.trouble(), &well.json()["ok"]), (None, &json!(true)), "{}", well.text());
    let last = anstream::adapter::strip_str(well.text()).to_string();
    assert!(last.lines().last().unwrap().starts_with("ok   the rest is well: table, "), "{last}");
    // Sales of an item whose command a game server runs.
    bench.record("--id nobodys --gateway g --line 201:1:1.99 --yes").await;
    let told = async |check: &str| {
        let answer = bench.run(&["doctor"]).await.unwrap();
        let findings = answer.json()["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|finding| finding["check"] == check);
        (answer.trouble(), found.unwrap_or_default())
    };
    let (exit, finding) = told("orders without an owner").await;
    assert_eq!((exit, &finding["state"], &finding["said"]), (Some(Exit::Faults), &json!("todo"), &json!("nobodys")));
    assert_eq!(told("servers without a key").await.1, Value::Null, "none of its commands waits");
    bench.ok(&["order", "set-status", "nobodys", "REFUNDED"]).await;
    assert_eq!(told("orders without an owner").await, (None, Value::Null));
    bench.record("--id newts --gateway g --line 201:1:1.99 --owner Newt").await;
    let (exit, finding) = told("servers without a key").await;
    assert_eq!((exit, &finding["state"]), (Some(Exit::Faults), &json!("todo")));
    assert!(finding["said"].as_str().unwrap().contains("commands wait for Hearth (1), the first since"), "{finding}");
    assert_eq!(finding["next"], "`storectl server add 1` makes one");
    add_key(&bench.db, bench.clock.as_ref(), ServerId::new(1)).await.unwrap();
    assert_eq!(told("servers without a key").await, (None, Value::Null));
}

#[tokio::test]
async fn status_is_one_screen_of_todays_sales_and_what_waits() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    let empty = bench.run(&["status"]).await.unwrap();
    assert_eq!(empty.trouble(), None);
    assert_eq!(empty.json()["sold"]["orders"], 0);
    assert_eq!(empty.json()["todo"], json!([]));
    for (id, at) in [("yesterday", "1 day ago"), ("refunded", "now"), ("one", "now"), ("two", "1 hour ago")] {
        let line =
            ["order", "record", "--id", id, "--owner", "Newt", "--gateway", "g", "--line", "201:2:3.98", "--at", at];
        bench.ok(&line).await;
    }
    bench.ok(&["order", "set-status", "refunded", "REFUNDED"]).await;
    let (_, key) = add_key(&bench.db, bench.clock.as_ref(), ServerId::new(1)).await.unwrap();
    write(&bench, Lease::see(key.server(), bench.clock.seconds() - 300)).await;
    let status = bench.run(&["status"]).await.unwrap();
    let json = status.json();
    assert_eq!((&json["sold"]["orders"], json["sold"]["amount"].to_string()), (&json!(2), "7.96".to_owned()));
    assert_eq!(json["servers"][0]["silent_for"], 300);
    let text = anstream::adapter::strip_str(status.text()).to_string();
    for part in ["Sold today  7.96 EUR in 2 orders", "Open        0", "Hearth    5 min ago", "Ashlands  no key"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 24, "{text}");
}

#[tokio::test]
async fn status_names_what_the_doctor_has_for_a_person() {
    let paying = Paying::connected().await;
    let order = paying.paid().await;
    dispute(&paying, &order).await;
    let answer = paying.answer(&["status"]).await;
    assert_eq!(answer.json()["todo"], json!(["disputes"]), "{}", answer.text());
    assert!(answer.text().contains("`storectl doctor` says what to do"), "{}", answer.text());
}
