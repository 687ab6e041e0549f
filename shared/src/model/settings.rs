//! The site's settings as they are published (api.md, "GET /settings/get").

use super::{Money, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How buyers log in (rules.md, "Settings").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    /// By user name.
    #[default]
    Username,
    /// In the game.
    Ingame,
}

/// A link of the header or the footer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The link's text.
    pub name: String,
    /// The link's URL.
    pub url: String,
}

/// The game server that the site monitors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Its name.
    pub name: String,
    /// The sum to reach.
    pub goal_amount: Money,
}

/// A currency and its exchange rate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Currency {
    /// Its code.
    pub name: String,
    /// Units of it that one US dollar buys (rules.md, "Settings").
    pub value: Rate,
}

/// A language of the site.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Language {
    /// The language code.
    pub code: String,
    /// The language's name in the language itself.
    pub name: String,
}

/// What the owner announces to every visitor (api.md, "GET /announcement/get").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its id.
    pub id: u64,
    /// Its title.
    pub title: String,
    /// Its content, ready to show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The button below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<Link>,
    /// When it was made, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// When it last changed, seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
}

/// The settings. Those that other functions need too are in [`super::StoreConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// How buyers log in.
    pub auth_type: AuthType,
    /// Header links.
    pub header: Vec<Link>,
    /// Footer links.
    pub footer: Vec<Link>,
    /// The site's name.
    pub website_name: String,
    /// The site's description.
    pub website_description: String,
    /// The monitored game server.
    pub server: GameServer,
    /// Whether a featured deal exists; set when the store is compiled.
    pub is_featured_deal: bool,
    /// Whether client data is collected through a form during checkout.
    pub details: bool,
    /// Active donation goals.
    pub goals: Vec<Goal>,
    /// URL of the chat community.
    pub chat_url: String,
    /// Id of the chat community.
    pub chat_id: String,
    /// Whether profiles are shown.
    pub is_profile_enabled: bool,
    /// Social network to URL.
    pub socials: BTreeMap<String, String>,
    /// Name of the virtual currency.
    pub virtual_currency: String,
    /// The store's currency.
    pub system_currency: Currency,
    /// Currencies a buyer may pay in.
    pub currencies: Vec<Currency>,
    /// Languages of the site.
    pub languages: Vec<Language>,
    /// The language shown first.
    pub system_language: Language,
    /// Whether the patrons list is shown (rules.md, "Settings").
    pub is_patrons_enabled: bool,
    /// What the owner announces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announcement: Option<Announcement>,
}

impl Settings {
    /// The currency codes an order may be in, each once: the store's own, then those a buyer may pay in.
    pub fn order_currencies(&self) -> impl Iterator<Item = &str> {
        let own = self.system_currency.name.as_str();
        let others = self.currencies.iter().map(|currency| currency.name.as_str()).filter(move |name| *name != own);
        std::iter::once(own).chain(others)
    }
}
