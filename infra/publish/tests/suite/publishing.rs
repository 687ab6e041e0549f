//! Publishing on a real engine: atomic, resumable, and never two publishers at once. Old versions go after a while, the last
//! ones stay, and nothing is left behind.

use crate::support::{self, NOW, STORE};
use aws_sdk_dynamodb::types::AttributeValue;
use publish::{
    Compiled, PublishError, Published, VERSIONS_KEPT, damage, load, publish, publish_with, remove_outdated, switch,
};
use shared::model::{ActiveVersion, Tree};
use shared::shop::publishing::{Step, list_versions, read_history, read_record, read_version};
use shared::table::bulk::delete_each;
use shared::table::published::read_active_version;
use shared::table::{Db, codec, keys};
use std::fmt::Write;
use std::sync::{Arc, Barrier};
use tests::{Calls, Faults, TestTable};

/// A store of 60 items with this name, which makes several batches.
fn compiled(name: &str) -> Compiled {
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for id in 1..=60 {
        writeln!(category, "  - {{id: {id}, name: {name} {id}, price: {id}, featured: true}}").unwrap();
    }
    support::compiled(&[("store.yaml", STORE.replace("Test", name)), ("categories/a.yaml", category)])
}

/// Everything of a store is in the table, as it was compiled.
async fn assert_whole(db: &Db, compiled: &Compiled) {
    for (key, part) in compiled.parts(&compiled.version) {
        let item = db.get(&key, true).await.unwrap().unwrap_or_else(|| panic!("{} {}", key.pk, key.sk));
        let expected = codec::encode_published(&key, &part).unwrap();
        assert_eq!(item, expected);
    }
}

async fn published(table: &TestTable) -> Option<String> {
    read_active_version(&table.db).await.unwrap().map(|active| active.version)
}

