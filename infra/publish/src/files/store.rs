//! `store.yaml`: the site and what holds for all of it.

use super::content::{CommandFile, LinkFile, NotifyFile, ShopFile};
use super::{At, Decimal, yes};
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::{AuthType, ChatPlatform, Images, TaxMode, TaxPrices, ThreeDSecure};
use std::collections::BTreeMap;

/// `store.yaml`.
#[expect(clippy::struct_excessive_bools, reason = "every one is a switch that its owner writes")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreFile {
    /// Version of the file format, [`super::FORMAT`].
    pub format: At<u32>,
    /// The site's name.
    pub name: String,
    /// The site's description.
    #[serde(default)]
    pub description: String,
    /// How buyers log in.
    #[serde(default)]
    pub auth_type: AuthType,
    /// Code of the language shown first; the first of `languages` if it is left out.
    #[serde(default)]
    pub language: Option<At<String>>,
    /// Languages of the site.
    #[serde(default)]
    pub languages: Vec<LanguageFile>,
    /// The time zone of times in these files that name none, such as `Europe/Berlin`; UTC if it is left out.
    #[serde(default)]
    pub time_zone: Option<At<String>>,
    /// The store's currency.
    pub currency: CurrencyFile,
    /// Currencies a buyer may pay in; the store's own if they are left out.
    #[serde(default)]
    pub currencies: Vec<RateFile>,
    /// Header links.
    #[serde(default)]
    pub header: Vec<LinkFile>,
    /// Footer links.
    #[serde(default)]
    pub footer: Vec<LinkFile>,
    /// The monitored game server.
    #[serde(default)]
    pub game_server: GameServerFile,
    /// Donation goals.
    #[serde(default)]
    pub goals: Vec<GoalFile>,
    /// Announcement to every visitor.
    #[serde(default)]
    pub announcement: Option<AnnouncementFile>,
    /// Social network to URL.
    #[serde(default)]
    pub socials: BTreeMap<String, String>,
    /// The chat platform.
    #[serde(default)]
    pub chat: ChatFile,
    /// Whether referral codes are accepted.
    #[serde(default)]
    pub referrals: bool,
    /// Whether profiles are shown.
    #[serde(default = "yes")]
    pub profiles: bool,
    /// Whether client data is collected through a form during checkout.
    #[serde(default)]
    pub details_form: bool,
    /// The virtual currency.
    #[serde(default)]
    pub virtual_currency: VirtualCurrencyFile,
    /// Whether pages and categories are shown without a token (rules.md, "Guest mode").
    #[serde(default)]
    pub guest_mode: bool,
    /// Whether the store is closed for maintenance; `storectl maintenance` overrides it.
    #[serde(default)]
    pub maintenance: MaintenanceFile,
    /// Data of every player.
    #[serde(default)]
    pub players: PlayersFile,
    /// The storefront that uses this API.
    #[serde(default)]
    pub storefront: StorefrontFile,
    /// URL below which the pictures are that these files name by a path, such as `https://cdn.example`; responses then have
    /// whole URLs.
    #[serde(default)]
    pub assets_url: At<String>,
    /// How responses name the pictures of items: by `paths` below the API's own host, if that serves pictures, or by whole
    /// `urls`.
    #[serde(default)]
    pub images: Images,
    /// How buyers pay.
    #[serde(default)]
    pub payments: PaymentsFile,
    /// Whether the shop shows reductions from the lowest price of the 30 days before (rules.md, "Prices that were"); otherwise from
    /// the regular price.
    #[serde(default = "yes")]
    pub price_history: bool,
    /// Consequences of a dispute of a payment by the buyer's bank, besides taking the order back.
    #[serde(default)]
    pub on_dispute: OnDisputeFile,
    /// The shop's pages, which a store without this does not have. They are public, whatever `guest_mode` says.
    #[serde(default)]
    pub shop: Option<ShopFile>,
    /// The patrons list.
    #[serde(default)]
    pub patrons: PatronsFile,
    /// The places where the owner is notified of sales and troubles (rules.md, "Notices").
    #[serde(default)]
    pub notify: Vec<NotifyFile>,
    /// Servers that items can be delivered to.
    #[serde(default)]
    pub servers: Vec<ServerFile>,
    /// Commands that run for every line of every order, after those of its item.
    #[serde(default)]
    pub commands: Vec<CommandFile>,
}

