//! Publishing on a real engine: atomic, resumable, and never two publishers at once.

use crate::support::{self, NOW, STORE};
use aws_sdk_dynamodb::types::AttributeValue;
use publish::{Compiled, PublishError, Published, damage, load, publish, publish_with};
use shared::shop::publishing::{read_history, read_version};
use shared::table::bulk::delete_each;
use shared::table::published::read_active_version;
use shared::table::{Db, codec, keys};
use std::fmt::Write;
use std::sync::{Arc, Barrier};
use tests::TestTable;

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