#[tokio::test]
async fn what_is_published_is_pointed_to_and_whole() {
    let table = TestTable::empty().await;
    let store = compiled("One");
    let outcome = publish(&table.db, &store, NOW).await.unwrap();
    assert_eq!(
        outcome,
        Published::Switched { version: store.version.clone(), previous: None, rows: store.parts("").len() }
    );
    let active = read_active_version(&table.db).await.unwrap().unwrap();
    assert_eq!((active.version.as_str(), &active.config), (store.version.as_str(), &store.config));
    assert_whole(&table.db, &store).await;
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    assert_eq!((record.published_at, record.config), (NOW, store.config));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_publishers_at_once_one_wins_and_the_other_is_told_who() {
    let table = TestTable::empty().await;
    let meeting = Arc::new(Barrier::new(2));
    let race = ["One", "Two"].map(|name| {
        // Every publisher waits before it moves the active version until all have come that far.
        let (meeting, store) = (Arc::clone(&meeting), compiled(name));
        let db = table.with_faults(move |_, operation| {
            if operation == "TransactWriteItems" {
                tokio::task::block_in_place(|| meeting.wait());
            }
            None
        });
        tokio::spawn(async move { (publish(&db, &store, NOW).await, store.version) })
    });
    let outcomes = futures_util::future::join_all(race).await.into_iter().map(Result::unwrap);
    let winner = published(&table).await.unwrap();
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.partition(|(_, version)| *version == winner);
    assert!(matches!(won[..], [(Ok(Published::Switched { previous: None, .. }), _)]), "{won:?}");
    assert!(
        matches!(&lost[..], [(Err(PublishError::OtherPublished { winner: named }), _)] if *named == winner),
        "{lost:?}"
    );
}

#[tokio::test]
async fn nothing_is_switched_if_another_version_was_published_since_the_changes_were_shown() {
    let table = TestTable::empty().await;
    let (one, two, three) = (compiled("One"), compiled("Two"), compiled("Three"));
    publish(&table.db, &one, NOW).await.unwrap();
    publish(&table.db, &two, NOW + 1).await.unwrap();
    for seen in [Some(one.version.as_str()), None] {
        let late = publish_with(&table.db, &three, seen, NOW + 2, &|_| {}).await;
        assert!(matches!(&late, Err(PublishError::OtherPublished { winner }) if *winner == two.version), "{late:?}");
        assert_eq!(published(&table).await.as_ref(), Some(&two.version));
    }
    let shown = publish_with(&table.db, &three, Some(&two.version), NOW + 3, &|_| {}).await;
    assert!(matches!(shown, Ok(Published::Switched { .. })), "{shown:?}");
}

#[tokio::test]
async fn every_missing_or_altered_row_is_repaired_as_a_new_version() {
    let store = compiled("One");
    let (first, last) = (store.version.clone(), format!("{}-2", store.version));
    for (key, _) in store.parts(&first).into_iter().step_by(7) {
        let table = TestTable::empty().await;
        publish(&table.db, &store, NOW).await.unwrap();
        delete_each(&table.db, std::iter::once(key.clone()), &|_| {}).await.unwrap();
        let repaired = publish(&table.db, &store, NOW + 1).await.unwrap();
        assert!(matches!(&repaired, Published::Switched { version, .. } if *version == last), "{key:?} {repaired:?}");
        let record = read_version(&table.db, &last).await.unwrap().unwrap();
        assert_eq!(damage(&table.db, &load(&table.db, &record).await.unwrap()).await.unwrap(), 0);
        assert_eq!(publish(&table.db, &store, NOW + 2).await.unwrap(), Published::Unchanged);
        assert!(read_history(&table.db).await.unwrap().before().next().is_none(), "no rollback to the damaged one");
    }
}

#[tokio::test]
async fn an_older_version_that_was_damaged_is_not_switched_to() {
    let table = TestTable::empty().await;
    let (one, two) = (compiled("One"), compiled("Two"));
    publish(&table.db, &one, NOW).await.unwrap();
    publish(&table.db, &two, NOW + 1).await.unwrap();
    delete_each(&table.db, std::iter::once(keys::deals(&one.version)), &|_| {}).await.unwrap();
    publish(&table.db, &one, NOW + 2).await.unwrap();
    assert_eq!(published(&table).await, Some(format!("{}-2", one.version)));
}

#[tokio::test]
async fn two_publishers_of_the_same_store_both_have_what_they_wanted() {
    let table = TestTable::empty().await;
    let store = compiled("One");
    let both = tokio::join!(publish(&table.db, &store, NOW), publish(&table.db, &store, NOW));
    assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
    assert_eq!(published(&table).await, Some(store.version));
}

#[tokio::test]
async fn a_row_with_anything_added_is_damage() {
    let table = TestTable::empty().await;
    let store = compiled("One");
    publish(&table.db, &store, NOW).await.unwrap();
    assert_eq!(damage(&table.db, &store).await.unwrap(), 0);
    let (key, part) = store.parts(&store.version).into_iter().next().unwrap();
    let mut item = codec::encode_published(&key, &part).unwrap();
    item.insert(keys::TTL.to_owned(), AttributeValue::N(NOW.to_string()));
    table.write_item(item).await;
    assert_eq!(damage(&table.db, &store).await.unwrap(), 1);
}

const HOUR: i64 = 3_600;

fn compiled_with_page(name: &str) -> Compiled {
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for id in 1..=30 {
        writeln!(category, "  - {{id: {id}, name: {name} {id}, price: {id}}}").unwrap();
    }
    category.push_str("subcategories:\n  - {id: 2, slug: b, name: B, items: [{id: 99, name: X, price: 1}]}\n");
    let page = "{id: 1, title: T, url: /t}";
    let head = STORE.replace("Test", name);
    support::compiled(&[("store.yaml", &*head), ("categories/a.yaml", &category), ("pages/t.yaml", page)])
}

/// How many rows there are but the prices that were asked, which are of no version.
async fn rows(table: &TestTable) -> usize {
    table.items("").await.len() - table.items("PRICES#").await.len()
}

async fn versions(table: &TestTable) -> Vec<String> {
    list_versions(&table.db).await.unwrap().into_iter().map(|record| record.version).collect()
}

fn active_version(store: &Compiled) -> ActiveVersion {
    ActiveVersion { version: store.version.clone(), config: store.config.clone(), ..ActiveVersion::default() }
}

#[tokio::test]
async fn the_published_version_and_the_last_three_before_it_stay() {
    let table = TestTable::empty().await;
    let stores: Vec<Compiled> = (0..6).map(|number| compiled_with_page(&format!("S{number}"))).collect();
    for (hour, store) in (0..).zip(&stores) {
        publish(&table.db, store, NOW + hour * HOUR).await.unwrap();
    }
    let now = NOW + 100 * HOUR;
    let removed = remove_outdated(&table.db, now, HOUR, &|_| {}).await.unwrap();
    assert_eq!(removed.len(), 6 - 1 - VERSIONS_KEPT);
    let kept: Vec<String> = stores.iter().rev().take(1 + VERSIONS_KEPT).map(|store| store.version.clone()).collect();
    assert_eq!(versions(&table).await, kept);
    // Every row that is left belongs to a kept version: its rows, its files, its record; then the active version and the history.
    assert_eq!(rows(&table).await, kept.len() * (stores[0].parts("").len() + 2) + 2);
    for store in stores.iter().skip(2) {
        assert_eq!(damage(&table.db, store).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_version_stays_for_its_grace_period_after_it_was_replaced() {
    let table = TestTable::empty().await;
    let stores: Vec<Compiled> = (0..5).map(|number| compiled_with_page(&format!("S{number}"))).collect();
    for (second, store) in (0..).zip(&stores) {
        publish(&table.db, store, NOW - 4 + second).await.unwrap();
    }
    // The first was replaced a second after it was published, three seconds ago.
    assert!(remove_outdated(&table.db, NOW - 3 + HOUR - 1, HOUR, &|_| {}).await.unwrap().is_empty());
    assert_eq!(remove_outdated(&table.db, NOW - 3 + HOUR, HOUR, &|_| {}).await.unwrap(), [stores[0].version.clone()]);
}

#[tokio::test]
async fn a_removal_that_was_cut_off_is_completed_by_the_next() {
    let stores: Vec<Compiled> = (0..5).map(|number| compiled_with_page(&format!("S{number}"))).collect();
    for let_through in 0.. {
        let table = TestTable::empty().await;
        for store in &stores {
            publish(&table.db, store, NOW).await.unwrap();
        }
        let cut = table.through(Faults::cut_after(let_through));
        let outcome = remove_outdated(&cut, NOW + HOUR, HOUR, &|_| {}).await;
        if outcome.is_ok() {
            assert!(let_through > 3, "mark, items, frame, list, record");
            return;
        }
        // Another process may still be removing it: the removal is not taken over before a quarter of an hour.
        remove_outdated(&table.db, NOW + 2 * HOUR, HOUR, &|_| {}).await.unwrap();
        assert_eq!(versions(&table).await.len(), 1 + VERSIONS_KEPT, "write {let_through}");
        assert_eq!(
            rows(&table).await,
            (1 + VERSIONS_KEPT) * (stores[0].parts("").len() + 2) + 2,
            "write {let_through}"
        );
    }
}

#[tokio::test]
async fn a_version_that_is_being_removed_is_not_pointed_to_and_its_store_is_published_again_at_once() {
    let table = TestTable::empty().await;
    let stores: Vec<Compiled> = (0..5).map(|number| compiled_with_page(&format!("S{number}"))).collect();
    for (second, store) in (0..).zip(&stores) {
        publish(&table.db, store, NOW + second).await.unwrap();
    }
    let now = NOW + 2 * HOUR;
    // The mark is made, then the line is cut.
    let cut = table.through(Faults::cut_after(1));
    assert!(remove_outdated(&cut, now, HOUR, &|_| {}).await.is_err());
    let current = &stores[4].version;
    let back = switch(&table.db, Some(current), &active_version(&stores[0]), false, Step::Forward, now).await;
    assert!(matches!(back, Err(PublishError::BeingRemoved { .. })), "{back:?}");
    assert_eq!(read_active_version(&table.db).await.unwrap().unwrap().version, *current);
    // The removal was killed. The rows that are left are not used: the store is written as a version of its own.
    publish(&table.db, &stores[0], now + 60).await.unwrap();
    let version = format!("{}-2", stores[0].version);
    assert_eq!(read_active_version(&table.db).await.unwrap().unwrap().version, version);
    assert_eq!(damage(&table.db, &Compiled { version, ..stores[0].clone() }).await.unwrap(), 0);
}

#[tokio::test]
async fn an_attempt_that_nobody_resumed_is_removed_with_all_its_rows() {
    let (one, two) = (compiled_with_page("One"), compiled_with_page("Two"));
    for let_through in 1..5 {
        let table = TestTable::empty().await;
        publish(&table.db, &one, NOW).await.unwrap();
        let cut = table.through(Faults::cut_after(let_through));
        assert!(publish(&cut, &two, NOW).await.is_err());
        assert!(!read_record(&table.db, &two.version).await.unwrap().unwrap().whole);
        assert!(
            remove_outdated(&table.db, NOW + 60, 1, &|_| {}).await.unwrap().is_empty(),
            "another process may be removing it"
        );
        assert_eq!(
            remove_outdated(&table.db, NOW + HOUR, 1, &|_| {}).await.unwrap(),
            std::slice::from_ref(&two.version)
        );
        assert_eq!(rows(&table).await, one.parts("").len() + 4, "write {let_through}");
    }
}

fn written(calls: &Calls) -> usize {
    calls.bodies().iter().map(|body| body.matches("\"PutRequest\"").count()).sum()
}

#[tokio::test]
async fn a_resumed_publish_writes_only_what_is_missing_or_altered() {
    let table = TestTable::empty().await;
    let two = compiled_with_page("Two");
    // The record, the category list, and the first batch of all else.
    let cut = table.through(Faults::cut_after(3));
    assert!(publish(&cut, &two, NOW).await.is_err());
    let there = rows(&table).await - 1;
    let altered = codec::encode_published(&keys::tree(&two.version), &Tree::default()).unwrap();
    tests::put(&table.db, altered).await;
    let calls = Calls::default();
    publish(&table.through(calls.clone()), &two, NOW).await.unwrap();
    assert_eq!(written(&calls), two.parts("").len() - there + 2, "and the category list, and the files");
    assert_eq!(damage(&table.db, &two).await.unwrap(), 0);
}

#[tokio::test]
async fn a_version_that_is_still_there_is_pointed_to_without_writing_it_again() {
    let table = TestTable::empty().await;
    let (one, two) = (compiled_with_page("One"), compiled_with_page("Two"));
    publish(&table.db, &one, NOW).await.unwrap();
    publish(&table.db, &two, NOW + 1).await.unwrap();
    let calls = Calls::default();
    let back = publish(&table.through(calls.clone()), &one, NOW + 2).await.unwrap();
    assert_eq!(
        back,
        Published::Switched { version: one.version.clone(), previous: Some(two.version), rows: one.parts("").len() }
    );
    assert_eq!(written(&calls), 0);
    let record = read_record(&table.db, &one.version).await.unwrap().unwrap();
    assert_eq!((record.published_at, record.switched_at, record.retired_at), (NOW, Some(NOW + 2), None));
}
