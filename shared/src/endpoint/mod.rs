//! The declaration of an endpoint, and the wrapper that runs every endpoint.
//!
//! An endpoint is a type in a file of its own: constants and types say what it is ([`Endpoint`]), and `handle` is what
//! it does. A function lists its endpoints ([`Route`]) and passes every request to [`handle`]. Routing, rate limits,
//! body limits, authentication, parsing, error responses, cache headers and the log line follow from the declaration,
//! and so do the tests and the tables of the documentation that hold for every endpoint.

mod caller;
#[cfg(feature = "schema")]
mod describe;
mod error;
mod input;
mod reply;
mod run;

pub use caller::{Access, Caller, Visitor};
#[cfg(feature = "schema")]
pub use describe::{Content, Description, OtherResponse, Schemas};
pub use error::{Error, ErrorBody, Refusal, failed};
pub use input::{Input, InputKind, JsonBody, PathParameter};
pub use reply::{Json, Reply};
pub use run::handle;

use crate::base::Base;
use crate::deadline;
use crate::http::body;
use crate::store::limiter::RateLimit;
use lambda_http::{Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A type that the documentation can describe. Without the feature `schema` that is every type.
#[cfg(feature = "schema")]
pub trait Described: schemars::JsonSchema {}
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Described for T {}

/// A type that the documentation can describe. Without the feature `schema` that is every type.
#[cfg(not(feature = "schema"))]
pub trait Described {}
#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

/// An endpoint: what it declares, and its handler.
pub trait Endpoint: Sized + 'static {
    /// What its function keeps for as long as the process lives.
    type State: AsRef<Base> + Sync + 'static;
    /// Who may call, and what the handler learns of the caller.
    type Caller: Caller;
    /// What the handler reads of the request.
    type Input: Input;
    /// The ordinary response.
    type Reply: Reply;
    /// The endpoint's own refusals; [`std::convert::Infallible`] if it has none beyond those of every endpoint.
    type Refusal: Refusal;

    /// The name in logs and documentation: the path without its first slash.
    const NAME: &'static str;
    /// The gateway's route keys that lead here. A scheduled event is sent with a route key of its own, whose method is
    /// `SCHEDULE`, so that no request from outside can match it.
    const ROUTES: &'static [&'static str];
    /// A short description for the documentation: a phrase that begins with a verb.
    const SUMMARY: &'static str;
    /// Its place among the sixteen documented endpoints; `None` if it is beyond them.
    const NUMBER: Option<u8>;
    /// How many sequential round trips to the database a request makes at most, in its rarest case. The usual ones are
    /// in rules.md, "Round trips".
    const ROUND_TRIPS: RoundTrips;
    /// The shape of its error bodies.
    const ERRORS: ErrorBody = ErrorBody::Message;
    /// The condition under which its handler responds 401 although a token is optional; for the documentation.
    const UNAUTHORIZED: Option<&'static str> = None;
    /// Whether the caller's account is read: if not, a token is good for as long as its signature is.
    const CHECKS_ACCOUNT: bool = true;
    /// Whether caches may keep its response to GET.
    const CACHE: Cache = Cache::NoStore;
    /// How many requests an address may make. Only for endpoints that write nothing: the request is counted while it
    /// runs.
    const RATE_LIMIT: Option<RateLimit> = None;
    /// The largest body in bytes.
    const BODY_LIMIT: usize = body::LARGEST;
    /// How long it may wait in all for the database and for other services. The function's `Timeout` is longer.
    const DEADLINE: Duration = deadline::PER_REQUEST;

    /// Handles a request whose caller and input are in order.
    fn handle(
        state: &Self::State,
        caller: Self::Caller,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Reply, Error<Self::Refusal>>> + Send;
}

/// How many sequential round trips to the database a request makes at most; calls that run concurrently count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    /// Of an instance that has cached what it may.
    pub warm: usize,
    /// Of an instance that has read nothing but the active version.
    pub cold: usize,
}

/// Whether caches may keep a response to GET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Never.
    NoStore,
    /// For 30 seconds, with a strong `ETag`.
    Public,
}

/// What an endpoint declares, as a value.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// [`Endpoint::NAME`].
    pub name: &'static str,
    /// [`Endpoint::ROUTES`].
    pub routes: &'static [&'static str],
    /// [`Endpoint::SUMMARY`].
    pub summary: &'static str,
    /// [`Endpoint::NUMBER`].
    pub number: Option<u8>,
    /// Who may call.
    pub access: Access,
    /// [`Endpoint::CHECKS_ACCOUNT`].
    pub checks_account: bool,
    /// What is read of the request.
    pub input: InputKind,
    /// [`Endpoint::ERRORS`].
    pub errors: ErrorBody,
    /// [`Endpoint::CACHE`].
    pub cache: Cache,
    /// [`Endpoint::RATE_LIMIT`].
    pub rate_limit: Option<RateLimit>,
    /// [`Endpoint::BODY_LIMIT`], in bytes.
    pub body_limit: usize,
    /// [`Endpoint::DEADLINE`].
    pub deadline: Duration,
    /// [`Endpoint::ROUND_TRIPS`].
    pub round_trips: RoundTrips,
    /// Describes what the endpoint reads and returns.
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
            deadline: E::DEADLINE,
            round_trips: E::ROUND_TRIPS,
            #[cfg(feature = "schema")]
            describe: describe::describe::<E>,
        }
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = Response<lambda_http::Body>> + Send + 'a>>;

/// An endpoint in its function's list.
pub struct Route<S: 'static> {
    /// What the endpoint declares.
    pub declaration: Declaration,
    run: for<'a> fn(&'a S, &'a Request) -> Answer<'a>,
}

impl<S: AsRef<Base> + Sync> Route<S> {
    /// The route of the endpoint `E`.
    #[must_use]
    pub const fn to<E: Endpoint<State = S>>() -> Self {
        Self { declaration: Declaration::of::<E>(), run: |state, request| Box::pin(run::respond::<E>(state, request)) }
    }
}

impl<S> std::fmt::Debug for Route<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.declaration.fmt(f)
    }
}
