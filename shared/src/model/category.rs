//! Categories and their paths.

use super::{CategoryId, Item, OnSale, ParseIdError, PriceTier};
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
    /// The time in which it, and the category that it is in, are on sale.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_sale: OnSale,
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

impl Tree {
    /// The list without the categories whose sale is over.
    #[must_use]
    pub fn at(&self, now: i64) -> Self {
        let is_shown = |head: &CategoryHead| !head.on_sale.is_over(now);
        let shown = self.0.iter().filter(|node| is_shown(&node.head)).map(|node| TreeNode {
            head: node.head.clone(),
            subcategories: node.subcategories.iter().filter(|head| is_shown(head)).cloned().collect(),
        });
        Self(shown.collect())
    }

    /// The next second after `now` at which the list changes.
    pub fn edge(&self, now: i64) -> Option<i64> {
        let heads = self.0.iter().flat_map(|node| std::iter::once(&node.head).chain(&node.subcategories));
        heads.filter_map(|head| head.on_sale.edge(now)).min()
    }
}

/// A category's full path: `/ranks`, `/ranks/vip`. Segments of `[a-z0-9._-]`, never digits only
/// (rules.md, "Category urls").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Slug(String);

/// A text that is not a category path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a category's url is segments of [a-z0-9._-] joined by slashes, never digits only, at most {} characters",
    Slug::LONGEST
)]
pub struct ParseSlugError;

impl Slug {
    /// The longest path in characters (rules.md, "Category urls").
    pub const LONGEST: usize = 255;

    /// Reads a path with or without leading, trailing and repeated slashes. Fails for any other character, for `.` and
    /// `..`, for digits only and for paths that are too long.
    pub fn parse(text: &str) -> Result<Self, ParseSlugError> {
        if text.chars().count() > Slug::LONGEST {
            return Err(ParseSlugError);
        }
        let mut path = String::with_capacity(text.len() + 1);
        for segment in text.split('/').filter(|segment| !segment.is_empty()) {
            let plain = segment
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte));
            if !plain || segment == "." || segment == ".." {
                return Err(ParseSlugError);
            }
            path.push('/');
            path.push_str(segment);
        }
        // Without its leading slash, a path of the largest length has one character too many.
        if path.len() > Slug::LONGEST || path.bytes().skip(1).all(|byte| byte.is_ascii_digit()) {
            return Err(ParseSlugError);
        }
        Ok(Self(path))
    }
}

parsed!(Slug: ParseSlugError);
texts!(Slug);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CategoryPath {
    Slug(Slug),
    Id(CategoryId),
}

impl CategoryPath {
    /// Reads the path parameter `{url}`, percent-decoded. Fails if no category can have this path; the response is then
    /// 404 without a read.
    pub fn parse(text: &str) -> Result<Self, ParseSlugError> {
        if text.chars().count() > Slug::LONGEST {
            return Err(ParseSlugError);
        }
        let id: Result<CategoryId, ParseIdError> = text.trim_matches('/').parse();
        id.map_or_else(|_| Slug::parse(text).map(Self::Slug), |id| Ok(Self::Id(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_around_and_between_segments_do_not_matter() {
        for text in ["ranks/vip", "/ranks/vip", "//ranks//vip//", "ranks/vip/"] {
            assert_eq!(Slug::parse(text).unwrap().as_str(), "/ranks/vip");
        }
    }

    #[test]
    fn what_cannot_be_a_slug_is_refused() {
        let overlong = "a".repeat(256);
        for text in ["", "/", "Ranks", "a b", "..", "ranks/../vip", "ranks/.", "12", "a%20", "é", "a\0", &overlong] {
            assert_eq!(Slug::parse(text), Err(ParseSlugError), "{text:?}");
        }
    }

    #[test]
    fn the_leading_slash_counts() {
        let (longest, longer) = ("a".repeat(254), "a".repeat(255));
        let slug = Slug::parse(&longest).unwrap();
        assert_eq!(slug.as_str().len(), Slug::LONGEST);
        assert_eq!(Slug::parse(slug.as_str()), Ok(slug));
        assert_eq!(Slug::parse(&longer), Err(ParseSlugError));
        assert!(CategoryPath::parse(&longer).is_err());
    }

    #[test]
    fn digits_alone_are_an_id() {
        assert_eq!(CategoryPath::parse("/12/"), Ok(CategoryPath::Id(CategoryId::new(12))));
        assert_eq!(CategoryPath::parse("12/34").map(|_| ()), Ok(()));
        assert!(CategoryPath::parse("012").is_err());
    }
}
