//! The comparison of a store with what is published, from which follows what a publish tells, asks and refuses: every change, and
//! what of the whole is more likely a mistake than meant.

use crate::changes::{Changes, changes, paired};
use crate::compile::Compiled;
use crate::lower::command_values::long_commands;
use serde::Serialize;
use shared::model::{Item, ItemId, Money, Server};
use std::collections::BTreeMap;

/// A publish that removes more than one in this many active items must be allowed expressly.
const REMOVABLE_SHARE: usize = 5;
/// A publish that changes one in this many prices by more than half must be allowed expressly.
const CHANGEABLE_SHARE: usize = 3;

/// The differences between what is published and a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub changes: Changes,
    pub removals: Removals,
    pub price_changes: PriceChanges,
    /// The ids that get another name and another price, and those whose names are swapped, each pair once.
    #[serde(skip)]
    pub reassigned: Vec<Reassigned>,
    /// The items whose id changes: the old id is gone, and a new one has the name.
    #[serde(skip)]
    pub moved: Vec<Moved>,
    /// The subscriptions whose price or plan changes, or that are no longer sold.
    #[serde(skip)]
    pub changed_subscriptions: Vec<(ItemId, String)>,
    /// The servers that swap their names, each pair once.
    #[serde(skip)]
    pub swapped_servers: Vec<(Server, Server)>,
    #[serde(skip)]
    pub removed_servers: Vec<Server>,
    /// How many commands are newly able to be too long for RCON.
    #[serde(skip)]
    pub long_commands: usize,
}

/// How many of the active items a publish removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Removals {
    pub active: usize,
    /// How many of them the new store does not have.
    pub removed: usize,
}

/// How many prices a publish changes by more than half. A price that falls to 0 is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PriceChanges {
    /// Items that are active now and then.
    pub compared: usize,
    /// How many of them have a price that changes by more than half of what it is now.
    pub large: usize,
}

/// An id that is given to another item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassigned {
    pub id: ItemId,
    pub before: String,
    pub after: String,
    /// The id that has this name now, and will have the other's.
    pub swapped_with: Option<ItemId>,
}

/// An item that keeps its name and gets another id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub name: String,
    pub before: ItemId,
    pub after: ItemId,
}

impl Diff {
    /// Compares what is published (nothing before the first publish) with what is about to be.
    pub fn of(before: Option<&Compiled>, after: &Compiled) -> Self {
        let items: Vec<Pair<'_>> = paired(by_id(before), by_id(Some(after))).into_values().collect();
        let old = before.map(|before| before.config.delivery.servers.as_slice()).unwrap_or_default();
        let new = after.config.delivery.servers.as_slice();
        let is_removed = |server: &&Server| new.iter().all(|other| other.id != server.id);
        let long_before = before.map(long_commands).unwrap_or_default();
        Self {
            changes: changes(before, after),
            removals: removals(&items),
            price_changes: price_changes(&items),
            reassigned: reassigned(&items),
            moved: moved(&items),
            changed_subscriptions: changed_subscriptions(&items),
            swapped_servers: swapped_servers(old, new),
            removed_servers: old.iter().filter(is_removed).cloned().collect(),
            long_commands: long_commands(after).difference(&long_before).count(),
        }
    }
}

impl Removals {
    /// Whether so many are removed that it is more likely a mistake: more than a fifth.
    pub const fn are_many(&self) -> bool {
        self.removed * REMOVABLE_SHARE > self.active
    }
}

impl PriceChanges {
    /// Whether so many change that it is more likely a mistake: a third.
    pub const fn are_many(&self) -> bool {
        self.large > 0 && self.large * CHANGEABLE_SHARE >= self.compared
    }
}

/// What is published under an item's id, and what is about to be.
type Pair<'a> = (Option<&'a Item>, Option<&'a Item>);

fn by_id(store: Option<&Compiled>) -> BTreeMap<ItemId, &Item> {
    let items = store.map(|store| store.items.as_slice()).unwrap_or_default();
    items.iter().map(|entry| (entry.item.id, &entry.item)).collect()
}

/// The items that are in both stores.
fn kept<'a>(items: &[Pair<'a>]) -> impl Iterator<Item = (&'a Item, &'a Item)> + Clone {
    items.iter().filter_map(|(was, is)| was.zip(*is))
}

