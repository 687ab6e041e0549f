//! The payments function: which methods there are, checkouts, webhooks, the state of orders and of
//! their delivery, the provider's receipts and page of subscriptions, and the scheduled sweep.
//!
//! Reads what a cart's price depends on. Writes orders, ledgers, users, codes, carts and stock inside transactions
//! only; counters of rate limits and sequences by single updates.

mod check_status;
mod create;
mod delivery;
mod list_methods;
mod list_orders;
mod provider_pages;
mod stripe_webhook;
mod sweep;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::providers::Stripe;
use shared::shop::carts::CartSources;
use shared::shop::payments::DEADLINE;
use shared::shop::stock::Counters;
use std::time::Duration;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<check_status::CheckStatus>(),
    Route::to::<create::Create>(),
    Route::to::<delivery::Delivery>(),
    Route::to::<list_methods::ListMethods>(),
    Route::to::<list_orders::ListOrders>(),
    Route::to::<provider_pages::Portal>(),
    Route::to::<provider_pages::Receipt>(),
    Route::to::<stripe_webhook::StripeWebhook>(),
    Route::to::<sweep::Sweep>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    counters: Counters,
    stripe: Option<Stripe>,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    /// A state with empty caches. Without Stripe's keys there are no payment methods.
    pub fn new(base: Base) -> Self {
        // What decides whether an order is written is never cached.
        let counters = Counters::new(Duration::ZERO);
        let stripe = Stripe::of(&base.config);
        Self { base, counters, stripe }
    }

    fn sources(&self) -> CartSources<'_> {
        let Self { base, counters, .. } = self;
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
