//! The content function: pages/get, staff, settings/get, patrons/get.
//!
//! May read published content and what is counted of donations; writes nothing.

mod error;
mod get_page;
mod get_settings;
mod list_patrons;
mod list_staff;
mod routes;

use lambda_http::{Body, Request, Response};
use routes::Endpoint;
use shared::base::{Base, by_get};
use shared::http::reply::{self, RenderedOnce};
use shared::http::{lambda, route, serve};
use shared::model::{Donations, Donor, Page, Patronage, Settings, Staff};
use shared::store::shelf::Shelf;
use shared::store::timed::Timed;
use std::sync::Arc;

/// What the function holds for as long as its process lives.
#[derive(Debug)]
pub struct State {
    base: Base,
    pages: Shelf<Page>,
    settings: Shelf<Settings>,
    staff: Shelf<Staff>,
    patronage: Shelf<Patronage>,
    donations: Timed<Donations>,
    patrons: Timed<Vec<Donor>>,
    settings_reply: RenderedOnce<(String, Arc<Donations>, String)>,
    staff_reply: RenderedOnce<String>,
    patrons_reply: RenderedOnce<(String, Arc<Vec<Donor>>)>,
}

impl State {
    /// A function that has cached nothing yet.
    #[must_use]
    pub fn new(base: Base) -> Self {
        let (donations, patrons) = (Timed::new(base.config.cache), Timed::new(base.config.cache));
        Self {
            base,
            pages: Shelf::new(),
            settings: Shelf::new(),
            staff: Shelf::new(),
            patronage: Shelf::new(),
            donations,
            patrons,
            settings_reply: RenderedOnce::new(),
            staff_reply: RenderedOnce::new(),
            patrons_reply: RenderedOnce::new(),
        }
    }
}

/// Does what is better done before the first request: connects, and answers the settings, which every visit begins with.
pub async fn warm_up(state: &State) {
    let rehearsal = lambda::rehearse("GET /settings/get", |request| handle(state, request));
    state.base.warm_up(by_get(&state.base.db), rehearsal).await;
}

/// Answers one request. Never panics and never fails: every fault is an answer.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    let Some(endpoint) = route::find(&request, routes::TABLE) else { return reply::no_route() };
    let answer = async {
        let result = match endpoint {
            Endpoint::GetPage => get_page::respond(state, &request).await,
            Endpoint::ListStaff => list_staff::respond(state, &request).await,
            Endpoint::GetSettings => get_settings::respond(state, &request).await,
            Endpoint::ListPatrons => list_patrons::respond(state, &request).await,
        };
        result.unwrap_or_else(|error| error.into_response(&route::request_id(&request)))
    };
    serve::endpoint(state.base.clock.as_ref(), &request, endpoint.name(), answer).await
}
