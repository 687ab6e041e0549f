//! `upgrade`, and data that this version does not know. The steps of an upgrade are proven in `shared/tests/shop/upgrade.rs`.

use crate::bench::Bench;
use shared::model::SCHEMA;
use shared::table::keys;
use storectl::error::Exit;

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
