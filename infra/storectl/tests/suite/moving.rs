//! `backup` and `restore`: everything comes back, nothing is overwritten, and half a restore is completed. And `upgrade`, and data that
//! this version does not know: the steps of an upgrade are proven in `shared/tests/shop/upgrade.rs`.

use crate::bench::{Bench, sample, zipped};
use http::{Method, StatusCode};
use shared::model::SCHEMA;
use shared::shop::payments::webhook_events::EventCursor;
use shared::table::keys;
use shared::table::single::{self, KINDS};
use shared::table::transaction::{Write, send};
use std::io::Read as _;
use std::path::Path;
use storectl::error::Exit;
use tests::{Calls, Faults, NOW};

async fn backed_up() -> (Bench, String) {
    let bench = Bench::stocked().await;
    // A chat login and a request have left rows that need not be kept.
    let id = shared::model::ChatId::parse("7").unwrap();
    let name = shared::model::ChatName::parse("Ember").unwrap();
    shared::shop::accounts::logins::completed(&bench.db, &id, name, NOW).await.unwrap();
    bench.api(Method::POST, "/payments/checkStatus", None, r#"{"order_id":"x"}"#).await;
    let file = bench.backup("b.jsonl.gz").await;
    (bench, file)
}

/// A backup of the format's first version, with every kind of value; in a file it is compressed.
const FIRST_FORMAT: &str = include_str!("backup-1.jsonl");

fn unzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn without_brief_rows(rows: Vec<String>) -> Vec<String> {
    // Ids go on elsewhere.
    let is_brief = |row: &String| ["RATE#", "CHAT#", "SEQ#"].iter().any(|part| row.contains(part));
    rows.into_iter().filter(|row| !is_brief(row)).collect()
}

#[tokio::test]
async fn what_was_backed_up_comes_back_as_it_was() {
    let (bench, file) = backed_up().await;
    let other = Bench::empty().await;
    other.ok(&["restore", &file, "--yes"]).await;
    assert_eq!(without_brief_rows(other.rows().await), without_brief_rows(bench.rows().await));
    assert_eq!(other.run(&["doctor"]).await.unwrap().trouble(), None);
    let (status, _) = other.api(Method::GET, "/settings/get", None, "").await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn the_live_data_of_the_sample_store_are_written_of_it_byte_for_byte_and_are_not_a_backup() {
    let bench = Bench::stocked().await;
    let file = bench.path("live.jsonl").display().to_string();
    bench.ok(&["backup", &file, "--demo"]).await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, std::fs::read_to_string(Path::new(&sample()).join("live.jsonl")).unwrap());
    assert!(["STORE", "ITEM#", "NAME#", "LEDGER#"].iter().all(|kind| !written.contains(kind)), "what can be computed");
    let failure = Bench::empty().await.fails(&["restore", &file, "--yes"]).await;
    assert!(failure.what.ends_with("live.jsonl is not a backup of this tool."), "{failure}");
}

#[tokio::test]
async fn a_backup_of_the_first_format_is_restored_and_written_again_byte_for_byte() {
    let items = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.pop();
        lines.split_off(1)
    };
    let bench = Bench::empty().await;
    let old = bench.path("old.gz");
    std::fs::write(&old, zipped(FIRST_FORMAT)).unwrap();
    bench.ok(&["restore", &old.display().to_string(), "--yes"]).await;
    let written = items(&unzipped(&std::fs::read(bench.backup("new.gz").await).unwrap()));
    for line in items(FIRST_FORMAT) {
        assert!(written.contains(&line), "{line} is not in {written:#?}");
    }
}

#[tokio::test]
async fn a_restore_that_was_cut_off_at_any_write_goes_on_and_serves_nobody_before_it_is_done() {
    let (bench, file) = backed_up().await;
    let whole = without_brief_rows(bench.rows().await);
    for let_through in Faults::cuts() {
        let other = Bench::empty().await;
        let cut = other.run_through(Faults::cut_after(let_through), &["restore", &file, "--yes"]).await;
        let Err(failure) = cut else {
            assert!(let_through > 4, "mark, batches, note, active version");
            return;
        };
        assert_eq!(failure.exit, Exit::Unavailable, "{failure}");
        if let_through > 0 {
            let (status, _) = other.api(Method::GET, "/settings/get", None, "").await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "write {let_through}");
            assert!(other.fails(&["backup", &other.path("half").display().to_string()]).await.exit == Exit::Refused);
            assert_eq!(other.run(&["doctor"]).await.unwrap().trouble(), Some(Exit::Faults));
        }
        other.ok(&["restore", &file, "--yes"]).await;
        assert_eq!(without_brief_rows(other.rows().await), whole, "write {let_through}");
    }
}

