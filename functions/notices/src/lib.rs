//! The notices function: sends what owners are notified of, every minute. It calls addresses of strangers, so it has none of the
//! store's keys and reaches no row but notices and the active version.

mod send;

use lambda_http::{Body, Request, Response};
use outgoing::public::PublicClient;
use shared::base::Base;
use shared::config::{NoticeConfig, NoticeKeys};
use shared::endpoint::{self, Route};
use shared::notify::{CALL, READ, Targets};
use shared::table::connector;
use std::path::PathBuf;
use std::sync::Arc;

pub static ENDPOINTS: &[Route<State>] = &[Route::to::<send::SendNotices>()];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    keys: NoticeKeys,
    /// A file with the keys in their place, which may change: of a local server.
    file: Option<PathBuf>,
    client: PublicClient,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    pub fn new(base: Base, config: NoticeConfig, file: Option<PathBuf>) -> Self {
        let client = PublicClient::new(connector::roots(), CALL, READ).with_this_machine(config.allows_here);
        Self { base, keys: config.keys, file, client }
    }

    /// The targets that are connected now.
    fn targets(&self) -> Targets {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let keys = text.map_or_else(|| self.keys.clone(), |text| NoticeKeys::parse(&text).unwrap_or_default());
        Targets::new(keys, self.client.clone(), Arc::clone(&self.base.clock))
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
