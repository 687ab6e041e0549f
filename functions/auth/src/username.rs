//! POST /auth/username: logs a player in by name (api.md, "POST /auth/username").

use crate::State;
use crate::account;
use lambda_http::http::StatusCode;
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, Json, JsonBody, Refusal, RoundTrips};
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

/// The reason why a player is not logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginRefusal {
    #[error("Incorrect username!")]
    Incorrect,
    #[error("This player is banned from the store.")]
    Banned,
    #[error("This store logs players in from within the game.")]
    InGame,
    #[error("The store's owner has locked this account.")]
    Locked,
    #[error("This name was changed. Please log in with the new one.")]
    Renamed,
}

impl Refusal for LoginRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::Incorrect => StatusCode::BAD_REQUEST,
            Self::Banned | Self::InGame | Self::Locked | Self::Renamed => StatusCode::FORBIDDEN,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            ("`username` is not a player's name", Self::Incorrect),
            ("The name is banned", Self::Banned),
            ("The store logs players in from within the game (`auth_type` is `ingame`)", Self::InGame),
            ("The tokens of the account are refused until a later time", Self::Locked),
            ("The account with this name got another one in the last 30 days", Self::Renamed),
        ]
    }
}

impl Endpoint for Login {
    type State = State;
    type Caller = ();
    type Input = JsonBody<Credentials>;
    type Reply = Json<String>;
    type Refusal = LoginRefusal;

    const ROUTES: &'static [&'static str] = &["POST /auth/username"];
    const SUMMARY: &'static str =
        "returns a token for the player with a name, at most 20 attempts a minute per address";
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
