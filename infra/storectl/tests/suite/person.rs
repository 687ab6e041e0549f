//! What waits for a person: `doctor` names it with the command for it, and `status` counts it.

use crate::bench::Bench;
use crate::payments::Paying;
use crate::subscriptions::{put, subscription};
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{InternalId, ServerId, Subscription, SubscriptionStatus};
use shared::shop::delivery::add_key;
use shared::shop::delivery::leases::Lease;
use shared::table::keys;
use shared::table::transaction::{Write, send};
use std::time::Duration;
use storectl::error::Exit;
use stripe_stand_in::Action;
use tests::configure;

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
