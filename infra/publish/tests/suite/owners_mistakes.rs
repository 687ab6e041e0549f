//! Values that read well and are hardly ever meant: faults where they cannot be right, warnings where they may be.

use crate::support::{STORE, lines, store};
use publish::{check, read, warnings};

/// The faults and the warnings of a store made of these files.
fn told(files: &[(&str, &str)]) -> (String, String) {
    let mut all = files.to_vec();
    if files.iter().all(|(path, _)| *path != "store.yaml") {
        all.push(("store.yaml", STORE));
    }
    let dir = store(&all);
    match read(dir.path()) {
        Ok(files) => (lines(&check(&files)), lines(&warnings(&files))),
        Err(faults) => (lines(&faults), String::new()),
    }
}

/// What is reported of a `store.yaml` that continues like this after its name.
fn of_store(rest: &str) -> (String, String) {
    told(&[("store.yaml", &format!("format: 1\nname: T\n{rest}"))])
}

/// What is reported of a category whose fields continue like this.
fn of_category(rest: &str) -> (String, String) {
    told(&[("categories/a.yaml", &format!("id: 1\nslug: a\nname: A\n{rest}"))])
}

/// The faults of one item (its id is in line 5) whose fields are these.
fn faults_of_item(fields: &str) -> String {
    of_category(&format!("items:\n  - id: 7\n    {}\n", fields.replace('\n', "\n    "))).0
}

fn fault(text: &str) -> (String, String) {
    (format!("{text}\n"), String::new())
}

fn warning(text: &str) -> (String, String) {
    (String::new(), format!("{text}\n"))
}

fn nothing() -> (String, String) {
    (String::new(), String::new())
}

#[test]
fn a_currency_is_one_of_iso_4217() {
    let problem = "there is no currency ZZZ; write an ISO 4217 code such as EUR";
    assert_eq!(of_store("currency: {code: ZZZ}\n"), fault(&format!("store.yaml, line 3, currency.code: {problem}")));
    let listed =
        of_store("currency: {code: USD}\ncurrencies:\n  - {code: USD, per_usd: 1}\n  - {code: ZZZ, per_usd: 1}\n");
    assert_eq!(listed, fault(&format!("store.yaml, line 6, currencies.code: {problem}")));
    let patrons = of_store("currency: {code: USD}\npatrons: {currency_code: ZZZ}\n");
    assert_eq!(patrons, fault(&format!("store.yaml, patrons.currency_code: {problem}")));
}

#[test]
fn a_rate_that_looks_inverted_is_warned_of() {
    let (faults, warned) = of_store(
        "currency: {code: USD}\ncurrencies:\n  - {code: USD, per_usd: 1}\n  - {code: PLN, per_usd: 0.251306}\n  \
         - {code: JPY, per_usd: 150.2}\n",
    );
    assert_eq!(faults, "");
    assert_eq!(
        warned,
        "store.yaml, line 6, currencies[PLN].per_usd: looks wrong: one US dollar buys about 3.95 PLN. Is it dollars \
         per unit instead of units per dollar?\n"
    );
}

#[test]
fn a_currency_has_one_rate() {
    let listed = "currencies:\n  - {code: EUR, per_usd: 0.92}\n  - {code: USD, per_usd: 1}\n";
    assert_eq!(of_store(&format!("currency: {{code: EUR, per_usd: 0.92}}\n{listed}")), nothing());
    let found = of_store(&format!("currency: {{code: EUR, per_usd: 0.93}}\n{listed}"));
    let problem = "must be the same as currency.per_usd, 0.93";
    assert_eq!(found, fault(&format!("store.yaml, line 5, currencies[EUR].per_usd: {problem}")));
    let found = of_store("currency: {code: USD, per_usd: 2}\n");
    let problem = "must be 1: it is how many US dollars one US dollar buys";
    assert_eq!(found, fault(&format!("store.yaml, line 3, currency.per_usd: {problem}")));
}

#[test]
fn the_rate_of_the_stores_own_currency_is_that_of_the_list_unless_it_is_given() {
    let listed = "currency: {code: EUR}\ncurrencies: [{code: EUR, per_usd: 0.92}, {code: USD, per_usd: 1}]\n";
    let dir = store(&[("store.yaml", &format!("format: 1\nname: T\n{listed}"))]);
    let compiled = publish::compile(&read(dir.path()).unwrap()).unwrap();
    assert_eq!(compiled.settings.system_currency.value.millionths(), 920_000);
    let (faults, warned) = of_store("currency: {code: EUR}\ncurrencies: [{code: USD, per_usd: 1}]\n");
    let problem = "is missing; prices in the other currencies are calculated from it";
    assert_eq!(faults, format!("store.yaml, line 3, currency.per_usd: {problem}\n"));
    assert_eq!(
        warned,
        "store.yaml, line 3, currencies: the store's own EUR is not listed, so buyers cannot choose it\n"
    );
}

