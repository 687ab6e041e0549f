//! The caller's cart: the first read of every cart endpoint, in one round trip, and changing the cart, with what an
//! endpoint responds if other requests keep changing it.

use crate::State;
use crate::referrals::{self, Captured};
use lambda_http::http::StatusCode;
use shared::endpoint::{Contended, Error, Json, WithCookie};
use shared::http::reply::Outcome;
use shared::model::{ActiveVersion, Cart, UserId};
use shared::shop::accounts;
use shared::shop::carts::{self, Attempt, CartContext, drop_unpublished};
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
    let user = accounts::admit(&mut rows, claim)?;
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

/// Every attempt found the cart changed by another request: an ordinary outcome for clients that read `success`.
pub const CART_CHANGED: Contended = Contended {
    status: StatusCode::OK,
    text: "The cart was changed by another request at the same time. Please try again.",
    when: "Other requests kept changing the cart",
};

/// The same for calls of which the storefront reads the status alone.
pub const CART_CONFLICT: Contended = Contended { status: StatusCode::CONFLICT, ..CART_CHANGED };

/// Runs `attempt` and writes its result, see [`carts::edit`], with the referral code that the request's browser keeps. A written
/// cart clears that code.
pub async fn with_retries<T, R, F>(
    state: &State,
    captured: &Captured,
    attempt: impl Fn() -> F,
) -> Result<WithCookie<T>, Error<R>>
where
    F: Future<Output = Result<Attempt<T>, Error<R>>>,
{
    let attempt = async || {
        // Concurrently, so that a cookie costs no round trip.
        let (attempt, referral) = tokio::join!(attempt(), captured.referral(state));
        Ok(match attempt? {
            Attempt::Done(reply) => Attempt::Done(WithCookie { reply, cookie: None }),
            Attempt::Write(mut cart, reply) => {
                if let Some(referral) = referral? {
                    referrals::apply(state, &mut cart, referral).await?;
                }
                Attempt::Write(cart, WithCookie { reply, cookie: captured.spent() })
            }
        })
    };
    carts::edit(&state.base.db, attempt).await
}

/// Removes a code, which `take` takes from the cart. The messages are for a cart without one, and for one that is removed.
pub async fn remove_code(
    state: &State,
    claim: Claim,
    captured: &Captured,
    take: impl Fn(&mut Cart) -> bool + Sync,
    (none, removed): (&'static str, &'static str),
) -> Result<WithCookie<Json<Outcome<'static>>>, Error> {
    let attempt = || async {
        let context = load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
        let mut cart = context.cart;
        if !take(&mut cart) {
            return Ok(Attempt::Done(Outcome { success: false, message: none }));
        }
        drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
        Ok(Attempt::Write(Box::new(cart), Outcome { success: true, message: removed }))
    };
    Ok(with_retries(state, captured, attempt).await?.rendered())
}
