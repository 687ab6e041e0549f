//! `upgrade`: data of earlier versions. Each backup in `backups/` was made by the version that it is named after.

use crate::bench::{Bench, zipped};
use archive::Content;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use shared::clock::Clock as _;
use shared::model::{SCHEMA, UserId};
use shared::store::codec::{Item, decode_live, key_attributes, key_of};
use shared::store::keys::{self, Key, PK, TTL, prefix};
use shared::store::published::{Published, read_active_version};
use shared::store::{StoreError, names};
use std::time::Duration;
use storectl::error::Exit;
use tests::{Faults, Prepared};

const EARLIEST: &str = include_str!("backups/before-logins-by-name.jsonl");
/// The last version without a schema number.
const UNNUMBERED: &str = include_str!("backups/before-schema-numbers.jsonl");

/// How long after the tests' start of time the backups were made, and a little more.
const LATER: Duration = Duration::from_hours(170 * 24);

fn items(backup: &str) -> Vec<Item> {
    let lines: Vec<&str> = backup.lines().collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.gz");
    std::fs::write(&path, zipped(backup)).unwrap();
    let seal = archive::verify(&path, Content::Backup).unwrap();
    let items: Vec<Item> = archive::items(&path, &seal).unwrap().map(Result::unwrap).collect();
    assert_eq!(items.len(), lines.len() - 2);
    items
}

/// A table as the earlier version left it.
async fn left_by(backup: &'static str) -> Bench {
    static CONTENTS: [Prepared; 2] = [Prepared::new(), Prepared::new()];
    let contents = &CONTENTS[usize::from(backup == EARLIEST)];
    let bench = Bench::copy_of(contents, |bench| async move { bench.write_all(items(backup)).await }).await;
    bench.clock.advance(LATER);
    bench
}

/// A table that is upgraded.
async fn upgraded(backup: &'static str) -> Bench {
    let bench = left_by(backup).await;
    bench.ok(&["upgrade"]).await;
    bench
}

async fn post(bench: &Bench, path: &str, token: Option<&str>, body: &Value) -> (StatusCode, Value) {
    bench.api(Method::POST, path, token, &body.to_string()).await
}

/// The token of a login by name.
async fn login(bench: &Bench, name: &str) -> String {
    let (status, token) = bench.log_in(name).await;
    assert_eq!(status, StatusCode::OK, "{token}");
    token.as_str().unwrap().to_owned()
}

async fn cart(bench: &Bench, token: &str) -> Value {
    post(bench, "/cart/get", Some(token), &json!({})).await.1["cart"].take()
}

/// The checks of the doctor that found something.
async fn bad(bench: &Bench) -> Vec<String> {
    let answer = bench.run(&["doctor"]).await.unwrap();
    let findings = answer.json()["findings"].as_array().unwrap();
    let bad = findings.iter().filter(|finding| finding["state"] == "bad");
    bad.map(|finding| format!("{}: {}", finding["check"], finding["said"])).collect()
}

async fn schema(bench: &Bench) -> u32 {
    read_active_version(&bench.db).await.unwrap().unwrap().schema
}

async fn row(bench: &Bench, key: &Key) -> Option<Item> {
    bench.db.get(key, true).await.unwrap()
}

/// Goals and donators count their own writes, which differ with the way that an upgrade took. What expires by itself may be
/// gone.
async fn rows_but_their_version(bench: &Bench) -> Vec<String> {
    let count = |row: String| match row.rsplit_once(",\"version\":{\"N\":") {
        Some((rest, _)) if row.contains("DONATIONS") => rest.to_owned(),
        _ => row,
    };
    // A restore moves the ids of commands.
    let is_compared = |row: &String| !row.contains(TTL) && !row.contains("SEQ#command");
    let rows = bench.rows().await.into_iter().filter(is_compared);
    rows.map(count).collect()
}

