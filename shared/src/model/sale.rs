//! How items are sold: for less or only for a time; in bundles of several (rules.md, "Bundles"); and on the condition that a player owns
//! other items, or does not (rules.md, "Required and excluded items").

use super::{Discount, ItemId, ItemLimit, LineId, Money, SaleId};
use serde::{Deserialize, Serialize};

/// A sale (rules.md, "Sales"). Items name the sales that cover them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sale {
    pub id: SaleId,
    /// Its name, as buyers see it.
    pub name: String,
    /// The reduction of one unit.
    pub discount: Discount,
    /// When it runs.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub runs: OnSale,
    /// The items of which a buyer must own one; empty if it is for everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners_of: Vec<NamedItem>,
    /// Whether codes take something off its prices. Without it, a line has the better of sale and code.
    pub with_codes: bool,
}

/// An item with its name, for a text that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NamedItem {
    /// The item's id.
    pub id: ItemId,
    /// The item's name.
    pub name: String,
}

impl Sale {
    pub fn is_running(&self, now: i64) -> bool {
        self.runs.begins(now).is_none() && !self.runs.is_over(now)
    }

    /// The next second after `now` at which one of these sales begins or ends.
    pub fn edge(sales: &[Self], now: i64) -> Option<i64> {
        sales.iter().filter_map(|sale| sale.runs.edge(now)).min()
    }
}

/// The time in which something is on sale: from one second up to another, which is not included. Both in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OnSale {
    /// `None` if it has always been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// `None` if it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
}

impl OnSale {
    /// When it begins, if that is later than `now`.
    pub fn begins(self, now: i64) -> Option<i64> {
        self.from.filter(|from| *from > now)
    }

    pub fn is_over(self, now: i64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The part of it that is within another.
    #[must_use]
    pub fn within(self, outer: Self) -> Self {
        let until = self.until.into_iter().chain(outer.until).min();
        Self { from: self.from.max(outer.from), until }
    }

    /// The next second after `now` at which something of it changes.
    pub fn edge(self, now: i64) -> Option<i64> {
        self.from.into_iter().chain(self.until).filter(|edge| *edge > now).min()
    }
}

/// The items that a bundle gives.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bundle {
    /// The items that it always gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The items of which a buyer chooses some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Part>,
    /// How many of them: each is a variable of the item.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub choices: u32,
    /// Whether it is sold to who owns a part.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub despite_owned: bool,
}

impl Bundle {
    /// The id of the variable of the first choice; the others follow.
    pub const FIRST_CHOICE: u64 = 1_000_001;

    /// The ids of its choices' variables.
    pub fn variables(&self) -> impl Iterator<Item = u64> + use<> {
        Self::FIRST_CHOICE..Self::FIRST_CHOICE + u64::from(self.choices)
    }

    /// Everything that it can give.
    pub fn all(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(&self.from)
    }
}

/// An item of a bundle, as far as it decides whether the bundle can be bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub item: ItemId,
    pub name: String,
    /// Its regular price, by which the bundle's price is shared.
    pub price: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub virtual_price: Money,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_limit: Option<u32>,
    /// Its limits in time and of servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ItemLimit>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub conditions: Conditions,
    /// The item, and the higher ones of its cumulative category.
    pub included_in: Vec<ItemId>,
}

/// The bundle that a line of an order is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfBundle {
    /// The order's line of the bundle.
    pub line: LineId,
    pub item: ItemId,
    /// Units of the bundle.
    pub count: u32,
}

/// The items that a player must own, and must not own, to get an item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Groups of items: the player must own at least one item of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Vec<NamedItem>>,
    /// Items of which the player must own none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<NamedItem>,
    /// The items of its category, itself included, if a player has one of them at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<ItemId>,
}

impl Conditions {
    /// The most items that an item may require, or exclude.
    pub const MOST: usize = 20;
    /// The most items of a category of which a player has one: one condition of the database compares as many.
    pub const MOST_ONE_OF: usize = 40;

    /// Whether owning an item decides.
    pub fn names(&self, id: ItemId) -> bool {
        let named = self.requires.iter().flatten().chain(&self.excludes);
        self.one_of.contains(&id) || named.into_iter().any(|item| item.id == id)
    }

    /// The items of which the player must own none.
    pub fn unowned(&self) -> impl Iterator<Item = ItemId> {
        self.excludes.iter().map(|item| item.id).chain(self.one_of.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_now(on_sale: OnSale, now: i64) -> bool {
        on_sale.begins(now).is_none() && !on_sale.is_over(now)
    }

    #[test]
    fn it_begins_and_ends_at_its_seconds() {
        let spring = OnSale { from: Some(10), until: Some(20) };
        let state = |now| (spring.begins(now), is_now(spring, now), spring.is_over(now), spring.edge(now));
        assert_eq!(state(9), (Some(10), false, false, Some(10)));
        assert_eq!(state(10), (None, true, false, Some(20)));
        assert_eq!(state(19), (None, true, false, Some(20)));
        assert_eq!(state(20), (None, false, true, None));
        let always = OnSale::default();
        assert_eq!((is_now(always, i64::MIN), is_now(always, i64::MAX), always.edge(0)), (true, true, None));
    }

    #[test]
    fn what_is_within_another_is_on_sale_while_both_are() {
        let all = [None, Some(5), Some(10), Some(15)];
        let any = || all.into_iter().flat_map(|from| all.into_iter().map(move |until| OnSale { from, until }));
        for (inner, outer) in any().flat_map(|inner| any().map(move |outer| (inner, outer))) {
            for now in 0..20 {
                assert_eq!(
                    is_now(inner.within(outer), now),
                    is_now(inner, now) && is_now(outer, now),
                    "{inner:?} {outer:?}"
                );
            }
        }
    }
}
