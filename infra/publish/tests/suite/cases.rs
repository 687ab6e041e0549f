//! Faults of stores, and warnings if there are no faults. The cases are in `cases/*.txt`, each a name after `==`, files
//! after `--`, and after `>>` what is said. `CASES=write` writes what is said now; read the differences.
//!
//! `-- store` continues the least store.yaml, `-- category` a category after its first three lines, and `-- item` the only item of
//! one. A store.yaml that is not given is the least one; with a file of `live/` there are also items and a user.

use crate::support::{STORE, store};
use local::live::read_live;
use publish::{Fault, check, read, warnings};
use std::collections::BTreeMap;
use std::fmt::Write;

/// 2031-03-15T12:00:00Z.
const NOW: i64 = 1_931_342_400;
const CATEGORY: &str = "id: 1\nslug: a\nname: A\n";
const CATALOG: &str = "items:
  - {id: 7, name: I, price: 2.50, variables: [{id: 1, name: V, options: [red, blue]}]}
  - {id: 8, name: J, any_price: true, min_price: 2}
";
const USERS: &str = "- {id: 5, username: Ann, uuid: 4b5f8c1e-0d7a-4c5e-9a57-3f2b6d1c8e90, created_at: now}\n";

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
    let has_live = has_live(&files);
    let mut default = |path: &str, text: String| _ = files.entry(path.to_owned()).or_insert(text);
    default("store.yaml", STORE.to_owned());
    if has_live {
        default("categories/a.yaml", CATEGORY.to_owned() + CATALOG);
        default("live/users.yaml", USERS.to_owned());
    }
    files
}

fn has_live(files: &BTreeMap<String, String>) -> bool {
    files.keys().any(|path| path.starts_with("live/"))
}

fn said(case: &str) -> String {
    let files = files(case);
    let dir = store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let said = |before: &str, said: &[Fault]| {
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        lines(before, said.iter().map(String::as_str))
    };
    let read = read(dir.path()).and_then(|read| {
        let live = has_live(&files).then(|| read_live(dir.path(), &read, NOW).err()).flatten();
        let faults = live.unwrap_or_else(|| check(&read));
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
