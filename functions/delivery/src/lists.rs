//! The game server plugin's calls that only read: version, settings, packages, goals, donators, payments. No command depends on them.

use crate::content::{self, PER_PAGE, PageOf};
use crate::path::{KeyAndAgent, KeyOnly, PollRefusal, SentKey, ServerKeyText, refused_poll};
use crate::reply::{AsciiJson, PlainText, UnknownKey};
use crate::{State, path};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, RequestSchemas, RoundTrips};
use shared::http::body::BodyFault;
use shared::model::{Donations, Money, RecentDonation, UserName};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::shop::delivery;
use std::convert::Infallible;

/// The version of the documented interface.
pub const INTERFACE_VERSION: &str = "3.8.7";

pub struct GetVersion;

impl Endpoint for GetVersion {
    type State = State;
    type Caller = ();
    type Input = ();
    /// The bare text: the plugin does not read JSON here.
    type Reply = PlainText;
    type Refusal = Infallible;

    const NAME: &'static str = "plugin/getVersion";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/getVersion"];
    const SUMMARY: &'static str = "returns the version of the interface";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 0 };

    async fn handle(_: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        Ok(PlainText(INTERFACE_VERSION))
    }
}

pub struct PackagesNew;

/// A category of the shop in the game. There is none.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ShopCategory {}

impl Endpoint for PackagesNew {
    type State = State;
    type Caller = ();
    type Input = KeyOnly;
    type Reply = AsciiJson<Vec<ShopCategory>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/gui/packages_new";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/gui/packages_new"];
    const SUMMARY: &'static str = "lists the categories of the shop in the game: always none";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), KeyOnly(key): KeyOnly) -> Result<Self::Reply, Error<UnknownKey>> {
        content::shown(state, &key, std::future::ready(Ok(()))).await?;
        Ok(AsciiJson::of(&Vec::<ShopCategory>::new()))
    }
}

pub struct SettingsGet;

/// Always without fields.
#[derive(Serialize, schemars::JsonSchema)]
pub struct NoSettings {}

impl Endpoint for SettingsGet {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = AsciiJson<NoSettings>;
    type Refusal = Infallible;

    const NAME: &'static str = "plugin/settings/get";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/settings/get"];
    const SUMMARY: &'static str = "returns an object without fields";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 0 };
    const WHILE_AWAY: Option<&'static str> = Some("{}");

    async fn handle(_: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        Ok(AsciiJson::of(&NoSettings {}))
    }
}

pub struct DonationGoal;

/// A donation goal.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginGoal {
    /// Money: the sum to reach.
    goal_amount: Decimal,
    /// Money: what was given so far, less refunds.
    current_amount: Decimal,
}

impl Endpoint for DonationGoal {
    type State = State;
    type Caller = ();
    type Input = KeyOnly;
    type Reply = AsciiJson<Vec<PluginGoal>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/donation_goal";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/donation_goal"];
    const SUMMARY: &'static str = "lists the donation goals";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some("[]");

    async fn handle(state: &State, (): (), KeyOnly(key): KeyOnly) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, settings, donations) = content::shown(state, &key, content::donations(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let goals = settings.goals.iter().map(|goal| PluginGoal {
            goal_amount: format.money(goal.goal_amount),
            current_amount: format.money(donations.goals.get(&goal.id.to_string()).copied().unwrap_or(Money::ZERO)),
        });
        Ok(AsciiJson::of(&goals.collect::<Vec<_>>()))
    }
}

pub struct TopDonators;

/// A page of the largest patrons.
#[derive(Serialize, schemars::JsonSchema)]
pub struct DonatorsPage {
    /// The patrons, largest first. None if the store does not show them.
    data: Vec<PluginDonator>,
    /// How many entries a page has.
    per_page: usize,
    /// The last page, from 1.
    last_page: usize,
}

/// A patron.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginDonator {
    /// The user's name.
    username: String,
    /// Money: what the user gave, all time, less refunds.
    amount: Decimal,
}

impl Endpoint for TopDonators {
    type State = State;
    type Caller = ();
    type Input = PageOf;
    type Reply = AsciiJson<DonatorsPage>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/top_donators";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/top_donators"];
    const SUMMARY: &'static str = "lists the largest patrons";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"data":[],"per_page":10,"last_page":1}"#);

    async fn handle(state: &State, (): (), input: PageOf) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, patrons) = content::shown(state, &input.key, content::patrons(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let (page, last_page) = input.cut(&patrons.patrons);
        let data = page
            .iter()
            .map(|patron| PluginDonator { username: patron.username.clone(), amount: format.money(patron.amount) });
        Ok(AsciiJson::of(&DonatorsPage { data: data.collect(), per_page: PER_PAGE, last_page }))
    }
}

pub struct TotalPayments;

