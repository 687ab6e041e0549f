//! The account of a player who logs in, and the token for it.

use crate::username::LoginRefusal;
use shared::base::Base;
use shared::endpoint::Error;
use shared::model::{PlayerName, StoreConfig};
use shared::store::StoreError;
use shared::store::names::{self, NameRow};
use shared::token::{LEEWAY, Via};
use shared::usecases::accounts;

/// How long a token is valid, in seconds: as long as the storefront keeps its cookie.
const TOKEN_SECONDS: i64 = 6 * 3_600;

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
    if row.owner().is_none() {
        return Err(Error::Refused(LoginRefusal::Renamed));
    }
    // Only files can date a revocation ahead: it is meant to refuse tokens until then.
    let now = base.clock.seconds();
    if row.next_issue(now) > now.saturating_add(LEEWAY) {
        return Err(Error::Refused(LoginRefusal::Locked));
    }
    Ok(row)
}

/// A token for the account of a row of [`of`].
pub fn token(base: &Base, row: &NameRow, via: Via) -> Result<String, Error<LoginRefusal>> {
    let issued = row.next_issue(base.clock.seconds());
    let token = base.config.keys.sign_via(row.user, issued, TOKEN_SECONDS, Some(via));
    Ok(token.map_err(|error| StoreError::Internal(error.into()))?)
}
