//! What a publish changes, as it is told.

use crate::support::{STORE, compiled};
use publish::Diff;

#[test]
fn changes_are_told_by_name_with_what_they_were_and_are() {
    let category = |text: &str| compiled(&[("store.yaml", STORE), ("categories/a.yaml", text)]);
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
        compiled(&[("store.yaml", store), ("categories/a.yaml", &category)])
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
    let store = |links: &str| compiled(&[("store.yaml", format!("{STORE}header: [{links}]\n"))]);
    let (one, two) = ("{name: A, url: /a}", "{name: B, url: /b}");
    let diff = Diff::of(Some(&store(&format!("{one}, {two}"))), &store(&format!("{two}, {one}")));
    let differing: Vec<String> = diff.changes.changed.iter().map(ToString::to_string).collect();
    assert_eq!(differing, ["settings: header"]);
}
