//! Logins in the game (rules.md, "Logins in the game"). POST /game_auth/init/{username} begins a login that the player
//! confirms in the game. POST /game_auth/check/{username}: whether the player has confirmed the login that this caller
//! began; the storefront asks every five seconds.

use crate::{State, account};
use serde::{Deserialize, Deserializer, Serialize};
use shared::endpoint::{
    Endpoint, Error, ErrorBody, Json, PathParameter, RoundTrips, WithAddress, WithBody, shown_wait, too_many_attempts,
};
use shared::http::address::network_of;
use shared::model::{AuthType, LoginSecret, PlayerName};
use shared::rules::game_login::{REMEMBERED, SECONDS};
use shared::shop::accounts::game_login::{self, Beginning, Client};
use shared::shop::accounts::{logins, names};
use shared::table::StoreError;
use shared::table::limiter::{self, RateLimit};
use shared::token::Via;
use shared::{random, telemetry};
use std::convert::Infallible;
use std::str::FromStr;

/// The player's name in the game, as POST /auth/username takes it.
#[derive(schemars::JsonSchema)]
pub struct SentName(#[schemars(with = "String")] pub PlayerName);

impl FromStr for SentName {
    type Err = shared::model::NotAPlayerName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        PlayerName::parse(text).map(Self)
    }
}

/// Who calls. A request without a body is one without the field.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct SecretRequest {
    /// The secret that game_auth/init returned, by which the caller is known at any address; empty or null in a client that keeps
    /// secrets and has none yet. Absent: the caller is known by their address.
    #[serde(default, deserialize_with = "sent")]
    #[schemars(default, with = "Option<String>", regex(pattern = "^([0-9a-f]{32})?$"))]
    secret: Option<Sent>,
}

/// The secret that a client sends which keeps one.
#[derive(Debug)]
enum Sent {
    None,
    Secret(LoginSecret),
}

fn sent<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Sent>, D::Error> {
    let text = Option::<String>::deserialize(field)?.unwrap_or_default();
    if text.is_empty() {
        return Ok(Some(Sent::None));
    }
    LoginSecret::parse(&text).map(Sent::Secret).map(Some).map_err(serde::de::Error::custom)
}

/// What a client is known by.
#[derive(Debug)]
pub enum Known {
    ByAddress,
    BySecret(LoginSecret),
}

impl Known {
    /// What a client is known by that begins a login: one that keeps a secret and has none is given one.
    pub fn beginning(request: SecretRequest) -> Result<Self, Error> {
        Ok(match request.secret {
            None => Self::ByAddress,
            Some(Sent::Secret(secret)) => Self::BySecret(secret),
            Some(Sent::None) => Self::BySecret(LoginSecret::new(random::bits().ok_or_else(StoreError::no_entropy)?)),
        })
    }

    /// What a client is known by that asks about its login; `None` if it keeps a secret and has none: it began nothing.
    pub fn asking(request: SecretRequest) -> Option<Self> {
        match request.secret {
            None => Some(Self::ByAddress),
            Some(Sent::Secret(secret)) => Some(Self::BySecret(secret)),
            Some(Sent::None) => None,
        }
    }

    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::ByAddress => None,
            Self::BySecret(secret) => Some(secret.as_str()),
        }
    }

    /// The client, at an address that is in a network.
    pub fn client(&self, player: &PlayerName, (address, network): (&str, &str)) -> Client {
        match self {
            Self::ByAddress => Client::new(player, None, (address, network)),
            Self::BySecret(secret) => Client::new(player, Some(secret), (address, network)),
        }
    }
}

/// How many logins a network may begin: an address of IPv6 costs nothing, and every login is told to every game server.
const OF_NETWORK: RateLimit = RateLimit { kind: "game", requests: 200, seconds: 600 };

pub struct BeginGameLogin;

/// The outcome.
#[derive(Serialize, schemars::JsonSchema)]
pub struct BeginReply<'a> {
    /// Whether the player is asked in the game.
    status: bool,
    /// The outcome, as a text for people.
    message: &'a str,
    /// The secret by which this client is known from now on, if its request had the field `secret` and the player is asked: 32
    /// digits from 0 to 9 and a to f. The client sends it with game_auth/check and the next game_auth/init, and shows it to no one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{32}$"))]
    secret: Option<&'a str>,
}

