//! The cart function: reads and changes the buyer's cart.
//!
//! May read the catalog, users, ledgers, codes and referrals; may only write carts and the counters of unknown codes.

mod add;
mod codes;
mod context;
mod get_cart;
mod lines;
mod offers;
mod referrals;
mod unknown_codes;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::shop::carts::CartSources;
use shared::shop::stock::Counters;
use shared::table::caches::TRUSTED_FOR;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<get_cart::GetCart>(),
    Route::to::<codes::AcceptCoupon>(),
    Route::to::<referrals::SetReferral>(),
    Route::to::<referrals::RemoveReferral>(),
    Route::to::<offers::GetPromoted>(),
    Route::to::<offers::GetSelectServers>(),
    Route::to::<add::Add>(),
    Route::to::<lines::Reload>(),
    Route::to::<lines::SetVariable>(),
    Route::to::<lines::SetSelectedServer>(),
    Route::to::<lines::ChangePrice>(),
    Route::to::<lines::Remove>(),
    Route::to::<codes::RemoveCoupon>(),
    Route::to::<codes::RemoveGiftcard>(),
    Route::to::<codes::GetGift>(),
    Route::to::<referrals::CaptureReferral>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    counters: Counters,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    pub fn new(base: Base) -> Self {
        Self { base, counters: Counters::new(TRUSTED_FOR) }
    }

    fn sources(&self) -> CartSources<'_> {
        let Self { base, counters } = self;
        CartSources { db: &base.db, items: &base.published.cache, counters, clock: base.clock.as_ref() }
    }
}

/// Connects to the database before the first request.
pub async fn warm_up(state: &State) {
    state.base.connect().await;
}

/// Responds to a request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    endpoint::handle(ENDPOINTS, state, request).await
}
