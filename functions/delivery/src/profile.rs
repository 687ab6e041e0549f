//! GET /plugin/api/{key}/profile/{name}: what a player spent, as far as the list of patrons says so. A plugin that got an error
//! never asks for the name again, so that there is none for an unknown player.

use crate::State;
use crate::support::content;
use crate::support::key::SentKey;
use crate::support::key::ServerKeyText;
use crate::support::path;
use crate::support::reply::{AsciiJson, UnknownKey};
use serde::Serialize;
use shared::endpoint::RequestSchemas;
use shared::endpoint::{Endpoint, Error, Input, InputKind, Received, RoundTrips};
use shared::http::body::BodyFault;
use shared::model::{Money, UserName};
use shared::money::{CurrencyFormat, Decimal};

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
