//! The account of a player who logs in, and the token for it. POST /auth/username: logs a player in by name (api.md,
//! "POST /auth/username").

use crate::State;
use lambda_http::http::StatusCode;
use serde::Deserialize;
use shared::base::Base;
use shared::endpoint::{Endpoint, Error, Json, JsonBody, Refusal, RoundTrips};
use shared::model::{AuthType, PlayerName, StoreConfig};
use shared::shop::accounts;
use shared::shop::accounts::names::{self, NameRow};
use shared::table::StoreError;
use shared::table::limiter::RateLimit;
use shared::token::{LEEWAY, Via};

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
        let row = of(base, &active.config, &player, login).await?;
        Ok(Json::of(&token(base, &row, Via::Name)?))
    }
}

/// How long a token is valid, in seconds: as long as the storefront keeps its cookie.
const TOKEN_SECONDS: i64 = 6 * 3_600;

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

/// The index row of a player's name, with an account, which is made at the first login.
pub async fn of(
    base: &Base,
    config: &StoreConfig,
    player: &PlayerName,
    login: names::Login,
) -> Result<NameRow, Error<LoginRefusal>> {
    if login.is_banned {
        return Err(Error::Refused(LoginRefusal::Banned));
    }
    let now = base.clock.seconds();
    let row = match login.name.filter(|row| !row.is_free(now)) {
        Some(row) => row,
        None => {
            let made = accounts::create(&base.db, config, player, now).await?;
            made.ok_or(Error::Refused(LoginRefusal::Banned))?
        }
    };
    refusal(&row, base.clock.seconds()).map_or(Ok(row), |why| Err(Error::Refused(why)))
}

/// The reason why the account that has a name cannot be logged in to at `now`, in seconds since 1970 UTC.
pub fn refusal(row: &NameRow, now: i64) -> Option<LoginRefusal> {
    if row.owner().is_none() {
        return Some(LoginRefusal::Renamed);
    }
    // Only files can date a revocation ahead: it is meant to refuse tokens until then.
    (row.next_issue(now) > now.saturating_add(LEEWAY)).then_some(LoginRefusal::Locked)
}

/// A token for the account of a row of [`of`].
pub fn token(base: &Base, row: &NameRow, via: Via) -> Result<String, Error<LoginRefusal>> {
    let issued = row.next_issue(base.clock.seconds());
    let token = base.config.keys.sign_via(row.user, issued, TOKEN_SECONDS, Some(via));
    Ok(token.map_err(|error| StoreError::Internal(error.into()))?)
}