#[tokio::test]
async fn nothing_is_written_into_a_half_restored_table() {
    let (_bench, file) = backed_up().await;
    let other = Bench::empty().await;
    assert!(other.run_through(Faults::cut_after(2), &["restore", &file, "--yes"]).await.is_err());
    let before = without_brief_rows(other.rows().await);
    for line in [
        "user add Newt",
        "coupon add SPRING --percentage 10",
        "gift add --balance 5",
        &format!("publish {} --yes", sample()),
        "order record --owner 1 --gateway g --price 1 --currency EUR --line 201:1:1",
    ] {
        let failure = other.fails(&line.split(' ').collect::<Vec<_>>()).await;
        assert_eq!(failure.exit, Exit::Refused, "{line:?}: {failure}");
        assert!(failure.what.contains("restore"), "{line:?}: {failure}");
    }
    let (status, _) = other.api(Method::POST, "/items/getFeaturedDeals", None, "").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(other.run(&["doctor"]).await.unwrap().trouble(), Some(Exit::Faults));
    assert_eq!(without_brief_rows(other.rows().await), before);
}

#[tokio::test]
async fn a_restore_does_not_end_over_what_something_else_wrote() {
    let (_bench, file) = backed_up().await;
    let user = keys::user(shared::model::UserId::new(987_654));
    let (added, altered) = (user, keys::sequence("order"));
    for key in [added, altered] {
        let other = Bench::empty().await;
        // All but the last write, which ends the restore.
        let writes = Calls::default();
        let whole = Bench::empty().await;
        whole.run_through(writes.clone(), &["restore", &file, "--yes"]).await.unwrap();
        let cut = Faults::cut_after(writes.writes() - 1);
        assert!(other.run_through(cut, &["restore", &file, "--yes"]).await.is_err());
        let mut item = shared::table::codec::key_attributes(&key);
        item.insert("next".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("7".to_owned()));
        other.write_item(item).await;
        let failure = other.fails(&["restore", &file, "--yes"]).await;
        assert!(failure.what.contains("Something else was written"), "{key:?}: {failure}");
        assert_eq!(failure.exit, Exit::Refused);
        let (status, _) = other.api(Method::GET, "/settings/get", None, "").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{key:?}");
    }
}

#[tokio::test]
async fn a_restore_gives_out_no_id_of_the_backup_or_of_after_it() {
    // How many ids the first store gave out after the backup: tokens, buyers and the provider know them.
    const SINCE: u64 = 100_000;
    let bench = Bench::stocked().await;
    let made = async |bench: &Bench, name: &str| bench.ok(&["user", "add", name]).await["user"]["id"].as_u64().unwrap();
    // The backup read the sequences before the account was made, and so does not hold the new value.
    let highest = made(&bench, "Newt").await;
    shared::table::bulk::delete_each(&bench.db, KINDS.map(keys::sequence).into_iter(), &|_| {}).await.unwrap();
    let file = bench.backup("b.jsonl.gz").await;
    let other = Bench::empty().await;
    other.ok(&["restore", &file, "--yes"]).await;
    for kind in KINDS {
        assert!(single::reserve(&other.db, kind, 1).await.unwrap() > SINCE, "{kind}");
    }
    assert!(made(&other, "Eft").await > highest + SINCE);
}

/// Lets the webhook events be asked for since a second, as the first sweep of a store that takes payments does.
async fn ask_since(bench: &Bench, since: i64) {
    let write: Write = EventCursor::beginning(since).put().unwrap();
    send(&bench.db, vec![write]).await.unwrap();
}

#[tokio::test]
async fn a_new_stack_that_takes_payments_is_restored_into_and_asks_for_the_webhook_events_since_the_backup() {
    let (bench, without) = backed_up().await;
    ask_since(&bench, NOW).await;
    let with = bench.backup("with.gz").await;
    let began = NOW + 7_200;
    for (file, since) in [(with, NOW), (without, began)] {
        let other = Bench::empty().await;
        ask_since(&other, began).await;
        other.ok(&["restore", &file, "--yes"]).await;
        let cursor = EventCursor::read(&other.db).await.unwrap();
        assert_eq!(cursor.map(|cursor| cursor.since), Some(since), "{file}");
    }
}

