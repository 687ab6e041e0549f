//! Slips of a whole store: what is more likely a mistake than meant, found by comparing it with what is published.

use crate::compile::Compiled;
use serde::Serialize;
use shared::model::{Item, ItemId, Money, Server};
use std::collections::BTreeMap;

/// A publish that removes more than one in this many active items must be allowed expressly.
const REMOVABLE_SHARE: usize = 5;
/// A publish that changes one in this many prices by more than half must be allowed expressly.
const CHANGEABLE_SHARE: usize = 3;

/// How many of the active items a publish removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Removals {
    pub active: usize,
    /// How many of them the new store does not have.
    pub removed: usize,
}

impl Removals {
    /// Whether so many are removed that it is more likely a mistake: more than a fifth.
    pub const fn are_many(&self) -> bool {
        self.removed * REMOVABLE_SHARE > self.active
    }
}

/// Counts the active items that a publish removes.
pub fn removals(before: Option<&Compiled>, after: &Compiled) -> Removals {
    let kept = by_id(Some(after));
    let before = by_id(before);
    let active = before.values().filter(|item| item.active);
    let removed = active.clone().filter(|item| !kept.contains_key(&item.id)).count();
    Removals { active: active.count(), removed }
}

/// How many prices a publish changes by more than half. A price that falls to 0 is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PriceChanges {
    /// Items that are active now and then.
    pub compared: usize,
    /// How many of them have a price that changes by more than half of what it is now.
    pub large: usize,
}

impl PriceChanges {
    /// Whether so many change that it is more likely a mistake: a third.
    pub const fn are_many(&self) -> bool {
        self.large > 0 && self.large * CHANGEABLE_SHARE >= self.compared
    }
}

/// Counts the prices that a publish changes by more than half.
pub fn price_changes(before: Option<&Compiled>, after: &Compiled) -> PriceChanges {
    let after = by_id(Some(after));
    let before = by_id(before);
    let both = before.values().filter_map(|old| Some((*old, *after.get(&old.id)?)));
    let both = both.filter(|(old, new)| old.active && new.active);
    let large = both.clone().filter(|(old, new)| differs_by_half(charged(old), charged(new))).count();
    PriceChanges { compared: both.count(), large }
}

/// The price of one unit, and whether in virtual currency.
fn charged(item: &Item) -> (bool, Money) {
    let amount = if item.virtual_only { item.virtual_price } else { item.price.less(item.discount) };
    (item.virtual_only, amount)
}

fn differs_by_half((old_kind, old): (bool, Money), (new_kind, new): (bool, Money)) -> bool {
    old_kind != new_kind || 2 * i128::from(old.minor()).abs_diff(new.minor().into()) > old.minor().unsigned_abs().into()
}

/// An id that is given to another item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reassigned {
    pub id: ItemId,
    pub before: String,
    pub after: String,
    /// The id that has this name now, and will have the other's.
    pub swapped_with: Option<ItemId>,
}

/// The ids that get another name and another price, and those whose names are swapped, each pair once.
pub fn reassigned(before: Option<&Compiled>, after: &Compiled) -> Vec<Reassigned> {
    let (old, new) = (by_id(before), by_id(Some(after)));
    let renamed: Vec<(&Item, &Item)> = old
        .values()
        .filter_map(|was| Some((*was, *new.get(&was.id)?)))
        .filter(|(was, is)| was.name != is.name)
        .collect();
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

/// An item that keeps its name and gets another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub name: String,
    pub before: ItemId,
    pub after: ItemId,
}

/// The items whose id changes: the old id is gone, and a new one has the name.
pub fn moved(before: Option<&Compiled>, after: &Compiled) -> Vec<Moved> {
    let (old, new) = (by_id(before), by_id(Some(after)));
    let gone = old.values().filter(|was| !new.contains_key(&was.id));
    let under_new_id = |was: &&Item| new.values().find(|is| is.name == was.name && !old.contains_key(&is.id)).copied();
    let moved = gone.filter_map(|was| Some((*was, under_new_id(was)?)));
    moved.map(|(was, is)| Moved { name: was.name.clone(), before: was.id, after: is.id }).collect()
}

/// The servers that swap their names, each pair once.
pub fn swapped_servers(before: Option<&Compiled>, after: &Compiled) -> Vec<(Server, Server)> {
    let old = before.map(|before| before.config.delivery.servers.as_slice()).unwrap_or_default();
    let new = &after.config.delivery.servers;
    let now = |id| new.iter().find(|server| server.id == id).map(|server| &server.name);
    let pairs =
        old.iter().flat_map(|one| old.iter().filter(move |other| one.id < other.id).map(move |other| (one, other)));
    let swapped = pairs.filter(|(one, other)| {
        one.name != other.name && now(one.id) == Some(&other.name) && now(other.id) == Some(&one.name)
    });
    swapped.map(|(one, other)| (one.clone(), other.clone())).collect()
}

/// The subscriptions whose price or plan a publish changes, or that it no longer sells.
pub fn changed_subscriptions(before: Option<&Compiled>, after: &Compiled) -> Vec<(ItemId, String)> {
    let after = by_id(Some(after));
    let is_same =
        |old: &Item, new: &Item| new.active && new.is_subscription && (new.price, new.plan) == (old.price, old.plan);
    let sold = by_id(before).into_values().filter(|old| old.is_subscription);
    let changed = sold.filter(|old| !after.get(&old.id).is_some_and(|new| is_same(old, new)));
    changed.map(|old| (old.id, old.name.clone())).collect()
}

fn by_id(store: Option<&Compiled>) -> BTreeMap<ItemId, &Item> {
    let items = store.map(|store| store.items.as_slice()).unwrap_or_default();
    items.iter().map(|entry| (entry.item.id, &entry.item)).collect()
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
