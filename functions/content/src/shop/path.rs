//! The path of a page of the shop.

use shared::model::{CategoryPath, ItemId, PageUrl};
use std::convert::Infallible;
use std::str::FromStr;

/// Pages that scripts fill, because they belong to a visitor: their first segments, which are also their names in the texts.
const SCRIPTS: [&str; 7] = ["login", "cart", "checkout", "account", "subscriptions", "orders", "payment"];

/// The page's path at the shop's own address without the leading slash; `index` for the first page.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(with = "String")]
pub enum ShopPath {
    Home,
    Category(CategoryPath),
    Item(ItemId),
    Page(PageUrl),
    Staff,
    Patrons,
    Script(&'static str),
    /// The style sheet of a version.
    Theme(String),
    Missing,
}

impl FromStr for ShopPath {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        // A page has one address. That of a page of the owner's is as the owner writes it.
        if first != "pages" && (text.ends_with('/') || text.contains("//")) {
            return Ok(Self::Missing);
        }
        // The pages of an order.
        let has_id = matches!(first, "orders" | "payment") && !rest.contains('/');
        let found = match first {
            "index" if rest.is_empty() => Some(Self::Home),
            // Other storefronts have the second, which links in a store's texts may name.
            "category" | "categories" => CategoryPath::parse(rest).ok().map(Self::Category),
            "item" => rest.parse().ok().map(Self::Item),
            "pages" if rest.chars().count() <= PageUrl::LONGEST => Some(Self::Page(PageUrl::new(rest))),
            "staff" if rest.is_empty() => Some(Self::Staff),
            "patrons" if rest.is_empty() => Some(Self::Patrons),
            "theme" => {
                rest.strip_suffix(".css").filter(|version| is_version(version)).map(|v| Self::Theme(v.to_owned()))
            }
            _ if rest.is_empty() || has_id => {
                SCRIPTS.iter().find(|name| **name == first).map(|name| Self::Script(name))
            }
            _ => None,
        };
        Ok(found.unwrap_or(Self::Missing))
    }
}

/// Whether a text has the form of a version's name, see `publish::compile`.
fn is_version(text: &str) -> bool {
    text.len() <= 64 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
