//! The payments function: payments/checkStatus.
//!
//! May read orders and users; may write the limiter's counters and nothing else.

mod check_status;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};

/// The endpoints of this function.
pub const ENDPOINTS: &[Route<State>] = &[Route::to::<check_status::CheckStatus>()];

/// What the function holds for as long as its process lives.
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
    /// A function that has cached nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Self { base }
    }
}

/// Connects to the database before the first request.
pub async fn warm_up(state: &State) {
    state.base.connect().await;
}

/// Responds to one request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    endpoint::handle(ENDPOINTS, state, request).await
}
