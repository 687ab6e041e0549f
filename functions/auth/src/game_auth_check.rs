//! POST /game_auth/check/{username}: whether the player has confirmed the login that this address began (rules.md,
//! "Logins in the game"). The storefront asks every five seconds.

use crate::State;
use crate::account;
use crate::game_auth_init::SentName;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathParameter, RoundTrips, WithAddress};
use shared::model::AuthType;
use shared::rules;
use shared::store::{logins, names};
use shared::token::Via;
use shared::usecases::game_login;
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
    type Input = WithAddress<PathParameter<SentName>>;
    type Reply = Json<EndReply>;
    type Refusal = Infallible;

    const NAME: &'static str = "game_auth/check";
    const ROUTES: &'static [&'static str] = &["POST /game_auth/check/{username}"];
    const SUMMARY: &'static str = "returns a token once the player has confirmed the login in the game";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;

    async fn handle(state: &State, (): (), input: Self::Input) -> Result<Self::Reply, Error> {
        Ok(Json::of(&match token(state, input).await? {
            Some(token) => EndReply { status: true, token: Some(token) },
            None => EndReply { status: false, token: None },
        }))
    }
}

async fn token(state: &State, input: WithAddress<PathParameter<SentName>>) -> Result<Option<String>, Error> {
    let WithAddress(PathParameter(Some(SentName(player))), address) = input else { return Ok(None) };
    let base = &state.base;
    let (active, login, found) = tokio::join!(
        base.published.active_version(),
        names::login(&base.db, player.key()),
        logins::of_name(&base.db, player.key()),
    );
    let (active, login, found) = (active?, login?, found?);
    let (hashed, now) = (game_login::hashed(&player, &address), base.clock.seconds());
    if active.config.auth_type != AuthType::Ingame || rules::game_login::end(&found.login, &hashed, now).is_none() {
        return Ok(None);
    }
    // The account is made first: a login that has ended cannot be tried again.
    let row = match account::of(base, &active.config, &player, login).await {
        Ok(row) => row,
        Err(Error::Store(error)) => return Err(Error::Store(error)),
        // Banned, renamed or locked.
        Err(_) => return Ok(None),
    };
    if !game_login::end(&base.db, &player, found, &hashed, now).await? {
        return Ok(None);
    }
    Ok(account::token(base, &row, Via::Game).ok())
}
