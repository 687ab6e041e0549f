//! The cart function: cart/get, acceptCoupon, setReferral, removeReferral, getPromoted, getSelectServers.
//!
//! May read the catalog, users, ledgers, codes and referrals; may write carts and nothing else.

mod accept_coupon;
mod error;
mod get_cart;
mod get_promoted;
mod get_select_servers;
mod remove_referral;
mod routes;
mod servers;
mod set_referral;
mod visit;
mod write;

use lambda_http::{Body, Request, Response};
use routes::Endpoint;
use shared::base::{Base, by_batch};
use shared::http::{lambda, reply, route, serve};
use shared::model::Promotions;
use shared::store::counters::Counters;
use shared::store::items::ItemShelf;
use shared::store::shelf::Shelf;

/// What the function holds for as long as its process lives.
#[derive(Debug)]
pub struct State {
    base: Base,
    items: ItemShelf,
    counters: Counters,
    promotions: Shelf<Promotions>,
}

impl State {
    /// A function that has cached nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        let counters = Counters::new(base.config.cache);
        Self { base, items: ItemShelf::default(), counters, promotions: Shelf::new() }
    }
}

/// Does what is better done before the first request: connects, and refuses a request by nobody.
pub async fn warm_up(state: &State) {
    let rehearsal = lambda::rehearse("POST /cart/get", |request| handle(state, request));
    state.base.warm_up(by_batch(&state.base.db), rehearsal).await;
}

/// Answers one request. Never panics and never fails: every fault is an answer.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let Some(endpoint) = route::find(&request, routes::TABLE) else { return reply::no_route() };
    let answer = async {
        let result = match endpoint {
            Endpoint::Get => get_cart::respond(state, &request).await,
            Endpoint::AcceptCoupon => accept_coupon::respond(state, &request).await,
            Endpoint::SetReferral => set_referral::respond(state, &request).await,
            Endpoint::RemoveReferral => remove_referral::respond(state, &request).await,
            Endpoint::GetPromoted => get_promoted::respond(state, &request).await,
            Endpoint::GetSelectServers => get_select_servers::respond(state, &request).await,
        };
        result.unwrap_or_else(|error| error.into_response(&route::request_id(&request)))
    };
    serve::endpoint(state.base.clock.as_ref(), &request, endpoint.name(), answer).await
}