#[test]
fn a_price_does_not_begin_with_a_needless_0() {
    let problem = "must not begin with a needless 0";
    let found = faults_of_item("name: I\nprice: 017");
    assert_eq!(found, format!("categories/a.yaml, line 7, items[7].price: {problem}\n"));
    assert_eq!(faults_of_item("name: I\nprice: 0.17"), "");
}

#[test]
fn one_bad_price_makes_one_fault() {
    let found = faults_of_item("name: I\nprice: x\ndiscount: 1\nany_price: true\nmin_price: 1\npromotion: {price: 1}");
    let problem = "must be a plain decimal number such as 9.99";
    assert_eq!(found, format!("categories/a.yaml, line 7, items[7].price: {problem}\n"));
    let found = of_store("currency: {code: EUR}\npatrons: {thresholds: [5, x, 10]}\n");
    assert_eq!(found, fault(&format!("store.yaml, line 4, patrons.thresholds: {problem}")));
}

#[test]
fn a_name_is_not_blank() {
    let blank = "must not be blank";
    assert_eq!(faults_of_item("name: ' '\nprice: 1"), format!("categories/a.yaml, line 5, items[7].name: {blank}\n"));
    let found = told(&[("categories/a.yaml", "id: 1\nslug: a\nname: ''\ncomparison: [{id: 2, name: ''}]\n")]).0;
    assert_eq!(
        found,
        format!(
            "categories/a.yaml, line 1, name: {blank}\n\
             categories/a.yaml, line 4, comparison[2].name: {blank}\n"
        )
    );
    let page = told(&[("pages/a.yaml", "id: 1\ntitle: ''\nurl: a\n"), ("staff.yaml", "a: [{username: ' '}]\n")]);
    assert_eq!(page, fault(&format!("pages/a.yaml, line 1, title: {blank}\nstaff.yaml, line 1, a.username: {blank}")));
    let site = told(&[(
        "store.yaml",
        "format: 1\nname: ''\ncurrency: {code: EUR}\nheader: [{name: '', url: /}]\nservers: [{id: 1, name: ''}]\n\
         goals: [{id: 1, name: '', amount: 1}]\nlanguages: [{code: en, name: ''}]\n",
    )]);
    for field in ["name", "header.name", "servers[1].name", "goals[1].name", "languages.name"] {
        assert!(site.0.contains(&format!("{field}: {blank}")), "{field}: {}", site.0);
    }
}

#[test]
fn a_link_leads_to_the_web_or_to_the_site_itself() {
    let problem = "must begin with https://, http:// or mailto:, or with / for the site's own, such as /pages/rules";
    let (faults, _) = of_store(
        "currency: {code: EUR}\nheader:\n  - {name: A, url: 'javascript:alert(1)'}\nfooter:\n  - {name: B, url: rules}\n\
         socials: {a: 'data:text/html,x'}\nchat: {url: chat.example}\n",
    );
    assert_eq!(
        faults,
        format!(
            "store.yaml, socials.a: {problem}\nstore.yaml, chat.url: {problem}\n\
             store.yaml, line 5, header.url: {problem}\nstore.yaml, line 7, footer.url: {problem}\n"
        )
    );
    let problem = "must be a path such as /img/crown.png, or begin with https:// or http://";
    let found = faults_of_item("name: I\nprice: 1\nimage: javascript:x");
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].image: {problem}\n"));
}

#[test]
fn a_link_to_a_page_that_there_is_not_is_warned_of() {
    let page = ("pages/a.yaml", "id: 1\ntitle: A\nurl: /help/rules\n");
    let site =
        format!("{STORE}footer:\n  - {{name: A, url: /pages/help/rules#top}}\n  - {{name: B, url: /pages/rules}}\n");
    let found = told(&[page, ("store.yaml", &site)]);
    assert_eq!(found, warning("store.yaml, line 6, footer.url: there is no page for /pages/rules"));
}

