//! Arrows go one way: rules know neither the table nor HTTP nor the time, and the model knows nobody.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

/// Words that must not occur in the code of a folder.
fn must_not_know(folder: &str, words: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        files += 1;
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in words {
                assert!(!code.contains(word), "{}:{}: {word}", path.display(), number + 1);
            }
        }
    }
    assert!(files > 3, "the folder holds what this test is about");
}

#[test]
fn rules_know_neither_table_nor_http_nor_time() {
    let outside = ["crate::store", "crate::http", "crate::token", "crate::clock", "crate::config", "crate::base"];
    must_not_know("rules", &outside);
    must_not_know("rules", &["aws_", "tokio", "lambda_http", "SystemTime", "Instant", "jiff", "async "]);
}

#[test]
fn the_model_knows_nobody() {
    must_not_know("model", &["crate::", "aws_", "tokio", "lambda_http", "SystemTime", "async "]);
}

#[test]
fn the_store_knows_neither_rules_nor_http() {
    must_not_know("store", &["crate::rules", "crate::http", "crate::base", "lambda_http"]);
}

#[test]
fn keys_are_built_in_one_file() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    for entry in std::fs::read_dir(store).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("keys.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for prefix in ["\"USER#", "\"CART#", "\"ORDER#", "\"CODE#", "\"RATE#", "\"LEDGER#", "\"ITEM#", "\"CATALOG#"] {
            assert!(!text.contains(prefix), "{}: {prefix}", path.display());
        }
    }
}