#[tokio::test]
async fn functions_and_commands_refuse_earlier_data_and_write_nothing() {
    for backup in [EARLIEST, UNNUMBERED] {
        let bench = left_by(backup).await;
        let before = bench.rows().await;
        let published = Published::new(bench.another(), bench.clock.clone(), Duration::ZERO);
        let Err(error @ StoreError::Outdated { .. }) = published.active_version().await else { panic!("{before:?}") };
        assert!(error.to_string().contains("storectl upgrade"), "{error}");
        let token = tests_token(&bench);
        for (path, body) in [
            ("/cart/add/201", json!({})),
            ("/cart/acceptCoupon", json!({ "coupon": "spring" })),
            ("/payments/create", json!({ "paymentMethod": "x", "termsAndConditions": true, "privacyPolicy": true })),
        ] {
            assert_eq!(post(&bench, path, Some(&token), &body).await.0, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        }
        let (status, _) = post(&bench, "/auth/username", None, &json!({ "username": "Thornwick" })).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let rows = bench.rows().await.into_iter().filter(|row| !row.contains("\"RATE#"));
        assert_eq!(rows.collect::<Vec<_>>(), before, "nothing is written but the count of an address");
        for line in [
            &["user", "add", "Newt"][..],
            &["publish", &crate::bench::sample(), "--yes"],
            &["token", "1"],
            &["order", "set-status", "squire", "REFUNDED"],
            &["rollback", "--yes"],
        ] {
            let failure = bench.fails(line).await;
            assert_eq!(failure.exit, Exit::Refused, "{line:?}: {failure}");
            assert!(failure.next.contains("storectl upgrade"), "{line:?}: {failure}");
        }
        let found = bad(&bench).await;
        assert!(found.len() == 1 && found[0].contains("schema"), "{found:?}");
        bench.ok(&["backup", &bench.path("still.gz").display().to_string()]).await;
        let rows = bench.rows().await.into_iter().filter(|row| !row.contains("\"RATE#"));
        assert_eq!(rows.collect::<Vec<_>>(), before);
    }
}

/// A token of user 1, as the functions of the bench accept it.
fn tests_token(bench: &Bench) -> String {
    let keys = std::fs::read_to_string(bench.path("keys.json")).unwrap();
    let keys = shared::token::TokenKeys::parse(&keys).unwrap();
    keys.sign(UserId::new(1), bench.clock.seconds(), 3_600).unwrap()
}

#[tokio::test]
async fn an_upgrade_that_was_cut_off_at_any_write_is_completed_by_the_next() {
    for (backup, least) in [(EARLIEST, 8), (UNNUMBERED, 1)] {
        let whole = rows_but_their_version(&upgraded(backup).await).await;
        for let_through in 0.. {
            let bench = left_by(backup).await;
            let Err(failure) = bench.run_through(Faults::cut_after(let_through), &["upgrade"]).await else {
                assert!(let_through >= least, "{let_through} writes");
                break;
            };
            assert_eq!(failure.exit, Exit::Unavailable, "{failure}");
            assert!(failure.next.contains("storectl upgrade"), "{failure}");
            let (status, _) = bench.api(Method::GET, "/settings/get", None, "").await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "write {let_through}");
            bench.ok(&["upgrade"]).await;
            assert_eq!(rows_but_their_version(&bench).await, whole, "write {let_through}");
        }
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_says_what_the_upgrade_writes() {
    let bench = left_by(EARLIEST).await;
    let before = bench.rows().await;
    let planned = bench.run(&["upgrade", "--dry-run"]).await.unwrap();
    assert_eq!(bench.rows().await, before);
    for part in ["COUNT#201 sold is missing instead of 10", "4 names", "list of patrons", "--dry-run"] {
        assert!(planned.text().contains(part), "{part}: {}", planned.text());
    }
    let done = bench.ok(&["upgrade"]).await;
    assert_eq!((&done["from"], &done["to"], &done["rows"]), (&json!(1), &json!(SCHEMA), &planned.json()["rows"]));
    assert_eq!(
        done["rows"],
        json!({ "names": 4, "sums": 3, "uncounted": 0, "patrons": 1, "listed": 7, "held": 0, "history": 1 })
    );
    let after = bench.rows().await;
    let again = bench.ok(&["upgrade"]).await;
    assert_eq!(
        again["rows"],
        json!({ "names": 0, "sums": 0, "uncounted": 0, "patrons": 0, "listed": 0, "held": 0, "history": 0 })
    );
    assert_eq!(bench.rows().await, after, "an upgrade of upgraded data changes nothing");
}

#[tokio::test]
async fn an_upgrade_changes_no_row_that_the_earlier_version_reads() {
    for backup in [EARLIEST, UNNUMBERED] {
        let bench = upgraded(backup).await;
        for item in items(backup).into_iter().filter(|item| !item.contains_key(TTL)) {
            let key = key_of(&item).unwrap();
            let mut found = row(&bench, &key).await.unwrap_or_else(|| panic!("{key:?} is there"));
            found.retain(|name, _| item.contains_key(name));
            // Goals and donators count their own writes.
            if key == keys::donations() {
                found.insert("version".to_owned(), item["version"].clone());
            }
            let mut item = item;
            if key.pk.starts_with(prefix::LEDGER) {
                // What was refunded in part was shared between lines by another rounding.
                assert_eq!(take_paid(&mut found), take_paid(&mut item), "{key:?}");
            }
            assert_eq!(found, item, "{key:?}");
        }
    }
}

/// Takes what a ledger calls paid out of its row, and returns the sum.
fn take_paid(row: &mut Item) -> i64 {
    let paid = row.extract_if(|name, _| name.starts_with('p') && name != PK);
    paid.map(|(_, sum)| sum.as_n().ok().and_then(|sum| sum.parse::<i64>().ok()).unwrap_or_default()).sum()
}

#[tokio::test]
async fn logins_carts_codes_orders_and_refunds_of_the_earliest_version_go_on() {
    let bench = upgraded(EARLIEST).await;
    assert_eq!(bad(&bench).await, Vec::<String>::new());
    let token = login(&bench, "THORNWICK").await;
    let (_, user) = post(&bench, "/user", Some(&token), &json!({})).await;
    assert_eq!((&user["id"], &user["username"]), (&json!(1), &json!("Thornwick")), "{user}");
    let shown = cart(&bench, &token).await;
    assert_eq!((&shown["coupon_code"], &shown["referral_code"]), (&json!("spring"), &json!("lantern")), "{shown}");
    assert_eq!((&shown["items"], shown["price"].to_string()), (&json!(4), "9.87".to_owned()), "{shown}");
    // Pebble's tokens were revoked; a login afterwards is admitted.
    let pebble = login(&bench, "pebble").await;
    let with_card = cart(&bench, &pebble).await;
    assert_eq!((&with_card["gift_id"], &with_card["items"]), (&json!(3), &json!(2)), "{with_card}");
    let bramble = login(&bench, "Bramble").await;
    let (_, used_up) = post(&bench, "/cart/acceptCoupon", Some(&bramble), &json!({ "coupon": "FIVER" })).await;
    assert_eq!(used_up["success"], false, "{used_up}");
    let (_, applied) = post(&bench, "/cart/acceptCoupon", Some(&bramble), &json!({ "coupon": "spring" })).await;
    assert_eq!(applied["success"], true, "{applied}");
    let (_, sent) = post(&bench, "/payments/checkStatus", Some(&bramble), &json!({ "order_id": "once" })).await;
    assert_eq!(sent["order_data"]["status"], "PAID", "{sent}");

    // Refunds of old orders take back what was counted by the old version and by the upgrade.
    for id in ["keys", "gifted", "once", "squire"] {
        bench.ok(&["order", "set-status", id, "REFUNDED"]).await;
    }
    bench.ok(&["order", "set-status", "waiting", "PAID"]).await;
    bench.ok(&["order", "record", "--owner", "bramble", "--gateway", "g", "--line", "201:2:3.98"]).await;
    let sold = |item: u64| {
        let bench = &bench;
        async move {
            row(bench, &keys::count(shared::model::ItemId::new(item))).await.unwrap()["sold"].as_n().unwrap().clone()
        }
    };
    assert_eq!((sold(201).await, sold(204).await, sold(101).await), ("3".to_owned(), "2".to_owned(), "0".to_owned()));
    let card = bench.ok(&["gift", "list"]).await;
    assert_eq!(card["codes"][0]["balance"].to_string(), "25", "{card}");
    assert_eq!(bad(&bench).await, Vec::<String>::new());
}

#[tokio::test]
async fn open_and_paid_checkouts_of_the_last_version_without_a_number_go_on() {
    let bench = upgraded(UNNUMBERED).await;
    let moth = login(&bench, "moth").await;
    let (_, paid) =
        post(&bench, "/payments/checkStatus", Some(&moth), &json!({ "order_id": "twig4z332v5toaxg" })).await;
    assert_eq!(paid["order_data"]["status"], "PAID", "{paid}");
    let fern = login(&bench, "Fern").await;
    let (_, open) =
        post(&bench, "/payments/checkStatus", Some(&fern), &json!({ "order_id": "akknrl7kw7gecsic" })).await;
    assert_eq!(open["order_data"]["status"], "PENDING", "{open}");
    let wren = login(&bench, "wren").await;
    let shown = cart(&bench, &wren).await;
    assert_eq!((&shown["gift_id"], &shown["referral_code"]), (&json!(2), &json!("lantern")), "{shown}");
    let (_, user) = post(&bench, "/user", Some(&login(&bench, "thornwick").await), &json!({})).await;
    assert_eq!(user["id"], 1, "{user}");
    bench.ok(&["order", "set-status", "squire", "REFUNDED"]).await;
    bench.ok(&["order", "set-status", "twig4z332v5toaxg", "REFUNDED", "--yes"]).await;
    bench.ok(&["order", "record", "--owner", "fern", "--gateway", "g", "--line", "204:1:14.99"]).await;
    let left = bad(&bench).await;
    // The provider of that day is gone: what Fern began cannot be ended, holds what it held, and is named. No sweep has asked
    // for events since that day either.
    let expected = ["\"open orders\"", "\"payment events\""];
    assert!(left.iter().all(|finding| expected.iter().any(|check| finding.starts_with(check))), "{left:?}");
}

#[tokio::test]
async fn a_rollback_after_the_next_publish_returns_to_the_version_of_before() {
    let bench = upgraded(EARLIEST).await;
    let before = read_active_version(&bench.db).await.unwrap().unwrap().version;
    bench.ok(&["publish", &crate::bench::sample(), "--yes", "--allow-removals"]).await;
    assert_eq!(schema(&bench).await, SCHEMA);
    assert_eq!(bench.ok(&["rollback", "--yes"]).await["version"], *before);
    assert_eq!(schema(&bench).await, SCHEMA);
}

#[tokio::test]
async fn of_two_users_with_one_name_the_older_keeps_it_and_the_other_is_named() {
    let bench = left_by(EARLIEST).await;
    let key = keys::user(UserId::new(1));
    let mut user: Value = decode_live(&key, row(&bench, &key).await.unwrap()).unwrap();
    (user["id"], user["username"]) = (json!(9), json!("thornwick"));
    user["created_at"] = json!(user["created_at"].as_i64().unwrap() + 60);
    bench.put(&keys::user(UserId::new(9)), &user).await;
    let done = bench.ok(&["upgrade"]).await;
    assert!(done["without_name"][0].as_str().unwrap().contains("user 9"), "{done}");
    let name = shared::model::UserName::parse("Thornwick").unwrap();
    assert_eq!(names::owner(&bench.db, &name).await.unwrap(), Some(UserId::new(1)));
    assert_eq!(schema(&bench).await, SCHEMA);
}

#[tokio::test]
async fn sixteen_upgrades_at_once_are_one() {
    let whole = rows_but_their_version(&upgraded(EARLIEST).await).await;
    let bench = left_by(EARLIEST).await;
    let outcomes = join_all((0..16).map(|_| bench.run(&["upgrade"]))).await;
    assert!(outcomes.iter().any(Result::is_ok));
    for failure in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(failure.exit, Exit::Raced | Exit::Unavailable), "{failure}");
    }
    bench.ok(&["upgrade"]).await;
    assert_eq!(rows_but_their_version(&bench).await, whole);
}

