//! The prices that were asked, over publishes, sales and rollbacks, on a real engine.

use crate::support::{NOW, STORE, compiled};
use publish::{Compiled, Published, load_version, planned_reductions, price_edges, publish, return_to};
use shared::model::{ItemId, Money};
use shared::shop::asked_prices::{self, StoredPrices};
use shared::shop::publishing::{Step, read_version};
use shared::table::published::read_active_version;
use shared::table::{Db, keys, read_published};
use std::collections::BTreeMap;
use tests::{Faults, TestTable};

const DAY: i64 = 86_400;

/// A store that sells item 1 like this, and 2 for 5.00.
fn selling(item: &str, sales: &str) -> Compiled {
    written(STORE, item, sales)
}

fn written(head: &str, item: &str, sales: &str) -> Compiled {
    let items = format!("[{{id: 1, name: Knight, {item}}}, {{id: 2, name: Key, price: 5}}]");
    let category = format!("id: 1\nslug: a\nname: A\nitems: {items}\n");
    compiled(&[("store.yaml", head), ("categories/a.yaml", &category), ("sales.yaml", sales)])
}

/// What is published of item 1: from when on (days after NOW), the lowest price, and since when prices are known.
async fn lowest(db: &Db) -> Vec<(Option<i64>, Option<i64>, Option<i64>)> {
    let version = read_active_version(db).await.unwrap().unwrap().version;
    let key = keys::item(&version, ItemId::new(1));
    let published: shared::model::PublishedItem = read_published(db, &key).await.unwrap().unwrap();
    let days = |second: i64| (second - NOW) / DAY;
    let told = published.item.lowest_prices.iter();
    told.map(|one| (one.from.map(days), one.price.map(Money::minor), one.since.map(days))).collect()
}

async fn rows(db: &Db) -> BTreeMap<ItemId, StoredPrices> {
    asked_prices::read(db, [1, 2].map(ItemId::new)).await.unwrap()
}

async fn version(db: &Db, store: &Compiled, day: i64) -> String {
    publish(db, store, NOW + day * DAY).await.unwrap();
    read_active_version(db).await.unwrap().unwrap().version
}

const SPRING: &str =
    "[{id: 1, name: Spring, percentage: 20, for: everything, from: 2031-04-24T12:00, until: 2031-04-27T12:00}]";

#[tokio::test]
async fn a_reduction_is_compared_with_what_was_asked_and_an_unchanged_store_stays_unchanged() {
    let table = TestTable::empty().await;
    let (plain, reduced) = (selling("price: 10", "[]"), selling("price: 10, discount: 2", "[]"));
    publish(&table.db, &plain, NOW).await.unwrap();
    let switched = publish(&table.db, &reduced, NOW + 20 * DAY).await.unwrap();
    assert!(matches!(&switched, Published::Switched { version, .. } if *version == reduced.version));
    assert_eq!(lowest(&table.db).await, [(None, Some(1000), Some(0))], "known for 20 days");
    let before = rows(&table.db).await;
    for day in [20, 21, 60, 400] {
        assert_eq!(publish(&table.db, &reduced, NOW + day * DAY + 5).await.unwrap(), Published::Unchanged);
    }
    // A change elsewhere: the reduction goes on, and what was asked of other items is not written again.
    let renamed = written(&STORE.replace("Test", "Other"), "price: 10, discount: 2", "[]");
    publish(&table.db, &renamed, NOW + 500 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, [(None, Some(1000), Some(0))]);
    let after = rows(&table.db).await;
    assert_eq!(before[&ItemId::new(2)], after[&ItemId::new(2)]);
    assert_eq!(after[&ItemId::new(1)].history.prices.last().unwrap().since, NOW + 20 * DAY);
    // Switched off, the display alone is.
    let off = written(&format!("{STORE}price_history: false\n"), "price: 10, discount: 3", "[]");
    publish(&table.db, &off, NOW + 600 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, []);
    publish(&table.db, &plain, NOW + 601 * DAY).await.unwrap();
    assert_eq!(rows(&table.db).await[&ItemId::new(1)].history.prices.last().unwrap().price.unwrap().minor(), 700);
}

