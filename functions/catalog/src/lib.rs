//! The catalog function: categories, items, featured deals and profiles.
//!
//! May read the catalog, counters, settings, staff, users, their names, ledgers, carts and sums; writes nothing.

mod get_category;
mod get_profile;
mod items;
mod list_categories;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::http::reply::RenderedOnce;
use shared::shop::stock::Counters;
use shared::table::caches::TRUSTED_FOR;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<list_categories::ListCategories>(),
    Route::to::<get_category::GetCategory>(),
    Route::to::<items::GetFeaturedDeals>(),
    Route::to::<items::GetItem>(),
    Route::to::<get_profile::GetProfile>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    counters: Counters,
    /// By the version, and the next second at which the calendar changes the list.
    category_list: RenderedOnce<(String, Option<i64>)>,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    pub fn new(base: Base) -> Self {
        Self { base, counters: Counters::new(TRUSTED_FOR), category_list: RenderedOnce::new() }
    }
}

/// Connects to the database before the first request, and reads the category list, which most visits begin with.
pub async fn warm_up(state: &State) {
    state.base.warm_up(list_categories::read(state)).await;
}

/// Responds to a request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    endpoint::handle(ENDPOINTS, state, request).await
}
