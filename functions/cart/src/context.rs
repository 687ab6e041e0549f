//! What every cart endpoint reads first: the caller, their cart and what they bought, in one round trip; then, if they
//! are not cached, the items of the cart in a second.

use crate::State;
use crate::write::Failure;
use shared::endpoint::Error;
use shared::model::{ActiveVersion, Cart, ItemId, Items, Ledger, Sold, UserId};
use shared::store::keys::{self, Key};
use shared::store::{Rows, carts, ledgers, published, users};
use shared::token::Claim;
use std::sync::Arc;

/// A caller with their cart, as they are in the table now.
pub struct CartContext {
    /// The caller.
    pub user: UserId,
    /// The active version.
    pub active: Arc<ActiveVersion>,
    /// The caller's cart.
    pub cart: Cart,
    /// What the caller bought.
    pub ledger: Ledger,
    /// What else was read with them.
    pub rows: Rows,
}

/// The items that the lines of a cart are for.
pub struct CartItems {
    /// The items that are published.
    pub items: Items,
    /// Units sold of those with a global limit.
    pub sold: Sold,
    /// What else was read with them.
    pub rows: Rows,
}

/// The keys of a caller, their cart and their ledger.
pub fn own_keys(user: UserId) -> Vec<Key> {
    vec![keys::user(user), keys::cart(user), keys::ledger(user)]
}

impl CartContext {
    /// Takes the caller, their cart and their ledger out of what was read, if the token is still good.
    pub fn authenticate(claim: Claim, active: Arc<ActiveVersion>, mut rows: Rows) -> Result<Self, Failure> {
        let user = users::admit(&mut rows, claim)?.ok_or(Error::Unauthorized)?.id;
        let cart = carts::take(&mut rows, user)?;
        let ledger = ledgers::take(&mut rows, user)?;
        Ok(Self { user, active, cart, ledger, rows })
    }

    /// Reads the caller, their cart, their ledger and what is under `more`, all at once.
    pub async fn load(state: &State, claim: Claim, more: impl IntoIterator<Item = Key>) -> Result<Self, Failure> {
        let mut keys = own_keys(claim.user);
        keys.extend(more);
        let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
        Self::authenticate(claim, active?, rows?)
    }

    /// Reads the items of the cart, their counters and what is under `more`, all at once; nothing if all is cached and
    /// `more` is empty.
    pub async fn load_items(&self, state: &State, more: impl IntoIterator<Item = Key>) -> Result<CartItems, Failure> {
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

/// Takes the lines whose item is no longer published out of a cart that is about to be written (rules.md, "Carts").
/// What is cached may be stale, and during a restore no version is published: a line is removed only if the active
/// version and the absence of its item are read here. Reads nothing while no item is known to be missing.
pub async fn drop_unpublished(state: &State, version: &str, cart: &mut Cart) -> Result<(), Failure> {
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
