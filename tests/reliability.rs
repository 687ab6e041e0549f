//! Every test that `infra/docs/reliability.md` names exists, and every planted fault still applies.

use std::path::Path;
use std::process::Command;
use tests::repository;

const PAGE: &str = "infra/docs/reliability.md";

/// The links to Rust files of a text: label and path.
fn links(text: &str) -> Vec<(&str, &str)> {
    let ends = text.match_indices("](").filter_map(|(at, _)| {
        let label = text[..at].rsplit_once('[')?.1;
        let path = text[at + 2..].split_once(')')?.0;
        (Path::new(path).extension()? == "rs").then_some((label, path))
    });
    ends.collect()
}

/// Whether a file has a test of this name: a function under an attribute that makes it one, or in `proptest!`.
fn has_test(source: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    let lines: Vec<&str> = source.lines().collect();
    let is_test = |line: &str| line.trim_start().starts_with("#[test]") || line.contains("::test");
    lines.iter().enumerate().any(|(index, line)| {
        let attributes = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with('#'));
        line.contains(&function) && attributes.into_iter().any(|line| is_test(line))
    })
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = repository().join(PAGE);
    let text = std::fs::read_to_string(&page).unwrap();
    let promises = text.split("## Promises").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = promises.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 20, "only {} promises were found", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let links = links(row);
        if links.is_empty() {
            wrong.push(format!("a promise without a test: {row}"));
        }
        for (name, path) in links {
            let file = page.parent().unwrap().join(path);
            match std::fs::read_to_string(&file) {
                Ok(source) if has_test(&source, name) => {}
                Ok(_) => wrong.push(format!("{path} has no test {name}")),
                Err(error) => wrong.push(format!("{path}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_test_is_distinguished_from_another_function() {
    let source = "#[tokio::test]\nasync fn one() {}\n\n    #[test]\n    fn two(x in 0..3) {}\n\nfn helper() {}\n";
    assert!(has_test(source, "one") && has_test(source, "two"));
    assert!(!has_test(source, "helper") && !has_test(source, "on") && !has_test(source, "absent"));
    assert_eq!(links("| x | [a](../b.rs), [c](d.md) |"), [("a", "../b.rs")]);
}

/// A patch of code that has changed since proves nothing.
#[test]
fn every_planted_fault_applies_and_names_its_test() {
    let folder = repository().join("tests/planted");
    let patches = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let patches: Vec<_> = patches.filter(|path| path.extension().is_some_and(|ending| ending == "patch")).collect();
    assert!(patches.len() >= 12, "{patches:?}");
    for patch in patches {
        let text = std::fs::read_to_string(&patch).unwrap();
        assert!(text.contains("\nCaught-by: ") && text.contains(" cargo test "), "{}", patch.display());
        let applied =
            Command::new("git").args(["apply", "--check"]).arg(&patch).current_dir(repository()).output().unwrap();
        assert!(applied.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&applied.stderr));
    }
}