#[tokio::test]
async fn a_bundle_whose_part_is_reduced_is_read_as_it_was_published() {
    let table = TestTable::empty().await;
    for (day, price) in [(0, "price: 10"), (20, "price: 10, discount: 2")] {
        let items = format!("[{{id: 1, name: Knight, {price}}}, {{id: 2, name: Set, price: 9, bundle: [1]}}]");
        let category = format!("id: 1\nslug: a\nname: A\nitems: {items}\n");
        let store = compiled(&[("store.yaml", STORE), ("categories/a.yaml", &category)]);
        let name = version(&table.db, &store, day).await;
        let read = load_version(&table.db, &name).await.unwrap();
        assert_eq!(read.version, name);
        assert_eq!(read.items[1].parts[0].item, read.items[0].item);
    }
    assert_eq!(lowest(&table.db).await, [(None, Some(1000), Some(0))]);
}

#[tokio::test]
async fn a_price_that_was_never_asked_is_not_the_lowest() {
    let table = TestTable::empty().await;
    let reduced = selling("price: 10, discount: 2", "[]");
    publish(&table.db, &reduced, NOW).await.unwrap();
    assert_eq!(lowest(&table.db).await, []);
    // Nor is the regular price of a reduction that never ended.
    publish(&table.db, &selling("price: 20, discount: 11", "[]"), NOW + 40 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, [(None, Some(800), None)]);
    // Amounts of another currency are not compared.
    let other = written(&STORE.replace("EUR", "USD"), "price: 10, discount: 2", "[]");
    publish(&table.db, &other, NOW + 50 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, []);
}

#[tokio::test]
async fn nothing_is_written_when_a_sale_begins_and_the_next_one_is_compared_with_it() {
    let table = TestTable::empty().await;
    let two = format!(
        "{}, {{id: 2, name: More, amount: 3, for: {{items: [1]}}, from: 2031-05-20T12:00, until: 2031-05-22T12:00}}]",
        SPRING.trim_end_matches(']')
    );
    let selling_two = selling("price: 10", &two);
    publish(&table.db, &selling("price: 10", "[]"), NOW - 30 * DAY).await.unwrap();
    publish(&table.db, &selling_two, NOW).await.unwrap();
    let planned = [(Some(40), Some(1000), None), (Some(66), Some(800), None)];
    assert_eq!(lowest(&table.db).await, planned);
    for day in [30, 41, 50, 67, 100] {
        assert_eq!(publish(&table.db, &selling_two, NOW + day * DAY).await.unwrap(), Published::Unchanged, "{day}");
    }
    assert_eq!(rows(&table.db).await[&ItemId::new(1)].history.prices.len(), 1, "what was published before");
    // The calendar's prices were asked, although nothing was written then.
    publish(&table.db, &selling("price: 10, discount: 1", "[]"), NOW + 90 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, [(None, Some(700), None)]);
    let asked = &rows(&table.db).await[&ItemId::new(1)].history.prices;
    assert_eq!(
        asked.iter().map(|asked| asked.price.unwrap().minor()).collect::<Vec<_>>(),
        [1000, 800, 1000, 700, 1000]
    );
    // A sale for some only is not a reduction for everyone.
    let knights = "[{id: 1, name: Knights, percentage: 50, for: everything, who: {owners_of: [2]}}]";
    publish(&table.db, &selling("price: 10", knights), NOW + 200 * DAY).await.unwrap();
    publish(&table.db, &selling("price: 10, discount: 1", "[]"), NOW + 240 * DAY).await.unwrap();
    assert_eq!(lowest(&table.db).await, [(None, Some(1000), None)]);
}

#[tokio::test]
async fn a_version_that_is_returned_to_has_the_lowest_prices_of_then() {
    let table = TestTable::empty().await;
    let (plain, reduced) = (selling("price: 10", "[]"), selling("price: 10, discount: 2", "[]"));
    version(&table.db, &plain, -60).await;
    let second = version(&table.db, &reduced, 0).await;
    assert_eq!(lowest(&table.db).await, [(None, Some(1000), None)]);
    let back = async |to: &str, from: &str, day: i64| {
        let record = read_version(&table.db, to).await.unwrap().unwrap();
        return_to(&table.db, &record, from, Step::Forward, NOW + day * DAY).await.unwrap()
    };
    assert_eq!(back(&plain.version, &second, 5).await, plain.version);
    // It was 8.00 within the 30 days.
    let again = back(&second, &plain.version, 10).await;
    assert_eq!((again, lowest(&table.db).await), (format!("{second}-2"), vec![(None, Some(800), None)]));
    let prices = rows(&table.db).await[&ItemId::new(1)].history.prices.clone();
    let told = |asked: &shared::rules::price_history::AskedPrice| (asked.since - NOW) / DAY;
    assert_eq!(prices.iter().map(told).collect::<Vec<_>>(), [-60, 0, 5]);
}

