//! Every fault of what is published is found, with its file, line and field.

mod catalog;
mod store;

use crate::support::{STORE, lines, store};
use publish::{check, read};
use std::fmt::Write;

/// The faults of a store made of these files; `store.yaml` is the least there can be unless it is given.
fn faults(files: &[(&str, &str)]) -> String {
    let mut all = files.to_vec();
    if files.iter().all(|(path, _)| *path != "store.yaml") {
        all.push(("store.yaml", STORE));
    }
    let dir = store(&all);
    lines(&read(dir.path()).map_or_else(|faults| faults, |files| check(&files)))
}

/// The faults of a `store.yaml` that goes on like this after its first three lines.
fn faults_of_store(rest: &str) -> String {
    faults(&[("store.yaml", &format!("{STORE}{rest}"))])
}

/// The faults of one category (lines 1 to 3) whose fields go on like this.
fn faults_of_category(rest: &str) -> String {
    faults(&[("categories/a.yaml", &format!("id: 1\nslug: a\nname: A\n{rest}"))])
}

/// The faults of one item (its id is in line 5) whose fields go on like this.
fn faults_of_item(rest: &str) -> String {
    faults_of_category(&format!("items:\n  - id: 7\n    name: I\n    {}\n", rest.replace('\n', "\n    ")))
}

#[test]
fn the_least_store_has_no_faults() {
    assert_eq!(faults(&[]), "");
    assert_eq!(faults_of_category(""), "");
    assert_eq!(faults_of_item("price: 1"), "");
}

#[test]
fn a_store_without_store_yaml_is_told_so() {
    let dir = store(&[("pages/a.yaml", "id: 1\ntitle: A\nurl: a\n")]);
    let faults = read(dir.path()).unwrap_err();
    assert_eq!(lines(&faults), "store.yaml: is missing; every store needs one, with format, name and currency\n");
}

#[test]
fn a_file_with_broken_syntax_yields_one_fault_and_hides_none_of_the_others() {
    let found = faults(&[
        ("store.yaml", "format: [1\n"),
        ("categories/a.yaml", "id: 1\nslug: A B\nname: A\nitems: [{id: 7, name: I, price: 2, servers: [9]}]\n"),
        ("pages/a.yaml", "id: 0\ntitle: A\nurl: a\n"),
    ]);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("categories/a.yaml, line 2, slug: must be one segment"), "{found:?}");
    assert!(found[1].starts_with("pages/a.yaml, line 1, id: must be from 1"), "{found:?}");
    assert!(found[2].starts_with("store.yaml, line "), "{found:?}");
}

#[test]
fn every_unknown_and_missing_field_is_told_at_once_with_the_nearest_that_there_is() {
    let found = faults(&[
        ("store.yaml", "fromat: 1\nname: T\ncurrency: {code: EUR, digit: 2}\ncolour: red\n"),
        (
            "categories/a.yaml",
            "id: 1\nslug: a\nname: A\nitems:\n  - id: 7\n    name: I\n    pirce: 1\n    \
             variables: [{id: 1, name: V, option: [a]}]\n    promotion: {price: 1, sort: 2}\n    discout: 1\n",
        ),
    ]);
    assert_eq!(
        found,
        "categories/a.yaml, line 7, items[7].pirce: is not a field here; did you mean price?\n\
         categories/a.yaml, line 8, items[7].variables[1].option: is not a field here; did you mean options?\n\
         categories/a.yaml, line 9, items[7].promotion.sort: is not a field here; there are price, sorting\n\
         categories/a.yaml, line 10, items[7].discout: is not a field here; did you mean discount?\n\
         store.yaml, line 1, fromat: is not a field here; did you mean format?\n\
         store.yaml, line 3, currency.digit: is not a field here; did you mean digits?\n\
         store.yaml, line 4, colour: is not a field here; there are announcement, assets_url, auth_type, chat, commands, currencies, currency, \
         description, details_form, footer, format, game_server, goals, guest_mode, header, language, languages, \
         maintenance, name, on_dispute, patrons, payments, players, profiles, referrals, servers, socials, storefront, virtual_currency\n"
    );
}

#[test]
fn a_missing_field_is_named() {
    assert_eq!(faults(&[("pages/a.yaml", "id: 1\nurl: a\n")]), "pages/a.yaml, line 1, title: is missing\n");
}

#[test]
fn a_field_written_twice_is_named() {
    let found = faults_of_item("price: 1\nprice: 2");
    assert_eq!(found, "categories/a.yaml, line 8, price: is written twice\n");
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_field() {
    let number = "must be a whole number, not below 0 and not too large";
    for (line, fault) in [
        ("user_limit: -1", format!("user_limit: {number}")),
        ("global_limit: 99999999999", format!("global_limit: {number}")),
        ("sorting: first", "items[7].sorting: must be a whole number such as 1, not `first`".to_owned()),
        ("active: perhaps", "active: must be true or false".to_owned()),
        ("image: [a]", "items[7].image: must be text, not a list".to_owned()),
        ("servers: 1", "items[7].servers: must be a list, such as [1]".to_owned()),
        ("promotion: 1", "items[7].promotion: must be fields with values, not a single value".to_owned()),
        ("type: COMMAND", "type: `COMMAND` is not one of CMD, CMD_SERVER".to_owned()),
        ("image:", "image: has no value; write one or leave the field out".to_owned()),
    ] {
        let found = faults_of_item(&format!("price: 1\n{line}"));
        assert_eq!(found, format!("categories/a.yaml, line 8, {fault}\n"), "{line}");
    }
}

#[test]
fn another_format_is_refused() {
    let found = faults(&[("store.yaml", "format: 2\nname: T\ncurrency: {code: EUR}\n")]);
    assert_eq!(found, "store.yaml, line 1, format: must be 1, the only format there is\n");
}

#[test]
fn what_does_not_fit_into_an_item_of_the_table_is_named() {
    let page = format!("id: 1\ntitle: A\nurl: a\ncontent: {}\n", "x".repeat(360_000));
    let mut category = String::from("id: 1\nslug: a\nname: A\nitems:\n");
    for id in 1..=40 {
        let (words, featured) = ("y".repeat(10_000), id % 2 == 0);
        writeln!(category, "  - {{id: {id}, name: I, price: 1, description: {words}, featured: {featured}}}").unwrap();
    }
    let found = faults(&[("pages/a.yaml", &page), ("categories/a.yaml", &category)]);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("categories/a.yaml, line 1: the category /a with its items is 4"), "{found:?}");
    assert!(found[1].starts_with("pages/a.yaml: the page a is 36"), "{found:?}");
}

#[test]
fn all_faults_are_told_at_once() {
    let found = faults(&[
        ("store.yaml", "format: 3\nname: T\ncurrency: {code: ''}\n"),
        (
            "categories/a.yaml",
            "id: 0\nslug: 5\nname: A\nitems:\n  - {id: 7, name: I}\n  - {id: 7, name: I, price: x}\n",
        ),
    ]);
    assert_eq!(found.lines().count(), 7, "{found}");
}
