//! Statistics of orders: goals, the month's top, recent donations, patrons, and names that are taken out again; and the item
//! that patrons/get reads, when there are more patrons than it lists.

use crate::shop::{DAY, PLAIN, Shop, id, paid};
use crate::sums::shown;
use futures_util::future::join_all;
use shared::model::{Donations, Donor, Money, OrderStatus, PaidOrder, Patron, TopPatrons, UserId};
use shared::rules::patrons::largest;
use shared::shop::orders::{NewOrder, get as show, record};
use shared::shop::statistics::{self, erase_names};
use shared::shop::upkeep::finish_statistics;
use shared::table::codec::encode_live;
use shared::table::keys;
use tests::{Fault, NOW, Prepared};

/// A paid order of `amount` by `owner`, made `age` days ago.
fn gift(text: &str, owner: u64, amount: i64, age: i64) -> NewOrder {
    NewOrder { created_at: Some(NOW - age * DAY), ..paid(text, Some(owner), &[(PLAIN, 1, amount)]) }
}

async fn give(shop: &Shop, order: NewOrder) {
    let recorded = shop.record(order).await.unwrap();
    assert!(!recorded.stored.statistics_due());
}

async fn refund(shop: &Shop, text: &str) {
    let changed = shop.set_status(text, OrderStatus::Refunded).await.unwrap();
    assert!(!changed.stored.statistics_due());
}

async fn top(shop: &Shop) -> Vec<(u64, i64)> {
    shown(&shop.db).await.top.iter().map(|donor| (donor.user.get(), donor.amount.minor())).collect()
}

#[tokio::test]
async fn a_refund_finds_the_next_of_the_top_and_of_the_recent() {
    let shop = Shop::open().await;
    for n in 1..=14 {
        give(&shop, gift(&format!("o{n}"), n, 100 * i64::try_from(n).unwrap(), 1)).await;
    }
    assert_eq!(top(&shop).await.len(), Donations::TOP);
    assert_eq!(top(&shop).await.last(), Some(&(5, 500)));
    for (text, next) in [("o14", (4, 400)), ("o7", (3, 300)), ("o1", (3, 300))] {
        refund(&shop, text).await;
        assert_eq!(top(&shop).await.last(), Some(&next), "{text}");
        shop.assert_sums().await;
    }
}

