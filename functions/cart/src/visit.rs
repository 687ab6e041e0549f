//! What every cart endpoint reads first: the caller, their cart and what they bought, in one round trip; then, where
//! they are not cached, the items of the cart in a second.

use crate::State;
use crate::error::Error;
use lambda_http::Request;
use shared::http::bearer::Caller;
use shared::http::body::{self, BodyFault};
use shared::model::{Cart, CodeText, ItemId, Items, Ledger, Pointer, Sold, UserId};
use shared::store::keys::{self, Key};
use shared::store::{Rows, carts, ledgers, users};
use shared::token::Claim;
use std::sync::Arc;

/// A caller with their cart, as they are in the table now.
pub struct Visit {
    /// The caller.
    pub user: UserId,
    /// The published version.
    pub pointer: Arc<Pointer>,
    /// The caller's cart.
    pub cart: Cart,
    /// What the caller bought.
    pub ledger: Ledger,
    /// What else was read with them.
    pub rows: Rows,
}

/// What the lines of a cart are lines of.
pub struct Goods {
    /// The items that are published.
    pub items: Items,
    /// Units sold of those with a global limit.
    pub sold: Sold,
    /// What else was read with them.
    pub rows: Rows,
}

/// The claim of the caller's token.
fn claim(state: &State, request: &Request) -> Result<Claim, Error> {
    let caller = Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds());
    caller.claim().ok_or(Error::Unauthorized)
}

/// The claim of a caller whose body is not needed, and only must not be too large.
pub async fn claim_alone(state: &State, request: &Request) -> Result<Claim, Error> {
    let claim = claim(state, request)?;
    match body::check_size(request) {
        Ok(()) => Ok(claim),
        Err(fault) => Err(refuse(state, claim, fault).await),
    }
}

/// The claim of a caller, and the code of at most `longest` characters that their body names in `field`.
pub async fn claim_and_code(
    state: &State,
    request: &Request,
    field: &'static str,
    longest: usize,
) -> Result<(Claim, CodeText), Error> {
    let claim = claim(state, request)?;
    let code = body::required_text(request, field, longest)
        .and_then(|text| CodeText::parse(&text).map_err(|_| BodyFault::Required(field)));
    match code {
        Ok(code) => Ok((claim, code)),
        Err(fault) => Err(refuse(state, claim, fault).await),
    }
}

/// What a caller learns whose body is not looked at further: first whether their token still speaks for a user, then
/// what is wrong with the body (ruling 1, order of refusals).
async fn refuse(state: &State, claim: Claim, fault: BodyFault) -> Error {
    match users::is_admitted(&state.base.db, claim).await {
        Ok(true) => Error::Body(fault),
        Ok(false) => Error::Unauthorized,
        Err(error) => Error::Store(error),
    }
}

/// The keys of a caller, their cart and their ledger.
pub fn own_keys(user: UserId) -> Vec<Key> {
    vec![keys::user(user), keys::cart(user), keys::ledger(user)]
}

/// Takes the caller, their cart and their ledger out of what was read.
pub fn admit(claim: Claim, pointer: Arc<Pointer>, mut rows: Rows) -> Result<Visit, Error> {
    let user = users::admit(&mut rows, claim)?.ok_or(Error::Unauthorized)?.id;
    let cart = carts::take(&mut rows, user)?;
    let ledger = ledgers::take(&mut rows, user)?;
    Ok(Visit { user, pointer, cart, ledger, rows })
}

/// Reads the caller, their cart, their ledger and whatever stands under `more`, all at once.
pub async fn begin(state: &State, claim: Claim, more: impl IntoIterator<Item = Key>) -> Result<Visit, Error> {
    let mut keys = own_keys(claim.user);
    keys.extend(more);
    let (pointer, rows) = tokio::join!(state.base.published.pointer(), state.base.db.batch_get(keys));
    admit(claim, pointer?, rows?)
}

/// Reads the items of a cart, their counters and whatever stands under `more`, all at once; nothing where all is
/// cached and `more` is empty.
pub async fn goods(state: &State, visit: &Visit, more: impl IntoIterator<Item = Key>) -> Result<Goods, Error> {
    let ids = || visit.cart.lines.iter().map(|line| line.item);
    let items = state.items.plan(&visit.pointer.version, ids());
    let limited = |id: &ItemId| items.known(*id).is_none_or(|published| published.item.global_limit.is_some());
    let counters = state.counters.plan(ids().filter(limited), state.base.clock.millis());
    let mut keys: Vec<Key> = items.keys().chain(counters.keys()).collect();
    keys.extend(more);
    let mut rows = if keys.is_empty() { Rows::default() } else { state.base.db.batch_get(keys).await? };
    let items = state.items.complete(items, &mut rows)?;
    let sold = state.counters.complete(counters, &mut rows)?;
    Ok(Goods { items, sold, rows })
}
