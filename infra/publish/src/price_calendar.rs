//! Prices by the calendar: those for everyone from a second on, and the changes at each of its edges.

use crate::compile::Compiled;
use shared::model::{Item, ItemId, Ledger, Money, NamedItem, Sale, Sold, StoreConfig};
use shared::rules::price_history::AskedPrice;
use shared::rules::pricing::{Buyer, Quote, Terms};
use shared::rules::sale::{UnitPrice, unit_price};
use std::collections::BTreeMap;
use std::iter;

/// The changes at a second of the calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceEdge {
    /// Seconds since 1970 UTC.
    pub at: i64,
    pub changes: Vec<PriceChange>,
}

/// A price of one unit that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceChange {
    pub item: ItemId,
    pub name: String,
    /// `None` if the item cannot be bought before.
    pub before: Option<Money>,
    /// `None` if it cannot be bought any more.
    pub after: Option<Money>,
    /// The name of the sale whose price it is from then on.
    pub sale: Option<String>,
    /// The names of the items of which a buyer must own one for this price; empty if it is everyone's.
    pub owners_of: Vec<String>,
}

/// Every price that the calendar changes after `now` and up to `until`, both in seconds since 1970 UTC. Of owners of an item, those
/// that are not everyone's before or after.
pub fn price_edges(store: &Compiled, now: i64, until: i64) -> Vec<PriceEdge> {
    let mut edges: BTreeMap<i64, Vec<PriceChange>> = BTreeMap::new();
    for item in store.items.iter().map(|entry| &entry.item).filter(|item| is_compared(item)) {
        let mut before = now;
        while let Some(at) = edge(item, &store.config, before).filter(|at| *at <= until) {
            edges.entry(at).or_default().extend(changes(item, &store.config, before, at));
            before = at;
        }
    }
    let edges = edges.into_iter().filter(|(_, changes)| !changes.is_empty());
    edges.map(|(at, changes)| PriceEdge { at, changes }).collect()
}

fn changes(item: &Item, config: &StoreConfig, before: i64, at: i64) -> Vec<PriceChange> {
    let price = |second, owned| price_at(item, config, second, owned);
    let (was, is) = (price(before, None), price(at, None));
    let amount = |price: Option<UnitPrice>| price.map(|price| price.quote.price);
    let change = |was, is: Option<UnitPrice>, owners: &[NamedItem]| PriceChange {
        item: item.id,
        name: item.name.clone(),
        before: amount(was),
        after: amount(is),
        sale: is.and_then(|price| config.sale(price.sale?)).map(|sale| sale.name.clone()),
        owners_of: owners.iter().map(|owned| owned.name.clone()).collect(),
    };
    let mut found = Vec::new();
    if amount(was) != amount(is) {
        found.push(change(was, is, &[]));
    }
    let mut groups: Vec<&[NamedItem]> = sales_of(item, config).map(|sale| sale.owners_of.as_slice()).collect();
    groups.sort_unstable_by_key(|owners| owners.iter().map(|owned| owned.id).collect::<Vec<_>>());
    groups.dedup();
    for owners in groups {
        let Some(owned) = owners.first() else { continue };
        let (owners_was, owners_is) = (price(before, Some(owned.id)), price(at, Some(owned.id)));
        let is_everyones = (amount(owners_was), amount(owners_is)) == (amount(was), amount(is));
        if !is_everyones && amount(owners_was) != amount(owners_is) {
            found.push(change(owners_was, owners_is, owners));
        }
    }
    found
}

/// The prices of an item of a store for everyone from `now` on: by its own discount, and by the calendar. Without an item, none.
pub(crate) fn planned(item: Option<&Item>, config: &StoreConfig, now: i64) -> Vec<AskedPrice> {
    let item = item.filter(|item| is_compared(item));
    let asked = |since| {
        let quote = item.and_then(|item| price_at(item, config, since, None)).map(|price| price.quote);
        let reduced = quote.filter(|quote| quote.discount > Money::ZERO);
        AskedPrice { since, price: quote.map(|quote| quote.price), regular: reduced.map(Quote::original_price) }
    };
    let next = |second: &i64| item.and_then(|item| edge(item, config, *second));
    iter::successors(Some(now), next).map(asked).collect()
}

/// The price of one unit at a second: for everyone, or for an owner of an item. `None` if it cannot be bought then.
fn price_at(item: &Item, config: &StoreConfig, second: i64, owned: Option<ItemId>) -> Option<UnitPrice> {
    let (mut ledger, sold) = (Ledger::default(), Sold::default());
    if let Some(owned) = owned {
        ledger.entry(owned).all.units = 1;
    }
    let buyer = owned.map(|_| Buyer { ledger: &ledger, subscriptions: &[], now: second });
    let is_on_sale = !item.is_off_sale(second) && item.on_sale.begins(second).is_none();
    is_on_sale.then(|| unit_price(item, item.price, None, Terms::of(config, &sold, second), buyer))
}

/// The next second after `now` at which the calendar can change an item's price.
fn edge(item: &Item, config: &StoreConfig, now: i64) -> Option<i64> {
    sales_of(item, config).filter_map(|sale| sale.runs.edge(now)).chain(item.on_sale.edge(now)).min()
}

fn sales_of<'a>(item: &'a Item, config: &'a StoreConfig) -> impl Iterator<Item = &'a Sale> {
    config.sales.iter().filter(|sale| item.sales.contains(&sale.id))
}

/// Whether an item has one price in money, and not the buyer's.
pub(crate) const fn is_compared(item: &Item) -> bool {
    !item.virtual_only && !item.any_price
}
