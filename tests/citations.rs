//! Comments cite rules and endpoints by the headings of `infra/docs/rules.md` and `infra/docs/api.md`, and cite only
//! what is in the repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tests::repository;

/// The pages whose headings are cited.
const PAGES: [&str; 2] = ["rules.md", "api.md"];
/// Folders that are not part of the project.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".git"];
/// Extensions of the files that may cite.
const READ: [&str; 4] = ["rs", "yaml", "md", "py"];
/// This file, which has examples of forbidden citations.
const THIS: &str = "tests/citations.rs";

/// Collects the files that may cite, below `folder`.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = entry.file_name().to_string_lossy().into_owned();
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(&path, found);
        } else if kind.is_file() && READ.contains(&ending.as_str()) {
            found.push(path);
        }
    }
}

/// The path in the repository and the text of every file that may cite.
fn texts() -> Vec<(String, String)> {
    let root = repository();
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    let texts = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), text)
    });
    texts.filter(|(path, _)| path != THIS).collect()
}

/// The headings of a page, of every level.
fn headings(page: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join("infra/docs").join(page)).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| line.trim_start_matches('#').trim().to_owned()).collect()
}

/// The headings of a page that a text cites, as in `rules.md, "Carts"`.
fn cited(text: &str, page: &str) -> Vec<String> {
    let before = format!("{page}, \"");
    text.split(before.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
}

/// Whether a line cites a document that is not in the repository.
fn cites_something_else(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_numbered =
        |word: &str| line.split(word).skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let numbered = ["contract ", "ruling ", "rulings "].into_iter().any(is_numbered);
    numbered || line.contains("(contract, ") || line.contains("; contract, ") || line.contains("design, section")
}

#[test]
fn every_citation_names_a_heading_that_exists() {
    let texts = texts();
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in PAGES {
        let headings = headings(page);
        for (path, text) in &texts {
            for heading in cited(text, page) {
                count += 1;
                if !headings.contains(&heading) {
                    wrong.push(format!("{path}: {page} has no heading {heading:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 100, "only {count} citations were found");
}

#[test]
fn nothing_is_cited_that_is_not_in_the_repository() {
    let mut wrong = Vec::new();
    for (path, text) in texts() {
        for (index, line) in text.lines().enumerate() {
            if cites_something_else(line) {
                wrong.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_citation_is_distinguished_from_prose() {
    for line in
        ["(contract 3; ruling 9)", "rulings 6 and 8", "Ruling 12: a", "(contract, Limits)", "Design, section 2.1"]
    {
        assert!(cites_something_else(line), "{line}");
    }
    for line in ["a contract between two crates", "a ruling price", "(rules.md, \"Carts\")"] {
        assert!(!cites_something_else(line), "{line}");
    }
    assert_eq!(cited("(rules.md, \"Carts\"; api.md, \"POST /user\")", "api.md"), ["POST /user"]);
}
