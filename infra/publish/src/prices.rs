//! The prices that were asked for items and those that the calendar plans, and from them the lowest before each reduction
//! (rules.md, "Prices that were"); and prices by the calendar: those for everyone from a second on, and the changes at each of its
//! edges.
//!
//! The prices that are stored of an item end with the version that was active when it was written. The prices since then are those of the
//! active version, from the second since which it is active: so nothing is written when a sale begins, and a publish or rollback that
//! is interrupted leaves nothing wrong behind.

use crate::compile::Compiled;
use crate::version::{read_shelves, read_tree, store_of};
use shared::model::{
    ActiveVersion, Item, ItemId, Ledger, LowestPrice, Money, NamedItem, Sale, Settings, Sold, StoreConfig,
};
use shared::rules::price_history::{AskedPrice, PriceHistory, Reduction};
use shared::rules::pricing::{Buyer, Quote, Terms, UnitPrice, unit_price};
use shared::shop::asked_prices::{self, StoredPrices};
use shared::shop::publishing::read_history;
use shared::table::published::read_active_version;
use shared::table::{Db, StoreError, keys, read_published};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// How long a store on this machine is taken to have asked its regular prices, in seconds: 60 days.
const ASSUMED_SECONDS: i64 = 60 * 86_400;

/// The prices of the items of a store: those that were asked, and from now on its own.
pub(crate) struct Prices {
    histories: BTreeMap<ItemId, PriceHistory>,
    /// The name of the store that is published.
    store: Option<String>,
    /// The lowest prices that are published of them.
    published: BTreeMap<ItemId, Vec<LowestPrice>>,
    /// The prices that are to be stored before another version is active.
    unsettled: Vec<(ItemId, StoredPrices)>,
}

/// The active version, as far as it decides about what was asked.
struct Active<'a> {
    /// The name of its store.
    store: String,
    /// Seconds since 1970 UTC.
    since: i64,
    currency: String,
    config: &'a StoreConfig,
    items: BTreeMap<ItemId, Item>,
}

impl<'a> Active<'a> {
    async fn read(db: &Db, active: &'a ActiveVersion, now: i64) -> Result<Self, StoreError> {
        let (version, config) = (active.version.as_str(), &active.config);
        let history = read_history(db).await?;
        let last = history.entries().last().filter(|entry| entry.version == *version);
        let settings: Settings = read_published(db, &keys::settings(version)).await?.unwrap_or_default();
        let tree = read_tree(db, version).await?.unwrap_or_default();
        let shelves = read_shelves(db, version, &tree).await?;
        let items = shelves.into_iter().flatten().flat_map(|shelf| shelf.items).map(|item| (item.id, item));
        Ok(Self {
            store: store_of(version).to_owned(),
            since: last.map_or(now, |entry| entry.since),
            currency: currency(&settings, config),
            config,
            items: items.collect(),
        })
    }
}

impl Prices {
    /// Those of a store that is published at `now` (seconds since 1970 UTC) in place of the active version; of one that cannot be
    /// read, those of the active version.
    pub(crate) async fn read(
        db: &Db,
        active: Option<&ActiveVersion>,
        store: Option<&Compiled>,
        now: i64,
    ) -> Result<Self, StoreError> {
        let own = store.iter().flat_map(|store| &store.items);
        let own: BTreeMap<ItemId, &Item> = own.map(|entry| (entry.item.id, &entry.item)).collect();
        let own_currency = store.map(|store| currency(&store.settings, &store.config)).unwrap_or_default();
        let active = match active {
            Some(active) => Some(Active::read(db, active, now).await?),
            None => None,
        };
        let published = active.iter().flat_map(|active| &active.items);
        let published = published.map(|(id, item)| (*id, item.lowest_prices.clone())).collect::<BTreeMap<_, _>>();
        let ids: BTreeSet<ItemId> = own.keys().chain(published.keys()).copied().collect();
        let mut stored = asked_prices::read(db, ids.iter().copied()).await?;
        let name = active.as_ref().map(|active| active.store.clone());
        let mut prices = Self { histories: BTreeMap::new(), store: name, published, unsettled: Vec::new() };
        for id in ids {
            let found = stored.remove(&id);
            let (currency, history) = match &active {
                Some(active) => (&active.currency, prices.settle(id, found, active, now)),
                None => (&own_currency, found.map(|stored| stored.history).unwrap_or_default()),
            };
            let before = if *currency == own_currency { history } else { PriceHistory::default() };
            let planned = store.map(|store| planned(own.get(&id).copied(), &store.config, now));
            prices.histories.insert(id, before.followed_by(now, &planned.unwrap_or_default()));
        }
        Ok(prices)
    }