impl StoreFile {
    /// Every link of menus and buttons, with the field that it is in.
    pub(crate) fn links(&self) -> impl Iterator<Item = (&'static str, &LinkFile)> {
        let button = self.announcement.as_ref().and_then(|written| written.button.as_ref());
        let (links, hero) = self.shop.as_ref().map(|shop| (shop.links.as_slice(), shop.hero.button.as_slice())).unzip();
        let places = [
            ("header", self.header.as_slice()),
            ("footer", self.footer.as_slice()),
            ("announcement.button", button.map(std::slice::from_ref).unwrap_or_default()),
            ("shop.links", links.unwrap_or_default()),
            ("shop.hero.button", hero.unwrap_or_default()),
        ];
        places.into_iter().flat_map(|(field, links)| links.iter().map(move |link| (field, link)))
    }
}

/// A language of the site.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LanguageFile {
    /// Its code.
    pub code: At<String>,
    /// Its name in itself.
    pub name: String,
}

/// The store's currency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurrencyFile {
    /// Its code.
    pub code: At<String>,
    /// Digits after the point, 0 to 4; 2 if they are left out (rules.md, "Money and rounding").
    #[serde(default)]
    pub digits: Option<At<u8>>,
    /// Units of it that one US dollar buys, up to six digits. The rate in `currencies` if it is left out, or 1 if
    /// there are no other currencies.
    #[serde(default)]
    pub per_usd: Option<Decimal>,
}

/// A currency that a buyer may pay in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateFile {
    /// Its code.
    pub code: At<String>,
    /// Units of it that one US dollar buys, up to six digits.
    pub per_usd: Decimal,
}

/// The monitored game server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GameServerFile {
    /// Host name or address.
    pub ip: String,
    /// TCP port.
    pub port: u16,
}

/// A donation goal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalFile {
    /// Its id, under which it is counted.
    pub id: At<u64>,
    /// Its name.
    pub name: String,
    /// The sum to reach, in major units of the store's currency.
    pub amount: Decimal,
    /// Ids of items whose sales count; all sales count if items and categories are left out.
    #[serde(default)]
    pub items: Vec<At<u64>>,
    /// Ids of categories whose sales count, each with its subcategories.
    #[serde(default)]
    pub categories: Vec<At<u64>>,
    /// When it ends, such as `2027-06-01T00:00`: orders that are made later do not count.
    #[serde(default)]
    pub until: Option<At<String>>,
    /// Whether it is reached again with every further `amount`.
    #[serde(default)]
    pub repeat: bool,
    /// Commands that run each time it is reached.
    #[serde(default)]
    pub commands: Vec<CommandFile>,
}

/// Announcement to every visitor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnouncementFile {
    /// Its id. Another announcement has another id.
    pub id: At<u64>,
    /// Its title.
    pub title: String,
    /// Its text.
    #[serde(default)]
    pub content: String,
    /// The button below it.
    #[serde(default)]
    pub button: Option<LinkFile>,
    /// When it was made, such as `2031-05-01T12:00:00Z`.
    #[serde(default)]
    pub created_at: Option<At<String>>,
    /// When it last changed; `created_at` if it is left out.
    #[serde(default)]
    pub updated_at: Option<At<String>>,
}

/// The chat platform.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatFile {
    /// Whether buyers log in through it (`chat_sync`).
    #[serde(default)]
    pub sync: bool,
    /// URL of the community.
    #[serde(default)]
    pub url: String,
    /// Id of the community.
    #[serde(default)]
    pub id: String,
    /// Which platform it is. With `discord`, the three URLs and the scopes of `client` may be left out; with `other`, Discord's
    /// own names are not served beside the neutral ones.
    #[serde(default)]
    pub platform: Option<ChatPlatform>,
    /// The store's OAuth client there.
    #[serde(default)]
    pub client: ChatClientFile,
}

/// An OAuth client at the chat platform (rules.md, "Chat login"). Nothing here is secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatClientFile {
    /// Client id.
    #[serde(default)]
    pub client_id: String,
    /// Address to which the platform sends the buyer back.
    #[serde(default)]
    pub redirect_url: At<String>,
    /// Scopes to ask for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The platform's authorize endpoint.
    #[serde(default)]
    pub authorize_url: At<String>,
    /// The platform's token endpoint, which exchanges a code for an access token: https, or a loopback address.
    #[serde(default)]
    pub token_url: At<String>,
    /// The platform's user endpoint, which returns the account of an access token: https, or a loopback address.
    #[serde(default)]
    pub user_url: At<String>,
}

/// The virtual currency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VirtualCurrencyFile {
    /// Whether it is used.
    #[serde(default)]
    pub enabled: bool,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// Whether the store is closed for maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceFile {
    /// Whether it is closed.
    #[serde(default)]
    pub enabled: bool,
    /// Text for visitors while the store is closed.
    #[serde(default)]
    pub message: String,
}

