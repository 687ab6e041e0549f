//! Compiling a store's files, and what a publish changes, as it is told.

use crate::support::{self, STORE, compiled_in, store, write};
use publish::{Compiled, Diff, Part, compile, read};
use shared::model::{CategoryId, CategoryPath, Images, ItemId, Tree};
use shared::table::keys;
use std::collections::BTreeSet;
use tempfile::TempDir;

const RANKS: &str = "\
id: 1
slug: ranks
name: Ranks
sorting: 2
cumulative: true
items:
  - {id: 11, name: High, price: 20, sorting: 2, featured: true}
  - {id: 10, name: Low, price: 10, sorting: 1, active: false, featured: true, promotion: {price: 1}}
  - {id: 12, name: Pass, price: 3, sorting: 3, subscription: true}
subcategories:
  - {id: 3, slug: late, name: Late, sorting: 5, items: [{id: 30, name: L, price: 1, promotion: {price: 1, sorting: 2}}]}
  - {id: 2, slug: vip, name: Vip, items: [{id: 20, name: V, price: 1, promotion: {price: 1, sorting: 1}}]}
  - {id: 4, slug: gone, name: Gone, enabled: false, items: [{id: 40, name: G, price: 1, featured: true}]}
";
const HIDDEN: &str = "\
id: 5
slug: hidden
name: Hidden
enabled: false
items: [{id: 50, name: H, price: 1, featured: true}]
subcategories: [{id: 6, slug: inner, name: Inner, items: [{id: 60, name: I, price: 1, promotion: {price: 1}}]}]
";
const FIRST: &str = "id: 9\nslug: first\nname: First\nsorting: 1\n";

fn sample() -> TempDir {
    store(&[
        ("store.yaml", STORE),
        ("categories/a.yaml", RANKS),
        ("categories/b.yaml", HIDDEN),
        ("categories/c.yaml", FIRST),
        ("pages/rules.yaml", "id: 1\ntitle: Rules\nurl: /rules\n"),
    ])
}

fn compiled(dir: &TempDir) -> Compiled {
    compiled_in(dir.path())
}

#[test]
fn the_same_store_always_has_the_same_version() {
    let (one, other) = (sample(), sample());
    let version = compiled(&one).version;
    assert_eq!(version, compiled(&other).version);
    assert!(version.len() >= 16 && version.bytes().all(|byte| byte.is_ascii_hexdigit()));
    // Neither comments nor the files' names nor what is hidden are part of what is published.
    write(one.path(), "categories/c.yaml", &format!("# a word\n{FIRST}"));
    write(one.path(), "categories/b.yaml", &HIDDEN.replace("price: 1,", "price: 2,"));
    std::fs::rename(one.path().join("categories/a.yaml"), one.path().join("categories/z.yaml")).unwrap();
    assert_eq!(version, compiled(&one).version);
}

#[test]
fn every_published_change_changes_the_version() {
    let mut versions = BTreeSet::from([compiled(&sample()).version]);
    for (path, text) in [
        ("store.yaml", STORE.replace("Test", "Toast")),
        ("store.yaml", format!("{STORE}guest_mode: true\n")),
        ("store.yaml", format!("{STORE}patrons: {{description: Thanks}}\n")),
        ("staff.yaml", "keepers: [{username: Ann}]\n".to_owned()),
        ("pages/rules.yaml", "id: 1\ntitle: Rules\nurl: rules\n".to_owned()),
        ("categories/a.yaml", RANKS.replace("price: 20", "price: 21")),
        ("categories/a.yaml", RANKS.replace("sorting: 2\ncum", "sorting: 0\ncum")),
        ("categories/b.yaml", HIDDEN.replace("enabled: false", "enabled: true")),
    ] {
        let dir = sample();
        write(dir.path(), path, &text);
        assert!(versions.insert(compiled(&dir).version), "{path}: {text}");
    }
}

#[test]
fn hidden_categories_are_published_nowhere() {
    let compiled = compiled(&sample());
    let tops: Vec<u64> = compiled.tree.0.iter().map(|top| top.head.id.get()).collect();
    assert_eq!(tops, [9, 1]);
    let items: BTreeSet<u64> = compiled.items.iter().map(|entry| entry.item.id.get()).collect();
    assert_eq!(items, BTreeSet::from([10, 11, 12, 20, 30]));
    let keys: Vec<String> = compiled.parts("v").into_iter().map(|(key, _)| format!("{} {}", key.pk, key.sk)).collect();
    for hidden in ["hidden", "inner", "gone", "#5 ", "#6 ", "#4 ", "#40 ", "#50 ", "#60 "] {
        assert!(keys.iter().all(|key| !key.contains(hidden)), "{hidden}");
    }
}

