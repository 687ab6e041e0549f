//! The links and calls of infra/docs/migration.md.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_of_the_migration_page_leads_somewhere() {
    let page = text(&docs().join("migration.md"));
    let links: Vec<&str> = page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = docs().join(file);
        assert!(path.is_file(), "{link}");
        assert!(anchor.is_empty() || anchors(&text(&path)).contains(anchor), "{link}");
    }
    for page in ["api.md", "../../README.md"] {
        assert!(text(&docs().join(page)).contains("migration.md"), "{page} does not link to it");
    }
}

#[test]
fn the_migration_page_names_calls_that_exist() {
    let page = text(&docs().join("migration.md"));
    let document: Value = serde_json::from_str(&text(&docs().join("../openapi.json"))).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let operations =
        paths.flat_map(|(path, operations)| operations.as_object().unwrap().keys().map(move |method| (method, path)));
    let known: BTreeSet<String> =
        operations.map(|(method, path)| format!("{} {path}", method.to_uppercase())).collect();
    let words: Vec<&str> = page.split_whitespace().collect();
    let calls = words.windows(2).filter(|pair| matches!(pair[0], "GET" | "HEAD" | "POST") && pair[1].starts_with('/'));
    let named: BTreeSet<String> = calls
        .map(|pair| format!("{} {}", pair[0], pair[1].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '}')))
        .collect();
    assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "there are no such calls");
}
