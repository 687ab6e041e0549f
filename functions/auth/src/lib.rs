//! The auth function: auth/chat and user.
//!
//! May read users and the store's configuration; writes nothing.

mod chat;
mod error;
mod get_user;
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

/// Does what is better done before the first request: connects, and refuses a request by nobody.
pub async fn warm_up(state: &State) {
    let rehearsal = lambda::rehearse("POST /user", |request| handle(state, request));
    state.base.warm_up(by_batch(&state.base.db), rehearsal).await;
}

/// Answers one request. Never panics and never fails: every fault is an answer.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let Some(endpoint) = route::find(&request, routes::TABLE) else { return reply::no_route() };
    let answer = async {
        let result = match endpoint {
            Endpoint::Chat => chat::respond(state).await,
            Endpoint::GetUser => get_user::respond(state, &request).await,
        };
        result.unwrap_or_else(|error| error.into_response(&route::request_id(&request)))
    };
    serve::endpoint(state.base.clock.as_ref(), &request, endpoint.name(), answer).await
}
