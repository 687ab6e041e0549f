//! The item that patrons/get reads, when there are more patrons than it lists.

use crate::shop::{PLAIN, Shop, paid};
use futures_util::future::join_all;
use shared::model::{Donor, Money, OrderStatus, Patron, TopPatrons, UserId};
use shared::rules::patrons::largest;
use shared::shop::statistics;
use shared::shop::statistics::erase_names;
use shared::shop::upkeep::finish_statistics;
use shared::table::codec::encode_live;
use shared::table::keys;
use tests::{Fault, Prepared};

/// Patrons who are not users of the fixture.
const OTHERS: u64 = 1_000;

/// A shop with many patrons who gave 1 to 1,000 cents, and nothing compiled yet.
async fn crowded() -> Shop {
    static CONTENTS: Prepared = Prepared::new();
    let others = (1..=OTHERS).map(|place| {
        let (user, username, avatar) = (UserId::new(1_000 + place), format!("patron{place:04}"), String::new());
        Donor { user, username, avatar, amount: Money::from_minor(i64::try_from(place).unwrap()) }
    });
    let rows = others.map(|donor| encode_live(&keys::patron(donor.user), &donor).unwrap());
    Shop::copy_of(&CONTENTS, |shop| async move { shop.write_all(rows.collect()).await }).await
}

async fn give(shop: &Shop, order: &str, owner: u64, amount: i64) {
    let order = paid(order, Some(owner), &[(PLAIN, 1, amount)]);
    assert!(!shop.record(order).await.unwrap().stored.statistics_due());
}

async fn refund(shop: &Shop, order: &str) {
    let changed = shop.set_status(order, OrderStatus::Refunded).await.unwrap();
    assert!(!changed.stored.statistics_due());
}

/// The item, which lists what compiling all rows would.
async fn listed(shop: &Shop) -> TopPatrons {
    let top = statistics::top_patrons(&shop.db).await.unwrap();
    let rows = statistics::patrons(&shop.db).await.unwrap();
    let compiled = largest(rows.iter().map(Patron::from));
    assert_eq!(top.patrons, compiled.patrons);
    assert!(top.has_more >= compiled.has_more);
    top
}

fn last(top: &TopPatrons) -> (usize, &str) {
    (top.patrons.len(), top.patrons.last().unwrap().username.as_str())
}

#[tokio::test]
async fn the_first_order_compiles_the_patrons_and_a_refund_lets_the_next_move_up() {
    let shop = crowded().await;
    give(&shop, "a", 1, 5_000).await;
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0002"));
    give(&shop, "b", 2, 6_000).await;
    let top = listed(&shop).await;
    assert_eq!((top.patrons[0].username.as_str(), last(&top)), ("user-2", (1_000, "patron0003")));
    refund(&shop, "a").await;
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0002"));
    refund(&shop, "b").await;
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0001"));
}

#[tokio::test]
async fn a_patron_who_is_not_among_the_highest_leaves_the_item_as_it_is() {
    let shop = crowded().await;
    give(&shop, "a", 1, 5_000).await;
    let before = shop.db.get(&keys::top_patrons(), true).await.unwrap();
    give(&shop, "b", 2, 1).await;
    assert_eq!(shop.db.get(&keys::top_patrons(), true).await.unwrap(), before);
    listed(&shop).await;
}

#[tokio::test]
async fn an_erased_patron_makes_room_for_the_next() {
    let shop = crowded().await;
    give(&shop, "a", 1, 5_000).await;
    shop.delete(&keys::user(UserId::new(1))).await;
    assert!(erase_names(&shop.db, UserId::new(1)).await.unwrap().was_patron);
    let top = listed(&shop).await;
    assert_eq!((top.patrons[0].username.as_str(), last(&top)), ("patron1000", (1_000, "patron0001")));
}

#[tokio::test]
async fn an_order_that_collides_with_another_loses_no_patron() {
    let shop = crowded().await;
    give(&shop, "a", 1, 5_000).await;
    let orders = (2..10).map(|owner| {
        let shop = &shop;
        async move {
            let order = paid(&format!("o{owner}"), Some(owner), &[(PLAIN, 1, 9_000)]);
            shop.record(order).await.unwrap();
        }
    });
    join_all(orders).await;
    while !finish_statistics(&shop.db).await.unwrap().left.is_empty() {}
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0010"));
}

#[tokio::test]
async fn the_doctor_compiles_patrons_that_are_not_what_their_rows_say() {
    let shop = crowded().await;
    assert!(statistics::top_patrons(&shop.db).await.unwrap().patrons.is_empty());
    let lost = shop.with_faults(|_, operation| (operation == "TransactWriteItems").then_some(Fault::ResponseLost));
    finish_statistics(&lost).await.unwrap_err();
    assert!(!finish_statistics(&shop.db).await.unwrap().patrons_repaired, "it was written, but not reported");
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0001"));
    shop.delete(&keys::top_patrons()).await;
    assert!(finish_statistics(&shop.db).await.unwrap().patrons_repaired);
    listed(&shop).await;
    let empty = Shop::open().await;
    assert!(!finish_statistics(&empty.db).await.unwrap().patrons_repaired);
    assert_eq!(empty.db.get(&keys::top_patrons(), true).await.unwrap(), None);
}
