//! What every cart endpoint reads first: the caller, their cart and their ledger, in one round trip; then the items of
//! the cart, in a second one if they are not cached.

use crate::State;
use shared::endpoint::Error;
use shared::model::{ActiveVersion, Cart, ItemId, Items, Ledger, Sold, UserId};
use shared::store::keys::{self, Key};
use shared::store::{Rows, StoreError, carts, ledgers, published, users};
use shared::token::Claim;
use std::sync::Arc;

/// A caller with their cart, read from the table.
pub struct CartContext {
    /// The caller.
    pub user: UserId,
    /// The active version.
    pub active: Arc<ActiveVersion>,
    /// The caller's cart.
    pub cart: Cart,
    /// What the caller has bought.
    pub ledger: Ledger,
    /// The other rows that were read with them.
    pub rows: Rows,
}

/// The published items of a cart's lines.
pub struct CartItems {
    /// The published items, by id.
    pub items: Items,
    /// Units sold of the items with a global limit.
    pub sold: Sold,
    /// The other rows that were read with them.
    pub rows: Rows,
}

/// Why a context could not be loaded: what every endpoint's [`Error`] has, without a refusal of its own.
#[derive(Debug)]
pub enum LoadError {
    /// The account does not accept the token.
    Unauthorized,
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<R> From<LoadError> for Error<R> {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Unauthorized => Self::Unauthorized,
            LoadError::Store(error) => Self::Store(error),
        }
    }
}

/// The keys of a caller, their cart and their ledger.
pub fn own_keys(user: UserId) -> Vec<Key> {
    vec![keys::user(user), keys::cart(user), keys::ledger(user)]
}

impl CartContext {
    /// Takes the caller, their cart and their ledger from the rows, if the account accepts the token.
    pub fn authenticate(claim: Claim, active: Arc<ActiveVersion>, mut rows: Rows) -> Result<Self, LoadError> {
        let user = users::admit(&mut rows, claim)?.ok_or(LoadError::Unauthorized)?.id;
        let cart = carts::take(&mut rows, user)?;
        let ledger = ledgers::take(&mut rows, user)?;
        Ok(Self { user, active, cart, ledger, rows })
    }

    /// Reads the caller, their cart, their ledger and the rows of `more` in one call.
    pub async fn load(state: &State, claim: Claim, more: impl IntoIterator<Item = Key>) -> Result<Self, LoadError> {
        let mut keys = own_keys(claim.user);
        keys.extend(more);
        let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
        Self::authenticate(claim, active?, rows?)
    }

    /// Reads the items of the cart, their counters and the rows of `more` in one call. Makes no call if everything is
    /// cached and `more` is empty.
    pub async fn load_items(
        &self,
        state: &State,
        more: impl IntoIterator<Item = Key>,
    ) -> Result<CartItems, StoreError> {
        let ids = || self.cart.lines.iter().map(|line| line.item);
        let items = state.items.plan(&self.active.version, ids());
        let limited = |id: &ItemId| items.known(*id).is_none_or(|published| published.item.global_limit.is_some());
        let counters = state.counters.plan(ids().filter(limited), state.base.clock.millis());
        let mut keys: Vec<Key> = items.keys().chain(counters.keys()).collect();
        keys.extend(more);
        let mut rows = if keys.is_empty() { Rows::default() } else { state.base.db.batch_get(keys).await? };
        let items = state.items.complete(items, &mut rows)?;
        let sold = state.counters.complete(counters, &mut rows)?;
        Ok(CartItems { items, sold, rows })
    }
}

/// Removes the lines whose item is no longer published from a cart that is about to be written (rules.md, "Carts").
/// The cache may be stale, and during a restore no version is published: a line is removed only if the active version and
/// the absence of its item are read here. Reads nothing unless an item is known to be missing.
pub async fn drop_unpublished(state: &State, version: &str, cart: &mut Cart) -> Result<(), StoreError> {
    let mut missing = state.items.known_missing(version, cart.lines.iter().map(|line| line.item));
    if missing.is_empty() {
        return Ok(());
    }
    let items = missing.iter().map(|id| keys::item(version, *id)).collect();
    let active = keys::active_version();
    let (current, rows) = tokio::join!(state.base.db.get(&active, true), state.base.db.batch_get(items));
    let mut rows = rows?;
    let current = current?.map(published::decode_active_version).transpose()?;
    if current.is_some_and(|current| !current.is_empty() && current.version == version) {
        missing.retain(|id| rows.take(&keys::item(version, *id)).is_none());
        cart.lines.retain(|line| !missing.contains(&line.item));
    }
    Ok(())
}
