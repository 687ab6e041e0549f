//! The wrapper that runs every endpoint. It refuses requests in one order: rate limit, token, body, data.

use super::{Admission, Caller, Endpoint, Error, Input, Received, Reply, Route};
use crate::base::Base;
use crate::deadline;
use crate::fault;
use crate::http::bearer::Bearer;
use crate::http::body::{self, BodyFault};
use crate::http::{reply, route};
use crate::store::limiter::{self, Hit, RateLimit};
use crate::telemetry;
use futures_util::FutureExt;
use lambda_http::http::Method;
use lambda_http::http::header::HeaderName;
use lambda_http::{Body, Request, Response};
use std::panic::AssertUnwindSafe;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Responds to a request by the endpoint of its route. Never panics and never fails: every fault becomes a response,
/// and every request is one line in the log.
pub async fn handle<S: AsRef<Base>>(routes: &[Route<S>], state: &S, request: Request) -> Response<Body> {
    let Some(route) = route::find(&request, routes, |route| route.declaration.routes) else {
        return reply::no_route();
    };
    let (name, request_id) = (route.declaration.name, route::request_id(&request));
    // The state behind an endpoint is read-only or behind locks that recover from poisoning.
    let in_time = deadline::scope(route.declaration.deadline, (route.run)(state, &request));
    let guarded = AssertUnwindSafe(in_time).catch_unwind().map(|response| {
        response.unwrap_or_else(|panic| {
            tracing::error!(request_id, endpoint = name, panic = fault::panic_text(&*panic), "the endpoint panicked");
            reply::internal(&request_id)
        })
    });
    let observed = telemetry::Request { id: &request_id, endpoint: name };
    let now = state.as_ref().clock.millis();
    telemetry::observed(observed, now, guarded, |response| response.status().as_u16()).await
}

/// Runs an endpoint, and counts the request if it has a rate limit.
pub(super) async fn respond<E: Endpoint>(state: &E::State, request: &Request) -> Response<Body> {
    match E::RATE_LIMIT {
        None => rendered::<E>(request, attempt::<E>(state, request, Admission::free()).await),
        Some(limit) => counted::<E>(limit, state, request).await,
    }
}

fn rendered<E: Endpoint>(request: &Request, result: Result<E::Reply, Error<E::Refusal>>) -> Response<Body> {
    match result {
        Ok(reply) => reply.into_response(request, E::CACHE),
        Err(error) => error.into_response(E::ERRORS, &route::request_id(request)),
    }
}

/// Authenticates, reads the input and calls the handler.
async fn attempt<E: Endpoint>(
    state: &E::State,
    request: &Request,
    admission: Admission,
) -> Result<E::Reply, Error<E::Refusal>> {
    let base = state.as_ref();
    let bearer = || Bearer::of(request.headers(), &base.config.keys, base.clock.seconds());
    let caller = E::Caller::of(bearer).ok_or(Error::Unauthorized)?;
    match input::<E>(base, request, admission) {
        Ok(input) => E::handle(state, caller, input).await,
        Err(fault) if caller.may_call(base, E::CHECKS_ACCOUNT).await? => Err(Error::Body(fault)),
        Err(_) => Err(Error::Unauthorized),
    }
}

fn input<E: Endpoint>(base: &Base, request: &Request, admission: Admission) -> Result<E::Input, BodyFault> {
    // No GET endpoint reads a body.
    if *request.method() != Method::GET {
        body::check_size(request, E::BODY_LIMIT)?;
    }
    E::Input::read(received::<E>(base, request, admission))
}

fn received<'a, E: Endpoint>(base: &'a Base, request: &'a Request, admission: Admission) -> Received<'a> {
    Received { request, routes: E::ROUTES, admission, trusted_proxies: &base.config.trusted_proxies }
}

/// Counts a request against the rate limit of its address while the endpoint runs, and refuses it if it is over the
/// limit.
async fn counted<E: Endpoint>(limit: RateLimit, state: &E::State, request: &Request) -> Response<Body> {
    let base = state.as_ref();
    let (verdict, admission) = Admission::pending();
    let address = received::<E>(base, request, admission.clone()).address();
    let hit = async {
        let hit = limiter::hit(&base.db, limit, &address, base.clock.millis(), || verdict.not_full()).await;
        verdict.is(hit.as_ref().is_ok_and(|hit| hit.allowed));
        hit
    };
    let (hit, result) = tokio::join!(hit, attempt::<E>(state, request, admission));
    let hit = match hit {
        Ok(hit) => hit,
        Err(error) => return rendered::<E>(request, Err(Error::Store(error))),
    };
    let result = if hit.allowed {
        result
    } else {
        telemetry::rate_limited();
        Err(Error::TooManyAttempts { retry_seconds: hit.reset_seconds })
    };
    let mut response = rendered::<E>(request, result);
    set_rate_headers(&mut response, limit, hit);
    response
}

/// Sets the rate limit headers of a response to a request that was counted.
fn set_rate_headers(response: &mut Response<Body>, limit: RateLimit, hit: Hit) {
    reply::set_number(response, RATE_LIMIT, u64::from(limit.requests));
    reply::set_number(response, RATE_REMAINING, u64::from(hit.remaining));
    reply::set_number(response, RATE_RESET, hit.reset_seconds);
}
