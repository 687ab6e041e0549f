//! Dependencies go one way: rules know neither the table nor HTTP nor the time, the model knows nothing else, and only
//! the crate `dynamodb` knows the SDK's internals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

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
fn the_model_knows_nothing_else() {
    must_not_know("model", &["crate::", "aws_", "tokio", "lambda_http", "SystemTime", "async "]);
}

#[test]
fn the_store_knows_neither_rules_nor_http() {
    must_not_know("store", &["crate::rules", "crate::http", "crate::base", "lambda_http"]);
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// What of a manifest names the crates that a binary is built from.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['.', ' ', '=']).next())
}

#[test]
fn the_sdks_internals_are_known_to_one_crate() {
    let internals =
        ["aws_smithy_", "aws_runtime", "aws_types", "aws_sigv4", "serde_dynamo", "hyper", "rustls", "reqwest"];
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"));
    let functions = std::fs::read_dir(shared.join("../functions")).unwrap().map(|entry| entry.unwrap().path());
    for package in functions.chain([shared.to_owned()]) {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
        assert!(dependencies(&manifest).any(|name| name == "tokio"), "{}", package.display());
        for name in dependencies(&manifest) {
            let name = name.replace('-', "_");
            assert!(!internals.iter().any(|word| name.starts_with(word)), "{}: {name}", package.display());
        }
        let sources = sources(&package.join("src"));
        assert!(sources.len() > 2, "{}", package.display());
        for path in sources {
            let text = std::fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for word in internals {
                    assert!(!code.contains(word), "{}:{}: {word}", path.display(), number + 1);
                }
            }
        }
    }
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
