//! Every fault of what is published is found, with its file, line and field.

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
         store.yaml, line 1, format: is missing\n\
         store.yaml, line 3, currency.digit: is not a field here; did you mean digits?\n\
         store.yaml, line 4, colour: is not a field here; there are auth_type, chat, currencies, currency, \
         description, details_form, footer, format, game_server, goals, guest_mode, header, language, languages, \
         maintenance, name, patrons, payments, players, profiles, referrals, servers, socials, storefront, virtual_currency\n"
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
        ("sorting: first", "sorting: must be a whole number, not too large".to_owned()),
        ("active: perhaps", "active: must be true or false".to_owned()),
        ("image: [a]", "image: must be text".to_owned()),
        ("servers: 1", "servers: must be a list".to_owned()),
        ("promotion: 1", "promotion: must be fields with values".to_owned()),
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
fn currency_digits_are_0_to_4() {
    let found = faults(&[("store.yaml", "format: 1\nname: T\ncurrency:\n  code: EUR\n  digits: 5\n")]);
    assert_eq!(found, "store.yaml, line 5, currency.digits: must be from 0 to 4\n");
}

#[test]
fn a_currency_has_a_value() {
    let found = faults_of_store("currencies:\n  - {code: EUR, per_usd: 0}\n  - {code: EUR, per_usd: 1.0000001}\n");
    assert_eq!(
        found,
        "store.yaml, line 5, currencies[EUR].per_usd: must be more than 0\n\
         store.yaml, line 6, currencies.code: currency EUR is already used in store.yaml, line 5\n\
         store.yaml, line 6, currencies[EUR].per_usd: has more than 6 digits after the point\n"
    );
}

#[test]
fn the_language_is_among_the_languages() {
    let found = faults_of_store("language: fr\nlanguages: [{code: en, name: English}]\n");
    assert_eq!(found, "store.yaml, line 4, language: fr is not among the languages\n");
}

#[test]
fn chat_urls_are_urls_once_buyers_are_sent_there() {
    let client = "  client:\n    redirect_url: nowhere\n    authorize_url: ftp://chat.example/\n";
    assert_eq!(faults_of_store(&format!("chat:\n{client}")), "");
    let found = faults_of_store(&format!("chat:\n  sync: true\n{client}"));
    let problem = "must be a URL such as https://chat.example/oauth2/authorize";
    assert_eq!(
        found,
        format!(
            "store.yaml, line 7, chat.client.redirect_url: {problem}\n\
             store.yaml, line 8, chat.client.authorize_url: {problem}\n"
        )
    );
}

#[test]
fn what_the_service_calls_is_encrypted_or_on_the_same_machine() {
    let faults = |token: &str, user: &str| {
        let client = format!("  client:\n    token_url: {token}\n    user_url: {user}\n");
        faults_of_store(&format!("chat:\n  sync: true\n{client}"))
    };
    for sound in ["https://chat.example/api/token?x=1", "http://127.0.0.1:4011/token", "http://localhost/token", "''"] {
        assert_eq!(faults(sound, sound), "", "{sound}");
    }
    let problem = "must begin with https://, such as https://chat.example/api/token, or name a loopback address";
    for url in ["http://chat.example/token", "nowhere", "ftp://127.0.0.1/", "http://127.0.0.1.chat.example/"] {
        assert_eq!(
            faults(url, url),
            format!(
                "store.yaml, line 7, chat.client.token_url: {problem}\n\
                 store.yaml, line 8, chat.client.user_url: {problem}\n"
            ),
            "{url}"
        );
    }
}

#[test]
fn a_players_picture_has_the_player_in_its_url() {
    let found = |url: &str| faults_of_store(&format!("players: {{avatar: {url}}}\n"));
    assert_eq!(found("'https://img.example/{player}.png'") + &found("'/img/{player}'") + &found("''"), "");
    let problem = "players.avatar: must have {player} in it, such as https://img.example/{player}.png";
    assert_eq!(found("https://img.example/head.png"), format!("store.yaml, line 4, {problem}\n"));
    assert!(found("'ftp://img.example/{player}'").contains("players.avatar: must be a path"));
}

