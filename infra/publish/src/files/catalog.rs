//! `categories/*.yaml`: one top category with its items and subcategories per file.

use super::content::CommandFile;
use super::forms::{self, IntervalFile, LimitFile, OptionFile, RequiresFile};
use super::sale::discount_schema;
use super::{At, Decimal, Source, yes};
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{ItemType, VariableKind};
use std::collections::BTreeMap;

/// A category or subcategory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategoryFile {
    /// Its id, unique among all categories.
    pub id: At<u64>,
    /// Its own segment of the url: `vip` of `/ranks/vip`.
    pub slug: At<String>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
    /// Image URL.
    #[serde(default)]
    pub image: Option<String>,
    /// Order among its siblings, then by id.
    #[serde(default)]
    pub sorting: i64,
    /// Whether it is found at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether it was deleted; kept so that old orders can name its items.
    #[serde(default)]
    pub deleted: bool,
    /// When its sale begins: until then it is shown with that time, and nothing of it can be bought.
    #[serde(default)]
    pub from: Option<At<String>>,
    /// When its sale ends: from then on it is not shown.
    #[serde(default)]
    pub until: Option<At<String>>,
    /// Whether a buyer pays the difference to what they own in it (rules.md, "Cumulative categories").
    #[serde(default)]
    pub cumulative: bool,
    /// Whether a player has one of its own items at a time (rules.md, "Required and excluded items").
    #[serde(default)]
    pub one_of: bool,
    /// Rows of its comparison table.
    #[serde(default)]
    pub comparison: Vec<ComparisonRow>,
    /// The items directly in it.
    #[serde(default)]
    pub items: Vec<ItemFile>,
    /// Its subcategories; a subcategory has none.
    #[serde(default)]
    pub subcategories: Vec<CategoryFile>,
}

impl CategoryFile {
    /// Whether it is enabled and not deleted.
    pub(crate) const fn is_visible(&self) -> bool {
        self.enabled && !self.deleted
    }

    /// This top category and its subcategories that buyers see, each with the path of its fields in the file.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (String, &Self)> {
        let inner = self.subcategories.iter().map(|inner| (format!("subcategories[{}].", *inner.id), inner));
        let all = std::iter::once((String::new(), self)).chain(inner);
        all.filter(|(_, category)| self.is_visible() && category.is_visible())
    }

    /// Every item of these files, those of subcategories included.
    pub(crate) fn items_of(files: &[Source<Self>]) -> impl Iterator<Item = &ItemFile> {
        files.iter().flat_map(|source| {
            let inner = source.content.subcategories.iter().flat_map(|inner| &inner.items);
            source.content.items.iter().chain(inner)
        })
    }
}

/// A row of a comparison table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonRow {
    /// Its id, unique inside the category.
    pub id: At<u64>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// How its cells are to be read: `text` if it is left out.
    #[serde(rename = "type", default = "text")]
    pub kind: String,
    /// Order among the rows, then by id.
    #[serde(default)]
    pub sorting: i64,
}

fn text() -> String {
    "text".to_owned()
}