#[tokio::test]
async fn orders_that_cost_nothing_are_not_shown() {
    let shop = Shop::open().await;
    for n in 1..=11 {
        give(&shop, gift(&format!("o{n}"), n, 100, 1)).await;
        give(&shop, gift(&format!("free{n}"), n, 0, 0)).await;
    }
    // A row of the version before.
    let free = show(&shop.db, &id("free1")).await.unwrap().unwrap().order;
    let row = PaidOrder::new(&free, UserId::new(1));
    shop.put(&keys::paid_order(free.created_at, free.id), &row).await;
    refund(&shop, "o11").await;
    let recent = shown(&shop.db).await.recent;
    assert_eq!(recent.len(), Donations::RECENT);
    assert!(recent.iter().all(|donation| donation.amount.minor() == 100), "{recent:?}");
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_newer_month_replaces_the_top_and_an_older_one_does_not_touch_it() {
    let shop = Shop::open().await;
    give(&shop, gift("last month", 1, 900, 30)).await;
    assert_eq!((shown(&shop.db).await.month, top(&shop).await), (Donations::month_of(NOW - 30 * DAY), vec![(1, 900)]));
    give(&shop, gift("now", 2, 50, 0)).await;
    give(&shop, gift("older", 3, 700, 60)).await;
    assert_eq!((shown(&shop.db).await.month, top(&shop).await), (Donations::month_of(NOW), vec![(2, 50)]));
    refund(&shop, "last month").await;
    refund(&shop, "now").await;
    assert_eq!((shown(&shop.db).await.month, top(&shop).await), (Donations::month_of(NOW), vec![]));
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_guests_order_counts_for_the_goals_alone() {
    let shop = Shop::open().await;
    give(&shop, paid("a", None, &[(PLAIN, 1, 300)])).await;
    let shown = shown(&shop.db).await;
    assert_eq!(shown.goals["1"], Money::from_minor(300));
    assert!(shown.top.is_empty() && shown.recent.is_empty());
    assert!(statistics::patrons(&shop.db).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_order_leaves_the_goals_that_it_came_to_and_no_others() {
    let shop = Shop::open().await;
    give(&shop, gift("a", 1, 100, 0)).await;
    shop.publish("v1", &[2, 3]).await;
    give(&shop, gift("b", 1, 30, 0)).await;
    refund(&shop, "a").await;
    let goals = shown(&shop.db).await.goals;
    let sums = ["1", "2", "3"].map(|goal| goals[goal].minor());
    assert_eq!(sums, [0, 30, 30]);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_orders_at_once_are_all_counted_once() {
    let shop = Shop::open().await;
    let orders = (1..=20).map(|n| gift(&format!("o{n}"), n % 7 + 1, 10, 0));
    let outcomes = join_all(orders.map(|order| shop.record(order))).await;
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|recorded| !recorded.already)));
    let behind = outcomes.iter().flatten().filter(|recorded| recorded.stored.statistics_due()).count();
    let finished = finish_statistics(&shop.db).await.unwrap();
    assert_eq!((finished.finished, finished.left.len()), (behind, 0));
    shop.assert_sums().await;
}

#[tokio::test]
async fn a_busy_statistics_item_cancels_no_order_and_is_finished_later() {
    let shop = Shop::open().await;
    let busy = shop.failing_transactions(|nth| (nth > 1).then_some(Fault::Cancelled));
    let recorded = record(&busy, &shop.clock, gift("a", 1, 100, 0)).await.unwrap();
    assert!(recorded.stored.statistics_due());
    assert!(show(&shop.db, &id("a")).await.unwrap().unwrap().statistics_due());
    assert_eq!(shown(&shop.db).await, Donations::default());
    for expected in [1, 0] {
        assert_eq!(finish_statistics(&shop.db).await.unwrap().finished, expected);
        shop.assert_sums().await;
    }
}

#[tokio::test]
async fn an_order_that_was_refunded_before_it_was_counted_is_never_counted() {
    let shop = Shop::open().await;
    give(&shop, gift("other", 1, 500, 0)).await;
    let busy = shop.failing_transactions(|nth| (nth != 1).then_some(Fault::Internal));
    record(&busy, &shop.clock, gift("a", 1, 100, 0)).await.unwrap();
    refund(&shop, "a").await;
    assert_eq!(finish_statistics(&shop.db).await.unwrap().finished, 0);
    shop.assert_sums().await;
}

#[tokio::test]
async fn finishing_many_orders_goes_through_every_page() {
    let shop = Shop::open().await;
    let mut orders = 0;
    for n in 1..=5 {
        // Lines make an order large enough for more than one page of a scan.
        let filler = "x".repeat(300_000);
        let order = NewOrder { gateway: filler, ..gift(&format!("o{n}"), n, 10, 0) };
        let failing = shop.failing_transactions(|nth| (nth > 1).then_some(Fault::Internal));
        assert!(record(&failing, &shop.clock, order).await.unwrap().stored.statistics_due());
        orders += 1;
    }
    assert_eq!(finish_statistics(&shop.db).await.unwrap().finished, orders);
    shop.assert_sums().await;
}

#[tokio::test]
async fn an_erased_users_name_is_nowhere_and_those_who_come_next_move_up() {
    let shop = Shop::open().await;
    for n in 1..=12 {
        give(&shop, gift(&format!("o{n}"), n, 100 * i64::try_from(n).unwrap(), 0)).await;
    }
    give(&shop, gift("again", 12, 5, 1)).await;
    let goals = shown(&shop.db).await.goals;
    let user = UserId::new(12);
    shop.delete(&keys::user(user)).await;
    let erased = erase_names(&shop.db, user).await.unwrap();
    assert!(erased.was_shown && erased.was_patron);
    let after = shown(&shop.db).await;
    assert_eq!(after.goals, goals, "what was given stays given");
    assert_eq!((after.top.len(), after.recent.len()), (Donations::TOP, Donations::RECENT));
    assert_eq!(top(&shop).await.last(), Some(&(2, 200)));
    let patrons = statistics::patrons(&shop.db).await.unwrap();
    assert!(patrons.iter().chain(&after.top).all(|donor| donor.user != user));
    let listed = statistics::top_patrons(&shop.db).await.unwrap().patrons;
    assert!(listed.len() == 11 && listed.iter().all(|patron| patron.user != user), "{listed:?}");
    assert!(after.recent.iter().all(|donation| donation.user != user));
    assert_eq!(show(&shop.db, &id("o12")).await.unwrap().unwrap().order.owner, Some(user), "the order keeps its owner");
    let again = erase_names(&shop.db, user).await.unwrap();
    assert!(!again.was_shown && !again.was_patron);
}

#[tokio::test]
async fn nothing_brings_an_erased_users_name_back() {
    let shop = Shop::open().await;
    for n in 1..=11 {
        give(&shop, gift(&format!("o{n}"), n, 100 * i64::try_from(n).unwrap(), 0)).await;
    }
    let pending = NewOrder { status: OrderStatus::Pending, ..gift("late", 11, 50, 0) };
    shop.record(pending).await.unwrap();
    let user = UserId::new(11);
    shop.delete(&keys::user(user)).await;
    erase_names(&shop.db, user).await.unwrap();
    shop.set_status("late", OrderStatus::Paid).await.unwrap();
    refund(&shop, "o11").await;
    refund(&shop, "o10").await;
    give(&shop, gift("new", 3, 5_000, 0)).await;
    let after = shown(&shop.db).await;
    assert!(after.top.iter().all(|donor| donor.user != user) && after.recent.iter().all(|entry| entry.user != user));
    assert_eq!(after.goals["1"], Money::from_minor(100 * 45 + 50 + 5_000));
    assert!(statistics::patrons(&shop.db).await.unwrap().iter().all(|donor| donor.user != user));
}

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

async fn donate(shop: &Shop, order: &str, owner: u64, amount: i64) {
    let order = paid(order, Some(owner), &[(PLAIN, 1, amount)]);
    assert!(!shop.record(order).await.unwrap().stored.statistics_due());
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
    donate(&shop, "a", 1, 5_000).await;
    assert_eq!(last(&listed(&shop).await), (1_000, "patron0002"));
    donate(&shop, "b", 2, 6_000).await;
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
    donate(&shop, "a", 1, 5_000).await;
    let before = shop.db.get(&keys::top_patrons(), true).await.unwrap();
    donate(&shop, "b", 2, 1).await;
    assert_eq!(shop.db.get(&keys::top_patrons(), true).await.unwrap(), before);
    listed(&shop).await;
}

#[tokio::test]
async fn an_erased_patron_makes_room_for_the_next() {
    let shop = crowded().await;
    donate(&shop, "a", 1, 5_000).await;
    shop.delete(&keys::user(UserId::new(1))).await;
    assert!(erase_names(&shop.db, UserId::new(1)).await.unwrap().was_patron);
    let top = listed(&shop).await;
    assert_eq!((top.patrons[0].username.as_str(), last(&top)), ("patron1000", (1_000, "patron0001")));
}

#[tokio::test]
async fn an_order_that_collides_with_another_loses_no_patron() {
    let shop = crowded().await;
    donate(&shop, "a", 1, 5_000).await;
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
