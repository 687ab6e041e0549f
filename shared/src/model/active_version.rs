//! The active version, and the few settings that every function needs.

use super::{
    AuthType, BedrockPrefix, Money, NoticeTarget, ProviderAccount, Sale, SaleId, StoreDelivery, StoreZone, TaxMode,
    TaxPrices,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The settings that a function needs before it reads anything else. They are part of the active version, so that they
/// cost no read of their own and always belong to the same version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreConfig {
    /// Digits of the currency's minor unit (rules.md, "Money and rounding": two by default).
    pub digits: u8,
    /// Whether *no token* means guest on pages/get and categories/get/{url} (rules.md, "Guest mode").
    pub guest_mode_enabled: bool,
    /// Whether referrals are switched on (`is_ref`).
    pub is_ref: bool,
    pub is_virtual_currency: bool,
    /// Whether buyers log in through the chat platform (`chat_sync` = 1).
    pub chat_sync: bool,
    /// Whether patrons are shown. If the field is missing, the published patronage decides.
    #[serde(default = "default_true", skip_serializing_if = "is_true")]
    pub is_patrons_enabled: bool,
    /// The chat platform's client; any part may be missing.
    #[serde(default)]
    pub chat: ChatLogin,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub auth_type: AuthType,
    /// URL of a player's picture, in which `{player}` is the name; empty if there are none.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub player_avatar: String,
    /// The sign before the names of Bedrock players; `None` if the store does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bedrock: Option<BedrockPrefix>,
    /// URL of the storefront, without a slash at the end; empty if the store does not say.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub storefront_url: String,
    /// URL below which the pictures are that the store's files name by a path, without a slash at the end; empty if the
    /// shop or the storefront has them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub assets_url: String,
    /// The shop's address, which serves the API and the store's pictures, without a slash at the end; empty if there is no
    /// shop. The store's files do not name it: publishing to a deployment with a shop does.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub shop_url: String,
    /// How responses name the pictures of items.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub images: Images,
    /// Whether the store is closed for maintenance, unless the active version says otherwise.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub maintenance: Maintenance,
    /// Whether reductions are shown from the lowest price before them, and not from the regular price.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub price_history: bool,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub payments: Payments,
    /// Whether the buyer of a disputed payment is banned.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub ban_on_dispute: bool,
    /// The game servers, and the commands of every sale.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delivery: StoreDelivery,
    /// The sales, by id, also those that are over or still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sales: Vec<Sale>,
    /// The places that the owner is told at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<NoticeTarget>,
    /// The zone of its days, in reports.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub zone: StoreZone,
}

/// For whom the bank of a card is asked to confirm who pays (3-D Secure), beyond what law and bank ask for by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreeDSecure {
    /// For no one.
    #[default]
    Auto,
    /// For buyers of whom nothing that was bought is known: also for every login by name, since names of buyers are public.
    NewBuyers,
    Always,
}

/// How buyers pay (rules.md, "Checkout").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payments {
    /// The payment methods that are switched on, by name, in the order in which buyers see them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Code of the currency that is charged: the store's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub currency: String,
    /// How many minutes an open checkout holds what it sells; 0 if it holds nothing.
    pub hold_minutes: u32,
    /// The most units of an item with a global limit in one open checkout.
    pub hold_units: u32,
    /// Whether methods that confirm a payment days later, or that cannot be refunded, are offered.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub delayed: bool,
    /// The only ways to pay that are offered, by the provider's words; all that are left if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Ways to pay that are not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether buyers abroad pay in their own currency, which the provider exchanges.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub adaptive: bool,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub three_d_secure: ThreeDSecure,
    /// Whether the provider makes an invoice also for what is paid once.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub invoices: bool,
    /// The least amount that can be paid.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub least: Money,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tax: TaxMode,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub tax_prices: TaxPrices,
    /// The tax codes of the store's items, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tax_codes: Vec<String>,
    /// Whether evidence is sent in disputes (rules.md, "Disputes").
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub answer_disputes: bool,
    /// The most that a new buyer can pay in 24 hours; `None` if that is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_day: Option<Money>,
}

impl Default for Payments {
    fn default() -> Self {
        Self {
            methods: Vec::new(),
            currency: String::new(),
            hold_minutes: 30,
            hold_units: 10,
            delayed: false,
            only: Vec::new(),
            except: Vec::new(),
            adaptive: false,
            three_d_secure: ThreeDSecure::Auto,
            invoices: false,
            least: Money::ZERO,
            tax: TaxMode::None,
            tax_prices: TaxPrices::Inclusive,
            tax_codes: Vec::new(),
            answer_disputes: false,
            first_day: None,
        }
    }
}

