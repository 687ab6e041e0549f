//! The delivery function: the calls of game servers (rules.md, "Game servers").
//!
//! May read and change queues, commands, servers, leases and logins in the game, and read the published content that game
//! servers show. It reads no order, ledger, cart, account, token or code.

mod content;
mod lists;
mod path;
mod queue;
mod reply;
mod reports;

pub use lists::INTERFACE_VERSION;
pub use path::{ROUTES, declared, of_gateway, without_key};

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::http::reply as http_reply;
use shared::model::{Donations, TopPatrons};
use shared::table::caches::{TRUSTED_FOR, Timed};

/// The endpoints of this function. Their routes are below the gateway's [`ROUTES`].
pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<lists::GetVersion>(),
    Route::to::<lists::PackagesNew>(),
    Route::to::<lists::DonationGoal>(),
    Route::to::<lists::TotalPayments>(),
    Route::to::<lists::TopDonators>(),
    Route::to::<lists::SettingsGet>(),
    Route::to::<lists::Profile>(),
    Route::to::<queue::Queue>(),
    Route::to::<lists::PayNow>(),
    Route::to::<reports::Delivered>(),
    Route::to::<reports::Executed>(),
    Route::to::<reports::Validated>(),
    Route::to::<queue::Confirm>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    donations: Timed<Donations>,
    patrons: Timed<TopPatrons>,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    /// A state with empty caches.
    pub fn new(base: Base) -> Self {
        let (donations, patrons) = (Timed::new(TRUSTED_FOR), Timed::new(TRUSTED_FOR));
        Self { base, donations, patrons }
    }
}

/// Connects to the database before the first request.
pub async fn warm_up(state: &State) {
    state.base.connect().await;
}

/// Responds to a request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    match path::find(&request) {
        Some(route) => endpoint::respond(route, state, &request).await,
        None => http_reply::no_route(),
    }
}