/// Data of every player.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayersFile {
    /// URL of a player's picture, in which `{player}` is replaced by the name.
    #[serde(default)]
    pub avatar: At<String>,
    /// The sign before the names of Bedrock players on the game servers, as in Floodgate's `username-prefix`: one of `.`, `*`, `_`,
    /// `+`, `-` and `!`.
    #[serde(default)]
    pub bedrock: Option<At<String>>,
}

/// The storefront that uses this API.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorefrontFile {
    /// Its address, such as `https://shop.example`.
    #[serde(default)]
    pub url: At<String>,
}

/// How buyers pay (rules.md, "Checkout").
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentsFile {
    /// The payment methods that are switched on, in the order in which buyers see them: `Stripe`.
    #[serde(default)]
    pub methods: Vec<At<String>>,
    /// How many minutes an open checkout holds what it sells: 0 if it holds nothing, or 30 to 1,400; 30 if it is left
    /// out.
    #[serde(default)]
    pub hold_minutes: Option<At<u32>>,
    /// The most units of an item with a global limit in one open checkout; 10 if it is left out.
    #[serde(default)]
    pub hold_units: Option<At<u32>>,
    /// Whether methods that confirm a payment days later, or that cannot be refunded, are offered where nothing is limited.
    #[serde(default)]
    pub delayed: bool,
    /// The only ways to pay that are offered, such as `card`, `paypal`, `ideal`; all that the account has if it is left out.
    #[serde(default)]
    pub only: Vec<At<String>>,
    /// Ways to pay that are not offered.
    #[serde(default)]
    pub except: Vec<At<String>>,
    /// Whether buyers abroad pay in their own currency, which Stripe exchanges for a fee of theirs.
    #[serde(default)]
    pub adaptive: bool,
    /// For whom the bank of a card is asked to confirm who pays: `auto`, `new_buyers` or `always`.
    #[serde(default)]
    pub three_d_secure: ThreeDSecure,
    /// Whether Stripe makes an invoice for each payment, also for what is paid once.
    #[serde(default)]
    pub invoices: bool,
    /// The least amount that can be paid, in major units of the store's currency; the provider's own minimum if it is
    /// left out.
    #[serde(default)]
    pub least: Option<Decimal>,
    /// Who works out taxes, and who sells: `none`, `stripe` or `managed`.
    #[serde(default)]
    pub tax: At<TaxMode>,
    /// Whether tax is in the prices or comes on top of them: `inclusive` or `exclusive`; inclusive if it is left out.
    #[serde(default)]
    pub tax_prices: Option<At<TaxPrices>>,
    /// What the items are, for their tax, unless they have a code of their own: a tax code of Stripe, such as `txcd_10201000`.
    #[serde(default)]
    pub tax_code: Option<At<String>>,
    /// Whether what is known of an order is sent as evidence, one day before it is due, if its payment is disputed.
    #[serde(default)]
    pub answer_disputes: bool,
    /// How much new buyers can pay in the 24 hours after their first payment; without a limit if it is left out.
    #[serde(default)]
    pub first_day: Option<FirstDayFile>,
}

/// The limit of new buyers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstDayFile {
    /// The most that they can pay in all, in major units of the store's currency.
    pub most: Decimal,
}

/// Consequences of a dispute of a payment by the buyer's bank (rules.md, "Disputes").
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnDisputeFile {
    /// Whether the buyer is banned.
    #[serde(default)]
    pub ban: bool,
}

/// The patrons list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatronsFile {
    /// Whether it is shown.
    #[serde(default)]
    pub enabled: bool,
    /// Currency of the amounts: the store's, also if it is left out.
    #[serde(default)]
    pub currency_code: At<String>,
    /// Text above the list.
    #[serde(default)]
    pub description: String,
    /// All-time sums for which patrons are listed, ascending, in major units.
    #[serde(default)]
    pub thresholds: Vec<Decimal>,
}

/// A server that items can be delivered to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerFile {
    /// Its id, by which items name it.
    pub id: At<u64>,
    /// Its name, as buyers see it.
    pub name: String,
    /// How its players are known; by their names if that is left out.
    #[serde(default)]
    pub players: ServerPlayersFile,
    /// Whether its console takes spaces between double quotes as part of a word: `kick "{player}"`.
    #[serde(default)]
    pub quotes: bool,
}

/// The `id` of players on a server where nothing says who they are.
pub const NO_ID: &str = "none";

/// How the players of a server are known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerPlayersFile {
    /// If anyone may take a buyer's name: the variable in which buyers give the id that the server's list of players has,
    /// such as `"{var:7}"`, or `none`.
    #[serde(default)]
    pub id: Option<At<String>>,
}
