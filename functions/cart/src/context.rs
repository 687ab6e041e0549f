//! What every cart endpoint reads first: the caller, their cart and what they bought, in one round trip.

use crate::State;
use shared::endpoint::Error;
use shared::model::{ActiveVersion, UserId};
use shared::store::keys::{self, Key};
use shared::store::{Rows, users};
use shared::token::Claim;
use shared::usecases::carts::CartContext;
use std::sync::Arc;

/// The keys of a caller, their cart and their ledger.
pub fn own_keys(user: UserId) -> Vec<Key> {
    [keys::user(user)].into_iter().chain(CartContext::keys(user)).collect()
}

/// Takes the caller, their cart and their ledger from the rows, if the account accepts the token.
pub fn authenticate<R>(claim: Claim, active: Arc<ActiveVersion>, mut rows: Rows) -> Result<CartContext, Error<R>> {
    let user = users::admit(&mut rows, claim)?.ok_or(Error::Unauthorized)?;
    Ok(CartContext::take(user, active, rows)?)
}

/// Reads the caller, their cart, their ledger and the rows of `more` in one call.
pub async fn load<R>(
    state: &State,
    claim: Claim,
    more: impl IntoIterator<Item = Key>,
) -> Result<CartContext, Error<R>> {
    let mut keys = own_keys(claim.user);
    keys.extend(more);
    let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
    authenticate(claim, active?, rows?)
}
