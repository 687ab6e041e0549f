//! A published store back as files: publishing them again changes nothing.

use crate::support::{STORE, lines, store};
use proptest::prelude::*;
use publish::files::StoreFiles;
use publish::{Compiled, Published, changes, compile, export, load, publish, read, write_files};
use shared::shop::publishing::versions::read_version;
use std::fmt::Write;
use std::path::Path;
use tests::TestTable;

/// 2031-03-15T12:00:00Z.
const NOW: i64 = 1_931_342_400;

/// Writes a store to files and reads them back.
fn through_files(files: &StoreFiles) -> StoreFiles {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path(), files).unwrap();
    read(dir.path()).unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}

fn sample() -> Compiled {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store");
    compile(&read(&dir).unwrap()).unwrap()
}

#[tokio::test]
async fn the_sample_store_comes_back_as_the_same_version() {
    let (table, store) = (TestTable::empty().await, sample());
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let loaded = load(&table.db, &record).await.unwrap();
    assert_eq!(loaded, store);
    let again = compile(&through_files(&export(&loaded))).unwrap();
    assert_eq!(again, store);
    assert_eq!(publish(&table.db, &again, NOW + 1).await.unwrap(), Published::Unchanged);
}

#[tokio::test]
async fn a_damaged_version_is_not_taken_for_what_was_published() {
    let (table, store) = (TestTable::empty().await, sample());
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let key = shared::table::keys::staff(&store.version);
    let item = shared::table::codec::encode_published(&key, &shared::model::Staff::default()).unwrap();
    table.db.client().put_item().table_name(table.db.table()).set_item(Some(item)).send().await.unwrap();
    assert!(load(&table.db, &record).await.unwrap_err().to_string().contains("damaged"));
    assert_eq!(publish::damage(&table.db, &store).await.unwrap(), 1);
}

/// Text that YAML might take for something else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 ]{0,11}[a-z]",
        Just("yes".to_owned()),
        Just("null".to_owned()),
        Just("007".to_owned()),
        Just("1e3".to_owned()),
        Just("# not a comment".to_owned()),
        Just("a: b".to_owned()),
        Just(" spaces around ".to_owned()),
        Just("two\nlines\n".to_owned()),
        Just("'\"\\ ünï🙂".to_owned()),
        Just("- dash".to_owned()),
        Just("~".to_owned()),
        Just("x".repeat(180)),
    ]
}

/// A text of one line, as names are.
fn name() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace('\n', " "))
}

prop_compose! {
    // Prices stay above the least that can be paid.
    fn item(id: u64)(
        name in name(),
        description in proptest::option::of(text()),
        price in 250_u32..100_000,
        off in 0_u32..100,
        flags in 0_u32..512,
        limit in proptest::option::of(1_u32..50),
        sorting in -3_i64..3,
        cell in name(),
    ) -> String {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let on = |bit: u32| flags & (1 << bit) != 0;
        let (euro, cent) = (price / 100, price % 100);
        let mut yaml = format!("  - id: {id}\n    name: {}\n    price: {euro}.{cent:02}\n", quoted(&name));
        if let Some(description) = description {
            writeln!(yaml, "    description: {}", quoted(&description)).unwrap();
        }
        // What a subscription cannot have as well.
        let subscribes = on(2);
        if off > 0 && !subscribes {
            writeln!(yaml, "    discount: 0.{off:02}").unwrap();
        }
        writeln!(yaml, "    sorting: {sorting}\n    featured: {}\n    active: {}", on(0), on(1)).unwrap();
        let unit = ["day", "week", "month", "year"][usize::try_from(price % 4).unwrap()];
        let interval = if on(7) { "true".to_owned() } else { format!("{{every: {}, unit: {unit}}}", 1 + off % 3) };
        let grace = if on(8) { "\n    grace: 36 hours" } else { "" };
        let interval = if subscribes { format!("{interval}{grace}") } else { "false".to_owned() };
        writeln!(yaml, "    subscription: {interval}\n    comparison: {{1: {}}}", quoted(&cell)).unwrap();
        if on(3) {
            writeln!(yaml, "    any_price: true\n    min_price: {euro}.00").unwrap();
        }
        if on(4) && !subscribes {
            writeln!(yaml, "    virtual_only: true\n    virtual_price: 12.5").unwrap();
        }
        if on(5) {
            writeln!(yaml, "    type: CMD_SERVER\n    select_server: true\n    servers: [2, 1]").unwrap();
        }
        if on(6) {
            writeln!(yaml, "    variables:\n      - {{id: 2, name: {}, options: [{}]}}", quoted(&name), quoted(&cell)).unwrap();
        }
        if !on(6) && on(0) {
            let kind = if on(1) { "number" } else { "text" };
            writeln!(yaml, "    gifting: {}\n    variables:\n      - {{id: 2, name: {}, kind: {kind}}}", !subscribes, quoted(&name)).unwrap();
        }
        if on(7) && !subscribes {
            writeln!(yaml, "    promotion: {{price: 0, sorting: {sorting}}}").unwrap();
        }
        if on(3) && on(4) {
            if !subscribes {
                writeln!(yaml, "    expires_after: {} days", 1 + sorting.unsigned_abs()).unwrap();
            }
            writeln!(yaml, "    commands: [{{run: {}, once: {}}}, {{run: b, on: expired, delay: 90 minutes}}]", quoted(&format!("say {{player}} {}", name.replace('{', "{{"))), subscribes).unwrap();
        }
        if let Some(limit) = limit.filter(|_| !subscribes) {
            writeln!(yaml, "    global_limit: {limit}\n    user_limit: {limit}").unwrap();
        }
        yaml
    }
}

