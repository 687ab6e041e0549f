//! GET /settings/get: the site's configuration and its donations so far (rules.md, "Settings"). Every field is always
//! present: an empty store has empty strings, arrays and objects.

use crate::State;
use serde::Serialize;
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::model::{
    ActiveVersion, AuthType, Currency, Donations, GameServer, Goal, Language, Link, Money, Settings, StoreConfig,
};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::shop::statistics;
use shared::table::{StoreError, keys};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

pub struct GetSettings;

/// The settings record; `is_patrons_enabled`, `guest_mode_enabled` and the three of Discord's names are additions (api.md,
/// "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
pub struct SettingsReply<'a> {
    /// How buyers log in.
    auth_type: AuthType,
    /// The links of the header.
    header: &'a [Link],
    /// The links of the footer.
    footer: &'a [Link],
    /// The site's name.
    website_name: &'a str,
    /// The site's description.
    website_description: &'a str,
    /// The game server to monitor.
    server: &'a GameServer,
    /// Whether there is a featured deal.
    #[serde(rename = "is_featuredDeal")]
    is_featured_deal: bool,
    /// Whether the checkout asks for the buyer's details.
    details: bool,
    /// The donation goals.
    goals: Vec<GoalBody<'a>>,
    /// The current month's largest donator (UTC). Its fields are empty if there is none.
    top: TopBody<'a>,
    /// The last 10 paid orders with an owner and an amount above zero, newest first.
    #[serde(rename = "recentDonators")]
    recent_donators: Vec<DonatorBody<'a>>,
    /// The URL of the chat community.
    chat_url: &'a str,
    /// The id of the chat community.
    chat_id: &'a str,
    /// Whether referral codes are on.
    is_ref: bool,
    /// Whether profiles are shown.
    is_profile_enabled: bool,
    /// 1 if buyers log in through the chat platform, otherwise 0.
    #[schemars(range(max = 1))]
    chat_sync: u8,
    /// The name of each social network, with the URL there.
    socials: &'a BTreeMap<String, String>,
    /// Whether the store uses virtual currency.
    is_virtual_currency: bool,
    /// The name of the virtual currency.
    virtual_currency: &'a str,
    /// The store's currency.
    system_currency: CurrencyBody<'a>,
    /// The currencies that a buyer may pay in.
    currencies: Vec<CurrencyBody<'a>>,
    /// The site's languages.
    languages: &'a [Language],
    /// The language that is shown first.
    system_language: &'a Language,
    /// 1 if the patrons list is shown, otherwise 0.
    #[schemars(range(max = 1))]
    #[schemars(extend("x-beyond-contract" = true))]
    is_patrons_enabled: u8,
    /// Whether [guest mode](rules.md#guest-mode) is on.
    #[schemars(extend("x-beyond-contract" = true))]
    guest_mode_enabled: bool,
    /// Discord's names of the chat's fields; left out if the store names another platform.
    #[serde(flatten)]
    discord: Option<DiscordNames<'a>>,
}

/// The chat's fields by Discord's own names, which storefronts written for it read.
#[derive(Serialize, schemars::JsonSchema)]
struct DiscordNames<'a> {
    /// As `chat_url`.
    #[schemars(extend("x-beyond-contract" = true))]
    #[serde(rename = "discord_url")]
    url: &'a str,
    /// As `chat_id`.
    #[schemars(extend("x-beyond-contract" = true))]
    #[serde(rename = "discord_id")]
    id: &'a str,
    /// As `chat_sync`.
    #[schemars(range(max = 1))]
    #[schemars(extend("x-beyond-contract" = true))]
    #[serde(rename = "discord_sync")]
    sync: u8,
}

/// A donation goal.
#[derive(Serialize, schemars::JsonSchema)]
struct GoalBody<'a> {
    /// The goal's name.
    name: &'a str,
    /// Money: what was given so far, less refunds.
    current_amount: Decimal,
    /// Money: the sum to reach.
    goal_amount: Decimal,
}

/// The current month's largest donator.
#[derive(Serialize, schemars::JsonSchema)]
struct TopBody<'a> {
    /// The URL of the user's image.
    avatar: Cow<'a, str>,
    /// The user's name.
    username: &'a str,
}

