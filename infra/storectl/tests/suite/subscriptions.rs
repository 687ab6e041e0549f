//! `subscription …`, as an operator sees them. The provider is the stand-in, which has none of these subscriptions: what it
//! does not have is over.

use crate::bench::{Bench, copy, sample};
use crate::payments::Paying;
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{
    InternalId, ItemId, Money, Plan, ProviderAccount, Subscription, SubscriptionStatus, UserId, UserSubscription,
};
use shared::rules::subscription::with_entry;
use shared::store::transaction::{Sent, Write, send};
use shared::store::{subscriptions, users};
use storectl::error::Exit;

const DAY: i64 = 86_400;

/// A subscription of the first user that is paid for ten more days.
pub fn subscription(paying: &Paying, id: &str) -> Subscription {
    let paid_until = paying.bench.clock.seconds() + 10 * DAY;
    Subscription {
        id: id.to_owned(),
        version: 0,
        user: UserId::new(1),
        item: ItemId::new(7),
        name: "Squire".to_owned(),
        price: Money::from_minor(499),
        currency: "EUR".to_owned(),
        plan: Plan::default(),
        customer: "cus_1".to_owned(),
        account: paying.keys().stripe.unwrap().provider_account(),
        first: InternalId::new("first"),
        newest: InternalId::new("newest"),
        paid_until,
        status: SubscriptionStatus::Active,
        cancelled: false,
        ended_at: None,
        stopped_at: None,
        requested: None,
        scheduled: paid_until + 3 * DAY,
        due: Some(paid_until),
    }
}

/// Writes a subscription with its entry in the row of its user.
pub async fn put(paying: &Paying, new: Subscription, entries: &[UserSubscription]) -> Vec<UserSubscription> {
    let db = &paying.bench.db;
    let with = with_entry(entries, &new, paying.bench.clock.seconds());
    let mut writes: Vec<Write> = subscriptions::put(None, new.clone()).unwrap();
    writes.push(users::set_subscriptions(new.user, entries, &with, None).unwrap());
    assert_eq!(send(db, writes).await.unwrap(), Sent::Written);
    with
}

