//! `publish`, `versions`, `rollback` and `export`: no reader ever sees two stores at once.

use crate::bench::{Bench, ask, sample};
use http::{Method, StatusCode};
use publish::Compiled;
use serde_json::Value;
use shared::clock::Clock;
use shared::table::codec::key_attributes;
use shared::table::keys;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use storectl::error::Exit;
use tests::Faults;

/// A store in which everything that is shown carries this name.
fn named(bench: &Bench, name: &str) -> String {
    let folder = format!("store-{name}");
    bench.write(
        &format!("{folder}/store.yaml"),
        &format!("format: 1\nname: {name}\ncurrency: {{code: EUR}}\nguest_mode: true\npatrons: {{enabled: true, description: {name}}}\n"),
    );
    let mut items = String::new();
    for id in 1..=40 {
        writeln!(items, "  - {{id: {id}, name: {name} {id}, price: {id}, featured: true}}").unwrap();
    }
    let category = format!(
        "id: 1\nslug: a\nname: {name}\nitems:\n{items}subcategories:\n  - id: 2\n    slug: b\n    name: {name}\n    \
         items: [{{id: 99, name: {name}, price: 1}}]\n"
    );
    bench.write(&format!("{folder}/categories/a.yaml"), &category);
    bench.write(&format!("{folder}/pages/p.yaml"), &format!("{{id: 1, title: {name}, url: /p, content: {name}}}"));
    bench.write(&format!("{folder}/staff.yaml"), &format!("{name}:\n  - {{username: {name}}}\n"));
    bench.path(&folder).display().to_string()
}

fn compiled(dir: &str) -> Compiled {
    publish::compile(&publish::read(dir.as_ref()).unwrap()).unwrap()
}

const ENDPOINTS: [(Method, &str, &str); 7] = [
    (Method::GET, "/categories/get", ""),
    (Method::POST, "/categories/get/a", ""),
    (Method::POST, "/categories/get/2", ""),
    (Method::POST, "/items/getFeaturedDeals", ""),
    (Method::POST, "/pages/get", r#"{"url":"p"}"#),
    (Method::GET, "/staff", ""),
    (Method::GET, "/settings/get", ""),
];

/// The names that a response contains.
fn names_in(answer: &Value) -> Vec<&'static str> {
    let text = answer.to_string();
    ["Alder", "Birch"].into_iter().filter(|name| text.contains(name)).collect()
}

async fn everybody_sees(bench: &Bench, name: &str, when: &str) {
    for (method, path, body) in ENDPOINTS {
        let (status, answer) = bench.api(method, path, None, body).await;
        assert_eq!(status, StatusCode::OK, "{when}: {path}");
        assert_eq!(names_in(&answer), [name], "{when}: {path}");
    }
}

#[tokio::test]
async fn killed_at_every_write_the_old_store_is_served_whole_and_the_next_run_completes() {
    for let_through in 0.. {
        let bench = Bench::empty().await;
        let (alder, birch) = (named(&bench, "Alder"), named(&bench, "Birch"));
        bench.ok(&["publish", &alder, "--yes"]).await;
        let now = bench.clock.seconds();
        let outcome = publish::publish(&bench.through(Faults::cut_after(let_through)), &compiled(&birch), now).await;
        if outcome.is_ok() {
            assert!(let_through > 5, "there are more writes than that");
            return everybody_sees(&bench, "Birch", "at the end").await;
        }
        everybody_sees(&bench, "Alder", &format!("after {let_through} writes")).await;
        let again = bench.ok(&["publish", &birch, "--yes"]).await;
        assert_eq!(again["published"], true, "after {let_through} writes");
        everybody_sees(&bench, "Birch", &format!("resumed after {let_through} writes")).await;
        assert_eq!(bench.ok(&["publish", &birch]).await["unchanged"], true);
    }
}

