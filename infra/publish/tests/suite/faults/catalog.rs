//! Faults of categories and their items.

use super::{faults, faults_of_category, faults_of_item};
use crate::support::{STORE, lines, store};
use publish::read;
use std::fmt::Write;

#[test]
fn category_and_item_ids_are_unique_over_all_files() {
    let found = faults(&[
        ("categories/a.yaml", "id: 1\nslug: a\nname: A\nitems: [{id: 7, name: I, price: 1}]\n"),
        (
            "categories/b.yaml",
            "id: 2\nslug: b\nname: B\nsubcategories:\n  - id: 1\n    slug: c\n    name: C\n    items:\n      - {id: 7, name: J, price: 1}\n",
        ),
    ]);
    assert_eq!(
        found,
        "categories/b.yaml, line 5, subcategories[1].id: category id 1 is already used in categories/a.yaml, line 1\n\
         categories/b.yaml, line 9, subcategories[1].items.id: item id 7 is already used in categories/a.yaml, line 4\n"
    );
}

#[test]
fn slugs_are_unique_and_may_differ_by_their_parent() {
    let found = faults(&[
        ("categories/a.yaml", "id: 1\nslug: a\nname: A\nsubcategories: [{id: 3, slug: a, name: C}]\n"),
        ("categories/b.yaml", "id: 2\nslug: a\nname: B\n"),
    ]);
    assert_eq!(found, "categories/b.yaml, line 2, slug: slug /a is already used in categories/a.yaml, line 2\n");
}

#[test]
fn a_slug_is_one_segment_and_never_digits_alone() {
    for slug in ["Ranks", "12", "a/b", "a b", "..", "''", "é"] {
        let found = faults(&[("categories/a.yaml", &format!("id: 1\nslug: {slug}\nname: A\n"))]);
        assert!(found.starts_with("categories/a.yaml, line 2, slug: must be one segment of"), "{slug}: {found}");
    }
    let found = faults_of_category(&format!("subcategories: [{{id: 2, slug: {}, name: B}}]\n", "b".repeat(254)));
    assert!(found.contains("the whole path must have at most 255 characters"), "{found}");
}

#[test]
fn there_are_two_levels_of_categories() {
    let found = faults_of_category(
        "subcategories:\n  - {id: 2, slug: b, name: B, subcategories: [{id: 3, slug: c, name: C}]}\n",
    );
    let problem = "there are two levels: a subcategory has no subcategories";
    assert_eq!(found, format!("categories/a.yaml, line 5, subcategories[2].subcategories: {problem}\n"));
}

#[test]
fn a_category_has_at_most_9999_subcategories() {
    let mut text = String::from("subcategories:\n");
    for id in 2..=10_001 {
        writeln!(text, "  - {{id: {id}, slug: s{id}, name: S}}").unwrap();
    }
    let found = faults_of_category(&text);
    assert!(found.contains("subcategories: a category has at most 9999 subcategories"), "{found}");
}

#[test]
fn an_item_needs_a_price_unless_something_else_says_what_it_costs() {
    let problem = "price: is missing; a free item has price 0";
    assert_eq!(faults_of_item("active: true"), format!("categories/a.yaml, line 5, items[7].{problem}\n"));
    assert_eq!(faults_of_item("any_price: true\nmin_price: 2"), "");
}

#[test]
fn a_price_has_the_currencys_digits() {
    let problem = "has more than 2 digits after the point";
    assert_eq!(faults_of_item("price: 9.999"), format!("categories/a.yaml, line 7, items[7].price: {problem}\n"));
    let problem = "must be a plain decimal number such as 9.99";
    assert_eq!(faults_of_item("price: 9,99"), format!("categories/a.yaml, line 7, items[7].price: {problem}\n"));
}

#[test]
fn an_amount_stays_below_the_largest() {
    let found = faults_of_item("price: 10000000000.01");
    assert!(found.contains("items[7].price: is larger than the largest amount"), "{found}");
}

#[test]
fn a_discount_does_not_exceed_the_price() {
    let found = faults_of_item("price: 5\ndiscount: 5.01");
    assert_eq!(found, "categories/a.yaml, line 8, items[7].discount: must not exceed price\n");
    let found = faults_of_item("price: 5\ndiscount: 5.00");
    let problem = "must be below price; a free item has price: 0 and no discount";
    assert_eq!(found, format!("categories/a.yaml, line 8, items[7].discount: {problem}\n"));
}

#[test]
fn a_promoted_price_is_not_above_the_sale_price() {
    let problem = "must not be above the item's price less its discount";
    let found = faults_of_item("price: 5\ndiscount: 1\npromotion: {price: 4.01}");
    assert_eq!(found, format!("categories/a.yaml, line 9, items[7].promotion.price: {problem}\n"));
    assert_eq!(faults_of_item("price: 5\ndiscount: 1\npromotion: {price: 4}"), "");
}

#[test]
fn the_price_of_an_any_price_item_is_not_below_its_least() {
    let found = faults_of_item("price: 5\nany_price: true\nmin_price: 6");
    assert_eq!(found, "categories/a.yaml, line 7, items[7].price: must not be below min_price\n");
    let found = faults_of_item("price: 5\nmin_price: 6");
    assert_eq!(found, "categories/a.yaml, line 8, items[7].min_price: is for items with any_price: true\n");
}