/// Whether the store is closed for maintenance, and what its visitors read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Maintenance {
    pub enabled: bool,
    /// The text for visitors; one of ours if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl StoreConfig {
    pub fn sale(&self, id: SaleId) -> Option<&Sale> {
        self.sales.iter().find(|sale| sale.id == id)
    }

    /// The URL of a player's picture; empty if there are none.
    pub fn avatar_of(&self, player: &str) -> String {
        // A `+` in a URL's query is a space.
        self.player_avatar.replace("{player}", &player.replace('+', "%2B"))
    }

    /// The address of a picture on the shop's own pages: a path, unless the store has an `assets_url`. Stored pictures keep
    /// their path, so that every address can change.
    pub fn picture<'a>(&self, image: &'a str) -> Cow<'a, str> {
        below(&self.assets_url, image)
    }

    /// The whole URL of a picture, in responses. Without `assets_url` and shop, the storefront has the pictures; a path stays
    /// one if the store does not say where that is.
    pub fn picture_url<'a>(&self, image: &'a str) -> Cow<'a, str> {
        let hosts = [&self.assets_url, &self.shop_url, &self.storefront_url];
        below(hosts.into_iter().find(|url| !url.is_empty()).map_or("", String::as_str), image)
    }

    /// The picture of an item, in responses: a path, to which clients add the API's host, if that host is the shop's; else the
    /// whole URL (rules.md, "Pictures").
    pub fn item_picture<'a>(&self, image: &'a str) -> Cow<'a, str> {
        if self.shop_url.is_empty() || self.images == Images::Urls {
            self.picture_url(image)
        } else {
            self.picture(image)
        }
    }
}

/// How responses name the pictures of items (rules.md, "Pictures").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Images {
    /// By a path below the API's own host, if that host serves pictures.
    #[default]
    Paths,
    /// By whole URLs.
    Urls,
}

/// A path below a URL; anything else unchanged.
fn below<'a>(url: &str, image: &'a str) -> Cow<'a, str> {
    let is_path = !image.is_empty() && !image.starts_with("//") && !has_scheme(image);
    if !is_path || url.is_empty() && image.starts_with('/') {
        return Cow::Borrowed(image);
    }
    Cow::Owned(format!("{url}/{}", image.trim_start_matches('/')))
}

/// Whether a URL is absolute: a scheme begins with a letter and ends at the first colon.
fn has_scheme(url: &str) -> bool {
    let Some((scheme, _)) = url.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

const fn default_true() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_true(flag: &bool) -> bool {
    *flag
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            digits: 2,
            guest_mode_enabled: false,
            is_ref: false,
            is_virtual_currency: false,
            chat_sync: false,
            is_patrons_enabled: false,
            chat: ChatLogin::default(),
            auth_type: AuthType::default(),
            player_avatar: String::new(),
            bedrock: None,
            storefront_url: String::new(),
            assets_url: String::new(),
            shop_url: String::new(),
            images: Images::default(),
            maintenance: Maintenance::default(),
            price_history: false,
            payments: Payments::default(),
            ban_on_dispute: false,
            delivery: StoreDelivery::default(),
            sales: Vec::new(),
            notify: Vec::new(),
            zone: StoreZone::default(),
        }
    }
}

/// An OAuth client at the chat platform (rules.md, "Chat login"). Nothing here is secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChatLogin {
    /// The platform, if the store names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<ChatPlatform>,
    #[serde(default)]
    pub client_id: String,
    /// The URL that the platform sends the buyer back to.
    #[serde(default)]
    pub redirect_url: String,
    #[serde(default)]
    pub scopes: Vec<String>,
    #[serde(default)]
    pub authorize_url: String,
    /// The platform's token endpoint, which exchanges a code for an access token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token_url: String,
    /// The platform's user endpoint, which returns the account of an access token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_url: String,
}

impl ChatLogin {
    /// Whether every part is set that a login needs to begin.
    pub fn is_complete(&self) -> bool {
        !(self.client_id.is_empty()
            || self.redirect_url.is_empty()
            || self.scopes.is_empty()
            || self.authorize_url.is_empty())
    }

    /// Whether Discord's own names are served beside the neutral ones: unless the store names another platform.
    pub fn has_discord_names(&self) -> bool {
        self.platform != Some(ChatPlatform::Other)
    }
}

