//! Limits in time and place: many buyers at once, what gives a place back, and what the table has then.

use crate::shop::{DAY, Refused, Shop, gift, id, item, line, paid, published_item, user};
use crate::sums::{assert_books, assert_quiet, count_paid};
use futures_util::future::join_all;
use serde_json::{Value, json};
use shared::model::{InternalId, ItemId, Line, OrderStatus, ServerId, UserId};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::orders::{NewPlayer, move_order};
use shared::shop::payments::Checkout;
use shared::table::keys;
use std::time::Duration;
use tests::{NOW, count};

const ITEM: u64 = 60;
/// Buyers from this id on.
const FIRST: u64 = 1_000;
/// The last midnight before the clocks of Berlin go back, a day of 25 hours.
const MIDNIGHT: i64 = 1_792_879_200;

/// A shop that sells an item with these limits.
async fn selling(limits: &Value) -> Shop {
    let shop = Shop::open().await;
    publish(&shop, limits).await;
    shop
}

async fn publish(shop: &Shop, limits: &Value) {
    let more = json!({ "gifting": true, "limits": limits, "servers": [{ "id": 1, "name": "one" }, { "id": 2, "name": "two" }],
                       "allow_select_server": true });
    shop.write_all(vec![published_item(&item(ITEM, 1, &more))]).await;
}

fn weekly() -> Value {
    json!([{ "most": 1, "per_user": true, "every": { "rolling": 7 * DAY } }])
}

/// Accounts from `first` on, as many as `BUYERS` says.
async fn buyers(shop: &Shop, first: u64) -> Vec<u64> {
    let buyers: Vec<u64> = (first..first + u64::from(count("BUYERS", 200))).collect();
    join_all(buyers.iter().map(|id| shop.put_user(*id))).await;
    buyers
}

impl Shop {
    async fn put_user(&self, id: u64) {
        self.put(&keys::user(UserId::new(id)), &user(id)).await;
    }

    /// A cart with the item for a server.
    async fn fill_server(&self, buyer: u64, server: u64) {
        let line = Line { server: Some(ServerId::new(server)), ..line(1, ITEM, 1) };
        self.fill_with(buyer, vec![line], None).await;
    }

    async fn times(&self, user: u64) -> Vec<i64> {
        self.ledger(user).await.times(ItemId::new(ITEM)).to_vec()
    }

    async fn place(&self, name: &str) -> i64 {
        self.number(&keys::count(ItemId::new(ITEM)), name).await
    }

    async fn marks(&self) -> usize {
        let row = self.db.get(&keys::count(ItemId::new(ITEM)), true).await.unwrap().unwrap_or_default();
        row.iter().filter(|(name, _)| name.starts_with("r5")).map(|(_, marks)| marks.as_ss().unwrap().len()).sum()
    }

    async fn expire(&self, order: &InternalId) {
        self.end(order, Progress::Expired);
        self.settle(order).await;
    }
}

/// The item for the player of the first account.
fn given() -> Line {
    Line { server: Some(ServerId::new(1)), ..gift(1, ITEM, "Receiver") }
}

async fn all_begin(shop: &Shop, buyers: &[u64]) -> Vec<Result<Checkout, Refused>> {
    let instances = shop.instances(8);
    join_all(buyers.iter().zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, *buyer))).await
}

