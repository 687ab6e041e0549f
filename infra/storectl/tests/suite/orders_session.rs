//! `order record --session`: the order of a paid checkout that a restore to an earlier time has lost.

use crate::payments::Paying;
use local::stripe::Action;
use serde_json::json;
use shared::model::{InternalId, ItemId, UserId};
use shared::store::{keys, orders};
use storectl::error::Exit;

/// Makes the table forget a checkout, as a restore to the time before it does.
async fn lose(paying: &Paying, order: &InternalId) {
    let db = &paying.bench.db;
    let stored = orders::get(db, order).await.unwrap().unwrap();
    let (user, item) = (UserId::new(1), ItemId::new(211));
    let keys = [stored.key(), keys::count(item), keys::cart(user), keys::ledger(user)];
    for key in keys.into_iter().chain(stored.unfinished()) {
        paying.bench.delete(&key).await;
    }
}

/// A paid checkout of two units without its order; its session and the order's id.
async fn lost() -> (Paying, String, InternalId) {
    let paying = Paying::connected().await;
    let order = paying.checkout().await;
    let session = paying.stand_in.sessions().remove(0);
    paying.stand_in.act(&session, &Action::Pay).unwrap();
    lose(&paying, &order).await;
    (paying, session, order)
}

#[tokio::test]
async fn a_paid_session_without_an_order_is_recorded_once_and_can_be_refunded() {
    let (paying, session, order) = lost().await;
    let record = ["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:2"];
    let made = paying.ok(&record).await;
    assert_eq!((&made["internal_id"], &made["status"]), (&json!(order.as_str()), &json!("PAID")));
    assert_eq!((&made["price"], &made["currency"], &made["gateway"]), (&json!(4.98), &json!("EUR"), &json!("Stripe")));
    assert_eq!(made["provider"]["session"], session.as_str());
    let intent = made["provider"]["intent"].as_str().unwrap().to_owned();
    assert_eq!(orders::of_payment(&paying.bench.db, &intent).await.unwrap(), Some(order.clone()));
    let rows = paying.bench.rows().await;
    assert_eq!(paying.ok(&record).await["already"], true);
    assert_eq!(paying.bench.rows().await, rows, "the same command again has no effect");
    let other =
        paying.fails(&["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:1:4.98"]).await;
    assert!(other.what.contains("recorded already, and differs in: lines"), "{other}");
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
    assert_eq!(paying.ok(&["order", "refund", order.as_str(), "--yes"]).await["status"], "REFUNDED");
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
}

#[tokio::test]
async fn what_was_refunded_before_is_known_at_once_and_a_full_refund_is_not_recorded() {
    let (paying, session, _) = lost().await;
    let record = ["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:2"];
    paying.stand_in.act(&session, &Action::Refund(Some(100))).unwrap();
    assert_eq!(paying.ok(&record).await["refunded"], 1);
    let (paying, session, _) = lost().await;
    paying.stand_in.act(&session, &Action::Refund(None)).unwrap();
    let failure = paying.fails(&["order", "record", "--session", &session, "--line", "211:2"]).await;
    assert!(failure.exit == Exit::Refused && failure.what.contains("refunded in full"), "{failure}");
}

#[tokio::test]
async fn an_order_that_exists_is_refused_and_so_is_what_was_not_paid() {
    let paying = Paying::connected().await;
    let order = paying.checkout().await;
    let session = paying.stand_in.sessions().remove(0);
    let record = ["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:2"];
    let open = paying.fails(&record).await;
    assert!(open.what.contains("not paid"), "{open}");
    paying.stand_in.act(&session, &Action::Pay).unwrap();
    let pending = paying.fails(&record).await;
    assert!(pending.what.contains("exists and is PENDING") && pending.next.contains("order settle"), "{pending}");
    paying.ok(&["order", "settle", order.as_str()]).await;
    let rows = paying.bench.rows().await;
    let paid = paying.fails(&record).await;
    assert!(paid.exit == Exit::Refused && paid.what.contains("exists and is PAID"), "{paid}");
    assert_eq!(paying.bench.rows().await, rows);
    let unknown = paying.fails(&["order", "record", "--session", "cs_test_nothing", "--line", "211"]).await;
    assert_eq!(unknown.exit, Exit::Refused, "{unknown}");
    assert_eq!(paying.bench.fails(&record).await.exit, Exit::Denied, "without keys");
}

#[tokio::test]
async fn lines_that_cost_something_else_than_was_paid_are_refused() {
    let (paying, session, _) = lost().await;
    for line in ["211", "211:2:4.97", "211:3"] {
        let failure = paying.fails(&["order", "record", "--session", &session, "--line", line]).await;
        assert!(failure.what.contains("the buyer paid 4.98 EUR"), "{failure}");
    }
    paying.ok(&["order", "record", "--session", &session, "--line", "211:1:2.00", "--line", "101:1:2.98"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_record_one_session_at_once_one_takes_its_units() {
    let (paying, session, _) = lost().await;
    let record = ["order", "record", "--session", &session, "--owner", "Newt", "--line", "211:2"];
    let done = futures_util::future::join_all((0..16).map(|_| paying.ok(&record))).await;
    assert_eq!(done.iter().filter(|order| order["already"] == false).count(), 1);
    assert_eq!(paying.doctor("sums of orders").await["state"], "ok");
}
