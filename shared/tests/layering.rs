//! Dependencies go one way: functions and tools → use cases → store and rules → model; and only the crate `dynamodb` knows
//! the SDK's internals.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::path::{Path, PathBuf};

/// The files below a folder of `shared/src`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn source(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)
}

/// Words that must not occur in the code of a folder. Files of tests may name what they test with.
fn must_not_know(folder: &str, words: &[&str]) {
    let mut read = 0;
    for path in files(&source(folder)) {
        if path.to_string_lossy().ends_with("_tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        read += 1;
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in words {
                assert!(!code.contains(word), "{}:{}: {word}", path.display(), number + 1);
            }
        }
    }
    assert!(read > 3, "the folder has the files that this test is about");
}

#[test]
fn rules_know_neither_table_nor_http_nor_time() {
    let outside = [
        "crate::store",
        "crate::usecases",
        "crate::http",
        "crate::token",
        "crate::clock",
        "crate::config",
        "crate::base",
    ];
    must_not_know("rules", &outside);
    must_not_know("rules", &["aws_", "tokio", "lambda_http", "SystemTime", "Instant", "jiff", "async "]);
}

#[test]
fn the_model_knows_no_other_layer() {
    must_not_know("model", &["crate::", "aws_", "tokio", "lambda_http", "SystemTime", "async "]);
}

#[test]
fn the_store_knows_neither_rules_nor_use_cases_nor_http() {
    must_not_know("store", &["crate::rules", "crate::usecases", "crate::http", "crate::base", "lambda_http"]);
}

#[test]
fn use_cases_know_neither_http_nor_the_sdk_and_are_given_the_time() {
    let outside = ["crate::http", "crate::endpoint", "crate::base", "crate::config", "crate::token", "lambda_http"];
    must_not_know("usecases", &outside);
    must_not_know("usecases", &["aws_", "client()", "SystemClock", "SystemTime", "Instant", "jiff"]);
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The part of a manifest that names the crates that a binary is built from.
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

/// One call to it brings the whole client into a function.
#[test]
fn no_function_uses_the_sdks_client() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (functions, shared) = (sources(&shared.join("../functions")), sources(&shared.join("src")));
    assert!(functions.len() > 20 && shared.len() > 50);
    for path in &functions {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(!text.contains("bulk"), "{}", path.display());
    }
    let offer_it_to_tools = ["store/client.rs", "store/bulk.rs"];
    let is_for_tools = |path: &&PathBuf| offer_it_to_tools.iter().any(|file| path.ends_with(file));
    for path in functions.iter().chain(&shared).filter(|path| !is_for_tools(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(!text.contains(".client()"), "{}", path.display());
    }
}

#[test]
fn what_speaks_to_other_services_knows_nothing_of_this_store() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (package, foreign) in [
        ("outgoing", &["shared", "dynamodb", "stripe", "serde", "aws_", "lambda_"][..]),
        ("stripe", &["shared", "dynamodb", "hyper", "rustls", "tokio", "aws_", "lambda_", "jiff"]),
    ] {
        let manifest = std::fs::read_to_string(shared.join(package).join("Cargo.toml")).unwrap();
        let names: Vec<String> = dependencies(&manifest).map(|name| name.replace('-', "_")).collect();
        assert!(names.iter().any(|name| name == "http"), "{package}: {names:?}");
        for name in &names {
            assert!(!foreign.iter().any(|word| name.starts_with(word)), "{package}: {name}");
        }
    }
    for path in sources(&shared.join("stripe/src")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let clocks = ["SystemTime", "Instant::now"];
        assert!(!clocks.iter().any(|word| text.contains(word)), "{}", path.display());
    }
}

#[test]
fn nothing_that_is_deployed_links_the_local_server() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"));
    let functions = std::fs::read_dir(shared.join("../functions")).unwrap().map(|entry| entry.unwrap().path());
    let libraries = ["dynamodb", "outgoing", "stripe"].map(|name| shared.join(name));
    for package in functions.chain([shared.to_owned()]).chain(libraries) {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
        assert!(!dependencies(&manifest).any(|name| name == "local"), "{}", package.display());
    }
}

#[test]
fn keys_are_built_in_one_file() {
    let prefixes = ["\"USER#", "\"CART#", "\"ORDER#", "\"CODE#", "\"RATE#", "\"LEDGER#", "\"ITEM#", "\"CATALOG#"];
    for folder in ["store", "usecases"] {
        for path in files(&source(folder)) {
            if path.ends_with("keys.rs") || path.parent().is_some_and(|folder| folder.ends_with("keys")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for prefix in prefixes {
                assert!(!text.contains(prefix), "{}: {prefix}", path.display());
            }
        }
    }
}