fn opened(results: &[Result<Checkout, Refused>]) -> Vec<InternalId> {
    results.iter().flatten().map(|checkout| checkout.order.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_checkouts_for_one_player_one_is_paid_in_seven_days() {
    let shop = selling(&weekly()).await;
    shop.name(1, "Receiver").await;
    let buyers = buyers(&shop, FIRST).await;
    join_all(buyers.iter().map(|buyer| shop.fill_with(*buyer, vec![given()], None))).await;
    shop.fill_server(1, 1).await;
    let all: Vec<u64> = buyers.iter().copied().chain([1]).collect();
    let orders = opened(&all_begin(&shop, &all).await);
    join_all(orders.iter().map(|order| shop.pay(order))).await;
    assert_eq!((count_paid(&shop).await, shop.times(1).await.len(), shop.held(1, ITEM).await), (1, 1, 1));
    shop.sweep_later().await;
    assert_quiet(&shop).await;
    // What the others have paid is returned, and no one can begin another one until the time is over.
    assert!(shop.stand_in.sessions().len() >= orders.len());
    shop.fill_server(1, 1).await;
    let refusal = shop.refusal(1).await;
    assert!(refusal.contains("can be bought from 2026-06-22 12:00:00 UTC"), "{refusal}");
    shop.clock.advance(Duration::from_secs(u64::try_from(NOW + 7 * DAY - 1 - shop.now()).unwrap()));
    assert!(shop.create(1).await.is_err(), "the 604,800th second is too early");
    shop.clock.advance(Duration::from_secs(1));
    shop.create(1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_a_day_are_fifty_before_midnight_of_the_zone_and_fifty_after() {
    let offsets = json!([[0, 7_200], [MIDNIGHT + 10_800, 3_600]]);
    let shop = selling(&json!([{ "most": 50, "every": { "window": { "kind": "day", "offsets": offsets } } }])).await;
    let of_hour = |hours: i64| u64::try_from(MIDNIGHT + hours * 3_600 - 1 - NOW).unwrap();
    shop.clock.advance(Duration::from_secs(of_hour(25)));
    for (first, number) in [(FIRST, 20_751), (2 * FIRST, 20_752)] {
        let buyers = buyers(&shop, first).await;
        join_all(buyers.iter().map(|buyer| shop.fill_server(*buyer, 1))).await;
        let results = all_begin(&shop, &buyers).await;
        assert_eq!(opened(&results).len(), 50);
        for refused in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(matches!(refused, Refused::Refused(CheckoutRefusal::Later { .. })), "{refused:?}");
        }
        assert_eq!(shop.place(&format!("d{number}")).await, 50);
        assert_books(&shop).await;
        shop.clock.advance(Duration::from_secs(1));
    }
    shop.days(3);
    let late = buyers(&shop, 3 * FIRST).await[0];
    shop.fill_server(late, 1).await;
    shop.create(late).await.unwrap();
    assert_eq!((shop.place("d20751").await, shop.place("d20752").await), (0, 0), "days that are over are forgotten");
}

#[tokio::test]
async fn what_ends_and_what_is_refunded_gives_its_place_back() {
    let limits = json!([
        { "most": 2, "every": { "rolling": 6 * DAY } },
        { "most": 3, "every": { "window": { "kind": "month" } } },
        { "most": 1, "server": 2 },
        { "most": 1, "per_user": true, "every": { "window": { "kind": "day" } } },
    ]);
    let shop = selling(&limits).await;
    let state = async || (shop.marks().await, shop.place("m24317").await, shop.place("av2").await);
    shop.fill_server(1, 2).await;
    let first = shop.create(1).await.unwrap().order;
    assert_eq!(shop.create(1).await.unwrap().order, first, "its own hold does not count");
    assert_eq!(state().await, (1, 1, 1));
    shop.fill_server(2, 2).await;
    assert_eq!(shop.refusal(2).await, "\"item 60\" is sold out for the selected server. Select another one.");
    assert_books(&shop).await;
    shop.expire(&first).await;
    assert_eq!(state().await, (0, 0, 0));
    let second = shop.create(2).await.unwrap().order;
    shop.pay(&second).await;
    shop.fill_server(3, 1).await;
    let third = shop.create(3).await.unwrap().order;
    shop.pay(&third).await;
    assert_eq!((state().await, shop.times(2).await), ((2, 2, 1), vec![NOW]));
    shop.fill_server(4, 1).await;
    assert!(shop.refusal(4).await.contains("from 2026-06-21 12:00:00 UTC"));
    shop.refund(&third, None).await.unwrap();
    assert_eq!((state().await, shop.times(3).await), ((1, 1, 1), vec![]));
    shop.create(4).await.unwrap();
    // A month later its window is over: nothing is given back to another one.
    shop.days(31);
    shop.fill_server(5, 1).await;
    shop.create(5).await.unwrap();
    assert_eq!((shop.place("m24318").await, shop.marks().await), (1, 1));
    shop.refund(&second, None).await.unwrap();
    assert_eq!((shop.place("m24318").await, shop.place("av2").await, shop.times(2).await), (1, 0, vec![]));
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn a_limit_that_is_published_later_does_not_give_back_what_it_did_not_count() {
    let shop = selling(&json!([])).await;
    shop.fill_server(1, 1).await;
    let before = shop.create(1).await.unwrap().order;
    shop.pay(&before).await;
    publish(&shop, &json!([{ "most": 1, "every": { "window": { "kind": "day" } } }])).await;
    shop.fill_server(2, 1).await;
    shop.create(2).await.unwrap();
    shop.refund(&before, None).await.unwrap();
    shop.fill_server(3, 1).await;
    assert!(shop.create(3).await.is_err());
    assert_books(&shop).await;
}

#[tokio::test]
async fn without_holds_the_payment_that_comes_second_is_returned() {
    for limits in [json!([{ "most": 1, "every": { "rolling": 6 * DAY } }]), json!([{ "most": 1, "server": 1 }])] {
        let shop = selling(&limits).await;
        shop.set_payments(|payments| payments.hold_minutes = 0).await;
        let mut orders = Vec::new();
        for buyer in [1, 2] {
            shop.fill_server(buyer, 1).await;
            orders.push(shop.create(buyer).await.unwrap().order);
        }
        join_all(orders.iter().map(|order| shop.pay(order))).await;
        assert_eq!((count_paid(&shop).await, shop.sold(ITEM).await), (1, 1));
        shop.sweep_later().await;
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn killed_at_any_transaction_a_checkout_keeps_no_place() {
    for nth in 1..4 {
        for is_written in [false, true] {
            let limits = json!([{ "most": 1, "every": { "rolling": 6 * DAY } }, { "most": 1, "server": 1 }]);
            let shop = selling(&limits).await;
            shop.fill_server(1, 1).await;
            _ = shop.create_by(&shop.killed_at_transaction(nth, is_written), 1).await;
            shop.clock.advance(Duration::from_mins(2));
            shop.sweep().await;
            let order = shop.create(1).await.unwrap().order;
            shop.sweep().await;
            assert_eq!((shop.marks().await, shop.place("av1").await), (1, 1), "{nth} {is_written}");
            assert_books(&shop).await;
            shop.expire(&order).await;
            shop.sweep_later().await;
            assert_eq!((shop.marks().await, shop.place("av1").await), (0, 0), "{nth} {is_written}");
            assert_quiet(&shop).await;
        }
    }
}

#[tokio::test]
async fn the_place_in_time_moves_with_its_order() {
    let shop = selling(&weekly()).await;
    for (order, owner) in [("a", 1), ("b", 2)] {
        shop.record(paid(order, Some(owner), &[(ITEM, 1, 100)])).await.unwrap();
    }
    assert!(shop.record(paid("c", Some(1), &[(ITEM, 1, 100)])).await.is_err());
    let to = |id| NewPlayer { user: Some(UserId::new(id)), name: None };
    let moved = async |to: &NewPlayer, force| move_order(&shop.db, &shop.clock, &id("a"), None, to, force).await;
    assert!(moved(&to(2), false).await.is_err());
    moved(&to(3), false).await.unwrap();
    assert_eq!((shop.times(1).await, shop.times(3).await), (vec![], vec![NOW]));
    moved(&to(2), true).await.unwrap();
    assert_eq!((shop.times(2).await, shop.times(3).await), (vec![NOW], vec![]), "as many as the limit counts");
    shop.set_status("a", OrderStatus::Refunded).await.unwrap();
    shop.assert_sums().await;
}