/// A recent order.
#[derive(Serialize, schemars::JsonSchema)]
struct DonatorBody<'a> {
    /// The name of the order's owner.
    username: &'a str,
    /// The URL of the user's image.
    avatar: Cow<'a, str>,
    /// Money: what was charged, in `currency`.
    amount: Decimal,
    /// The currency code.
    currency: &'a str,
}

/// A currency.
#[derive(Serialize, schemars::JsonSchema)]
struct CurrencyBody<'a> {
    /// The currency code.
    name: &'a str,
    /// Exchange rate: units of the currency that one US dollar buys.
    value: Decimal,
}

impl Endpoint for GetSettings {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<SettingsReply<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /settings/get"];
    const SUMMARY: &'static str = "returns the site's configuration";
    const NUMBER: Option<u8> = Some(15);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, settings, donations) = read(state).await?;
        let month = Donations::month_of(state.base.clock.seconds());
        let key = (active.version.clone(), Arc::clone(&donations), month.clone());
        let render = || body(&settings, &active.config, &donations, &month);
        Ok(Json::kept(state.settings_reply.get(key, render)))
    }
}

pub async fn read(state: &State) -> Result<(Arc<ActiveVersion>, Arc<Settings>, Arc<Donations>), StoreError> {
    let published = state.base.published.at_current(|active| load(state, active));
    let (published, donations) = tokio::join!(published, donations(state));
    let (active, settings) = published?;
    Ok((active, settings, donations?))
}

pub async fn donations(state: &State) -> Result<Arc<Donations>, StoreError> {
    state.donations.get(state.base.clock.millis(), statistics::donations(&state.base.db)).await
}

pub async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<Arc<Settings>, StoreError> {
    let settings = state.base.published.get(&keys::settings(&active.version)).await?;
    Ok(settings.unwrap_or_default())
}

fn body<'a>(settings: &'a Settings, config: &StoreConfig, donations: &'a Donations, month: &str) -> SettingsReply<'a> {
    let format = CurrencyFormat::new(config.digits);
    let top = donations.top.first().filter(|_| donations.month == month);
    // Until the next paid order the list may have orders from before those that cost nothing were left out.
    let recent = donations.recent.iter().filter(|donation| donation.amount > Money::ZERO).take(Donations::RECENT);
    let chat_sync = u8::from(config.chat_sync);
    let discord = config.chat.has_discord_names().then_some(DiscordNames {
        url: &settings.chat_url,
        id: &settings.chat_id,
        sync: chat_sync,
    });
    SettingsReply {
        auth_type: settings.auth_type,
        header: &settings.header,
        footer: &settings.footer,
        website_name: &settings.website_name,
        website_description: &settings.website_description,
        server: &settings.server,
        is_featured_deal: settings.is_featured_deal,
        details: settings.details,
        goals: settings.goals.iter().map(|goal| goal_body(goal, donations, format)).collect(),
        top: top.map_or(TopBody { avatar: Cow::Borrowed(""), username: "" }, |donor| TopBody {
            avatar: config.picture_url(&donor.avatar),
            username: &donor.username,
        }),
        recent_donators: recent
            .map(|donation| DonatorBody {
                username: &donation.username,
                avatar: config.picture_url(&donation.avatar),
                amount: format.money(donation.amount),
                currency: &donation.currency,
            })
            .collect(),
        chat_url: &settings.chat_url,
        chat_id: &settings.chat_id,
        is_ref: config.is_ref,
        is_profile_enabled: settings.is_profile_enabled,
        chat_sync,
        socials: &settings.socials,
        is_virtual_currency: config.is_virtual_currency,
        virtual_currency: &settings.virtual_currency,
        system_currency: currency_body(&settings.system_currency),
        currencies: settings.currencies.iter().map(currency_body).collect(),
        languages: &settings.languages,
        system_language: &settings.system_language,
        is_patrons_enabled: u8::from(settings.is_patrons_enabled),
        guest_mode_enabled: config.guest_mode_enabled,
        discord,
    }
}

fn goal_body<'a>(goal: &'a Goal, donations: &Donations, format: CurrencyFormat) -> GoalBody<'a> {
    let current = donations.goals.get(&goal.id.to_string()).copied().unwrap_or(Money::ZERO);
    GoalBody { name: &goal.name, current_amount: format.money(current), goal_amount: format.money(goal.goal_amount) }
}

fn currency_body(currency: &Currency) -> CurrencyBody<'_> {
    CurrencyBody { name: &currency.name, value: money::rate(currency.value) }
}
