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

/// The report on a `store.yaml` that continues like this after its name.
fn of_store(rest: &str) -> (String, String) {
    told(&[("store.yaml", &format!("format: 1\nname: T\n{rest}"))])
}

/// The report on a category whose fields continue like this.
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

/// The report on a chat client with these two URLs, in lines 7 and 8.
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

/// The warnings of one item (its id is in line 5) whose fields are these.
fn warnings_of_item(fields: &str) -> String {
    let (faults, warned) = of_category(&format!("items:\n  - id: 7\n    {}\n", fields.replace('\n', "\n    ")));
    assert_eq!(faults, "");
    warned
}

#[test]
fn a_name_is_one_line_that_can_be_seen() {
    let name = |name: &str| faults_of_item(&format!("name: {name}\nprice: 1"));
    let fault = |problem: &str| format!("categories/a.yaml, line 5, items[7].name: {problem}\n");
    assert_eq!(name("\"a\\nb\""), fault("must be one line"));
    assert_eq!(name("\"\\u200b\\ufeff\""), fault("must not be blank"));
    assert_eq!(name("\"a\\u202eb\""), fault("must not contain U+202E, which changes the direction of the text"));
    assert_eq!(name("\"\u{1f468}\u{200d}\u{1f469}\""), "", "a joiner inside of an emoji");
}

#[test]
fn a_hash_in_a_name_needs_quotes() {
    let found = faults_of_item("name: Vote Crate #1\nprice: 1");
    let problem = "YAML reads `#1` as a comment; write the name in quotes: \"Vote Crate #1\"";
    assert_eq!(found, format!("categories/a.yaml, line 6, name: {problem}\n"));
    assert_eq!(faults_of_item("name: Vote Crate   # the small one\nprice: 1"), "");
}

#[test]
fn what_contradicts_itself_is_warned_of() {
    let of_item = |field: &str, problem: &str| format!("categories/a.yaml, line 5, items[7].{field}: {problem}\n");
    assert_eq!(
        warnings_of_item("name: I\nprice: 0"),
        "categories/a.yaml, line 7, items[7].price: is 0: every buyer gets the item for nothing\n"
    );
    let found = warnings_of_item("name: I\nprice: 1\nfeatured: true\nactive: false");
    assert_eq!(found, of_item("featured", "is not shown among the deals: the item is not active"));
    let found = warnings_of_item("name: I\nprice: 1\nvirtual_price: 3");
    let problem = "is not used without virtual_currency.enabled: true in store.yaml";
    assert_eq!(found, of_item("virtual_price", problem));
    let twins = "items: [{id: 7, name: Key, price: 1}, {id: 8, name: 'key ', price: 2}]\n";
    let problem = "is also the name of item 7 in this category";
    assert_eq!(of_category(twins).1, format!("categories/a.yaml, line 4, items[8].name: {problem}\n"));
    let found = of_store("currency: {code: EUR}\ngoals: [{id: 1, name: Roof, amount: 0}]\n");
    let problem = "is 0: the goal is reached before anything is given";
    assert_eq!(found, warning(&format!("store.yaml, line 4, goals[1].amount: {problem}")));
}

#[test]
fn links_inside_texts_lead_to_pages_that_there_are() {
    let page =
        "id: 1\ntitle: A\nurl: rules\ncontent: '[ok](/pages/rules#a) [dead](/pages/rulez) <a href=\"/pages/gone\">'\n";
    let found = told(&[("pages/a.yaml", page)]);
    assert_eq!(
        found.1,
        "pages/a.yaml, line 1, content: links to /pages/rulez, but there is no such page\n\
         pages/a.yaml, line 1, content: links to /pages/gone, but there is no such page\n"
    );
    let item = "items: [{id: 7, name: I, price: 1, description: '[x](/pages/gone)'}]\n";
    let problem = "links to /pages/gone, but there is no such page";
    assert_eq!(of_category(item).1, format!("categories/a.yaml, line 4, items[7].description: {problem}\n"));
}

#[test]
fn a_text_of_over_100_000_characters_is_warned_of() {
    let page = format!("id: 1\ntitle: A\nurl: a\ncontent: {}\n", "x".repeat(100_001));
    let problem = "has 100001 characters, which every visitor of its page loads";
    assert_eq!(told(&[("pages/a.yaml", &page)]), warning(&format!("pages/a.yaml, line 1, content: {problem}")));
}

/// A store that takes payments in EUR, of which 0.50 is the least, with items of these prices.
fn paid(least: &str, items: &str) -> (String, String) {
    let store = format!(
        "format: 1\nname: T\ncurrency: {{code: EUR}}\nstorefront: {{url: 'https://a.example'}}\n\
         payments: {{methods: [Stripe]{least}}}\n"
    );
    told(&[("store.yaml", &store), ("categories/a.yaml", &format!("id: 1\nslug: a\nname: A\nitems:\n{items}"))])
}

#[test]
fn a_price_below_what_can_be_paid_is_a_fault_unless_it_is_0() {
    let items = "  - {id: 7, name: A, price: 0.49}\n  - {id: 8, name: B, price: 5}\n  \
                 - {id: 9, name: C, price: 5, discount: 4.60, promotion: {price: 0.20}}\n  - {id: 10, name: D, price: 5}\n";
    let problem = "is below payments.least, 0.50: one unit cannot be paid; only 0 is allowed below it";
    assert_eq!(
        paid("", items).0,
        format!(
            "categories/a.yaml, line 5, items[7].price: {problem}\ncategories/a.yaml, line 7, items[9].price: {problem}\n\
             categories/a.yaml, line 7, items[9].promotion.price: {problem}\n"
        )
    );
    assert_eq!(paid("", "  - {id: 7, name: A, price: 0}\n").0, "");
}

#[test]
fn a_least_amount_above_most_prices_is_one_fault() {
    let items = "  - {id: 7, name: A, price: 4}\n  - {id: 8, name: B, price: 5}\n  - {id: 9, name: C, price: 60}\n";
    let problem = "is above 2 of 3 prices, of which one unit could not be paid; it is in major units, such as 0.50";
    assert_eq!(paid(", least: 50", items), fault(&format!("store.yaml, line 5, payments.least: {problem}")));
}

#[test]
fn one_typo_in_a_file_with_cells_is_one_fault() {
    let category = |item: &str| {
        of_category(&format!(
            "comparison: [{{id: 1, name: Homes}}, {{id: 2, name: Claims}}]\nitems:\n  \
             - {{id: 7, name: I, {item}, comparison: {{1: a, 2: b}}}}\n"
        ))
        .0
    };
    assert_eq!(category("price: 1"), "");
    assert_eq!(
        category("pirce: 1"),
        "categories/a.yaml, line 6, items[7].pirce: is not a field here; did you mean price?\n"
    );
    assert_eq!(
        category("price: [1]"),
        "categories/a.yaml, line 6, items[7].price: must be one amount such as 9.99, not a list\n"
    );
    let found = of_category("items:\n  - {id: 7, name: I, price: 1, comparison: {Homes: a}}\n").0;
    let problem = "is not an id; write a whole number such as 1";
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].comparison.Homes: {problem}\n"));
    let found = of_store("currency: {cod: EUR}\n").0;
    assert_eq!(found, "store.yaml, line 3, currency.cod: is not a field here; did you mean code?\n");
    let found = of_category("items:\n  - {id: 7, name: I, price: 1, servers: [Survival]}\n").0;
    let problem = "must be a whole number such as 1, not `Survival`";
    assert_eq!(found, format!("categories/a.yaml, line 5, items[7].servers: {problem}\n"));
}
