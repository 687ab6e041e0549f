//! The first read of every cart endpoint: the caller, their cart and what they bought, in one round trip.

use crate::State;
use shared::model::{ActiveVersion, UserId};
use shared::shop::accounts::users;
use shared::shop::carts::CartContext;
use shared::table::keys::{self, Key};
use shared::table::{Rows, StoreError};
use shared::token::Claim;
use std::sync::Arc;

/// The keys of a caller, their cart and their ledger.
pub fn own_keys(user: UserId) -> Vec<Key> {
    [keys::user(user)].into_iter().chain(CartContext::keys(user)).collect()
}

/// Takes the caller, their cart and their ledger from the rows; `None` if the account does not accept the token.
pub fn authenticate(
    claim: Claim,
    active: Arc<ActiveVersion>,
    mut rows: Rows,
) -> Result<Option<CartContext>, StoreError> {
    let user = users::admit(&mut rows, claim)?;
    user.map(|user| CartContext::take(user, active, rows)).transpose()
}

/// Reads the caller, their cart, their ledger and the rows of `more` in one call; `None` if the account does not accept
/// the token.
pub async fn load(state: &State, claim: Claim, more: &[Key]) -> Result<Option<CartContext>, StoreError> {
    let mut keys = own_keys(claim.user);
    keys.extend_from_slice(more);
    let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
    authenticate(claim, active?, rows?)
}
