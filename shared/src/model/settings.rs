//! The site's settings as they are published (api.md, "GET /settings/get").

use super::{Link, Money, Rate, Shop};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How buyers log in (rules.md, "Settings").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    /// By user name.
    #[default]
    Username,
    /// In the game.
    Ingame,
}

/// The game server that the site monitors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GameServer {
    /// The host name or address.
    pub ip: String,
    /// The TCP port.
    pub port: u16,
}

/// A donation goal. The sum given so far is live data, see [`super::Donations`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// Its id, under which it is counted.
    pub id: u64,
    pub name: String,
    pub goal_amount: Money,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Currency {
    pub name: String,
    /// Units of it that one US dollar buys (rules.md, "Settings").
    pub value: Rate,
}

/// A language of the site.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Language {
    /// The language code.
    pub code: String,
    /// The language's name in the language itself.
    pub name: String,
}

/// The owner's announcement to every visitor (api.md, "GET /announcement/get").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    pub id: u64,
    pub title: String,
    /// Its content, ready to show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The same as the shop's own pages show it, closed at its end; `None` if that is the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shop_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<Link>,
    /// When it was made, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// When it last changed, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

impl Announcement {
    /// The content as the shop's own pages show it.
    pub fn shown(&self) -> &str {
        self.shop_content.as_deref().unwrap_or(&self.content)
    }
}

/// The settings. Those that other functions need too are in [`super::StoreConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub auth_type: AuthType,
    pub header: Vec<Link>,
    pub footer: Vec<Link>,
    pub website_name: String,
    pub website_description: String,
    pub server: GameServer,
    /// Whether a featured deal exists; set when the store is compiled.
    pub is_featured_deal: bool,
    /// Whether client data is collected through a form during checkout.
    pub details: bool,
    pub goals: Vec<Goal>,
    pub chat_url: String,
    pub chat_id: String,
    pub is_profile_enabled: bool,
    pub socials: BTreeMap<String, String>,
    pub virtual_currency: String,
    pub system_currency: Currency,
    /// Currencies a buyer may pay in.
    pub currencies: Vec<Currency>,
    pub languages: Vec<Language>,
    /// The language shown first.
    pub system_language: Language,
    /// Whether the patrons list is shown (rules.md, "Settings").
    pub is_patrons_enabled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announcement: Option<Announcement>,
    /// The shop's pages, if the store has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shop: Option<Shop>,
}

impl Settings {
    /// The currency codes an order may be in, each once: the store's own, then those a buyer may pay in.
    pub fn order_currencies(&self) -> impl Iterator<Item = &str> {
        let own = self.system_currency.name.as_str();
        let others = self.currencies.iter().map(|currency| currency.name.as_str()).filter(move |name| *name != own);
        std::iter::once(own).chain(others)
    }
}
