//! Faults of stores, and warnings if there are no faults. The cases are in `cases/*.txt`, each a name after `==`, files
//! after `--`, and after `>>` what is said. `CASES=write` writes what is said now; read the differences.
//!
//! `-- store` continues the least store.yaml, `-- category` a category after its first three lines, and `-- item` the only item of
//! one. A store.yaml that is not given is the least one.
//!
//! Below them: stores too large to be written down as a case, what follows from what is left out, other files in a store's
//! directory, and files that are not what they should be.

use crate::support::{STORE, compiled, found, lines, store};
use publish::{Fault, check, read, warnings};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CATEGORY: &str = "id: 1\nslug: a\nname: A\n";

/// Lines, each with this before it.
fn with_prefix<'a>(before: &str, lines: impl Iterator<Item = &'a str>) -> String {
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
        files.insert(path.to_owned(), before + &with_prefix(indent, text.lines()));
    }
    files.entry("store.yaml".to_owned()).or_insert_with(|| STORE.to_owned());
    files
}

fn said(case: &str) -> String {
    let dir = store(&files(case).into_iter().collect::<Vec<_>>());
    let said = |before: &str, said: &[Fault]| {
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        with_prefix(before, said.iter().map(String::as_str))
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
            let asked = with_prefix("", was.lines().filter(|line| !line.starts_with(">>")));
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

/// Faults and warnings of these files, with the least store.yaml.
fn said_of(files: &[(&str, &str)]) -> String {
    let (faults, warnings) = found(&[&[("store.yaml", STORE)], files].concat());
    faults + &warnings
}

#[test]
fn a_store_without_store_yaml_is_told_so() {
    let (faults, _) = found(&[("pages/a.yaml", "id: 1\ntitle: A\nurl: a\n")]);
    assert_eq!(faults, "store.yaml: is missing; every store needs one, with format, name and currency\n");
}

#[test]
fn a_folder_of_categories_has_one() {
    let dir = store(&[("store.yaml", STORE)]);
    std::fs::create_dir(dir.path().join("categories")).unwrap();
    let problem = "is empty: add a file for each category, such as categories/ranks.yaml";
    assert_eq!(lines(&read(dir.path()).unwrap_err()), format!("categories: {problem}\n"));
}

#[test]
fn what_does_not_fit_into_an_item_of_the_table_is_named() {
    let page = format!("id: 1\ntitle: A\nurl: a\ncontent: {}\n", "x".repeat(360_000));
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for id in 1..=40 {
        let (words, featured) = ("y".repeat(10_000), id % 2 == 0);
        writeln!(category, "  - {{id: {id}, name: I{id}, price: 1, description: {words}, featured: {featured}}}")
            .unwrap();
    }
    let found = said_of(&[("pages/a.yaml", &page), ("categories/a.yaml", &category)]);
    let found: Vec<&str> = found.lines().collect();
    assert!(found[0].starts_with("categories/a.yaml, line 1: the category /a with its items is 4"), "{found:?}");
    assert!(found[1].starts_with("pages/a.yaml: the page a is 36"), "{found:?}");
}

#[test]
fn a_category_has_at_most_9999_subcategories() {
    let mut text = String::from("id: 1\nslug: a\nname: A\nsubcategories:\n");
    for id in 2..=10_001 {
        writeln!(text, "  - {{id: {id}, slug: s{id}, name: S}}").unwrap();
    }
    let found = said_of(&[("categories/a.yaml", &text)]);
    assert!(found.contains("subcategories: a category has at most 9999 subcategories"), "{found}");
}

#[test]
fn a_category_and_its_subcategories_fit_into_one_page() {
    let words = "y".repeat(10_000);
    let category = |subcategories: u32| {
        let mut text = String::from("id: 1\nslug: a\nname: A\nsubcategories:\n");
        for id in 2..2 + subcategories {
            writeln!(text, "  - {{id: {id}, slug: s{id}, name: S, items: [").unwrap();
            for item in id * 100..id * 100 + 30 {
                writeln!(text, "    {{id: {item}, name: I{item}, price: 1, description: {words}}},").unwrap();
            }
            writeln!(text, "    ]}}").unwrap();
        }
        said_of(&[("categories/a.yaml", &text)])
    };
    assert_eq!(category(3), "");
    let found = category(4);
    let told = "categories/a.yaml, line 1: the category /a with its subcategories is 12";
    assert!(found.starts_with(told) && found.contains("at most 1000000 are served as one page"), "{found}");
}

#[test]
fn a_text_of_over_100_000_characters_is_warned_of() {
    let page = format!("id: 1\ntitle: A\nurl: a\ncontent: {}\n", "x".repeat(100_001));
    let problem = "has 100001 characters, which every visitor of its page loads";
    assert_eq!(said_of(&[("pages/a.yaml", &page)]), format!("pages/a.yaml, line 1, content: {problem}\n"));
}

#[test]
fn the_rate_of_the_stores_own_currency_is_that_of_the_list_unless_it_is_given() {
    let listed = "currencies: [{code: EUR, per_usd: 0.92}, {code: USD, per_usd: 1}]\n";
    let compiled = compiled(&[("store.yaml", format!("{STORE}{listed}"))]);
    assert_eq!(compiled.settings.system_currency.value.millionths(), 920_000);
}

fn faults(dir: &Path) -> String {
    lines(&read(dir).err().unwrap_or_default())
}

/// The faults of a store with one category whose file holds these bytes.
fn faults_of_bytes(bytes: &[u8]) -> String {
    let dir = store(&[("store.yaml", STORE)]);
    fs::create_dir(dir.path().join("categories")).unwrap();
    fs::write(dir.path().join("categories/a.yaml"), bytes).unwrap();
    faults(dir.path())
}

#[test]
fn a_link_to_nowhere_is_not_a_file_that_was_left_out() {
    let dir = store(&[("store.yaml", STORE), ("categories/b.yaml", CATEGORY)]);
    for name in ["categories/a.yaml", "staff.yaml", "pages"] {
        symlink("nowhere", dir.path().join(name)).unwrap();
    }
    let problem = "is a symbolic link to something that is not there";
    assert_eq!(faults(dir.path()), format!("categories/a.yaml: {problem}\npages: {problem}\nstaff.yaml: {problem}\n"));
}

#[test]
fn what_is_not_a_file_is_not_opened() {
    let dir = store(&[("store.yaml", STORE), ("categories/b.yaml", CATEGORY)]);
    assert!(Command::new("mkfifo").arg(dir.path().join("categories/a.yaml")).status().unwrap().success());
    symlink("/dev/zero", dir.path().join("staff.yaml")).unwrap();
    fs::create_dir(dir.path().join("categories/c.yaml")).unwrap();
    fs::write(dir.path().join("pages"), "").unwrap();
    let problem = "must be a file: a pipe, a device or a folder is not read";
    assert_eq!(
        faults(dir.path()),
        format!(
            "categories/a.yaml: {problem}\ncategories/c.yaml: {problem}\npages: must be a folder\n\
             staff.yaml: {problem}\n"
        )
    );
}

#[test]
fn a_file_of_any_size_is_not_read_into_memory() {
    let dir = store(&[("store.yaml", STORE), ("staff.yaml", "")]);
    fs::File::options().write(true).open(dir.path().join("staff.yaml")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(faults(dir.path()), "staff.yaml: has more than 16 MiB, the most that is read\n");
}

#[test]
fn very_deep_nesting_is_a_fault_and_no_crash() {
    for nested in ["[".repeat(100_000), "{a: ".repeat(100_000), format!("{}x", "- ".repeat(100_000))] {
        let found = faults_of_bytes(format!("{CATEGORY}colour: {nested}\n").as_bytes());
        assert!(found.starts_with("categories/a.yaml, line 4"), "{found}");
        let found = faults_of_bytes(nested.as_bytes());
        assert!(found.starts_with("categories/a.yaml, line 1"), "{found}");
    }
}

#[test]
fn a_file_in_another_encoding_is_told() {
    let found = faults_of_bytes(b"id: 1\nslug: a\nname: caf\xe9\n");
    assert_eq!(found, "categories/a.yaml, line 3, name: is not UTF-8; save the file in that encoding\n");
}
