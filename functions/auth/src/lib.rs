//! The auth function: logins and accounts.
//!
//! May read users, names, bans and the store's configuration; writes accounts with their names, and counts logins.

mod chat;
mod check_accessibility;
mod get_user;
mod username;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};

/// The endpoints of this function.
pub const ENDPOINTS: &[Route<State>] = &[
    Route::to::<chat::Chat>(),
    Route::to::<get_user::GetUser>(),
    Route::to::<username::Login>(),
    Route::to::<check_accessibility::CheckAccessibility>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    /// A state with empty caches.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Self { base }
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