#[test]
fn a_choice_has_options_that_can_be_told_apart() {
    let item = |options: &str| faults_of_item(&format!("name: I\nprice: 1\nvariables: [{{id: 2, name: V{options}}}]"));
    let field = "categories/a.yaml, line 8, items[7].variables[2].options";
    assert_eq!(item(""), "");
    assert_eq!(
        item(", options: []"),
        format!("{field}: needs an option; leave it out if the buyer enters the value\n")
    );
    assert_eq!(item(", options: ['']"), format!("{field}: must not be blank\n"));
    let twice = "option A is already used in categories/a.yaml, line 8";
    assert_eq!(item(", options: [A, B, A]"), format!("{field}: {twice}\n"));
    assert_eq!(item(", options: [A b!, Ünder]"), "", "the owner's own text");
    let kind = "categories/a.yaml, line 8, items[7].variables[2].kind";
    let problem = "is for a value that the buyer enters; leave it out with options";
    assert_eq!(item(", options: [A], kind: number"), format!("{kind}: {problem}\n"));
    let problem = "kind: `any` is not one of word, text, number";
    assert_eq!(item(", kind: any"), format!("categories/a.yaml, line 8, {problem}\n"));
}

#[test]
fn a_step_that_costs_less_than_the_one_before_it_is_warned_of() {
    let items =
        "items:\n  - {id: 7, name: I, price: 9}\n  - {id: 8, name: J, price: 5}\n  - {id: 9, name: K, price: 6}\n";
    assert_eq!(of_category(items), nothing());
    let problem = "costs less than item 7, which comes before it in a cumulative category";
    let found = of_category(&format!("cumulative: true\n{items}"));
    assert_eq!(found, warning(&format!("categories/a.yaml, line 7, items[8].price: {problem}")));
}

#[test]
fn a_subscription_in_a_cumulative_category_is_warned_of() {
    let found = of_category("cumulative: true\nitems:\n  - {id: 7, name: I, price: 9, subscription: true}\n");
    let problem = "a subscription in a cumulative category always has its full price";
    assert_eq!(found, warning(&format!("categories/a.yaml, line 6, items[7].subscription: {problem}")));
}

#[test]
fn an_item_that_needs_a_chat_account_without_the_platform_is_warned_of() {
    let found = of_category("items:\n  - {id: 7, name: I, price: 9, needs_chat: true}\n");
    let problem = "no buyer can link a chat account without chat.sync: true in store.yaml";
    assert_eq!(found, warning(&format!("categories/a.yaml, line 5, items[7].needs_chat: {problem}")));
}

#[test]
fn items_that_a_menu_never_opens_are_warned_of() {
    let inner = |rest: &str| {
        format!("items: [{{id: 7, name: I, price: 1}}]\nsubcategories: [{{id: 2, slug: b, name: B{rest}}}]\n")
    };
    let problem = "a menu only expands a category with subcategories, so buyers may never see the items directly in it: \
                   move them into a subcategory";
    assert_eq!(of_category(&inner("")), warning(&format!("categories/a.yaml, line 1, items: {problem}")));
    assert_eq!(of_category(&inner(", enabled: false")), nothing());
}

#[test]
fn page_urls_differ_by_more_than_their_case() {
    let found =
        told(&[("pages/a.yaml", "id: 1\ntitle: A\nurl: /rules\n"), ("pages/b.yaml", "id: 2\ntitle: B\nurl: /RULES\n")]);
    assert_eq!(found, fault("pages/b.yaml, line 3, url: page url rules is already used in pages/a.yaml, line 3"));
}

/// What is reported of a chat client with these two URLs, in lines 7 and 8.
fn of_chat_endpoints(token_url: &str, user_url: &str) -> (String, String) {
    let client = format!("  client:\n    token_url: {token_url}\n    user_url: {user_url}\n");
    of_store(&format!("currency: {{code: EUR}}\nchat:\n  sync: true\n{client}"))
}

#[test]
fn what_the_service_calls_itself_is_encrypted_or_on_the_same_machine() {
    for sound in ["https://chat.example/api/token?x=1", "http://127.0.0.1:4011/token", "http://localhost/token"] {
        assert_eq!(of_chat_endpoints(sound, sound), (String::new(), String::new()), "{sound}");
    }
    let problem = "must begin with https://, such as https://chat.example/api/token, or name a loopback address";
    for url in ["http://chat.example/token", "nowhere", "ftp://127.0.0.1/", "http://127.0.0.1.chat.example/"] {
        let (token, user) = ("store.yaml, line 7, chat.client.token_url", "store.yaml, line 8, chat.client.user_url");
        let expected = fault(&format!("{token}: {problem}\n{user}: {problem}"));
        assert_eq!(of_chat_endpoints(url, url), expected, "{url}");
    }
}

#[test]
fn a_chat_login_that_cannot_be_completed_is_a_warning() {
    let sound = "https://chat.example/api";
    let problem = "is missing; without it, no chat login can be completed";
    let expected = warning(&format!("store.yaml, chat.client.user_url: {problem}"));
    assert_eq!(of_chat_endpoints(sound, "''"), expected);
    assert_eq!(of_store("currency: {code: EUR}\n"), (String::new(), String::new()), "only once it is switched on");
}
