//! The declaration of an endpoint, and the wrapper that runs every endpoint.
//!
//! An endpoint is a type in its own file: constants and types declare it ([`Endpoint`]), and `handle` runs it. A
//! function lists its endpoints ([`Route`]) and passes every request to [`handle`]. Routing, rate limits, body limits,
//! authentication, parsing, error responses, cache headers and the log line follow from the declaration. So do the
//! tests that cover every endpoint, and the tables of the documentation.

#[cfg(feature = "schema")]
mod describe;
mod input;
mod reply;
mod run;

#[cfg(feature = "schema")]
pub use describe::{Description, OtherResponse, Schemas};
pub use input::{
    Access, Caller, Input, InputKind, JsonBody, PathId, PathParameter, Received, RequestSchemas, Signed, TokenCookie,
    Visitor, WithAddress, WithBody,
};
pub use reply::{
    Contended, Content, Error, ErrorBody, Json, Refusal, Reply, WithCookie, failed, shown_wait, too_many_attempts,
};
pub use run::{handle, respond};

use crate::base::Base;
use crate::deadline;
use crate::http::body;
use crate::table::limiter::RateLimit;
use lambda_http::{Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The path of a route key, without its leading slash.
const fn path(route: &'static str) -> &'static str {
    let mut at = 0;
    while route.as_bytes()[at] != b'/' {
        at += 1;
    }
    route.split_at(at + 1).1
}

/// An endpoint: its declaration and its handler.
pub trait Endpoint: Sized + 'static {
    /// The state of its function, which lives as long as the process.
    type State: AsRef<Base> + Sync + 'static;
    /// The caller, as the handler receives it; this also declares who may call.
    type Caller: Caller;
    type Input: Input;
    type Reply: Reply;
    /// The endpoint's own refusals; [`std::convert::Infallible`] if it has none.
    type Refusal: Refusal;

    /// The name in logs and documentation: the path of the first route, without its leading slash.
    const NAME: &'static str = path(Self::ROUTES[0]);
    /// The gateway's route keys of the endpoint. A scheduled event has a route key with the method `SCHEDULE`, so that
    /// no request from outside can match it.
    const ROUTES: &'static [&'static str];
    /// A short description for the documentation: a phrase that begins with a verb.
    const SUMMARY: &'static str;
    /// Its number, if it is among the sixteen documented endpoints.
    const NUMBER: Option<u8> = None;
    /// The round trips of a request in its rarest case. The table of rules.md, "Round trips", is made of them.
    const ROUND_TRIPS: RoundTrips;
    /// The shape of its error bodies.
    const ERRORS: ErrorBody = ErrorBody::Message;
    /// The condition for 401, for the documentation, if it differs from the one that follows from `Caller`.
    const UNAUTHORIZED: Option<&'static str> = None;
    /// Whether the caller's account is read. If not, a token is valid for as long as its signature is.
    const CHECKS_ACCOUNT: bool = true;
    /// Whether its response to GET can be cached.
    const CACHE: Cache = Cache::NoStore;
    /// How many requests an address may make. A request is counted before anything else is done for it.
    const RATE_LIMIT: Option<RateLimit> = None;
    /// The largest body in bytes.
    const BODY_LIMIT: usize = body::LARGEST_BODY;
    /// The JSON that is the response, with status 200, if the database is away for a moment; `None` if that is an error. A game
    /// server's plugin ends for good after an error at its start. A fault that does not pass is an error all the same.
    const WHILE_AWAY: Option<&'static str> = None;
    /// The response if other requests kept changing what it writes; `None` if that is the response of a database that is away.
    const CONTENDED: Option<Contended> = None;
    /// Turns the JSON of a failure into a page, for an endpoint whose responses browsers show.
    const FAILURE: Option<FailurePage> = None;
    /// The total time for calls to the database and to other services. The function's `Timeout` is longer.
    const DEADLINE: Duration = deadline::PER_REQUEST;

    /// Handles a request with a valid caller and input.
    fn handle(
        state: &Self::State,
        caller: Self::Caller,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Reply, Error<Self::Refusal>>> + Send;
}

/// The most sequential round trips to the database of a request. Concurrent calls count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    pub warm: usize,
    /// With only the active version cached.
    pub cold: usize,
}

/// A failure's response as a page.
pub type FailurePage = fn(Response<lambda_http::Body>) -> Response<lambda_http::Body>;

/// Whether a response to GET can be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Never.
    NoStore,
    /// For 30 seconds, with a strong `ETag`.
    Public,
}

/// The declaration of an endpoint, as a value: its constants and types, see [`Endpoint`].
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    pub name: &'static str,
    pub routes: &'static [&'static str],
    pub summary: &'static str,
    pub number: Option<u8>,
    pub access: Access,
    pub checks_account: bool,
    /// The part of the request that is read.
    pub input: InputKind,
    pub errors: ErrorBody,
    pub cache: Cache,
    pub rate_limit: Option<RateLimit>,
    pub body_limit: usize,
    pub while_away: Option<&'static str>,
    pub failure: Option<FailurePage>,
    pub deadline: Duration,
    pub round_trips: RoundTrips,
    /// Describes the request and the responses of the endpoint, for the documentation. Only this refers to schemas, and no
    /// deployed function has it: the linker leaves them out.
    #[cfg(feature = "schema")]
    pub describe: fn(&mut Schemas) -> Description,
}

impl Declaration {
    const fn of<E: Endpoint>() -> Self {
        Self {
            name: E::NAME,
            routes: E::ROUTES,
            summary: E::SUMMARY,
            number: E::NUMBER,
            access: E::Caller::ACCESS,
            checks_account: E::CHECKS_ACCOUNT,
            input: E::Input::KIND,
            errors: E::ERRORS,
            cache: E::CACHE,
            rate_limit: E::RATE_LIMIT,
            body_limit: E::BODY_LIMIT,
            while_away: E::WHILE_AWAY,
            failure: E::FAILURE,
            deadline: E::DEADLINE,
            round_trips: E::ROUND_TRIPS,
            #[cfg(feature = "schema")]
            describe: describe::describe::<E>,
        }
    }
}

type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<Response<lambda_http::Body>, Error>> + Send + 'a>>;

pub struct Route<S: 'static> {
    pub declaration: Declaration,
    run: for<'a> fn(&'a S, &'a Request) -> CallFuture<'a>,
}

impl<S: AsRef<Base> + Sync> Route<S> {
    pub const fn to<E: Endpoint<State = S>>() -> Self {
        let declaration = Declaration::of::<E>();
        Self { declaration, run: |state, request| Box::pin(run::run::<E>(state, request)) }
    }
}

impl<S> std::fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.declaration.fmt(f)
    }
}
