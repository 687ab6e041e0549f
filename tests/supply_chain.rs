//! The crates of `infra/docs/supply-chain.md` are those in Cargo.lock.

use std::collections::BTreeMap;
use tests::repository;

/// The crates of crates.io in a lock file, with their versions.
fn locked(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut crates: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for block in text.split("[[package]]").filter(|block| block.contains("\nsource = ")) {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_suffix('"'));
        if let (Some(name), Some(version)) = (field("name = \""), field("version = \"")) {
            crates.entry(name).or_default().push(version);
        }
    }
    crates
}

/// The first cells of the rows of a table, without its head.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_versions_that_were_reviewed_are_those_in_use() {
    let page = std::fs::read_to_string(repository().join("infra/docs/supply-chain.md")).unwrap();
    let lock = std::fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    let locked = locked(&lock);
    let review = page.split("<!-- review -->").nth(1).unwrap().split("<!-- /review -->").next().unwrap();
    let rows = rows(review);
    assert_eq!(rows.len(), 20, "the crates nearest to money and keys");
    let mut wrong = Vec::new();
    for row in rows {
        let (name, version) = (row[0], row[1]);
        if !locked.get(name).is_some_and(|versions| versions.contains(&version)) {
            wrong.push(format!("{name} {version} was reviewed; Cargo.lock has {:?}", locked.get(name)));
        }
        if page.matches(&format!("\n| {name} |")).count() < 2 {
            wrong.push(format!("it is not said what {name} is trusted with"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
