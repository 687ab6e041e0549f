//! Faults of `store.yaml` and of the pages.

use super::{faults, faults_of_store};

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
fn the_assets_url_is_a_url() {
    let found = |url: &str| faults_of_store(&format!("assets_url: '{url}'\n"));
    for url in ["", "https://cdn.example", "https://shop.example/store/", "http://127.0.0.1:4010"] {
        assert_eq!(found(url), "", "{url}");
    }
    let problem =
        "store.yaml, line 4, assets_url: must be a URL such as https://cdn.example or https://shop.example/store\n";
    for url in ["cdn.example", "/img", "ftp://cdn.example", "https://cdn.example?a=b"] {
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
fn an_announcement_names_the_field_that_is_wrong() {
    let found = |fields: &str| faults_of_store(&format!("announcement:\n  id: 1\n  title: News\n{fields}"));
    assert_eq!(found(""), "");
    let whole = "  content: All of it.\n  button: {name: More, url: /pages/news}\n  created_at: 2031-05-01T12:00:00Z\n";
    assert_eq!(found(&format!("{whole}  updated_at: 2031-05-01T12:00:00Z\n")), "");
    let time = "must be a time such as 2031-05-01T12:00:00Z";
    for (fields, fault) in [
        ("  created_at: now\n", format!("line 7, announcement.created_at: {time}")),
        ("  created_at: 2031-05-01\n", format!("line 7, announcement.created_at: {time}")),
        (
            "  created_at: 2031-05-01T12:00:00Z\n  updated_at: 2031-05-01T11:59:59Z\n",
            "line 8, announcement.updated_at: must not be before created_at".to_owned(),
        ),
        ("  button: {name: ' ', url: /news}\n", "line 7, announcement.button.name: must not be blank".to_owned()),
    ] {
        assert_eq!(found(fields), format!("store.yaml, {fault}\n"), "{fields}");
    }
    assert!(
        found("  button: {name: More, url: 'javascript:x'}\n").contains("announcement.button.url: must begin with")
    );
    let blank = faults_of_store("announcement: {id: 0, title: ' '}\n");
    assert!(blank.contains("announcement.id") && blank.contains("announcement.title: must not be blank"), "{blank}");
}
