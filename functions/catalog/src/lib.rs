//! The catalog function: categories/get, categories/get/{url}, items/getFeaturedDeals.
//!
//! May read the catalog, counters, users, ledgers and carts; writes nothing.

mod error;
mod get_category;
mod get_featured_deals;
mod list_categories;
mod routes;

use lambda_http::{Body, Request, Response};
use routes::Endpoint;
use shared::base::{Base, by_batch};
use shared::http::reply::{self, RenderedOnce};
use shared::http::{lambda, route, serve};
use shared::model::{Deals, Tree};
use shared::store::categories::CategoryPages;
use shared::store::counters::Counters;
use shared::store::shelf::Shelf;

/// What the function holds for as long as its process lives.
#[derive(Debug)]
pub struct State {
    base: Base,
    pages: CategoryPages<get_category::Rendered>,
    trees: Shelf<Tree>,
    deals: Shelf<Deals>,
    counters: Counters,
    category_list: RenderedOnce<String>,
}

impl State {
    /// A function that has cached nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        let counters = Counters::new(base.config.cache);
        Self {
            base,
            pages: CategoryPages::default(),
            trees: Shelf::new(),
            deals: Shelf::new(),
            counters,
            category_list: RenderedOnce::new(),
        }
    }
}

/// Does what is better done before the first request: connects, and answers the list of categories, which most visits
/// begin with.
pub async fn warm_up(state: &State) {
    let rehearsal = lambda::rehearse("GET /categories/get", |request| handle(state, request));
    state.base.warm_up(by_batch(&state.base.db), rehearsal).await;
}

/// Answers one request. Never panics and never fails: every fault is an answer.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let Some(endpoint) = route::find(&request, routes::TABLE) else { return reply::no_route() };
    let answer = async {
        let result = match endpoint {
            Endpoint::ListCategories => list_categories::respond(state, &request).await,
            Endpoint::GetCategory => get_category::respond(state, &request).await,
            Endpoint::GetFeaturedDeals => get_featured_deals::respond(state, &request).await,
        };
        result.unwrap_or_else(|error| error.into_response(&route::request_id(&request)))
    };
    serve::endpoint(state.base.clock.as_ref(), &request, endpoint.name(), answer).await
}