    /// The prices that were asked for an item: those that are stored, followed by those of the active version.
    fn settle(&mut self, id: ItemId, found: Option<StoredPrices>, active: &Active<'_>, now: i64) -> PriceHistory {
        let found = found.filter(|stored| stored.currency == active.currency);
        let found = found.map(|stored| stored.history).unwrap_or_default();
        let planned = planned(active.items.get(&id), active.config, active.since);
        let history = found.followed_by(active.since, &planned);
        if history != found {
            let stored =
                StoredPrices { settled: active.since, currency: active.currency.clone(), history: history.kept(now) };
            self.unsettled.push((id, stored));
        }
        history
    }

    /// Stores what was asked until now.
    pub(crate) async fn store(&self, db: &Db) -> Result<(), StoreError> {
        asked_prices::write(db, &self.unsettled).await
    }

    /// The store with the lowest prices before its reductions. An item keeps those that it has or are published, as long as they
    /// say the same: what is published once stays the same, also when a reduction is over.
    pub(crate) fn lowest(&self, store: &Compiled, now: i64) -> Compiled {
        store.clone().with_lowest_prices(|item| {
            let Some(history) = self.histories.get(&item.id).filter(|_| store.config.price_history) else {
                return Vec::new();
            };
            let mut known = [Some(&item.lowest_prices), self.published.get(&item.id)];
            if self.store.as_deref() == Some(&store.version) {
                known.reverse();
            }
            let same = known.into_iter().flatten().find(|known| history.is_told_by(known, now));
            same.cloned().unwrap_or_else(|| history.lowest_prices(now))
        })
    }
}

/// A reduction that begins when a store is published, or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReduction {
    pub item: ItemId,
    pub name: String,
    pub reduction: Reduction,
}

/// The reductions of a store that begin if it is published at `now` (seconds since 1970 UTC), and those that the calendar plans then.
pub async fn planned_reductions(db: &Db, store: &Compiled, now: i64) -> Result<Vec<PlannedReduction>, StoreError> {
    let active = read_active_version(db).await?;
    let prices = Prices::read(db, active.as_ref(), Some(store), now).await?;
    let of_item = |item: &Item| {
        let reductions = prices.histories.get(&item.id).into_iter().flat_map(move |history| history.reductions(now));
        let begins = reductions.filter(move |reduction| reduction.begins >= now);
        let (id, name) = (item.id, item.name.clone());
        begins.map(move |reduction| PlannedReduction { item: id, name: name.clone(), reduction }).collect::<Vec<_>>()
    };
    Ok(store.items.iter().flat_map(|entry| of_item(&entry.item)).collect())
}

fn currency(settings: &Settings, config: &StoreConfig) -> String {
    format!("{} {}", settings.system_currency.name, config.digits)
}

/// Takes the active items of a store as sold at their regular prices for 60 days before `now`, if nothing else is known: what a shop on
/// this machine, which begins with an empty table, compares reductions with. After an error the same call can be made again.
pub async fn assume_regular_prices(db: &Db, store: &Compiled, now: i64) -> Result<(), StoreError> {
    let settled = now.saturating_sub(ASSUMED_SECONDS);
    let regular = |item: &Item| {
        let asked = AskedPrice { since: settled, price: Some(item.price), regular: None };
        let currency = currency(&store.settings, &store.config);
        (item.id, StoredPrices { settled, currency, history: PriceHistory { prices: vec![asked] } })
    };
    let items = store.items.iter().map(|entry| &entry.item).filter(|item| item.active && is_compared(item));
    asked_prices::write(db, &items.map(regular).collect::<Vec<_>>()).await
}

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
