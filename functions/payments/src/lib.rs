//! The payments function: payments/checkStatus.
//!
//! May read orders and users; may write the limiter's counters and nothing else.

mod check_status;
mod error;
mod routes;

use lambda_http::{Body, Request, Response};
use routes::Endpoint;
use shared::base::{Base, by_batch};
use shared::http::{lambda, reply, route, serve};

/// What the function holds for as long as its process lives.
#[derive(Debug)]
pub struct State {
    base: Base,
}

impl State {
    /// A function that has cached nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Self { base }
    }
}

/// Does what is better done before the first request: connects, and answers a request by no route: one to checkStatus
/// would be counted.
pub async fn warm_up(state: &State) {
    let rehearsal = lambda::rehearse(lambda::NO_ROUTE, |request| handle(state, request));
    state.base.warm_up(by_batch(&state.base.db), rehearsal).await;
}

/// Answers one request. Never panics and never fails: every fault is an answer.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let Some(endpoint) = route::find(&request, routes::TABLE) else { return reply::no_route() };
    let answer = async {
        match endpoint {
            Endpoint::CheckStatus => check_status::respond(state, &request).await,
        }
    };
    serve::endpoint(state.base.clock.as_ref(), &request, endpoint.name(), answer).await
}