#[tokio::test]
async fn an_export_has_the_files_of_the_version_that_a_rollback_or_a_restore_brought_back() {
    let bench = Bench::empty().await;
    let (alder, birch) = (named(&bench, "Alder"), named(&bench, "Birch"));
    let file = |dir: &str| std::fs::read_to_string(Path::new(dir).join("store.yaml")).unwrap();
    std::fs::write(Path::new(&alder).join("store.yaml"), format!("# Before the sale.\n{}", file(&alder))).unwrap();
    bench.ok(&["publish", &alder, "--yes"]).await;
    bench.ok(&["publish", &birch, "--yes", "--allow-removals"]).await;
    let exported = async |bench: &Bench, name: &str| {
        let dir = bench.path(name).display().to_string();
        bench.ok(&["export", &dir]).await;
        file(&dir)
    };
    assert_eq!(exported(&bench, "second").await, file(&birch));
    bench.ok(&["rollback", "--yes"]).await;
    assert_eq!(exported(&bench, "first").await, file(&alder));
    let backup = bench.backup("b.gz").await;
    let other = Bench::empty().await;
    other.ok(&["restore", &backup, "--yes"]).await;
    assert_eq!(exported(&other, "restored").await, file(&alder));
    // A version of before files were kept.
    let version = bench.ok(&["versions"]).await["history"][0]["version"].as_str().unwrap().to_owned();
    let key = key_attributes(&keys::version(&version));
    let update = bench.db.client().update_item().table_name(bench.db.table()).set_key(Some(key));
    update.update_expression("REMOVE #files").expression_attribute_names("#files", "files").send().await.unwrap();
    let failure = bench.fails(&["export", &bench.path("none").display().to_string()]).await;
    assert_eq!(failure.exit, Exit::Refused);
    assert!(failure.what.contains("has no files") && failure.next.contains("Publish your own files"), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn readers_that_never_stop_see_one_store_or_the_other_and_never_both() {
    let bench = Arc::new(Bench::empty().await);
    let (alder, birch) = (named(&bench, "Alder"), named(&bench, "Birch"));
    bench.ok(&["publish", &alder, "--yes"]).await;
    let over = Arc::new(AtomicBool::new(false));
    let readers = (0..2).map(|_| {
        let (bench, over) = (Arc::clone(&bench), Arc::clone(&over));
        tokio::spawn(async move {
            let gateway = bench.gateway();
            let mut seen = 0;
            while !over.load(Ordering::SeqCst) {
                for (method, path, body) in ENDPOINTS {
                    let (status, answer) = ask(&gateway, method, path, None, body).await;
                    assert_eq!(status, StatusCode::OK, "{path}");
                    assert_eq!(names_in(&answer).len(), 1, "{path}: {answer}");
                    // A response from a cache does not wait. Without this the other tasks would never read the
                    // network.
                    tokio::task::yield_now().await;
                    seen += 1;
                }
            }
            seen
        })
    });
    let readers: Vec<_> = readers.collect();
    for round in 0..12 {
        // The functions look at the active version again.
        bench.clock.advance(Duration::from_hours(2));
        let dir = if round % 2 == 0 { &birch } else { &alder };
        bench.ok(&["publish", dir, "--yes", "--grace", "1s"]).await;
    }
    over.store(true, Ordering::SeqCst);
    for reader in readers {
        assert!(reader.await.unwrap() > ENDPOINTS.len());
    }
}

#[tokio::test]
async fn of_publishes_at_once_none_replaces_a_version_that_it_was_not_compared_with() {
    let bench = Bench::empty().await;
    bench.ok(&["publish", &named(&bench, "Xylem"), "--yes"]).await;
    let stores = ["Alder", "Birch", "Cedar", "Dogwood"].map(|name| named(&bench, name));
    let lines = stores.each_ref().map(|dir| ["publish", dir, "--yes"]);
    let outcomes = futures_util::future::join_all(lines.iter().map(|line| bench.run(line))).await;
    let mut replaced = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(answer) => replaced.push(answer.json()["plan"]["previous"].to_string()),
            Err(failure) => {
                assert_eq!(failure.exit, Exit::Raced, "{failure}");
                assert!(failure.what.contains("settings: website_name"), "the new changes: {failure}");
            }
        }
    }
    let count = replaced.len();
    replaced.sort();
    replaced.dedup();
    assert_eq!(replaced.len(), count, "two replaced the same version: {replaced:?}");
    assert!(count > 0);
}

#[tokio::test]
async fn functions_that_cached_an_altered_row_learn_of_its_repair() {
    let bench = Bench::published().await;
    let version = bench.ok(&["versions"]).await["versions"][0]["version"].as_str().unwrap().to_owned();
    let key = shared::table::keys::deals(&version);
    let altered = shared::table::codec::encode_published(&key, &shared::model::Deals::default()).unwrap();
    shared::table::bulk::write_each(&bench.db, std::iter::once(Ok(altered)), &|_| {}).await.unwrap();
    let gateway = bench.gateway();
    let deals = async || ask(&gateway, Method::POST, "/items/getFeaturedDeals", None, "").await.1;
    assert_eq!(deals().await, serde_json::json!([]));
    assert_eq!(bench.ok(&["publish", &sample(), "--yes"]).await["repaired"], true);
    bench.clock.advance(Duration::from_mins(1));
    assert!(!deals().await.as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_damaged_version_is_found_and_mended_by_publishing_it_again() {
    let bench = Bench::published().await;
    let version = bench.ok(&["versions"]).await["versions"][0]["version"].as_str().unwrap().to_owned();
    let deals = shared::table::keys::deals(&version);
    shared::table::bulk::delete_each(&bench.db, std::iter::once(deals), &|_| {}).await.unwrap();
    let found = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(found.trouble(), Some(Exit::Faults));
    assert!(found.text().contains("1 rows of"), "{}", found.text());
    // An item's row alone has its commands.
    let item = shared::table::keys::item(&version, shared::model::ItemId::new(101));
    shared::table::bulk::delete_each(&bench.db, std::iter::once(item), &|_| {}).await.unwrap();
    let found = bench.run(&["doctor"]).await.unwrap();
    assert!(found.text().contains("a ITEM row is missing"), "{}", found.text());
    let staff = shared::table::keys::staff(&version);
    shared::table::bulk::delete_each(&bench.db, std::iter::once(staff), &|_| {}).await.unwrap();
    assert_eq!(bench.ok(&["publish", &sample(), "--yes"]).await["repaired"], true);
    assert_eq!(bench.run(&["doctor"]).await.unwrap().trouble(), None);
}

#[tokio::test]
async fn a_rollback_to_a_damaged_version_says_that_it_is() {
    let bench = Bench::empty().await;
    let first = bench.ok(&["publish", &named(&bench, "Alder"), "--yes"]).await;
    let version = first["version"].as_str().unwrap();
    bench.ok(&["publish", &named(&bench, "Birch"), "--yes"]).await;
    let key = shared::table::keys::staff(version);
    shared::table::bulk::delete_each(&bench.db, std::iter::once(key), &|_| {}).await.unwrap();
    let back = bench.run(&["rollback", "--yes"]).await.unwrap();
    assert!(back.text().contains("is damaged"), "{}", back.text());
}