#[test]
fn an_any_price_item_has_a_least_price_and_is_not_a_step() {
    let found = faults_of_item("any_price: true");
    let problem = "is missing: the least amount that a buyer may choose";
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].min_price: {problem}\n"));
    let found = faults_of_item("any_price: true\nmin_price: 0");
    let problem = "must be more than 0, or buyers get the item for nothing";
    assert_eq!(found, format!("categories/a.yaml, line 8, items[7].min_price: {problem}\n"));
    let ladder = "cumulative: true\nitems: [{id: 7, name: I, any_price: true, min_price: 1}]\n";
    let problem = "is not for a cumulative category, whose steps have fixed prices";
    assert_eq!(faults_of_category(ladder), format!("categories/a.yaml, line 5, items[7].any_price: {problem}\n"));
}

#[test]
fn what_is_delivered_to_a_selected_server_lets_the_buyer_select_it() {
    let problem = "CMD_SERVER is delivered to the server that the buyer selects: add select_server: true";
    assert_eq!(
        faults_of_item("price: 1\ntype: CMD_SERVER"),
        format!("categories/a.yaml, line 5, items[7].type: {problem}\n")
    );
}

#[test]
fn a_picture_that_is_missing_among_the_stores_own_is_named() {
    let item = "id: 1\nslug: a\nname: A\nitems:\n  - {id: 7, name: I, price: 1, image: /img/crwon.svg}\n";
    assert_eq!(faults(&[("categories/a.yaml", item)]), "", "without pictures of its own they are elsewhere");
    let found = faults(&[("categories/a.yaml", item), ("img/crown.svg", "<svg/>")]);
    let problem = "there is no /img/crwon.svg; did you mean /img/crown.svg?";
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].image: {problem}\n"));
}

#[test]
fn a_folder_of_categories_has_one() {
    let dir = store(&[("store.yaml", STORE)]);
    std::fs::create_dir(dir.path().join("categories")).unwrap();
    let problem = "is empty: add a file for each category, such as categories/ranks.yaml";
    assert_eq!(lines(&read(dir.path()).unwrap_err()), format!("categories: {problem}\n"));
}

#[test]
fn a_limit_is_never_0() {
    let found = faults_of_item("price: 5\nglobal_limit: 0\nuser_limit: 0");
    let problem = "must be at least 1; leave it out for no limit";
    assert_eq!(
        found,
        format!(
            "categories/a.yaml, line 8, items[7].global_limit: {problem}\n\
             categories/a.yaml, line 9, items[7].user_limit: {problem}\n"
        )
    );
}

#[test]
fn virtual_only_needs_a_virtual_price_and_a_virtual_currency() {
    assert_eq!(
        faults_of_item("virtual_only: true"),
        "categories/a.yaml, line 5, items[7].virtual_only: needs a virtual_price\n\
         categories/a.yaml, line 5, items[7].virtual_only: needs virtual_currency.enabled: true in store.yaml\n"
    );
}

#[test]
fn servers_are_those_of_store_yaml() {
    assert_eq!(
        faults_of_item("price: 1\nservers: [9]"),
        "categories/a.yaml, line 8, items[7].servers: there is no server 9 in store.yaml\n"
    );
    assert_eq!(
        faults_of_item("price: 1\nselect_server: true"),
        "categories/a.yaml, line 5, items[7].select_server: needs servers to select from\n"
    );
}

#[test]
fn comparison_cells_are_of_rows_of_their_own_category() {
    assert_eq!(
        faults_of_item("price: 1\ncomparison: {4: yes}"),
        "categories/a.yaml, line 8, items[7].comparison: the category has no comparison row 4\n"
    );
    let found = faults_of_category("comparison:\n  - {id: 1, name: R}\n  - {id: 1, name: R}\n");
    assert!(found.contains("line 6, comparison.id: comparison row 1 is already used"), "{found}");
}

#[test]
fn variables_are_unique_inside_their_item() {
    let found = faults_of_item("price: 1\nvariables: [{id: 1, name: A}, {id: 1, name: B}]");
    assert!(found.contains("items[7].variables.id: variable 1 is already used"), "{found}");
}

#[test]
fn a_category_and_its_subcategories_fit_into_one_page() {
    let words = "y".repeat(10_000);
    let category = |subcategories: u32| {
        let mut text = String::from("id: 1\nslug: a\nname: A\nsubcategories:\n");
        for id in 2..2 + subcategories {
            writeln!(text, "  - {{id: {id}, slug: s{id}, name: S, items: [").unwrap();
            for item in 0..30 {
                writeln!(text, "    {{id: {}, name: I, price: 1, description: {words}}},", id * 100 + item).unwrap();
            }
            writeln!(text, "    ]}}").unwrap();
        }
        faults(&[("categories/a.yaml", &text)])
    };
    assert_eq!(category(3), "");
    let found = category(4);
    let told = "categories/a.yaml, line 1: the category /a with its subcategories is 12";
    assert!(found.starts_with(told) && found.contains("at most 1000000 are served as one page"), "{found}");
    assert_eq!(found.lines().count(), 1, "{found}");
}

#[test]
fn a_category_below_a_deleted_one_can_never_be_reached() {
    let inner = "subcategories:\n  - {id: 2, slug: b, name: B";
    let problem = "can never be reached, its parent is deleted: set it here too, or move the subcategory";
    assert_eq!(
        faults_of_category(&format!("deleted: true\n{inner}}}\n")),
        format!("categories/a.yaml, line 6, subcategories[2].deleted: {problem}\n")
    );
    assert_eq!(faults_of_category(&format!("deleted: true\n{inner}, deleted: true}}\n")), "");
    assert_eq!(faults_of_category(&format!("enabled: false\n{inner}}}\n")), "", "that one can be shown again");
}
