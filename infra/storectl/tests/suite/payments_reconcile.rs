//! `payments reconcile`, and what the doctor says of the sweep.

use crate::payments::{ITEM, Paying};
use serde_json::{Value, json};
use shared::model::{InternalId, Money};
use shared::shop::orders::{self, StoredOrder};
use shared::table::codec::key_attributes;
use shared::table::keys;
use shared::table::transaction::{Write, send};
use std::collections::BTreeMap;
use std::time::Duration;
use storectl::error::Exit;
use stripe_stand_in::{Action, Fault, FaultKind};

impl Paying {
    /// Pays a checkout of two more units. The order and the provider's session.
    async fn another(&self) -> (InternalId, String) {
        self.bench.cart_add(&["Newt", ITEM, "--count", "2"]).await;
        let order = self.checkout().await;
        let session = self.stand_in.sessions().last().unwrap().clone();
        self.stand_in.act(&session, &Action::Pay).unwrap();
        (order, session)
    }

    /// Replaces an order in the table, without the service.
    async fn replace(&self, order: &InternalId, change: impl FnOnce(&mut StoredOrder)) {
        let mut stored = orders::get(&self.bench.db, order).await.unwrap().unwrap();
        self.delete(order).await;
        change(&mut stored);
        let put: Write = stored.put_new().unwrap();
        send(&self.bench.db, vec![put]).await.unwrap();
    }

    async fn delete(&self, order: &InternalId) {
        let delete: Write = Write::delete(keys::order(order));
        send(&self.bench.db, vec![delete]).await.unwrap();
    }

    /// The differences of the last day, by their kinds.
    async fn differences(&self) -> BTreeMap<String, Vec<Value>> {
        let answer = self.run(&["payments", "reconcile", "--since", "1 day ago"]).await.unwrap();
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for difference in answer.json()["differences"].as_array().unwrap() {
            let kind = difference["kind"].as_str().unwrap().to_owned();
            found.entry(kind).or_default().push(difference.clone());
        }
        assert_eq!(answer.trouble(), (!found.is_empty()).then_some(Exit::Faults));
        let names_record = answer.text().contains("storectl order record --session");
        assert_eq!(names_record, found.contains_key("paid_without_order"), "{}", answer.text());
        found
    }
}

#[tokio::test]
async fn payments_and_orders_are_compared_and_a_payment_without_an_order_is_refunded_once() {
    let paying = Paying::connected().await;
    paying.paid().await;
    assert_eq!(paying.differences().await.len(), 0);
    let (waiting, _) = paying.another().await;
    assert_eq!(paying.differences().await["not_settled"][0]["order"]["internal_id"], waiting.as_str());
    paying.ok(&["order", "settle", waiting.as_str()]).await;
    let mut made = Vec::new();
    for _ in 0..4 {
        let (order, session) = paying.another().await;
        paying.ok(&["order", "settle", order.as_str()]).await;
        made.push((order, session));
    }
    let [(missing, lost), (dear, _), (other, _), (refunded, back)] = &made[..] else { panic!("{made:?}") };
    paying.delete(missing).await;
    paying.replace(dear, |stored| stored.order.price = Money::from_minor(999)).await;
    let foreign = |stored: &mut StoredOrder| {
        stored.effects.provider.as_mut().unwrap().session = Some("cs_test_unknown".to_owned());
    };
    paying.replace(other, foreign).await;
    paying.stand_in.act(back, &Action::Refund(Some(100))).unwrap();
    let found = paying.differences().await;
    let kinds: Vec<(&str, usize)> = found.iter().map(|(kind, found)| (kind.as_str(), found.len())).collect();
    assert_eq!(kinds, [("amount", 2), ("paid_without_order", 2), ("without_payment", 1)]);
    assert_eq!(found["without_payment"][0]["order"]["internal_id"], other.as_str());
    let amounts = found["amount"].iter().map(|found| found["order"]["internal_id"].as_str().unwrap());
    assert!(amounts.clone().any(|id| id == dear.as_str()) && amounts.clone().any(|id| id == refunded.as_str()));
    let of_lost = found["paid_without_order"].iter().find(|found| found["payment"]["session"] == lost.as_str());
    assert_eq!(of_lost.unwrap()["payment"]["amount"], json!(4.98));
    assert_eq!(of_lost.unwrap()["payment"]["order"], missing.as_str());

    let refund = ["payments", "reconcile", "--since", "1 day ago", "--refund"];
    let arguments = [&refund[..], &[lost.as_str()]].concat();
    assert_eq!(paying.fails(&arguments).await.exit, Exit::Declined);
    assert_eq!(paying.refunds().len(), 0);
    let returned = paying.ok(&[&arguments[..], &["--yes"]].concat()).await;
    assert_eq!(returned["refunded"], json!(4.98));
    assert_eq!(paying.differences().await["paid_without_order"].len(), 1);
    let again = paying.ok(&[&arguments[..], &["--yes"]].concat()).await;
    assert_eq!(again["refunded"], json!(4.98), "nothing is left to do");
    let unknown = paying.fails(&[&refund[..], &["cs_test_unknown"]].concat()).await;
    assert!(unknown.what.contains("is not a paid checkout without an order"), "{unknown}");
    assert_eq!(paying.refunds().len(), 1);
    // It fails the same day: the provider would repeat what it said of it.
    paying.stand_in.act(lost, &Action::FailRefund).unwrap();
    let returned = paying.ok(&[&arguments[..], &["--yes"]].concat()).await;
    assert_eq!((&returned["refunded"], paying.refunds().len()), (&json!(4.98), 2));
}

#[tokio::test]
async fn the_doctor_names_what_is_overdue_and_the_events_that_fail() {
    let paying = Paying::connected().await;
    let (order, _) = paying.another().await;
    assert_eq!(paying.doctor("payment events").await["state"], "ok");
    paying.sweep(Duration::ZERO).await;
    paying.stand_in.inject(Fault::before(FaultKind::Status(500)).on("/v1/checkout/sessions/").for_ever());
    assert_eq!(paying.sweep(Duration::from_hours(2)).await.failed, 2);
    let overdue = paying.doctor("open orders").await;
    let said = overdue["said"].as_str().unwrap();
    assert_eq!(overdue["state"], "bad");
    assert!(said.contains(order.as_str()) && said.contains("failed 1 times") && said.contains("500"), "{said}");
    let events = paying.doctor("payment events").await;
    assert!(
        events["said"].as_str().unwrap().starts_with("1 events could not be acted on: checkout cs_test_"),
        "{events}"
    );
    let raw = Write::put(keys::webhook_events(), key_attributes(&keys::webhook_events()));
    let row = keys::Key { sk: "000000001000#9".to_owned(), ..keys::webhook_events() };
    let bad = Write::put(row.clone(), key_attributes(&row));
    send(&paying.bench.db, vec![raw, bad]).await.unwrap();
    let overdue = paying.doctor("open orders").await;
    assert!(
        overdue["said"].as_str().unwrap().contains("the row UNFINISHED 000000001000#9 cannot be read"),
        "{overdue}"
    );
    assert_eq!(paying.doctor("payment events").await["state"], "bad");
}
