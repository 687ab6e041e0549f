//! The account of a player who logs in, and the token for it.

use lambda_http::http::StatusCode;
use shared::base::Base;
use shared::endpoint::{Error, Refusal};
use shared::model::{PlayerName, StoreConfig};
use shared::shop::accounts;
use shared::shop::accounts::names::{self, NameRow};
use shared::table::StoreError;
use shared::token::{LEEWAY, Via};

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