async fn ids(paying: &Paying, options: &[&str]) -> Vec<String> {
    let listed = paying.ok(&[&["subscription", "list"], options].concat()).await;
    let listed = listed["subscriptions"].as_array().unwrap().clone();
    listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn subscriptions_are_listed_by_user_and_state_the_next_change_first() {
    let paying = Paying::connected().await;
    paying.bench.ok(&["user", "add", "Pebble"]).await;
    let one = subscription(&paying, "sub_1");
    let ended = Subscription { id: "sub_0".to_owned(), status: SubscriptionStatus::Ended, due: None, ..one.clone() };
    let unpaid = Subscription { id: "sub_3".to_owned(), status: SubscriptionStatus::PastDue, ..one.clone() };
    let sooner =
        Subscription { id: "sub_2".to_owned(), user: UserId::new(2), paid_until: one.paid_until - DAY, ..one.clone() };
    let entries = put(&paying, one, &[]).await;
    let entries = put(&paying, ended, &entries).await;
    put(&paying, unpaid, &entries).await;
    put(&paying, sooner, &[]).await;
    assert_eq!(ids(&paying, &[]).await, ["sub_2", "sub_1", "sub_3", "sub_0"]);
    assert_eq!(ids(&paying, &["--user", "Pebble"]).await, ["sub_2"]);
    assert_eq!(ids(&paying, &["--user", "1", "--status", "past_due"]).await, ["sub_3"]);
    assert_eq!(ids(&paying, &["--status", "cancelled"]).await, [""; 0]);
    let shown = paying.ok(&["subscription", "show", "sub_1"]).await;
    assert_eq!(
        (&shown["player"], &shown["price"], &shown["every"], &shown["unit"]),
        (&json!("Newt"), &json!(4.99), &json!(1), &json!("month"))
    );
    assert_eq!(paying.fails(&["subscription", "show", "sub_4"]).await.exit, Exit::Refused);
}

#[tokio::test]
async fn a_subscription_is_cancelled_only_if_asked_for_in_its_own_account_and_once() {
    let paying = Paying::connected().await;
    let one = subscription(&paying, "sub_1");
    let foreign = ProviderAccount { id: Some("acct_other".to_owned()), live: false };
    let entries = put(&paying, one.clone(), &[]).await;
    put(&paying, Subscription { id: "sub_2".to_owned(), account: foreign, ..one }, &entries).await;
    let cancel = ["subscription", "cancel", "sub_1"];
    assert_eq!(paying.fails(&cancel).await.exit, Exit::Declined);
    assert_eq!(paying.bench.fails(&cancel).await.exit, Exit::Denied, "without keys");
    let refused = paying.fails(&["subscription", "cancel", "sub_2", "--yes"]).await;
    assert!(refused.what.contains("acct_other"), "{refused}");
    assert_eq!(paying.ok(&["subscription", "show", "sub_1"]).await["status"], "active");
    let cancelled = paying.ok(&[&cancel[..], &["--yes"]].concat()).await;
    // What is paid stays: the days of grace are only for a payment that is awaited.
    assert_eq!(
        (&cancelled["status"], &cancelled["cancelled"], &cancelled["access_until"], &cancelled["refunded"]),
        (&json!("ended"), &json!(true), &cancelled["paid_until"], &Value::Null)
    );
    let rows = paying.bench.rows().await;
    paying.ok(&cancel).await;
    assert_eq!(paying.bench.rows().await, rows);
}

#[tokio::test]
async fn access_ends_at_once_with_the_newest_payment_refunded_once() {
    let paying = Paying::connected().await;
    let newest = paying.paid().await;
    put(&paying, Subscription { newest: newest.clone(), ..subscription(&paying, "sub_1") }, &[]).await;
    let cancel = ["subscription", "cancel", "sub_1", "--refund", "--yes"];
    let cancelled = paying.ok(&cancel).await;
    assert_eq!((&cancelled["status"], &cancelled["refunded"]), (&json!("ended"), &json!(4.98)));
    assert_eq!(cancelled["access_until"], cancelled["stopped_at"]);
    assert_ne!(cancelled["access_until"], cancelled["paid_until"]);
    assert_eq!(paying.ok(&["order", "show", newest.as_str()]).await["status"], "REFUNDED");
    assert_eq!(paying.ok(&cancel).await["refunded"], 0);
    assert_eq!(paying.refunds().len(), 1);
}

#[tokio::test]
async fn erasing_a_user_first_ends_what_would_be_charged_again() {
    let paying = Paying::connected().await;
    put(&paying, subscription(&paying, "sub_1"), &[]).await;
    assert_eq!(paying.bench.fails(&["user", "erase", "Newt", "--yes"]).await.exit, Exit::Denied, "without keys");
    assert_eq!(paying.ok(&["user", "show", "Newt"]).await["user"]["id"], 1);
    let erased = paying.ok(&["user", "erase", "Newt", "--yes"]).await;
    assert_eq!(erased["ended_subscriptions"], 1);
    let asked = paying.stand_in.received().iter().any(|sent| sent.route == "DELETE /v1/subscriptions/sub_1");
    assert!(asked, "{:?}", paying.stand_in.received());
    let left = paying.ok(&["subscription", "show", "sub_1"]).await;
    assert_eq!((&left["status"], &left["player"]), (&json!("ended"), &Value::Null));
    assert_eq!(paying.ok(&["user", "erase", "1", "--yes"]).await["ended_subscriptions"], 0);
}

#[tokio::test]
async fn a_publish_says_how_many_keep_what_they_subscribed_to() {
    let paying = Paying::connected().await;
    let monthly = Subscription { item: ItemId::new(602), ..subscription(&paying, "sub_1") };
    let ended = Subscription { id: "sub_2".to_owned(), status: SubscriptionStatus::Ended, ..monthly.clone() };
    let entries = put(&paying, monthly, &[]).await;
    put(&paying, ended, &entries).await;
    let dir = paying.bench.path("store");
    copy(std::path::Path::new(&sample()), &dir);
    let file = dir.join("categories/support.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let told = async |text: &str| {
        std::fs::write(&file, text).unwrap();
        let plan = paying.bench.ok(&["publish", &dir.display().to_string(), "--dry-run"]).await["plan"].clone();
        plan["warnings"].as_array().unwrap().iter().filter(|line| line.to_string().contains("Item 602")).count()
    };
    assert_eq!(told(&text.replace("A cartload every", "One every")).await, 0);
    let other_plan = text.replace("{every: 1, unit: month}", "{every: 2, unit: month}");
    assert_ne!(other_plan, text);
    assert_eq!(told(&other_plan).await, 1);
    assert_eq!(told(&text.replace("price: 7.99", "price: 7.99\n    active: false")).await, 1, "it is withdrawn");
}

#[tokio::test]
async fn the_doctor_writes_a_users_list_again_that_disagrees_with_the_subscriptions() {
    let paying = Paying::connected().await;
    assert_eq!(paying.doctor("subscriptions").await["state"], "ok");
    let writes: Vec<Write> = subscriptions::put(None, subscription(&paying, "sub_1")).unwrap();
    assert_eq!(send(&paying.bench.db, writes).await.unwrap(), Sent::Written);
    let found = paying.doctor("subscriptions").await;
    assert_eq!(found["state"], "bad");
    assert!(found["said"].as_str().unwrap().contains("user 1"), "{found}");
    paying.answer(&["doctor", "--repair"]).await;
    assert_eq!(paying.doctor("subscriptions").await["state"], "ok");
    let rows = paying.bench.rows().await;
    assert!(rows.iter().any(|row| row.contains("USER#1") && row.contains("sub_1")));
    let overdue = paying.doctor("open orders").await;
    assert!(overdue["said"].as_str().unwrap().contains("subscription sub_1"), "{overdue}");
}

#[tokio::test]
async fn a_restore_brings_a_subscription_back_with_its_users_entry_and_for_the_sweep() {
    let paying = Paying::connected().await;
    put(&paying, subscription(&paying, "sub_1"), &[]).await;
    let (file, other) = (paying.path("backup.gz"), Bench::empty().await);
    paying.ok(&["backup", &file]).await;
    other.ok(&["restore", &file, "--yes"]).await;
    let with = |rows: Vec<String>| rows.into_iter().filter(|row| row.contains("sub_1")).collect::<Vec<_>>();
    let rows = with(other.rows().await);
    assert_eq!((rows.len(), &rows), (3, &with(paying.bench.rows().await)));
}
