//! Users, and whether a verified token is valid for one (rules.md, "Tokens").

use super::StoreError;
use super::client::{Db, Rows};
use super::keys;
use crate::model::User;
use crate::token::Claim;

/// Takes the user of a token out of the rows; `None` if there is no such user, or if [`User::admits`] refuses the
/// token.
///
/// # Errors
/// [`StoreError::Unreadable`] if the user's item does not decode.
pub fn admit(rows: &mut Rows, claim: Claim) -> Result<Option<User>, StoreError> {
    let key = keys::user(claim.user);
    let user: Option<User> = rows.take(&key).map(|row| row.live(&key)).transpose()?;
    Ok(user.filter(|user| user.admits(claim.issued_at)))
}

/// Reads whether a token is still valid for its user, if nothing else has to be read: a refused body is reported only to
/// a caller whose token was checked first (rules.md, "Order of refusals").
///
/// # Errors
/// [`StoreError`] if the user cannot be read or decoded.
pub async fn is_admitted(db: &Db, claim: Claim) -> Result<bool, StoreError> {
    let mut rows = db.batch_get(vec![keys::user(claim.user)]).await?;
    Ok(admit(&mut rows, claim)?.is_some())
}
