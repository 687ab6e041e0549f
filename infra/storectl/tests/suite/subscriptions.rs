//! `subscription …`, as an operator sees them. The provider is the stand-in, which has none of these subscriptions: what it
//! does not have is over.

use crate::bench::Bench;
use crate::payments::Paying;
use serde_json::json;
use shared::clock::Clock as _;
use shared::model::{Plan, Subscription, SubscriptionStatus, User};
use shared::rules::subscription::with_entry;
use shared::shop::{accounts, subscriptions};
use shared::table::codec::encode_live;
use shared::table::transaction::{Write, send};
use shared::table::{keys, read_live};

const DAY: i64 = 86_400;

/// A subscription of the first user that is paid for ten more days.
pub fn subscription(paying: &Paying, id: &str) -> Subscription {
    let paid_until = paying.bench.clock.seconds() + 10 * DAY;
    let subscription = json!({
        "id": id, "version": 0, "user": 1, "item": 7, "name": "Squire", "price": 499, "currency": "EUR", "customer": "cus_1",
        "plan": Plan::default(), "account": paying.keys().stripe.unwrap().provider_account(), "first": "first",
        "newest": "newest", "paid_until": paid_until, "status": SubscriptionStatus::Active,
        "scheduled": paid_until + 3 * DAY, "due": paid_until,
    });
    serde_json::from_value(subscription).unwrap()
}

/// Writes a subscription with its entry in the row of its user.
pub async fn put(paying: &Paying, new: Subscription) {
    let db = &paying.bench.db;
    let user: User = read_live(db, &keys::user(new.user)).await.unwrap().unwrap();
    let with = with_entry(&user.subscriptions, &new, paying.bench.clock.seconds());
    let mut writes: Vec<Write> = subscriptions::put(None, new.clone()).unwrap();
    writes.push(accounts::set_subscriptions(new.user, &user.subscriptions, &with, None).unwrap());
    send(db, writes).await.unwrap();
}

#[tokio::test]
async fn the_doctor_writes_a_users_list_again_that_disagrees_with_the_subscriptions() {
    let paying = Paying::connected().await;
    assert_eq!(paying.doctor("subscriptions").await["state"], "ok");
    let writes: Vec<Write> = subscriptions::put(None, subscription(&paying, "sub_1")).unwrap();
    send(&paying.bench.db, writes).await.unwrap();
    let found = paying.doctor("subscriptions").await;
    assert_eq!(found["state"], "bad");
    assert!(found["said"].as_str().unwrap().contains("user 1"), "{found}");
    paying.answer(&["doctor", "--repair"]).await;
    assert_eq!(paying.doctor("subscriptions").await["state"], "ok");
    let rows = paying.bench.rows().await;
    assert!(rows.iter().any(|row| row.contains("USER#1") && row.contains("sub_1")));
    let overdue = paying.doctor("open orders").await;
    assert!(overdue["said"].as_str().unwrap().contains("subscription sub_1"), "{overdue}");
    let next = "`storectl subscription settle ID` asks the provider about a subscription now";
    assert_eq!(overdue["next"], next, "a command that knows the row");
}

#[tokio::test]
async fn the_doctor_makes_the_rows_by_which_the_sweep_finds_subscriptions_agree_with_these() {
    const CHECK: &str = "open subscriptions";
    let paying = Paying::connected().await;
    put(&paying, subscription(&paying, "sub_1")).await;
    assert_eq!(paying.doctor(CHECK).await["state"], "ok");
    let own = subscriptions::due_key(&subscription(&paying, "sub_1")).unwrap();
    let gone = keys::unfinished_subscription(paying.bench.clock.seconds() - DAY, "sub_gone");
    let row = encode_live(&gone, &json!({ "subscription": "sub_gone" })).unwrap();
    let writes = vec![Write::delete(own.clone()), Write::put(gone.clone(), row)];
    send(&paying.bench.db, writes).await.unwrap();
    let found = paying.doctor(CHECK).await;
    assert_eq!(found["state"], "bad");
    assert!(found["said"].as_str().unwrap().contains("sub_1, sub_gone"), "{found}");
    paying.answer(&["doctor", "--repair"]).await;
    assert_eq!(paying.doctor(CHECK).await["state"], "ok");
    let rows = paying.bench.rows().await;
    assert!(rows.iter().any(|row| row.contains(&own.sk)) && !rows.iter().any(|row| row.contains("sub_gone")));
}

#[tokio::test]
async fn a_restore_makes_the_rows_by_which_the_sweep_finds_subscriptions_agree_with_these() {
    let paying = Paying::connected().await;
    put(&paying, subscription(&paying, "sub_1")).await;
    let own = subscriptions::due_key(&subscription(&paying, "sub_1")).unwrap();
    // The backup was made while the sweep wrote.
    let before = keys::unfinished_subscription(paying.bench.clock.seconds() - DAY, "sub_1");
    let row = encode_live(&before, &json!({ "subscription": "sub_1" })).unwrap();
    let writes = vec![Write::delete(own.clone()), Write::put(before.clone(), row)];
    send(&paying.bench.db, writes).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("backup.gz");
    paying.answer(&["backup", file.to_str().unwrap()]).await;
    let other = Bench::empty().await;
    let text = other.run(&["restore", file.to_str().unwrap(), "--yes"]).await.unwrap().text().to_owned();
    assert!(
        text.contains("The sweep's rows of 1 subscriptions did not agree with them, and are written again."),
        "{text}"
    );
    let rows = other.rows().await;
    assert!(rows.iter().any(|row| row.contains(&own.sk)) && !rows.iter().any(|row| row.contains(&before.sk)));
}

#[tokio::test]
async fn a_ban_cancels_the_subscriptions_of_the_account_and_says_which() {
    let paying = Paying::connected().await;
    put(&paying, subscription(&paying, "sub_1")).await;
    let answer = paying.ok(&["ban", "Newt"]).await;
    assert_eq!(answer["cancelled_subscriptions"], json!(["sub_1"]));
    let shown = paying.ok(&["subscription", "show", "sub_1"]).await;
    assert_eq!(json!([shown["status"], shown["requested"]]), json!(["cancelled", "at_period_end"]));
    let again = paying.ok(&["ban", "Newt"]).await;
    assert_eq!(again["cancelled_subscriptions"], json!([]));
}