prop_compose! {
    fn category(id: u64)(
        name in name(),
        sorting in -3_i64..3,
        cumulative in any::<bool>(),
        items in (item(id * 100 + 1), item(id * 100 + 2), item(id * 100 + 3)),
        count in 0_usize..4,
    ) -> String {
        let name = serde_json::to_string(&name).unwrap();
        let mut yaml = format!("id: {id}\nslug: c{id}\nname: {name}\nsorting: {sorting}\ncumulative: {cumulative}\n");
        yaml.push_str("comparison:\n  - {id: 1, name: Row}\n");
        if count > 0 {
            yaml.push_str("items:\n");
            let lines = [&items.0, &items.1, &items.2].into_iter().take(count).flat_map(|item| item.lines());
            // A step of a cumulative category has a fixed price.
            let fits = |line: &&str| !(cumulative && (line.contains("any_price:") || line.contains("min_price:")));
            lines.filter(fits).for_each(|line| writeln!(yaml, "{line}").unwrap());
        }
        yaml
    }
}

/// A category as an entry of another's `subcategories`.
fn nested(yaml: &str) -> String {
    let indented: Vec<String> = yaml.lines().map(|line| format!("    {line}")).collect();
    indented.join("\n").replacen("    id", "  - id", 1)
}

prop_compose! {
    fn generated()(
        name in name(),
        digits in 2_u8..=4,
        switches in 0_u32..16,
        tops in (category(1), category(2), category(3)),
        inner in (category(11), category(12)),
        pages in proptest::collection::vec((name(), text()), 0..4),
        thresholds in proptest::collection::btree_set(1_u32..1_000, 0..4),
    ) -> Vec<(String, String)> {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let on = |bit: u32| switches & (1 << bit) != 0;
        let thresholds: Vec<String> = thresholds.iter().map(ToString::to_string).collect();
        // Only amounts of two digits can be paid in EUR.
        let methods = if digits == 2 && on(0) { "methods: [Stripe], " } else { "" };
        let hold = if on(1) { "hold_minutes: 45, hold_units: 3, least: 1.25, " } else { "" };
        let site = quoted(&name);
        let store = format!(
            "format: 1\nname: {site}\ncurrency: {{code: EUR, digits: {digits}, per_usd: 0.921659}}\n\
             virtual_currency: {{enabled: true, name: Embers}}\nservers:\n  - {{id: 1, name: A}}\n  - {{id: 2, name: B}}\n\
             commands: [{{run: 'thank {{buyer}} {{{{', servers: [2, 1]}}]\n\
             guest_mode: {}\nprofiles: {}\nreferrals: {}\npatrons: {{enabled: {}, thresholds: [{}]}}\n\
             languages: [{{code: en, name: English}}, {{code: de, name: Deutsch}}]\nlanguage: de\n\
             goals: [{{id: 1, name: Roof, amount: 100}}]\nsocials: {{b: https://b.example, a: https://a.example}}\n\
             maintenance: {{message: Back soon}}\nshop:\n  logo: /img/logo.png\n  hero: {{image: /img/hero.webp, title: {site}, text: T, button: {{name: B, url: /b}}}}\n  \
             colours: {{dark: {{accent: '#ff9a52', background: '#111', text: '#eee'}}}}\n  font: round\n  links: [{{name: L, url: /l}}]\n  \
             sections: [recent, deals]\n  css: own.css\nplayers: {{avatar: '/img/{{player}}'}}\nstorefront: {{url: 'https://shop.example'}}\n\
             assets_url: https://cdn.example/shop\npayments: {{{methods}{hold}delayed: {}}}\non_dispute: {{ban: {}}}\n",
            on(0), on(1), on(2), on(3), thresholds.join(", "), on(2), on(1),
        );
        let first = format!("{}subcategories:\n{}\n{}\n", tops.0, nested(&inner.0), nested(&inner.1));
        let mut files = vec![("store.yaml".to_owned(), store), ("categories/z.yaml".to_owned(), first)];
        files.push(("categories/a.yaml".to_owned(), tops.1));
        files.push(("categories/m.yaml".to_owned(), tops.2));
        files.push(("own.css".to_owned(), format!("/* {name} */\r\np {{ color: red }}\n")));
        files.push(("staff.yaml".to_owned(), "keepers:\n  - {username: Oldemar, prefix: '[K]', sorting: 2}\n".to_owned()));
        for (place, (title, content)) in pages.iter().enumerate() {
            let page = format!("id: {}\ntitle: {}\nurl: /p/{place}\ncontent: {}\n", 9 - place, quoted(title), quoted(content));
            files.push((format!("pages/{place}.yaml"), page));
        }
        files
    }
}

