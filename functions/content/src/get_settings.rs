//! GET /settings/get: the site's configuration with what was donated so far (rules.md, "Settings"). Every key is
//! always there: an empty store answers with empty strings, arrays and objects.

use crate::State;
use jiff::Timestamp;
use serde::Serialize;
use shared::endpoint::{Cache, Endpoint, Error, Json, RoundTrips};
use shared::http::wire::{self, CurrencyFormat, Decimal};
use shared::model::{
    ActiveVersion, AuthType, Currency, Donations, GameServer, Goal, Language, Link, Money, Settings, StoreConfig,
};
use shared::store::{StoreError, keys, statistics};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

/// GET /settings/get.
pub struct GetSettings;

/// The settings record; `is_patrons_enabled` and `guest_mode_enabled` are additions (api.md, "Added fields").
#[derive(Serialize)]
pub struct Reply<'a> {
    auth_type: AuthType,
    header: &'a [Link],
    footer: &'a [Link],
    website_name: &'a str,
    website_description: &'a str,
    server: &'a GameServer,
    #[serde(rename = "is_featuredDeal")]
    is_featured_deal: bool,
    details: bool,
    goals: Vec<GoalBody<'a>>,
    top: TopBody<'a>,
    #[serde(rename = "recentDonators")]
    recent_donators: Vec<DonatorBody<'a>>,
    chat_url: &'a str,
    chat_id: &'a str,
    is_ref: bool,
    is_profile_enabled: bool,
    chat_sync: u8,
    socials: &'a BTreeMap<String, String>,
    is_virtual_currency: bool,
    virtual_currency: &'a str,
    system_currency: CurrencyBody<'a>,
    currencies: Vec<CurrencyBody<'a>>,
    languages: &'a [Language],
    system_language: &'a Language,
    is_patrons_enabled: u8,
    guest_mode_enabled: bool,
}

#[derive(Serialize)]
struct GoalBody<'a> {
    name: &'a str,
    current_amount: Decimal,
    goal_amount: Decimal,
}

#[derive(Serialize)]
struct TopBody<'a> {
    avatar: &'a str,
    username: &'a str,
}

#[derive(Serialize)]
struct DonatorBody<'a> {
    username: &'a str,
    avatar: &'a str,
    amount: Decimal,
    currency: &'a str,
}

#[derive(Serialize)]
struct CurrencyBody<'a> {
    name: &'a str,
    value: Decimal,
}

impl Endpoint for GetSettings {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Reply<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "settings/get";
    const ROUTES: &'static [&'static str] = &["GET /settings/get"];
    const SUMMARY: &'static str = "the site's configuration";
    const NUMBER: Option<u8> = Some(15);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const CACHE: Cache = Cache::Public;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let (active, settings, donations) = read(state).await?;
        let month = month(state.base.clock.seconds());
        let key = (active.version.clone(), Arc::clone(&donations), month.clone());
        let render = || body(&settings, &active.config, &donations, &month);
        Ok(Json::kept(state.settings_reply.get(key, render)))
    }
}

/// The published settings, and what was donated.
pub async fn read(state: &State) -> Result<(Arc<ActiveVersion>, Arc<Settings>, Arc<Donations>), StoreError> {
    let published = state.base.published.at_current(|active| load(state, active));
    let donations = state.donations.get(state.base.clock.millis(), statistics::donations(&state.base.db));
    let (published, donations) = tokio::join!(published, donations);
    let (active, settings) = published?;
    Ok((active, settings, donations?))
}

async fn load(state: &State, active: Arc<ActiveVersion>) -> Result<Arc<Settings>, StoreError> {
    let settings = state.settings.get(&state.base.db, &keys::settings(&active.version)).await?;
    Ok(settings.unwrap_or_default())
}

/// `YYYY-MM` in UTC (rules.md, "Settings").
fn month(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m").to_string()
}

fn body<'a>(settings: &'a Settings, config: &StoreConfig, donations: &'a Donations, month: &str) -> Reply<'a> {
    let wire = CurrencyFormat::new(config.digits);
    let top = donations.top.first().filter(|_| donations.month == month);
    let recent = donations.recent.iter().take(Donations::RECENT);
    Reply {
        auth_type: settings.auth_type,
        header: &settings.header,
        footer: &settings.footer,
        website_name: &settings.website_name,
        website_description: &settings.website_description,
        server: &settings.server,
        is_featured_deal: settings.is_featured_deal,
        details: settings.details,
        goals: settings.goals.iter().map(|goal| goal_body(goal, donations, wire)).collect(),
        top: top.map_or(TopBody { avatar: "", username: "" }, |donor| TopBody {
            avatar: &donor.avatar,
            username: &donor.username,
        }),
        recent_donators: recent
            .map(|donation| DonatorBody {
                username: &donation.username,
                avatar: &donation.avatar,
                amount: wire.money(donation.amount),
                currency: &donation.currency,
            })
            .collect(),
        chat_url: &settings.chat_url,
        chat_id: &settings.chat_id,
        is_ref: config.is_ref,
        is_profile_enabled: settings.is_profile_enabled,
        chat_sync: u8::from(config.chat_sync),
        socials: &settings.socials,
        is_virtual_currency: config.is_virtual_currency,
        virtual_currency: &settings.virtual_currency,
        system_currency: currency_body(&settings.system_currency),
        currencies: settings.currencies.iter().map(currency_body).collect(),
        languages: &settings.languages,
        system_language: &settings.system_language,
        is_patrons_enabled: u8::from(settings.is_patrons_enabled),
        guest_mode_enabled: config.guest_mode_enabled,
    }
}

fn goal_body<'a>(goal: &'a Goal, donations: &Donations, wire: CurrencyFormat) -> GoalBody<'a> {
    let current = donations.goals.get(&goal.id.to_string()).copied().unwrap_or(Money::ZERO);
    GoalBody { name: &goal.name, current_amount: wire.money(current), goal_amount: wire.money(goal.goal_amount) }
}

fn currency_body(currency: &Currency) -> CurrencyBody<'_> {
    CurrencyBody { name: &currency.name, value: wire::rate(currency.value) }
}
