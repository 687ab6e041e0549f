//! The notices function: sends what owners are told of, every minute (rules.md, "Notices"). It calls addresses of
//! strangers, so it has none of the store's keys and reaches no row but notices and the active version. The event of
//! its schedule has a route key that no request from outside can have.

use lambda_http::{Body, Request, Response};
use outgoing::public::PublicClient;
use shared::base::Base;
use shared::config::{NoticeConfig, NoticeKeys};
use shared::endpoint::{self, Endpoint, Error, Json, RoundTrips, Route};
use shared::notify::{CALL, READ, Targets};
use shared::shop::notices::{self, Sent};
use shared::table::connector;
use shared::table::published::{must_be_current, read_active_version};
use shared::telemetry;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub static ENDPOINTS: &[Route<State>] = &[Route::to::<SendNotices>()];

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

/// The time in which sending begins. A call takes 5 s more, and what was sent is written then.
const BEGINS: Duration = Duration::from_secs(40);
/// The time of all calls to the database. The `Timeout` of the function is longer.
const DEADLINE: Duration = Duration::from_secs(55);

pub struct SendNotices;

impl Endpoint for SendNotices {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<Sent>;
    type Refusal = Infallible;

    const NAME: &'static str = "notices/send";
    const ROUTES: &'static [&'static str] = &["SCHEDULE notices/send"];
    const SUMMARY: &'static str = "sends what owners are told of, every minute";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 20, cold: 20 };
    const DEADLINE: Duration = DEADLINE;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error> {
        let base = &state.base;
        // Read by itself: a process that only sends would not notice that a restore has begun, and one that does not know a target that
        // was just published would settle what that target wants.
        let active = read_active_version(&base.db).await?.unwrap_or_default();
        must_be_current(&active)?;
        let targets = &active.config.notify;
        let sent = notices::run(&base.db, base.clock.as_ref(), &state.targets(), targets, BEGINS).await?;
        if sent.due == 0 {
            telemetry::routine();
        }
        Ok(Json::of(&sent))
    }
}