#[tokio::test]
async fn another_backup_does_not_go_on_where_one_was_cut_off() {
    let (_bench, file) = backed_up().await;
    let small = Bench::published().await;
    let second = small.backup("second.gz").await;
    let other = Bench::empty().await;
    assert!(other.run_through(Faults::cut_after(2), &["restore", &file, "--yes"]).await.is_err());
    assert_eq!(other.fails(&["restore", &second, "--yes"]).await.exit, Exit::Refused);
}

#[tokio::test]
async fn a_file_that_is_cut_off_or_altered_is_refused_before_anything_is_written() {
    let (bench, file) = backed_up().await;
    let bytes = std::fs::read(&file).unwrap();
    let text = unzipped(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let altered = zipped(&text.replacen("Emberfall", "Emberfell", 1));
    let shorter = zipped(&lines[..lines.len() - 1].join("\n"));
    let dropped = zipped(&[&lines[..3], &lines[4..]].concat().join("\n"));
    let other = Bench::empty().await;
    for (name, bytes) in [
        ("half", bytes[..bytes.len() / 2].to_vec()),
        ("none", Vec::new()),
        ("text", b"no backup".to_vec()),
        ("altered", altered),
        ("shorter", shorter),
        ("dropped", dropped),
    ] {
        let path = bench.path(name);
        std::fs::write(&path, bytes).unwrap();
        let failure = other.fails(&["restore", &path.display().to_string(), "--yes"]).await;
        assert_eq!(failure.exit, Exit::Local, "{name}: {failure}");
    }
    assert!(other.rows().await.is_empty());
}

#[tokio::test]
async fn a_backup_replaces_no_file_and_is_its_owners_alone() {
    let (bench, file) = backed_up().await;
    assert_eq!(bench.fails(&["backup", &file]).await.exit, Exit::Local);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

async fn set_schema(bench: &Bench, number: u32) {
    bench.set_number(&keys::active_version(), "schema", i64::from(number)).await;
}

/// The checks of the doctor that found something.
async fn bad(bench: &Bench) -> Vec<String> {
    let answer = bench.run(&["doctor"]).await.unwrap();
    let findings = answer.json()["findings"].as_array().unwrap();
    let bad = findings.iter().filter(|finding| finding["state"] == "bad");
    bad.map(|finding| format!("{}: {}", finding["check"], finding["said"])).collect()
}

#[tokio::test]
async fn commands_refuse_earlier_data_and_write_nothing() {
    let bench = Bench::published().await;
    set_schema(&bench, SCHEMA - 1).await;
    let before = bench.rows().await;
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
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn data_of_before_the_first_release_are_neither_upgraded_nor_restored_and_the_last_commit_that_reads_them_is_named()
 {
    let bench = Bench::published().await;
    set_schema(&bench, 3).await;
    let file = bench.path("b.gz").display().to_string();
    bench.ok(&["backup", &file]).await;
    let other = Bench::empty().await;
    for failure in [
        bench.fails(&["upgrade"]).await,
        bench.fails(&["upgrade", "--dry-run"]).await,
        other.fails(&["restore", &file, "--yes"]).await,
    ] {
        assert_eq!(failure.exit, Exit::Refused, "{failure}");
        assert!(failure.what.contains(shared::shop::upkeep::upgrade::READS_EARLIER), "{failure}");
    }
    assert_eq!(other.rows().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_upgrade_of_current_data_writes_nothing() {
    let bench = Bench::published().await;
    let before = bench.rows().await;
    for line in [&["upgrade", "--dry-run"][..], &["upgrade"]] {
        let answer = bench.run(line).await.unwrap();
        assert!(answer.text().contains(&format!("the schema number {SCHEMA}")), "{}", answer.text());
        assert_eq!((&answer.json()["to"], answer.json()["rows"].to_string()), (&SCHEMA.into(), "{}".to_owned()));
    }
    assert_eq!(bench.rows().await, before);
}

#[tokio::test]
async fn data_of_a_later_version_are_not_upgraded_and_other_commands_go_on() {
    let bench = Bench::published().await;
    set_schema(&bench, SCHEMA + 1).await;
    for line in [&["upgrade"][..], &["upgrade", "--dry-run"]] {
        let failure = bench.fails(line).await;
        assert!(failure.exit == Exit::Refused && failure.what.contains(&format!("number {}", SCHEMA + 1)), "{failure}");
    }
    bench.ok(&["user", "add", "Newt"]).await;
    assert_eq!(bad(&bench).await, Vec::<String>::new());
}