/// An item.
#[expect(clippy::struct_excessive_bools, reason = "every one is a switch that its owner writes")]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemFile {
    /// Its id, unique among all items.
    pub id: At<u64>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default)]
    pub description: Option<String>,
    /// Image path.
    #[serde(default)]
    pub image: String,
    /// Regular price of one unit in major units. May be left out if the buyer names it (then it is `min_price`)
    /// and if the item is sold only for virtual currency (then it is 0).
    #[serde(default)]
    pub price: Option<Decimal>,
    /// Lower regular prices of one unit, by the count of a line from which they hold: `{10: 0.89, 50: 0.79}`.
    #[serde(default)]
    pub price_from: BTreeMap<u32, Decimal>,
    /// Amount taken off the regular price, in major units, or a percentage such as `20 %`.
    #[serde(default)]
    #[schemars(schema_with = "discount_schema")]
    pub discount: Option<Decimal>,
    /// Whether it is on sale.
    #[serde(default = "yes")]
    pub active: bool,
    /// When its sale begins: until then it is shown with that time, and cannot be bought.
    #[serde(default)]
    pub from: Option<At<String>>,
    /// When its sale ends: from then on lists leave it out, and carts show it as unavailable.
    #[serde(default)]
    pub until: Option<At<String>>,
    /// Whether lists leave it out. Who knows its address or its id can buy it: it is not a secret.
    #[serde(default)]
    pub hidden: bool,
    /// `CMD` (delivered everywhere) or `CMD_SERVER` (delivered to the selected server).
    #[serde(rename = "type", default)]
    pub kind: ItemType,
    /// Whether it is a subscription: `true` if it is paid every month, or how often, such as `{every: 3, unit: month}`.
    #[serde(default, deserialize_with = "forms::deserialize_interval")]
    #[schemars(schema_with = "forms::interval_schema")]
    pub subscription: Option<IntervalFile>,
    /// The time after the end of a paid period during which a subscription stays while its next payment is awaited: at
    /// least `1 day`, and `3 days` if it is left out.
    #[serde(default)]
    pub grace: Option<At<String>>,
    /// Whether the buyer names the price.
    #[serde(default)]
    pub any_price: bool,
    /// The least a buyer may name, in major units.
    #[serde(default)]
    pub min_price: Option<Decimal>,
    /// Units that may be sold in all.
    #[serde(default)]
    pub global_limit: Option<At<u32>>,
    /// Units that one user may buy.
    #[serde(default)]
    pub user_limit: Option<At<u32>>,
    /// Its limits in time and place: one such as `{per_user: 1, every: 7 days}`, or a list of them.
    #[serde(default, deserialize_with = "forms::deserialize_limits")]
    #[schemars(schema_with = "forms::limits_schema")]
    pub limit: Vec<LimitFile>,
    /// Units that one order may have.
    #[serde(default)]
    pub most: Option<At<u32>>,
    /// Ids of items that a player must own to get it: all of a list, or one of `{any: [101, 102]}`.
    #[serde(default, deserialize_with = "forms::deserialize_requires")]
    #[schemars(schema_with = "forms::requires_schema")]
    pub requires: Option<RequiresFile>,
    /// Ids of items of which a player must own none to get it.
    #[serde(default)]
    pub excludes: Vec<At<u64>>,
    /// Ids of the items as which it is sold (rules.md, "Bundles").
    #[serde(default)]
    pub bundle: Vec<At<u64>>,
    /// Items of which the buyer of a bundle chooses some.
    #[serde(default)]
    pub choose: Option<ChooseFile>,
    /// Whether a bundle is sold to who owns a part of it.
    #[serde(default)]
    pub despite_owned: bool,
    /// Whether the buyer selects one of `servers`.
    #[serde(default)]
    pub select_server: bool,
    /// Ids of the servers it is delivered to.
    #[serde(default)]
    pub servers: Vec<At<u64>>,
    /// Whether it can be bought as a gift for another player.
    #[serde(default)]
    pub gifting: bool,
    /// Whether the buyer needs a linked account of the chat platform.
    #[serde(default)]
    pub needs_chat: bool,
    /// Price of one unit in virtual currency.
    #[serde(default)]
    pub virtual_price: Option<Decimal>,
    /// Whether it is sold only for virtual currency.
    #[serde(default)]
    pub virtual_only: bool,
    /// Whether it is a featured deal.
    #[serde(default)]
    pub featured: bool,
    /// Row of the category's comparison table to the item's cell.
    #[serde(default)]
    pub comparison: BTreeMap<u64, At<String>>,
    /// Fields that the buyer fills in.
    #[serde(default)]
    pub variables: Vec<VariableFile>,
    /// The offer made for it inside the cart.
    #[serde(default)]
    pub promotion: Option<PromotionFile>,
    /// Commands that run on game servers.
    #[serde(default)]
    pub commands: Vec<CommandFile>,
    /// The time after which a unit of it expires, such as `30 days`.
    #[serde(default)]
    pub expires_after: Option<At<String>>,
    /// What it is, for its tax: a tax code of Stripe, such as `txcd_10201000`; the store's if it is left out.
    #[serde(default)]
    pub tax_code: Option<At<String>>,
    /// Order inside the category, then by id.
    #[serde(default)]
    pub sorting: i64,
}

impl ItemFile {
    /// Whether the buyer selects a server.
    pub(crate) fn selects_server(&self) -> bool {
        self.select_server || self.kind == ItemType::CmdServer
    }
}

/// Items of which the buyer of a bundle chooses some.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChooseFile {
    /// Ids of the items to choose from.
    pub from: Vec<At<u64>>,
    /// How many of them, all different.
    #[serde(default = "one")]
    pub count: At<u32>,
    /// What is chosen, as buyers see it.
    #[serde(default = "choice")]
    pub name: String,
}

fn one() -> At<u32> {
    1.into()
}

fn choice() -> String {
    "Choice".to_owned()
}

/// Something the buyer fills in or chooses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariableFile {
    /// Its id, unique inside the item.
    pub id: At<u64>,
    /// Its name, as buyers see it.
    pub name: String,
    /// Values to choose from, each alone or with a surcharge: `{value: gold, add: 2.00}`; if they are left out, the buyer enters one.
    #[serde(default)]
    pub options: Option<Vec<OptionFile>>,
    /// Form of the buyer's entry if there are no options: `word`, `text`, `number`, `integer`, `steam_id` or `uuid` (rules.md,
    /// "Variables").
    #[serde(default)]
    pub kind: VariableKind,
    /// The lowest value of an `integer`.
    #[serde(default)]
    pub min: Option<At<i64>>,
    /// The highest value of an `integer`.
    #[serde(default)]
    pub max: Option<At<i64>>,
}

/// An offer made inside the cart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromotionFile {
    /// Price of one unit that is added from the promotion, in major units.
    pub price: Decimal,
    /// Order among all promotions, then by item id.
    #[serde(default)]
    pub sorting: i64,
}
