//! POST /auth/username: logs a player in by name (api.md, "POST /auth/username").

use crate::State;
use crate::account::{self, LoginRefusal};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, Json, JsonBody, RoundTrips};
use shared::model::{AuthType, PlayerName};
use shared::shop::accounts::names;
use shared::table::limiter::RateLimit;
use shared::token::Via;

pub struct Login;

/// The name to log in with.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct Credentials {
    /// The player's name in the game: one of `*`, `_`, `B`, `P`, `.` or nothing (also `+`, `!` or `-` where it is
    /// `players.bedrock`), then 3 to 24 ASCII letters, digits or `_`, then possibly `-` and 1 to 24 of the same. Not digits
    /// only. After a sign, spaces inside the name are read as `_`.
    #[schemars(extend("pattern" = format!("^{}$", PlayerName::pattern()), "not" = {"pattern": "^[0-9]+$"}))]
    username: String,
}

impl Endpoint for Login {
    type State = State;
    type Caller = ();
    type Input = JsonBody<Credentials>;
    type Reply = Json<String>;
    type Refusal = LoginRefusal;

    const ROUTES: &'static [&'static str] = &["POST /auth/username"];
    const SUMMARY: &'static str = "returns a token for the player with a name";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 5, cold: 6 };
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "login", requests: 20, seconds: 60 });

    async fn handle(
        state: &State,
        (): (),
        JsonBody(credentials): Self::Input,
    ) -> Result<Self::Reply, Error<LoginRefusal>> {
        let incorrect = || Error::Refused(LoginRefusal::Incorrect);
        let written = PlayerName::parse(&credentials.username).map_err(|_| incorrect())?;
        let base = &state.base;
        let active = base.published.active_version().await?;
        let player = written.on_servers(active.config.bedrock).ok_or_else(incorrect)?;
        let login = names::login(&base.db, player.key()).await?;
        if active.config.auth_type == AuthType::Ingame {
            return Err(Error::Refused(LoginRefusal::InGame));
        }
        let row = account::of(base, &active.config, &player, login).await?;
        Ok(Json::of(&account::token(base, &row, Via::Name)?))
    }
}
