//! The items that a player must own, and must not own, to get an item (rules.md, "Required and excluded items").

use super::{ItemId, NamedItem};
use serde::{Deserialize, Serialize};

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
