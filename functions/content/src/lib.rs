//! The content function: pages/get, staff, settings/get, patrons/get, announcement/get, and the shop's pages.
//!
//! May read what is published, counters and statistics of donations; writes nothing.

mod get_settings;
mod pages;
mod people;
mod shop;

use lambda_http::{Body, Request, Response};
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::http::reply::RenderedOnce;
use shared::model::{Donations, TopPatrons};
use shared::shop::stock::Counters;
use shared::table::caches::{TRUSTED_FOR, Timed};
use std::sync::Arc;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<pages::GetPage>(),
    Route::to::<people::ListStaff>(),
    Route::to::<get_settings::GetSettings>(),
    Route::to::<people::ListPatrons>(),
    Route::to::<pages::GetAnnouncement>(),
    Route::to::<shop::ShowPage>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    counters: Counters,
    donations: Timed<Donations>,
    patrons: Timed<TopPatrons>,
    settings_reply: RenderedOnce<(String, Arc<Donations>, String)>,
    staff_reply: RenderedOnce<String>,
    announcement_reply: RenderedOnce<String>,
    patrons_reply: RenderedOnce<(String, Option<Arc<TopPatrons>>)>,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    pub fn new(base: Base) -> Self {
        let (donations, patrons) = (Timed::new(TRUSTED_FOR), Timed::new(TRUSTED_FOR));
        let counters = Counters::new(TRUSTED_FOR);
        Self {
            base,
            counters,
            donations,
            patrons,
            settings_reply: RenderedOnce::new(),
            staff_reply: RenderedOnce::new(),
            announcement_reply: RenderedOnce::new(),
            patrons_reply: RenderedOnce::new(),
        }
    }
}

/// Connects to the database before the first request, and reads the settings, which every visit begins with.
pub async fn warm_up(state: &State) {
    state.base.warm_up(get_settings::read(state)).await;
}

/// Responds to a request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    endpoint::handle(ENDPOINTS, state, request).await
}