#[test]
fn the_storefront_is_an_address() {
    let found = |url: &str| faults_of_store(&format!("storefront: {{url: '{url}'}}\n"));
    for url in ["", "https://shop.example", "https://shop.example/", "http://localhost:3000"] {
        assert_eq!(found(url), "", "{url}");
    }
    let problem = "store.yaml, line 4, storefront.url: must be an address such as https://shop.example\n";
    for url in ["shop.example", "https://shop.example/store", "ftp://shop.example", "https://shop.example?a=b", "/"] {
        assert_eq!(found(url), problem, "{url}");
    }
}

#[test]
fn patrons_thresholds_ascend() {
    let found = faults_of_store("patrons:\n  thresholds: [5, 10, 10]\n");
    assert_eq!(found, "store.yaml, line 5, patrons.thresholds: must ascend\n");
}

#[test]
fn ids_in_store_yaml_are_unique() {
    let found = faults_of_store(
        "goals: [{id: 1, name: A, amount: 1}, {id: 1, name: B, amount: 1}]\n\
         servers: [{id: 2, name: A}, {id: 2, name: B}]\n",
    );
    assert_eq!(
        found,
        "store.yaml, line 4, goals.id: goal id 1 is already used in store.yaml, line 4\n\
         store.yaml, line 5, servers.id: server id 2 is already used in store.yaml, line 5\n"
    );
}

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
}

#[test]
fn a_promoted_price_is_not_above_the_price() {
    let found = faults_of_item("price: 5\npromotion: {price: 5.01}");
    assert_eq!(found, "categories/a.yaml, line 8, items[7].promotion.price: must not be above price\n");
}

#[test]
fn the_price_of_an_any_price_item_is_not_below_its_least() {
    let found = faults_of_item("price: 5\nany_price: true\nmin_price: 6");
    assert_eq!(found, "categories/a.yaml, line 7, items[7].price: must not be below min_price\n");
    let found = faults_of_item("price: 5\nmin_price: 6");
    assert_eq!(found, "categories/a.yaml, line 8, items[7].min_price: is for items with any_price: true\n");
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
fn a_subscription_cannot_be_given() {
    let found = faults_of_item("price: 1\nsubscription: true\ngifting: true");
    let problem = "is not for a subscription; a gift is paid once";
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].gifting: {problem}\n"));
}

#[test]
fn variables_are_unique_inside_their_item() {
    let found = faults_of_item("price: 1\nvariables: [{id: 1, name: A}, {id: 1, name: B}]");
    assert!(found.contains("items[7].variables.id: variable 1 is already used"), "{found}");
}

#[test]
fn page_ids_and_urls_are_unique_however_the_url_is_written() {
    let found = faults(&[
        ("pages/a.yaml", "id: 1\ntitle: A\nurl: /rules\n"),
        ("pages/b.yaml", "id: 1\ntitle: B\nurl: rules\n"),
    ]);
    assert_eq!(
        found,
        "pages/b.yaml, line 1, id: page id 1 is already used in pages/a.yaml, line 1\n\
         pages/b.yaml, line 3, url: page url rules is already used in pages/a.yaml, line 3\n"
    );
}

#[test]
fn a_page_url_has_1_to_255_characters() {
    let long = faults(&[("pages/a.yaml", &format!("id: 1\ntitle: A\nurl: {}\n", "é".repeat(256)))]);
    assert_eq!(long, "pages/a.yaml, line 3, url: must have at most 255 characters\n");
    let blank = faults(&[("pages/a.yaml", "id: 1\ntitle: A\nurl: /\n")]);
    assert_eq!(blank, "pages/a.yaml, line 3, url: must not be blank\n");
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