/// A page of the newest payments.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PaymentsPage {
    /// The payments, newest first.
    data: Vec<PluginPayment>,
    /// How many entries a page has.
    per_page: usize,
    /// The last page, from 1.
    last_page: usize,
}

/// A payment.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginPayment {
    /// The name of the order's owner.
    user: String,
    /// Money: what was charged.
    amount: Decimal,
    /// Always empty.
    package: &'static str,
    /// The time of the order: `YYYY-MM-DD HH:MM:SS` in UTC.
    date: String,
}

impl Endpoint for TotalPayments {
    type State = State;
    type Caller = ();
    type Input = PageOf;
    type Reply = AsciiJson<PaymentsPage>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/getTotalPayments";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/getTotalPayments"];
    const SUMMARY: &'static str = "lists the newest payments";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"data":[],"per_page":10,"last_page":1}"#);

    async fn handle(state: &State, (): (), input: PageOf) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, _, donations) = content::shown(state, &input.key, content::donations(state)).await?;
        let format = CurrencyFormat::new(active.config.digits);
        let shown = donations.recent.iter().filter(|donation| donation.amount > Money::ZERO).take(Donations::RECENT);
        let shown: Vec<&RecentDonation> = shown.collect();
        let (page, last_page) = input.cut(&shown);
        let data = page.iter().map(|donation| PluginPayment {
            user: donation.username.clone(),
            amount: format.money(donation.amount),
            package: "",
            date: money::date_and_time(donation.at),
        });
        Ok(AsciiJson::of(&PaymentsPage { data: data.collect(), per_page: PER_PAGE, last_page }))
    }
}

pub struct Profile;

/// The key, and the name as it was sent.
#[derive(Debug)]
pub struct Named {
    key: SentKey,
    name: String,
}

/// The player's name. Case is ignored.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "for the documentation")]
struct PluginPlayer(String);

impl Input for Named {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let mut parameters = path::parameters(received.request);
        Ok(Self { key: SentKey::of(&parameters), name: parameters.remove("name").unwrap_or_default() })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        let path_parameters =
            vec![generator.subschema_for::<ServerKeyText>(), generator.subschema_for::<PluginPlayer>()];
        RequestSchemas { path_parameters, ..RequestSchemas::default() }
    }
}

/// The amount that a player spent.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PluginProfile<'a> {
    /// The name as it was sent; empty if it cannot be a player's.
    username: &'a str,
    /// Money: what the player gave, all time, less refunds. 0 if the store shows no patrons, or the player is not one of the
    /// 1,000 largest.
    money_spent: Decimal,
}

impl Endpoint for Profile {
    type State = State;
    type Caller = ();
    type Input = Named;
    type Reply = AsciiJson<PluginProfile<'static>>;
    type Refusal = UnknownKey;

    const NAME: &'static str = "plugin/profile";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/{key}/profile/{name}"];
    const SUMMARY: &'static str = "returns what a player spent";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"username":"","money_spent":0}"#);

    async fn handle(state: &State, (): (), Named { key, name }: Named) -> Result<Self::Reply, Error<UnknownKey>> {
        let (active, patrons) = content::shown(state, &key, content::patrons(state)).await?;
        let wanted = UserName::parse(&name).ok();
        let is_wanted = |username: &str| wanted.is_some() && UserName::parse(username).ok() == wanted;
        let patron = patrons.patrons.iter().find(|patron| is_wanted(&patron.username));
        let spent = patron.map_or(Money::ZERO, |patron| patron.amount);
        let money_spent = CurrencyFormat::new(active.config.digits).money(spent);
        let username = if wanted.is_some() { name.as_str() } else { "" };
        Ok(AsciiJson::of(&PluginProfile { username, money_spent }))
    }
}

pub struct PayNow;

/// The service is off, since there is no token for it.
#[derive(Serialize, schemars::JsonSchema)]
pub struct PayNowReply {
    /// Always true.
    status: bool,
}

impl Endpoint for PayNow {
    type State = State;
    type Caller = ();
    type Input = KeyAndAgent;
    type Reply = AsciiJson<PayNowReply>;
    type Refusal = PollRefusal;

    const NAME: &'static str = "plugin/servers/commands/paynow";
    const ROUTES: &'static [&'static str] = &["GET /plugin/api/servers/{key}/commands/paynow"];
    const SUMMARY: &'static str = "gives back what the last poll of a game server that starts was served";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const WHILE_AWAY: Option<&'static str> = Some(r#"{"status":true}"#);

    async fn handle(state: &State, (): (), input: KeyAndAgent) -> Result<Self::Reply, Error<PollRefusal>> {
        let base = &state.base;
        let (key, agent) = input.checked(&base.db).await?;
        base.published.may_write().await?;
        delivery::paynow(&base.db, base.clock.as_ref(), &key, agent.as_ref()).await.map_err(refused_poll)?;
        Ok(AsciiJson::of(&PayNowReply { status: true }))
    }
}
