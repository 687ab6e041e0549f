//! Categories as they are published.

use super::{CategoryId, Item, PriceTier, Slug};
use serde::{Deserialize, Serialize};

/// A row of the table in which a category's items are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The row's id, unique in the category.
    pub id: u64,
    /// The row's name.
    pub name: String,
    /// The row's description. Empty if it has none.
    pub description: String,
    /// The type of the row's cells, such as `text` or `boolean`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The row's place among the rows, lowest first.
    pub sorting: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryHead {
    pub id: CategoryId,
    pub slug: Slug,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Image URL, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// A category with its own items: the unit in which the catalog is stored and read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryWithItems {
    pub head: CategoryHead,
    /// The rows of its comparison table, by sorting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparison: Vec<Comparison>,
    /// Whether a buyer pays the difference to what they own in it (rules.md, "Cumulative categories").
    #[serde(default)]
    pub cumulative: bool,
    /// Its items by sorting, inactive ones included: what was paid for them still counts towards an upgrade.
    #[serde(default)]
    pub items: Vec<Item>,
}

impl CategoryWithItems {
    /// The category's price tiers: its items without subscriptions if it is cumulative, otherwise none
    /// (rules.md, "Cumulative categories").
    pub fn price_tiers(&self) -> Vec<PriceTier> {
        if !self.cumulative {
            return Vec::new();
        }
        let tiers = self.items.iter().filter(|item| !item.is_subscription);
        tiers.map(|item| PriceTier { item: item.id, price: item.price }).collect()
    }
}

/// An entry of the category list. Every entry is enabled, and so is its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    pub head: CategoryHead,
    /// Its subcategories in order; a subcategory has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subcategories: Vec<CategoryHead>,
}

/// The category list: top categories in order (rules.md, "Category urls": `sorting`, then id).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(pub Vec<TreeNode>);