#[tokio::test]
async fn interrupted_at_every_write_a_publish_leaves_what_was_asked() {
    for let_through in 0.. {
        let table = TestTable::empty().await;
        publish(&table.db, &selling("price: 10", "[]"), NOW).await.unwrap();
        publish(&table.db, &selling("price: 8", "[]"), NOW + 50 * DAY).await.unwrap();
        let (third, last) = (selling("price: 9", "[]"), selling("price: 10, discount: 1", "[]"));
        let is_done = publish(&table.through(Faults::cut_after(let_through)), &third, NOW + 51 * DAY).await.is_ok();
        // Another store is published next: of the third, no one saw a price unless it was switched to.
        publish(&table.db, &last, NOW + 60 * DAY).await.unwrap();
        let asked = &rows(&table.db).await[&ItemId::new(1)].history.prices;
        let asked: Vec<_> =
            asked.iter().map(|asked| (asked.price.unwrap().minor(), (asked.since - NOW) / DAY)).collect();
        let was_switched = asked.len() == 3;
        assert_eq!(asked[..2], [(1000, 0), (800, 50)], "{let_through}");
        assert!(!was_switched || asked[2] == (900, 51), "{let_through}: {asked:?}");
        assert!(was_switched || !is_done, "{let_through}");
        assert_eq!(lowest(&table.db).await, [(None, Some(800), None)]);
        if is_done {
            return assert!(let_through > 4);
        }
    }
}

#[tokio::test]
async fn a_publisher_that_was_overtaken_changes_no_price() {
    let table = TestTable::empty().await;
    for (day, price) in [(0, 10), (1, 8), (2, 12)] {
        version(&table.db, &selling(&format!("price: {price}"), "[]"), day).await;
    }
    let kept = rows(&table.db).await;
    let mut late = kept.clone().into_iter().collect::<Vec<_>>();
    for (_, stored) in &mut late {
        stored.settled -= 1;
        stored.history.prices.clear();
    }
    asked_prices::write(&table.db, &late).await.unwrap();
    assert_eq!(rows(&table.db).await, kept);
}

#[tokio::test]
async fn what_begins_with_a_publish_is_told_with_its_raise() {
    let table = TestTable::empty().await;
    publish(&table.db, &selling("price: 8", "[]"), NOW).await.unwrap();
    publish(&table.db, &selling("price: 10", "[]"), NOW + 35 * DAY).await.unwrap();
    let now = NOW + 36 * DAY;
    let planned = planned_reductions(&table.db, &selling("price: 10", SPRING), now).await.unwrap();
    let told = planned.iter().map(|one| {
        let raised = one.reduction.raised.map(|raised| (raised.from.minor(), (raised.at - NOW) / DAY));
        (one.item.get(), one.reduction.lowest.map(Money::minor), raised)
    });
    assert_eq!(told.collect::<Vec<_>>(), [(1, Some(800), Some((800, 35))), (2, Some(500), None)]);
}

#[test]
fn every_price_that_the_calendar_changes_is_at_its_second() {
    let sales = "[{id: 1, name: Weekend, percentage: 20, for: everything, except: {items: [2]}, from: 2031-03-16, until: 2031-03-18}, \
        {id: 2, name: Keepers, percentage: 50, for: {items: [1]}, from: 2031-03-17, until: 2031-03-19, who: {owners_of: [2]}}]";
    let store = selling("price: 9.99, until: 2031-03-20", sales);
    let told: Vec<String> = price_edges(&store, NOW, NOW + 60 * DAY)
        .into_iter()
        .flat_map(|edge| edge.changes.into_iter().map(move |change| (edge.at, change)))
        .map(|(at, change)| {
            let amount = |price: Option<shared::model::Money>| price.map_or(-1, Money::minor);
            let (day, owners) = (at.div_euclid(DAY) - NOW / DAY, change.owners_of.join(","));
            format!(
                "{day} {} {} {} {owners}",
                amount(change.before),
                amount(change.after),
                change.sale.unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(told, ["1 999 799 Weekend ", "2 799 499 Keepers Key", "3 799 999  ", "4 499 999  Key", "5 999 -1  "]);
    assert_eq!(price_edges(&store, NOW, NOW + DAY / 2).len(), 1, "up to the second");
    assert_eq!(price_edges(&store, NOW, NOW + DAY / 2 - 1), []);
}