fn compiled(files: &[(String, String)]) -> Compiled {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let dir = store(&files);
    let files = read(dir.path()).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    compile(&files).unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_exported_is_what_was_published(files in generated()) {
        let store = compiled(&files);
        let files = export(&store);
        let again = through_files(&files);
        prop_assert_eq!(&again, &files, "files come back as they were written");
        let again = compile(&again).unwrap();
        prop_assert_eq!(&again, &store, "and are the same store");
        prop_assert!(changes(Some(&store), &again).is_empty());
    }

    #[test]
    fn what_is_published_comes_back_out_of_the_table(files in generated()) {
        let store = compiled(&files);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let loaded = runtime.block_on(async {
            let table = TestTable::empty().await;
            publish(&table.db, &store, NOW).await.unwrap();
            let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
            load(&table.db, &record).await.unwrap()
        });
        prop_assert_eq!(loaded, store);
    }
}

#[test]
fn changes_are_told_by_name_with_what_they_were_and_are() {
    let category =
        |text: &str| [("store.yaml".to_owned(), STORE.to_owned()), ("categories/a.yaml".to_owned(), text.to_owned())];
    let before = compiled(&category(
        "{id: 1, slug: a, name: A, items: [{id: 1, name: X, price: 4.99}, {id: 2, name: Y, price: 1}]}",
    ));
    let after = compiled(&category(
        "{id: 1, slug: a, name: A, items: [{id: 1, name: X, price: 5.49}, {id: 3, name: Z, price: 1}]}",
    ));
    let changes = changes(Some(&before), &after);
    let lines = |things: &mut dyn Iterator<Item = String>| things.collect::<Vec<_>>();
    assert_eq!(lines(&mut changes.added.iter().map(ToString::to_string)), ["item 3 Z"]);
    assert_eq!(lines(&mut changes.removed.iter().map(ToString::to_string)), ["item 2 Y"]);
    let differing = lines(&mut changes.changed.iter().map(ToString::to_string));
    assert_eq!(differing, ["category 1 A: order of items", "item 1 X: price 4.99 → 5.49"]);
}

#[test]
fn figures_of_promotions_rates_and_of_another_currency_are_told_in_their_own_units() {
    let files = |store: &str, item: &str| {
        let category = format!("{{id: 1, slug: a, name: A, items: [{{id: 1, name: X, {item}}}]}}");
        [("store.yaml".to_owned(), store.to_owned()), ("categories/a.yaml".to_owned(), category)]
    };
    let euro = "format: 1\nname: T\ncurrency: {code: EUR, per_usd: 1.085}\n";
    let before = compiled(&files(euro, "price: 5, promotion: {price: 3.99}"));
    let rate = compiled(&files(&euro.replace("1.085", "1.1"), "price: 5, promotion: {price: 2.99}"));
    let changes = |after| changes(Some(&before), after).changed.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        changes(&rate),
        [
            "settings: currencies.EUR.value 1.085 → 1.1, system_currency.value 1.085 → 1.1",
            "item 1 X: promotion.price 3.99 → 2.99"
        ]
    );
    // 5 and 500 have the same number of minor units.
    let yen = "format: 1\nname: T\ncurrency: {code: JPY, digits: 3, per_usd: 1.085}\n";
    let yen = changes(&compiled(&files(yen, "price: 0.5, promotion: {price: 0.399}")));
    let item = yen.iter().find(|line| line.starts_with("item 1")).unwrap();
    assert_eq!(item, "item 1 X: price 5.00 EUR → 0.500 JPY, promotion.price 3.99 EUR → 0.399 JPY");
}

#[test]
fn a_list_in_another_order_is_a_change() {
    let store = |links: &str| compiled(&[("store.yaml".to_owned(), format!("{STORE}header: [{links}]\n"))]);
    let (one, two) = ("{name: A, url: /a}", "{name: B, url: /b}");
    let changes = changes(Some(&store(&format!("{one}, {two}"))), &store(&format!("{two}, {one}")));
    let differing: Vec<String> = changes.changed.iter().map(ToString::to_string).collect();
    assert_eq!(differing, ["settings: header"]);
}
