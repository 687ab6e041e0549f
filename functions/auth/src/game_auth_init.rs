//! POST /game_auth/init/{username}: begins a login that the player confirms in the game (rules.md, "Logins in the game").

use crate::State;
use crate::account;
use crate::game_login::{Known, SecretRequest, SentName};
use serde::Serialize;
use shared::endpoint::{
    Endpoint, Error, ErrorBody, Json, PathParameter, RoundTrips, WithAddress, WithBody, shown_wait, too_many_attempts,
};
use shared::http::address::network_of;
use shared::model::AuthType;
use shared::rules::game_login::{REMEMBERED, SECONDS};
use shared::shop::accounts::game_login::{self, Beginning};
use shared::shop::accounts::names;
use shared::table::limiter::{self, RateLimit};
use shared::telemetry;
use std::convert::Infallible;

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
    /// digits from 0 to 9 and a to f. The client sends it with game_auth/check and the next game_auth/init, and shows it to nobody.
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
