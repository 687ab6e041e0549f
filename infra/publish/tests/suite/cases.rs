//! Faults of stores, and warnings if there are no faults. The cases are in `cases/*.txt`, each a name after `==`, files
//! after `--`, and after `>>` what is said. `CASES=write` writes what is said now; read the differences.
//!
//! `-- store` continues the least store.yaml, `-- category` a category after its first three lines, and `-- item` the only item of
//! one. A store.yaml that is not given is the least one.

use crate::support::{STORE, store};
use publish::{Fault, check, read, warnings};
use std::collections::BTreeMap;
use std::fmt::Write;

const CATEGORY: &str = "id: 1\nslug: a\nname: A\n";

/// Lines, each with this before it.
fn lines<'a>(before: &str, lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(String::new(), |all, line| all + before + line + "\n")
}

fn files(case: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for part in case.split("\n-- ").skip(1) {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        let (path, before, indent) = match name {
            "store" => ("store.yaml", STORE.to_owned(), ""),
            "category" => ("categories/a.yaml", CATEGORY.to_owned(), ""),
            "item" => ("categories/a.yaml", CATEGORY.to_owned() + "items:\n  - id: 7\n    name: I\n", "    "),
            path => (path, String::new(), ""),
        };
        files.insert(path.to_owned(), before + &lines(indent, text.lines()));
    }
    files.entry("store.yaml".to_owned()).or_insert_with(|| STORE.to_owned());
    files
}

fn said(case: &str) -> String {
    let dir = store(&files(case).into_iter().collect::<Vec<_>>());
    let said = |before: &str, said: &[Fault]| {
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        lines(before, said.iter().map(String::as_str))
    };
    let read = read(dir.path()).and_then(|read| {
        let faults = check(&read);
        if faults.is_empty() { Ok(warnings(&read)) } else { Err(faults) }
    });
    read.map_or_else(|faults| said(">> ", &faults), |warnings| said(">> warning: ", &warnings))
}

#[test]
fn everything_is_said_as_the_cases_have_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/cases");
    let mut wrong = String::new();
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let (text, mut now) = (std::fs::read_to_string(&file).unwrap(), String::new());
        for was in text.split("== ").skip(1) {
            let asked = lines("", was.lines().filter(|line| !line.starts_with(">>")));
            let is = format!("{}\n{}\n", asked.trim_end(), said(asked.trim_end()));
            if is != was {
                write!(wrong, "{was}is now\n{is}").unwrap();
            }
            write!(now, "== {is}").unwrap();
        }
        if std::env::var("CASES").is_ok_and(|value| value == "write") {
            std::fs::write(&file, now).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
