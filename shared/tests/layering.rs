//! Dependencies go one way: functions and tools → shop → table and rules → model; and only the crate `dynamodb` knows
//! the SDK's internals.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::path::{Path, PathBuf};

fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The Rust files below a folder of this package.
fn sources(folder: &str) -> Vec<PathBuf> {
    fn below(folder: &Path) -> Vec<PathBuf> {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
    }
    let found = below(&shared(folder)).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let found: Vec<PathBuf> = found.collect();
    assert!(!found.is_empty(), "{folder} has no files");
    found
}

/// None of these words occurs in the code of these files.
fn must_not_know(files: &[PathBuf], words: &[&str]) {
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let known = words.iter().find(|word| code.contains(*word));
            assert_eq!(known, None, "{}:{}", path.display(), number + 1);
        }
    }
}

/// The lines of one section of a Cargo.toml.
fn section<'manifest>(manifest: &'manifest str, name: &str) -> impl Iterator<Item = &'manifest str> {
    let lines = manifest.lines().skip_while(move |line| *line != name).skip(1);
    lines.take_while(|line| !line.starts_with('['))
}

/// None of the crates that a package is built from has a name that begins with one of these words.
fn must_not_depend(package: &Path, words: &[&str]) {
    let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap();
    let names = section(&manifest, "[dependencies]").filter_map(|line| line.split(['.', ' ', '=']).next());
    let names: Vec<String> = names.map(|name| name.replace('-', "_")).collect();
    assert!(names.len() > 3, "{}: {names:?}", package.display());
    let known = names.iter().find(|name| words.iter().any(|word| name.starts_with(word)));
    assert_eq!(known, None, "{}", package.display());
}

fn packages(folder: &str) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(shared(folder)).unwrap().map(|entry| entry.unwrap().path())
}

fn functions() -> impl Iterator<Item = PathBuf> {
    packages("../functions")
}

#[test]
fn every_layer_knows_only_those_below_it() {
    for (layer, foreign) in [
        ("rules", "crate::table crate::shop crate::http crate::token crate::clock crate::config crate::base"),
        ("rules", "aws_ tokio lambda_http SystemTime Instant jiff async"),
        ("model", "crate:: aws_ tokio lambda_http SystemTime async"),
        ("table", "crate::rules crate::shop crate::http crate::base lambda_http"),
        ("shop", "crate::http crate::endpoint crate::base crate::config lambda_http"),
        ("shop", "client() SystemClock SystemTime Instant jiff"),
    ] {
        // Files of tests may name what they test with.
        let mut files = sources(&format!("src/{layer}"));
        files.retain(|path| !path.to_string_lossy().ends_with("_tests.rs"));
        must_not_know(&files, &foreign.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    }
}

/// What tools alone do to a whole table is a room that no other knows. Who a token is of is known where accounts are read.
#[test]
fn no_room_knows_the_upkeep_and_one_file_knows_tokens() {
    let mut files = [sources("src/shop"), sources("../functions")].concat();
    files.retain(|path| !path.parent().is_some_and(|folder| folder.ends_with("shop/upkeep")));
    must_not_know(&files, &["shop::upkeep"]);
    let mut files = sources("src/shop");
    files.retain(|path| !path.ends_with("accounts/mod.rs"));
    must_not_know(&files, &["crate::token"]);
}

#[test]
fn the_sdks_internals_are_known_to_one_crate() {
    let internals =
        ["aws_smithy_", "aws_runtime", "aws_types", "aws_sigv4", "serde_dynamo", "hyper", "rustls", "reqwest"];
    for package in functions().chain([shared("")]) {
        must_not_depend(&package, &internals);
    }
    for folder in ["../functions", "src"] {
        must_not_know(&sources(folder), &internals);
    }
}

/// One call to it brings the whole client into a function.
#[test]
fn no_function_uses_the_sdks_client() {
    must_not_know(&sources("../functions"), &["bulk", ".client()"]);
    let mut files = sources("src");
    files.retain(|path| !["table/client.rs", "table/bulk.rs"].iter().any(|for_tools| path.ends_with(for_tools)));
    must_not_know(&files, &[".client()"]);
}

/// The local server makes its table, with the client.
#[test]
fn tools_build_no_transactions_and_use_no_client() {
    let mut files =
        [sources("../infra/storectl/src"), sources("../infra/local/src"), sources("../infra/stripe-stand-in/src")]
            .concat();
    files.retain(|path| !path.ends_with("local/src/engine.rs"));
    must_not_know(&files, &[".client()", "table::transaction"]);
}

#[test]
fn what_speaks_to_other_services_knows_nothing_of_this_store() {
    must_not_depend(&shared("outgoing"), &["shared", "dynamodb", "stripe", "serde", "aws_", "lambda_"]);
    let foreign = ["shared", "dynamodb", "hyper", "rustls", "tokio", "aws_", "lambda_", "jiff"];
    must_not_depend(&shared("stripe"), &foreign);
    must_not_know(&sources("stripe/src"), &["SystemTime", "Instant::now"]);
    must_not_depend(&shared("../infra/stripe-stand-in"), &["stripe", "local", "dynamodb", "aws_", "lambda_"]);
}

#[test]
fn the_agent_knows_the_store_only_by_its_calls() {
    for package in ["../infra/agent", "../infra/rcon"] {
        must_not_depend(&shared(package), &["shared", "dynamodb", "stripe", "local", "aws_", "lambda_"]);
    }
    let stand_in = sources("../infra/local/src/game_server/rcon");
    must_not_know(&stand_in, &["rcon::Connection", "rcon::Packet", "rcon::decode"]);
}

#[test]
fn neither_what_is_deployed_nor_the_operations_tool_links_the_local_server() {
    for package in functions().chain(["", "dynamodb", "outgoing", "stripe", "../infra/storectl"].map(shared)) {
        must_not_depend(&package, &["local", "stripe_stand_in"]);
    }
}

#[test]
fn keys_are_built_in_one_file() {
    let prefixes = ["\"USER#", "\"CART#", "\"ORDER#", "\"CODE#", "\"RATE#", "\"LEDGER#", "\"ITEM#", "\"CATALOG#"];
    let mut files = [sources("src/table"), sources("src/shop")].concat();
    files.retain(|path| !path.ends_with("keys.rs") && !path.parent().is_some_and(|folder| folder.ends_with("keys")));
    must_not_know(&files, &prefixes);
}

/// Nothing would run it.
#[test]
fn no_test_stands_in_a_library_that_is_built_without_tests() {
    let mut without = 0;
    for package in functions().chain(packages("../infra")) {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
        if section(&manifest, "[lib]").any(|line| line == "test = false") {
            must_not_know(&sources(package.join("src").to_str().unwrap()), &["#[test]", "cfg(test)"]);
            without += 1;
        }
    }
    assert!(without > 3, "{without}");
}