impl Endpoint for BeginGameLogin {
    type State = State;
    type Caller = ();
    type Input = WithAddress<WithBody<PathParameter<SentName>, SecretRequest>>;
    type Reply = Json<BeginReply<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "game_auth/init";
    const ROUTES: &'static [&'static str] = &["POST /game_auth/init/{username}"];
    const SUMMARY: &'static str = "begins a login that the player confirms in the game";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 6, cold: 7 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "game", requests: 10, seconds: 600 });

    async fn handle(state: &State, (): (), input: Self::Input) -> Result<Self::Reply, Error> {
        let WithAddress(WithBody(PathParameter(name), request), address) = input;
        let refused = |message: &str| Ok(Json::of(&BeginReply { status: false, message, secret: None }));
        let Some(SentName(written)) = name else { return refused("Incorrect username!") };
        let (base, network) = (&state.base, network_of(&address));
        let active = base.published.active_version().await?;
        let Some(player) = written.on_servers(active.config.bedrock) else { return refused("Incorrect username!") };
        let (login, hit) = tokio::join!(
            names::login(&base.db, player.key()),
            limiter::hit(&base.db, OF_NETWORK, &network, base.clock.millis()),
        );
        let (login, hit) = (login?, hit?);
        if active.config.auth_type != AuthType::Ingame {
            return refused("This store logs players in by their names.");
        }
        if login.is_banned {
            return refused("This player is banned from the store.");
        }
        let now = base.clock.seconds();
        let account = login.name.filter(|row| !row.is_free(now));
        // The player would confirm it for nothing.
        if let Some(why) = account.and_then(|row| account::refusal(&row, now)) {
            return refused(&why.to_string());
        }
        if !hit.allowed {
            telemetry::rate_limited();
            return refused(&too_many_attempts(hit.reset_seconds));
        }
        let known = Known::beginning(request)?;
        let client = known.client(&player, (&address, &network));
        match game_login::begin(&base.db, &player, &client, now).await? {
            Beginning::Pending => {
                let within = shown_wait(SECONDS.unsigned_abs());
                let message = &format!("Please join the game and confirm this login there within {within}.");
                Ok(Json::of(&BeginReply { status: true, message, secret: known.secret() }))
            }
            Beginning::Voided => {
                let wait = shown_wait(REMEMBERED.unsigned_abs());
                refused(&format!(
                    "Another device logs this player in as well, so that neither counts. Please wait {wait}."
                ))
            }
            Beginning::Wait { seconds } => {
                let when = shown_wait(u64::try_from(seconds).unwrap_or_default());
                refused(&format!("Another device has begun to log this player in. Please try again in {when}."))
            }
        }
    }
}

pub struct EndGameLogin;

/// Whether the login is confirmed.
#[derive(Serialize, schemars::JsonSchema)]
pub struct EndReply {
    /// Whether the login is confirmed. True once.
    status: bool,
    /// The token. Absent if `status` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    token: Option<String>,
}

impl Endpoint for EndGameLogin {
    type State = State;
    type Caller = ();
    type Input = WithAddress<WithBody<PathParameter<SentName>, SecretRequest>>;
    type Reply = Json<EndReply>;
    type Refusal = Infallible;

    const NAME: &'static str = "game_auth/check";
    const ROUTES: &'static [&'static str] = &["POST /game_auth/check/{username}"];
    const SUMMARY: &'static str = "returns a token once the player has confirmed the login in the game";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 5 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;

    async fn handle(state: &State, (): (), input: Self::Input) -> Result<Self::Reply, Error> {
        Ok(Json::of(&match token(state, input).await? {
            Some(token) => EndReply { status: true, token: Some(token) },
            None => EndReply { status: false, token: None },
        }))
    }
}

async fn token(
    state: &State,
    input: WithAddress<WithBody<PathParameter<SentName>, SecretRequest>>,
) -> Result<Option<String>, Error> {
    let WithAddress(WithBody(PathParameter(Some(SentName(written))), request), address) = input else {
        return Ok(None);
    };
    let Some(known) = Known::asking(request) else { return Ok(None) };
    let base = &state.base;
    let active = base.published.active_version().await?;
    let Some(player) = written.on_servers(active.config.bedrock) else { return Ok(None) };
    let (login, found) = tokio::join!(names::login(&base.db, player.key()), logins::of_name(&base.db, player.key()));
    let (login, found) = (login?, found?);
    let (client, now) = (known.client(&player, (&address, &network_of(&address))), base.clock.seconds());
    if active.config.auth_type != AuthType::Ingame || !game_login::is_confirmed(&found, &client, now) {
        return Ok(None);
    }
    // The account is made first: a login that has ended cannot be tried again.
    let row = match account::of(base, &active.config, &player, login).await {
        Ok(row) => row,
        Err(Error::Store(error)) => return Err(Error::Store(error)),
        // Banned, renamed or locked.
        Err(_) => return Ok(None),
    };
    if !game_login::end(&base.db, &player, found, &client, now).await? {
        return Ok(None);
    }
    Ok(account::token(base, &row, Via::Game).ok())
}