/// A chat platform (rules.md, "Chat login").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatPlatform {
    Discord,
    /// Any other that speaks OAuth 2.0.
    Other,
}

/// The number of the format in which this code stores data. Every change of what is stored raises it, and gets a step
/// in `storectl upgrade` (CONTRIBUTING.md, "Change what is stored").
pub const SCHEMA: u32 = 4;

/// The number of data from before there were numbers.
const fn unnumbered() -> u32 {
    1
}

/// Which version of the store is published (rules.md, "Publishing"), and the format of the data in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveVersion {
    /// Hash of the compiled store; empty if nothing was published yet.
    pub version: String,
    pub config: StoreConfig,
    /// Whether the store is closed for maintenance; overrides the published store unless `None`.
    /// `storectl maintenance` sets it, and a publish keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<bool>,
    /// The provider's account that the store is leaving: no checkout begins in it any more. `storectl payments connect` sets it
    /// with the keys of another one, and a publish keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaving: Option<ProviderAccount>,
    /// The key of the hashes of banned cards, once a card was banned. A publish keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_salt: Option<String>,
    /// The format of the data in the table, see [`SCHEMA`]. The first publish sets it, `storectl upgrade` raises it.
    #[serde(default = "unnumbered")]
    pub schema: u32,
}

impl Default for ActiveVersion {
    /// That of an empty table, in which nothing has to be upgraded.
    fn default() -> Self {
        Self {
            version: String::new(),
            config: StoreConfig::default(),
            maintenance: None,
            leaving: None,
            card_salt: None,
            schema: SCHEMA,
        }
    }
}

impl ActiveVersion {
    /// Whether this code works on the data in the table. Data of a later format have all that it needs: what is stored
    /// only ever grows.
    pub const fn is_current(&self) -> bool {
        self.schema >= SCHEMA
    }

    /// The text for visitors while the store is closed for maintenance; `None` while it is open.
    pub fn closed(&self) -> Option<&str> {
        let maintenance = &self.config.maintenance;
        let message = Some(maintenance.message.as_str()).filter(|message| !message.is_empty());
        self.maintenance
            .unwrap_or(maintenance.enabled)
            .then(|| message.unwrap_or("The store is closed for maintenance. Please come back a little later."))
    }

    pub fn is_empty(&self) -> bool {
        self.version.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_items_picture_is_a_path_only_at_an_api_that_serves_it() {
        let at = |assets: &str, shop: &str, storefront: &str, images| StoreConfig {
            assets_url: assets.to_owned(),
            shop_url: shop.to_owned(),
            storefront_url: storefront.to_owned(),
            images,
            ..StoreConfig::default()
        };
        let (cdn, shop, site) = ("https://cdn.example", "https://shop.example", "https://site.example");
        for (config, of_item, url) in [
            (at("", shop, site, Images::Paths), "/img/a.svg", "https://shop.example/img/a.svg"),
            (at("", shop, site, Images::Urls), "https://shop.example/img/a.svg", "https://shop.example/img/a.svg"),
            (at(cdn, shop, site, Images::Paths), "https://cdn.example/img/a.svg", "https://cdn.example/img/a.svg"),
            (at("", "", site, Images::Paths), "https://site.example/img/a.svg", "https://site.example/img/a.svg"),
            (at("", "", "", Images::Paths), "/img/a.svg", "/img/a.svg"),
        ] {
            for path in ["/img/a.svg", "img/a.svg"] {
                assert_eq!(config.item_picture(path), of_item);
                assert_eq!(config.picture_url(path), url);
            }
            assert_eq!(config.item_picture("https://img.example/a.png"), "https://img.example/a.png");
            assert_eq!(config.item_picture(""), "");
        }
    }

    #[test]
    fn only_a_path_is_resolved_against_the_assets_url() {
        let mut config = StoreConfig::default();
        assert_eq!(config.picture("/img/a.svg"), "/img/a.svg");
        config.assets_url = "https://cdn.example/shop".to_owned();
        for (image, url) in [
            ("/img/a.svg", "https://cdn.example/shop/img/a.svg"),
            ("img/a:b.svg", "https://cdn.example/shop/img/a:b.svg"),
            ("https://img.example/a.png", "https://img.example/a.png"),
            ("data:image/png;base64,AA", "data:image/png;base64,AA"),
            ("//img.example/a.png", "//img.example/a.png"),
            ("", ""),
        ] {
            assert_eq!(config.picture(image), url);
        }
    }
}
