//! `doctor`: one line each, and what to do where it is not well.

use crate::bench::Bench;
use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use serde_json::Value;
use storectl::error::Exit;

fn state<'a>(answer: &'a Value, check: &str) -> &'a Value {
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("{check}"))
}

#[tokio::test]
async fn a_sound_store_is_well_and_an_empty_table_is_not() {
    let bench = Bench::empty().await;
    let empty = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(empty.trouble(), Some(Exit::Faults));
    assert_eq!(state(empty.json(), "published version")["state"], "bad");
    let bench = Bench::published().await;
    let well = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(well.trouble(), None, "{}", well.text());
    for check in ["table", "time to live", "clock", "published version", "goals and donators", "token keys"] {
        assert_eq!(state(well.json(), check)["state"], "ok", "{check}");
    }
    assert_eq!(well.text().lines().count(), well.json()["findings"].as_array().unwrap().len(), "one line each");
}

#[tokio::test]
async fn what_is_not_well_is_told_with_what_to_do() {
    let bench = Bench::published().await;
    let off = TimeToLiveSpecification::builder().attribute_name("expires_at").enabled(false).build().unwrap();
    let update = bench.db.client().update_time_to_live().table_name(bench.db.table());
    update.time_to_live_specification(off).send().await.unwrap();
    bench.write("keys.json", r#"{"k1":"short"}"#);
    let sick = bench.run(&["doctor"]).await.unwrap();
    assert_eq!(sick.trouble(), Some(Exit::Faults));
    for check in ["time to live", "token keys"] {
        let finding = state(sick.json(), check);
        assert_eq!(finding["state"], "bad");
        assert!(finding["next"].as_str().unwrap().len() > 5, "{finding}");
    }
    assert!(!sick.text().contains("\"short\""), "{}", sick.text());
    let missing = bench.run(&["doctor", "--table", "nowhere"]).await.unwrap();
    assert_eq!(state(missing.json(), "table")["said"], "There is no such table.");
}
