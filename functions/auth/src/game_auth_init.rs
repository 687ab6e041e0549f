//! POST /game_auth/init/{username}: begins a login that the player confirms in the game (rules.md, "Logins in the game").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, PathParameter, RoundTrips, WithAddress, too_many_attempts};
use shared::model::{AuthType, PlayerName};
use shared::store::limiter::RateLimit;
use shared::store::names;
use shared::usecases::game_login::{self, Beginning};
use std::convert::Infallible;
use std::str::FromStr;

pub struct BeginGameLogin;

/// The player's name in the game, as POST /auth/username takes it.
#[derive(schemars::JsonSchema)]
pub struct SentName(#[schemars(with = "String")] pub PlayerName);

impl FromStr for SentName {
    type Err = shared::model::NotAPlayerName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        PlayerName::parse(text).map(Self)
    }
}

/// The outcome.
#[derive(Serialize, schemars::JsonSchema)]
pub struct BeginReply<'a> {
    /// Whether the player is asked in the game.
    status: bool,
    /// The outcome, as a text for people.
    message: &'a str,
}

impl Endpoint for BeginGameLogin {
    type State = State;
    type Caller = ();
    type Input = WithAddress<PathParameter<SentName>>;
    type Reply = Json<BeginReply<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "game_auth/init";
    const ROUTES: &'static [&'static str] = &["POST /game_auth/init/{username}"];
    const SUMMARY: &'static str = "begins a login that the player confirms in the game";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 6, cold: 6 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "game", requests: 10, seconds: 600 });

    async fn handle(state: &State, (): (), input: Self::Input) -> Result<Self::Reply, Error> {
        let WithAddress(PathParameter(name), address) = input;
        let refused = |message: &str| Ok(Json::of(&BeginReply { status: false, message }));
        let Some(SentName(player)) = name else { return refused("Incorrect username!") };
        let base = &state.base;
        let (active, login) = tokio::join!(base.published.active_version(), names::login(&base.db, player.key()));
        let (active, login) = (active?, login?);
        if active.config.auth_type != AuthType::Ingame {
            return refused("This store logs players in by their names.");
        }
        if login.is_banned {
            return refused("This player is banned from the store.");
        }
        let hashed = game_login::hashed(&player, &address);
        match game_login::begin(&base.db, &player, &hashed, base.clock.seconds()).await? {
            Beginning::Pending => {
                let message = "Please join the game and confirm this login there within 5 minutes.";
                Ok(Json::of(&BeginReply { status: true, message }))
            }
            Beginning::Voided => {
                refused("Another device logs this player in as well, so that neither counts. Please wait 5 minutes.")
            }
            Beginning::Wait { seconds } => refused(&too_many_attempts(u64::try_from(seconds).unwrap_or_default())),
        }
    }
}
