//! The published parts of a store besides items: settings, pages, staff, the look of the shop, game servers.

use super::{CommandTemplate, ItemId, Money, Rate, ServerId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A link of the header or the footer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Link {
    /// The link's text.
    pub name: String,
    /// The link's URL.
    pub url: String,
}

/// A game server that a buyer may choose for an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Server {
    /// The server's id.
    pub id: ServerId,
    /// The server's name, as buyers see it.
    pub name: String,
}

/// A font of the shop's pages. All are fonts that devices have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Font {
    /// Headings with serifs.
    #[default]
    Serif,
    /// Without serifs.
    Sans,
    /// Rounded, without serifs.
    Round,
}

/// A section of the first page. The last three are beside the content, on the pages of categories as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Announcement,
    Deals,
    Categories,
    Goals,
    Top,
    Recent,
}

/// The large picture with a text at the top of the first page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hero {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The site's name if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The site's description if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<Link>,
}

/// Three colours as red, green and blue, from which all others of a page follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Palette {
    pub accent: [u8; 3],
    pub background: [u8; 3],
    pub text: [u8; 3],
}

/// The owner's settings for the shop's pages. Everything has a default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shop {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub logo: String,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub hero: Hero,
    /// The colours by day; the shop's own if the owner names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light: Option<Palette>,
    /// The colours in the dark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Palette>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub font: Font,
    /// Links of the menu, after the categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The sections that are shown, in order; all of them if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// Whether pages of items show how long commands take.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delivery_times: bool,
    /// The owner's own style sheet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub css: String,
}

impl Shop {
    const SECTIONS: [Section; 6] =
        [Section::Announcement, Section::Deals, Section::Categories, Section::Goals, Section::Top, Section::Recent];

    /// The sections that are shown, in order.
    pub fn sections(&self) -> &[Section] {
        if self.sections.is_empty() { &Self::SECTIONS } else { &self.sections }
    }
}

/// A page's url: its text without leading slashes. `rules` and `/rules` are the same page (rules.md, "Pages").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageUrl(String);

impl From<&str> for PageUrl {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PageUrl {
    /// The longest url in characters (rules.md, "Request bodies").
    pub const LONGEST: usize = 255;

    /// A url that a caller or an owner wrote. Any text is accepted; the page may not exist.
    pub fn new(text: &str) -> Self {
        Self(text.trim().trim_start_matches('/').to_owned())
    }
}

texts!(PageUrl);

/// A custom page (api.md, "POST /pages/get").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The page's id.
    pub id: u64,
    /// The page's title.
    pub title: String,
    /// The page's url, as the owner wrote it.
    pub url: String,
    /// The page's content, ready to show.
    pub content: String,
    /// The same as the shop's own pages show it, closed at its end; `None` if that is the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shop_content: Option<String>,
}

impl Page {
    /// The content as the shop's own pages show it.
    pub fn shown(&self) -> &str {
        self.shop_content.as_deref().unwrap_or(&self.content)
    }
}

/// A member of the staff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StaffMember {
    /// The member's name.
    pub username: String,
    /// The text in front of the name in the game.
    pub prefix: String,
    /// The member's place in the group, lowest first.
    pub sorting: i64,
}

/// The members of each player group, in the order of `sorting`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Staff(pub BTreeMap<String, Vec<StaffMember>>);

/// The owner's settings for patrons. The patrons themselves are live data, see [`super::Donor`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Patronage {
    pub enabled: bool,
    #[serde(default)]
    pub currency_code: String,
    #[serde(default)]
    pub description: String,
    /// All-time sums for which patrons are listed, ascending, in minor units.
    #[serde(default)]
    pub thresholds: Vec<Money>,
}

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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Goal {
    /// Its id, under which it is counted.
    pub id: u64,
    pub name: String,
    pub goal_amount: Money,
    /// The items whose sales count; `None` if all sales do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<BTreeSet<ItemId>>,
    /// The second (since 1970 UTC) from which on orders are made too late to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Whether it is reached again with every further `goal_amount`.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub repeat: bool,
    /// The commands that run each time it is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandTemplate>,
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

    /// The first link of footer and header with an address of which a word begins with this one, such as `terms`.
    pub fn link_about(&self, about: &str) -> Option<&Link> {
        let is_about = |link: &&Link| {
            let address = link.url.to_lowercase();
            address.split(|letter: char| !letter.is_alphanumeric()).any(|word| word.starts_with(about))
        };
        self.footer.iter().chain(&self.header).find(is_about)
    }
}