#[tokio::test]
async fn the_first_publish_sets_the_number_and_completes_what_is_there() {
    let bench = Bench::published().await;
    assert_eq!(schema(&bench).await, SCHEMA);
    // Accounts that an earlier version made before anything was published.
    let bench = Bench::empty().await;
    let accounts = items(EARLIEST).into_iter().filter(|item| key_of(item).unwrap().pk.starts_with("USER#"));
    bench.write_all(accounts.collect()).await;
    assert_eq!(bench.ok(&["upgrade"]).await["rows"]["names"], 4);
    bench.ok(&["publish", &crate::bench::sample(), "--yes"]).await;
    assert_eq!(schema(&bench).await, SCHEMA);
    let name = shared::model::UserName::parse("Thornwick").unwrap();
    assert_eq!(names::owner(&bench.db, &name).await.unwrap(), Some(UserId::new(1)));
}

#[tokio::test]
async fn an_earlier_restore_that_is_not_done_is_refused() {
    let bench = Bench::empty().await;
    let mut mark = key_attributes(&keys::earlier_restore());
    mark.insert("done".to_owned(), AttributeValue::N("7".to_owned()));
    bench.write_item(mark).await;
    let before = bench.rows().await;
    for line in [&["upgrade"][..], &["publish", &crate::bench::sample(), "--yes"]] {
        let failure = bench.fails(line).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains("restore"), "{failure}");
    }
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn data_of_a_later_version_are_not_upgraded_and_other_commands_go_on() {
    let bench = Bench::published().await;
    bench.set_number(&keys::active_version(), "schema", i64::from(SCHEMA) + 1).await;
    for line in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        let failure = bench.fails(line).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains(&format!("number {}", SCHEMA + 1)), "{failure}");
    }
    bench.ok(&["user", "add", "Newt"]).await;
    assert_eq!(bad(&bench).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_restore_of_an_earlier_backup_is_upgraded_and_goes_on_after_any_cut() {
    let whole = rows_but_their_version(&upgraded(EARLIEST).await).await;
    for let_through in 0.. {
        let bench = Bench::empty().await;
        let file = bench.path("b.gz").display().to_string();
        std::fs::write(&file, zipped(EARLIEST)).unwrap();
        let cut = bench.run_through(Faults::cut_after(let_through), &["restore", &file, "--yes"]).await;
        let (status, _) = bench.api(Method::GET, "/settings/get", None, "").await;
        let Err(failure) = cut else {
            assert_eq!(status, StatusCode::OK);
            assert_eq!(rows_but_their_version(&bench).await, whole);
            return;
        };
        let served = if let_through == 0 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        assert_eq!(status, served, "write {let_through}: {failure}");
        if let Err(failure) = bench.run(&["restore", &file, "--yes"]).await {
            assert!(failure.next.contains("storectl upgrade"), "{failure}");
            bench.ok(&["upgrade"]).await;
        }
        assert_eq!(rows_but_their_version(&bench).await, whole, "write {let_through}");
    }
}
