//! POST /auth/username: logs a player in by name (api.md, "POST /auth/username").

use crate::State;
use crate::account::{self, LoginRefusal};
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, Json, JsonBody, RoundTrips};
use shared::model::{AuthType, PlayerName};
use shared::store::limiter::RateLimit;
use shared::store::names;
use shared::token::Via;

pub struct Login;

/// The name to log in with.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct Credentials {
    /// The player's name in the game: one of `*`, `_`, `B`, `P`, `.` or nothing, then 3 to 24 ASCII letters, digits or `_`,
    /// then possibly `-` and 1 to 24 of the same. Not digits only.
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
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 5, cold: 5 };
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "login", requests: 20, seconds: 60 });

    async fn handle(
        state: &State,
        (): (),
        JsonBody(credentials): Self::Input,
    ) -> Result<Self::Reply, Error<LoginRefusal>> {
        let player = PlayerName::parse(&credentials.username).map_err(|_| Error::Refused(LoginRefusal::Incorrect))?;
        let base = &state.base;
        let (active, login) = tokio::join!(base.published.active_version(), names::login(&base.db, player.key()));
        let (active, login) = (active?, login?);
        if active.config.auth_type == AuthType::Ingame {
            return Err(Error::Refused(LoginRefusal::InGame));
        }
        let row = account::of(base, &active.config, &player, login).await?;
        Ok(Json::of(&account::token(base, &row, Via::Name)?))
    }
}
