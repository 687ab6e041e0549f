//! POST /auth/username: logs a player in by name (api.md, "POST /auth/username").

use crate::State;
use lambda_http::http::StatusCode;
use serde::Deserialize;
use shared::endpoint::{Endpoint, Error, Json, JsonBody, Refusal, RoundTrips};
use shared::model::{AuthType, PlayerName};
use shared::store::limiter::RateLimit;
use shared::store::{StoreError, names};
use shared::token::{LEEWAY, Via};
use shared::usecases::accounts;

/// How long a token is valid, in seconds: as long as the storefront keeps its cookie.
const TOKEN_SECONDS: i64 = 6 * 3_600;

pub struct Login;

/// Who logs in.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Credentials {
    /// The player's name in the game: one of `*`, `_`, `B`, `P`, `.` or nothing, then 3 to 24 ASCII letters, digits or `_`,
    /// then possibly `-` and 1 to 24 of the same. Not digits only.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = format!("^{}$", PlayerName::pattern()), "not" = {"pattern": "^[0-9]+$"})))]
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

    const NAME: &'static str = "auth/username";
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
        if login.is_banned {
            return Err(Error::Refused(LoginRefusal::Banned));
        }
        let now = base.clock.seconds();
        let row = match login.name.filter(|row| !row.is_free(now)) {
            Some(row) => row,
            None => {
                let now = base.clock.seconds();
                let made = accounts::create(&base.db, &active.config, &player, now).await?;
                made.ok_or(Error::Refused(LoginRefusal::Banned))?
            }
        };
        if row.owner().is_none() {
            return Err(Error::Refused(LoginRefusal::Renamed));
        }
        let now = base.clock.seconds();
        let issued = row.next_issue(now);
        // Only files can date a revocation ahead: it is meant to refuse tokens until then.
        if issued > now.saturating_add(LEEWAY) {
            return Err(Error::Refused(LoginRefusal::Locked));
        }
        let token = base.config.keys.sign_via(row.user, issued, TOKEN_SECONDS, Some(Via::Name));
        let token = token.map_err(|error| StoreError::Refused { operation: "sign", source: Box::new(error) })?;
        Ok(Json::of(&token))
    }
}
