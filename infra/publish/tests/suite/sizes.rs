//! Faults and warnings of stores too large to be written down as a case (`cases.rs`), and what follows from what is left out.

use crate::support::{STORE, compiled, found, lines, store};
use publish::read;
use std::fmt::Write;

/// Faults and warnings of these files, with the least store.yaml.
fn said(files: &[(&str, &str)]) -> String {
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
    let found = said(&[("pages/a.yaml", &page), ("categories/a.yaml", &category)]);
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
    let found = said(&[("categories/a.yaml", &text)]);
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
        said(&[("categories/a.yaml", &text)])
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
    assert_eq!(said(&[("pages/a.yaml", &page)]), format!("pages/a.yaml, line 1, content: {problem}\n"));
}

#[test]
fn the_rate_of_the_stores_own_currency_is_that_of_the_list_unless_it_is_given() {
    let listed = "currencies: [{code: EUR, per_usd: 0.92}, {code: USD, per_usd: 1}]\n";
    let compiled = compiled(&[("store.yaml", format!("{STORE}{listed}"))]);
    assert_eq!(compiled.settings.system_currency.value.millionths(), 920_000);
}
