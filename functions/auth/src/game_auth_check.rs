//! POST /game_auth/check/{username}: whether the player has confirmed the login that this caller began (rules.md,
//! "Logins in the game"). The storefront asks every five seconds.

use crate::State;
use crate::account;
use crate::game_login::{Known, SecretRequest, SentName};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathParameter, RoundTrips, WithAddress, WithBody};
use shared::http::address::network_of;
use shared::model::AuthType;
use shared::shop::accounts::{game_login, logins, names};
use shared::token::Via;
use std::convert::Infallible;

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