#[test]
fn a_category_stands_under_its_slug_and_its_id_with_its_subcategories_in_order() {
    let compiled = compiled(&sample());
    for path in [CategoryPath::parse("ranks").unwrap(), CategoryPath::parse("1").unwrap()] {
        let partition = keys::category("v", &path);
        let parts = compiled.parts("v");
        let shelves = parts.iter().filter(|(key, _)| key.pk == partition).map(|(key, part)| match part {
            Part::Category(shelf) => (key.sk.as_str(), shelf.head.slug.as_str()),
            other => panic!("{other:?}"),
        });
        let expected = [("0000", "/ranks"), ("0001", "/ranks/vip"), ("0002", "/ranks/late")];
        assert_eq!(shelves.collect::<Vec<_>>(), expected);
    }
    let inner = keys::category("v", &CategoryPath::parse("/ranks/vip").unwrap());
    assert_eq!(compiled.parts("v").iter().filter(|(key, _)| key.pk == inner).count(), 1);
}

#[test]
fn items_are_sorted_by_sorting_then_id_and_inactive_ones_stay() {
    let compiled = compiled(&sample());
    let ranks = &compiled.categories[1].shelf;
    assert_eq!(ranks.items.iter().map(|item| item.id.get()).collect::<Vec<_>>(), [10, 11, 12]);
    assert!(!ranks.items[0].active);
}

#[test]
fn a_ladder_has_every_item_of_its_category_but_subscriptions() {
    let compiled = compiled(&sample());
    let entry = |id| compiled.items.iter().find(|entry| entry.item.id == ItemId::new(id)).unwrap();
    let tiers: Vec<(u64, i64)> =
        entry(11).price_tiers.iter().map(|tier| (tier.item.get(), tier.price.minor())).collect();
    assert_eq!(tiers, [(10, 1_000), (11, 2_000)]);
    assert!(entry(20).price_tiers.is_empty());
    assert_eq!(entry(20).parent, Some(CategoryId::new(1)));
    assert_eq!(entry(11).parent, None);
}

#[test]
fn deals_and_promotions_are_on_sale_and_in_order() {
    let compiled = compiled(&sample());
    assert_eq!(compiled.deals.0.iter().map(|entry| entry.item.id.get()).collect::<Vec<_>>(), [11]);
    assert_eq!(compiled.promotions.0.iter().map(|entry| entry.item.id.get()).collect::<Vec<_>>(), [20, 30]);
    assert!(compiled.settings.is_featured_deal);
}

#[test]
fn a_store_without_a_featured_item_says_so() {
    let dir = store(&[("store.yaml", STORE), ("categories/c.yaml", FIRST)]);
    assert!(!compiled(&dir).settings.is_featured_deal);
}

#[test]
fn what_is_left_out_of_store_yaml_has_its_default() {
    let compiled = compiled(&store(&[("store.yaml", STORE)]));
    assert_eq!(compiled.config.digits, 2);
    assert!(!compiled.config.guest_mode_enabled && !compiled.config.is_ref && !compiled.config.chat_sync);
    assert!(compiled.settings.is_profile_enabled && !compiled.settings.details);
    assert_eq!(compiled.settings.currencies, std::slice::from_ref(&compiled.settings.system_currency));
    assert_eq!(compiled.settings.system_currency.value.millionths(), 1_000_000);
    assert_eq!(compiled.patronage.currency_code, "EUR");
}

#[test]
fn the_urls_and_scopes_of_discord_can_be_left_out() {
    let chat = |platform: &str| {
        let client = "client: {client_id: '1', redirect_url: 'https://shop.example/api/auth/chat/callback'}";
        let text =
            format!("{STORE}storefront: {{url: 'https://shop.example'}}\nchat: {{sync: true, {platform}{client}}}\n");
        let dir = store(&[("store.yaml", &text)]);
        let files = read(dir.path()).unwrap();
        (compile(&files).unwrap(), publish::warnings(&files).len())
    };
    let ((discord, warned), (unnamed, missing)) = (chat("platform: discord, "), chat(""));
    let login = &discord.config.chat;
    assert!(login.is_complete() && warned == 0);
    for url in [&login.authorize_url, &login.token_url, &login.user_url] {
        assert!(url.starts_with("https://discord.com/"), "{url}");
    }
    assert_eq!(login.scopes, ["identify"]);
    assert!(!unnamed.config.chat.is_complete() && missing == 2);
    // What the owner writes is kept.
    let own = chat("platform: other, ").0;
    assert!(!own.config.chat.has_discord_names() && own.config.chat.authorize_url.is_empty());
}

