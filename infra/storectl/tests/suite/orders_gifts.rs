//! Lines that are gifts: they count for the recipient, never for the buyer.

use crate::bench::Bench;
use crate::orders_sums::{Facts, assert_sums};
use crate::orders_support::{BOTH, PLAIN, Shop, TWO_EACH, id, paid};
use serde_json::json;
use shared::model::{ItemId, OrderStatus, UserId};
use shared::store::keys;
use shared::usecases::orders::{NewOrder, OrderRefusal, RecordError, record, set_status};
use storectl::error::Exit;

/// A paid order of user 1 in which every line is a gift for `recipient`.
fn given(text: &str, recipient: u64, lines: &[(u64, u32, i64)]) -> NewOrder {
    let order = paid(text, Some(1), lines);
    let lines = order.lines.iter().map(|line| line.clone().gift_for(UserId::new(recipient))).collect();
    NewOrder { lines, ..order }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_is_owned_by_its_recipient_until_it_is_refunded() {
    let shop = Shop::open().await;
    let mut order = given("a", 2, &[(TWO_EACH, 2, 180)]);
    order.lines.extend(paid("", None, &[(PLAIN, 1, 100)]).lines);
    record(&shop.db, &shop.clock, order).await.unwrap();
    assert_eq!((shop.held(1, TWO_EACH).await, shop.held(2, TWO_EACH).await), (0, 2));
    assert_eq!((shop.held(1, PLAIN).await, shop.held(2, PLAIN).await), (1, 0));
    assert_eq!(shop.number(&keys::ledger(UserId::new(2)), &format!("p{TWO_EACH}")).await, 180);
    assert_sums(&shop.db, &Facts::of_fixture()).await;
    set_status(&shop.db, &shop.clock, &id("a"), OrderStatus::Refunded).await.unwrap();
    assert_eq!((shop.held(2, TWO_EACH).await, shop.sold(TWO_EACH).await), (0, 0));
    assert_sums(&shop.db, &Facts::of_fixture()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_counts_against_the_recipients_limit_and_not_the_buyers() {
    let shop = Shop::open().await;
    record(&shop.db, &shop.clock, paid("own", Some(1), &[(BOTH, 1, 10)])).await.unwrap();
    record(&shop.db, &shop.clock, given("first", 2, &[(BOTH, 1, 10)])).await.unwrap();
    let again = record(&shop.db, &shop.clock, given("again", 2, &[(BOTH, 1, 10)])).await;
    let limit = OrderRefusal::UserLimit { item: ItemId::new(BOTH), limit: 1 };
    assert!(matches!(again, Err(RecordError::Refused(refusal)) if refusal == limit), "{again:?}");
    record(&shop.db, &shop.clock, given("other", 3, &[(BOTH, 1, 10)])).await.unwrap();
    assert_eq!(shop.sold(BOTH).await, 3, "gifts are sold units too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_for_nobody_is_refused_and_one_for_an_erased_user_brings_nothing_back() {
    let shop = Shop::open().await;
    let unknown = record(&shop.db, &shop.clock, given("x", 999, &[(PLAIN, 1, 10)])).await;
    assert!(matches!(unknown, Err(RecordError::UnknownUser(user)) if user == UserId::new(999)), "{unknown:?}");
    let pending = NewOrder { status: OrderStatus::Pending, ..given("a", 2, &[(PLAIN, 1, 10)]) };
    record(&shop.db, &shop.clock, pending).await.unwrap();
    shop.delete(&keys::user(UserId::new(2))).await;
    set_status(&shop.db, &shop.clock, &id("a"), OrderStatus::Paid).await.unwrap();
    assert_eq!(shop.db.get(&keys::ledger(UserId::new(2)), true).await.unwrap(), None);
    assert_eq!(shop.sold(PLAIN).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_order_for_another_recipient_is_another_order() {
    let shop = Shop::open().await;
    record(&shop.db, &shop.clock, given("a", 2, &[(PLAIN, 1, 10)])).await.unwrap();
    assert!(record(&shop.db, &shop.clock, given("a", 2, &[(PLAIN, 1, 10)])).await.unwrap().already);
    let other = record(&shop.db, &shop.clock, given("a", 3, &[(PLAIN, 1, 10)])).await;
    assert!(matches!(other, Err(RecordError::Differs { field: "lines", .. })), "{other:?}");
}

#[tokio::test]
async fn a_gift_is_typed_with_its_recipient_and_raises_their_rank_only() {
    let bench = Bench::published().await;
    bench.ok(&["user", "add", "Newt"]).await;
    bench.ok(&["user", "add", "Eft"]).await;
    let order = ["order", "record", "--past", "--id", "g", "--owner", "Newt", "--gateway", "g", "--line", "101@Eft"];
    let line = bench.ok(&order).await["lines"][0].clone();
    let of_line = [&line["item"], &line["count"], &line["total"], &line["payment_type"], &line["recipient"]];
    assert_eq!(of_line, [&json!(101), &json!(1), &json!(4.99), &json!("gift"), &json!(2)]);
    assert_eq!(bench.ok(&order).await["already"], true);
    assert!(bench.run(&["order", "show", "g"]).await.unwrap().text().contains("gift for Eft (user 2)"));
    assert_eq!(bench.cart_add(&["Newt", "102"]).await["price"], 9.99);
    assert_eq!(bench.cart_add(&["Eft", "102"]).await["price"], 5, "the gift is paid towards the next step");
    let unknown = ["order", "record", "--owner", "Newt", "--gateway", "g", "--line", "101@77"];
    assert_eq!(bench.fails(&unknown).await.exit, Exit::Refused);
}
