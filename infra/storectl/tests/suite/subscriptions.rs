//! `subscription …`, as an operator sees them. The provider is the stand-in, which has none of these subscriptions: what it
//! does not have is over.

use crate::payments::Paying;
use shared::clock::Clock as _;
use shared::model::{InternalId, ItemId, Money, Plan, Subscription, SubscriptionStatus, User, UserId};
use shared::rules::subscription::with_entry;
use shared::store::transaction::{Sent, Write, send};
use shared::store::{keys, read_live, subscriptions, users};

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
pub async fn put(paying: &Paying, new: Subscription) {
    let db = &paying.bench.db;
    let user: User = read_live(db, &keys::user(new.user)).await.unwrap().unwrap();
    let with = with_entry(&user.subscriptions, &new, paying.bench.clock.seconds());
    let mut writes: Vec<Write> = subscriptions::put(None, new.clone()).unwrap();
    writes.push(users::set_subscriptions(new.user, &user.subscriptions, &with, None).unwrap());
    assert_eq!(send(db, writes).await.unwrap(), Sent::Written);
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