#[test]
fn a_store_says_how_its_items_pictures_are_named_and_its_publisher_where_the_shop_is() {
    let dir = store(&[("store.yaml", &format!("{STORE}images: urls\n"))]);
    let mut files = read(dir.path()).unwrap();
    assert_eq!(compile(&files).unwrap().config.images, Images::Urls);
    "https://shop.example".clone_into(&mut files.shop_url);
    let compiled = compile(&files).unwrap();
    assert_eq!(compiled.config.item_picture("/img/a.png"), "https://shop.example/img/a.png");
}

#[test]
fn the_longest_path_of_a_category_counts_its_leading_slash_and_can_be_read_again() {
    let faults = |file: &str| {
        let dir = store(&[("store.yaml", STORE), ("categories/a.yaml", file)]);
        read(dir.path()).and_then(|files| compile(&files)).map(|compiled| compiled.tree)
    };
    let category = |length: usize| format!("id: 1\nslug: {}\nname: A\n", "a".repeat(length));
    let tree = faults(&category(254)).unwrap();
    // As a function reads it.
    assert_eq!(serde_json::from_str::<Tree>(&serde_json::to_string(&tree).unwrap()).unwrap(), tree);
    let inner = format!("id: 1\nslug: /a\nname: A\nsubcategories: [{{id: 2, slug: {}, name: B}}]\n", "b".repeat(252));
    assert!(faults(&inner).is_ok());
    for longer in [category(255), category(300), inner.replace("slug: b", "slug: bb")] {
        let found = faults(&longer).unwrap_err();
        assert!(found[0].to_string().contains("slug: the whole path must have at most 255 characters"), "{found:?}");
    }
}

#[test]
fn changes_are_told_by_name_with_what_they_were_and_are() {
    let category = |text: &str| support::compiled(&[("store.yaml", STORE), ("categories/a.yaml", text)]);
    let before =
        category("{id: 1, slug: a, name: A, items: [{id: 1, name: X, price: 4.99}, {id: 2, name: Y, price: 1}]}");
    let after =
        category("{id: 1, slug: a, name: A, items: [{id: 1, name: X, price: 5.49}, {id: 3, name: Z, price: 1}]}");
    let changes = Diff::of(Some(&before), &after).changes;
    let lines = |things: &mut dyn Iterator<Item = String>| things.collect::<Vec<_>>();
    assert_eq!(lines(&mut changes.added.iter().map(ToString::to_string)), ["item 3 Z"]);
    assert_eq!(lines(&mut changes.removed.iter().map(ToString::to_string)), ["item 2 Y"]);
    let differing = lines(&mut changes.changed.iter().map(ToString::to_string));
    assert_eq!(differing, ["category 1 A: order of items", "item 1 X: price 4.99 → 5.49"]);
}

#[test]
fn figures_of_promotions_rates_and_of_another_currency_are_told_in_their_own_units() {
    let of = |store: &str, item: &str| {
        let category = format!("{{id: 1, slug: a, name: A, items: [{{id: 1, name: X, {item}}}]}}");
        support::compiled(&[("store.yaml", store), ("categories/a.yaml", &category)])
    };
    let euro = "format: 1\nname: T\ncurrency: {code: EUR, per_usd: 1.085}\n";
    let before = of(euro, "price: 5, promotion: {price: 3.99}");
    let rate = of(&euro.replace("1.085", "1.1"), "price: 5, promotion: {price: 2.99}");
    let changes =
        |after| Diff::of(Some(&before), after).changes.changed.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        changes(&rate),
        [
            "settings: currencies.EUR.value 1.085 → 1.1, system_currency.value 1.085 → 1.1",
            "item 1 X: promotion.price 3.99 → 2.99"
        ]
    );
    // 5 and 500 have the same number of minor units.
    let yen = "format: 1\nname: T\ncurrency: {code: JPY, digits: 3, per_usd: 1.085}\n";
    let yen = changes(&of(yen, "price: 0.5, promotion: {price: 0.399}"));
    let item = yen.iter().find(|line| line.starts_with("item 1")).unwrap();
    assert_eq!(item, "item 1 X: price 5.00 EUR → 0.500 JPY, promotion.price 3.99 EUR → 0.399 JPY");
}

#[test]
fn a_list_in_another_order_is_a_change() {
    let store = |links: &str| support::compiled(&[("store.yaml", format!("{STORE}header: [{links}]\n"))]);
    let (one, two) = ("{name: A, url: /a}", "{name: B, url: /b}");
    let diff = Diff::of(Some(&store(&format!("{one}, {two}"))), &store(&format!("{two}, {one}")));
    let differing: Vec<String> = diff.changes.changed.iter().map(ToString::to_string).collect();
    assert_eq!(differing, ["settings: header"]);
}