fn removals(items: &[Pair<'_>]) -> Removals {
    let active = items.iter().filter(|(was, _)| was.is_some_and(|was| was.active));
    Removals { active: active.clone().count(), removed: active.filter(|(_, is)| is.is_none()).count() }
}

fn price_changes(items: &[Pair<'_>]) -> PriceChanges {
    let compared = kept(items).filter(|(was, is)| was.active && is.active);
    let large = compared.clone().filter(|(was, is)| differs_by_half(charged(was), charged(is))).count();
    PriceChanges { compared: compared.count(), large }
}

/// The price of one unit, and whether in virtual currency.
fn charged(item: &Item) -> (bool, Money) {
    let amount = if item.virtual_only { item.virtual_price } else { item.price.less(item.discount) };
    (item.virtual_only, amount)
}

fn differs_by_half((old_kind, old): (bool, Money), (new_kind, new): (bool, Money)) -> bool {
    old_kind != new_kind || 2 * i128::from(old.minor()).abs_diff(new.minor().into()) > old.minor().unsigned_abs().into()
}

fn reassigned(items: &[Pair<'_>]) -> Vec<Reassigned> {
    let renamed: Vec<(&Item, &Item)> = kept(items).filter(|(was, is)| was.name != is.name).collect();
    let mut found = Vec::new();
    for (was, is) in &renamed {
        let other = renamed.iter().find(|(other, then)| other.name == is.name && then.name == was.name);
        let swapped_with = other.map(|(other, _)| other.id);
        let has_other_price = (was.price, was.virtual_price) != (is.price, is.virtual_price);
        if swapped_with.map_or(has_other_price, |other| was.id < other) {
            found.push(Reassigned { id: was.id, before: was.name.clone(), after: is.name.clone(), swapped_with });
        }
    }
    found
}

fn moved(items: &[Pair<'_>]) -> Vec<Moved> {
    let gone = items.iter().filter(|(_, is)| is.is_none()).filter_map(|(was, _)| *was);
    let added = || items.iter().filter(|(was, _)| was.is_none()).filter_map(|(_, is)| *is);
    let moved = gone.filter_map(|was| Some((was, added().find(|is| is.name == was.name)?)));
    moved.map(|(was, is)| Moved { name: was.name.clone(), before: was.id, after: is.id }).collect()
}

fn changed_subscriptions(items: &[Pair<'_>]) -> Vec<(ItemId, String)> {
    let is_same =
        |was: &Item, is: &Item| is.active && is.is_subscription && (is.price, is.plan) == (was.price, was.plan);
    let sold = items.iter().filter_map(|(was, is)| Some((was.filter(|was| was.is_subscription)?, is)));
    let changed = sold.filter(|(was, is)| !is.is_some_and(|is| is_same(was, is)));
    changed.map(|(was, _)| (was.id, was.name.clone())).collect()
}

fn swapped_servers(old: &[Server], new: &[Server]) -> Vec<(Server, Server)> {
    let now = |id| new.iter().find(|server| server.id == id).map(|server| &server.name);
    let pairs =
        old.iter().flat_map(|one| old.iter().filter(move |other| one.id < other.id).map(move |other| (one, other)));
    let swapped = pairs.filter(|(one, other)| {
        one.name != other.name && now(one.id) == Some(&other.name) && now(other.id) == Some(&one.name)
    });
    swapped.map(|(one, other)| (one.clone(), other.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_is_a_large_change_in_either_direction() {
        let price = |minor| (false, Money::from_minor(minor));
        for (old, new, is_large) in [
            (1000, 500, false),
            (1000, 499, true),
            (1000, 1500, false),
            (1000, 1501, true),
            (1000, 0, true),
            (0, 0, false),
            (0, 1, true),
        ] {
            assert_eq!(differs_by_half(price(old), price(new)), is_large, "{old} to {new}");
        }
        assert!(differs_by_half((false, Money::from_minor(5)), (true, Money::from_minor(5))));
    }

    #[test]
    fn a_third_are_many() {
        for (large, compared, many) in [(0, 0, false), (0, 9, false), (2, 9, false), (3, 9, true), (1, 1, true)] {
            assert_eq!(PriceChanges { compared, large }.are_many(), many, "{large} of {compared}");
        }
    }
}
