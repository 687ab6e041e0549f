//! The wrapper that runs every endpoint. It refuses requests in one order: edge, rate limit, token, body, data.

use super::{CallFuture, Caller, Declaration, Endpoint, Error, Input, Received, Reply, Route};
use crate::base::Base;
use crate::deadline;
use crate::fault;
use crate::http::bearer::Bearer;
use crate::http::body::{self, BodyFault};
use crate::http::{address, reply, route};
use crate::table::limiter::{self, Hit, RateLimit};
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
/// and every request is one line in the log. HEAD has the response of GET without its body.
pub async fn handle<S: AsRef<Base>>(routes: &[Route<S>], state: &S, mut request: Request) -> Response<Body> {
    let Some(route) = route::find(&request, routes, |route| route.declaration.routes) else {
        return reply::no_route();
    };
    let is_head = *request.method() == Method::HEAD;
    if is_head {
        *request.method_mut() = Method::GET;
    }
    let mut response = respond(route, state, &request).await;
    if is_head {
        *response.body_mut() = Body::Empty;
    }
    response
}

/// Responds to a request by the endpoint of a route that was found otherwise than by the gateway's route key. As [`handle`].
pub async fn respond<S: AsRef<Base>>(route: &Route<S>, state: &S, request: &Request) -> Response<Body> {
    let call = (route.run)(state, request);
    observed(&route.declaration, state.as_ref(), request, call).await
}

/// The part that all endpoints have in common, so that it is compiled once: the edge, the deadline, the rate limit, panics
/// and the log line.
async fn observed(endpoint: &Declaration, base: &Base, request: &Request, call: CallFuture<'_>) -> Response<Body> {
    let (name, request_id) = (endpoint.name, route::request_id(request));
    let respond = async {
        if base.config.proxies.edge.as_ref().is_some_and(|edge| !edge.admit(endpoint.routes, request.headers())) {
            return reply::past_the_edge();
        }
        // An endpoint that reads nothing responds also to earlier data.
        if endpoint.round_trips.cold > 0
            && let Err(error) = base.published.refuse_outdated().await
        {
            return rendered(endpoint, &request_id, Err(error.into()));
        }
        match endpoint.rate_limit {
            None => rendered(endpoint, &request_id, call.await),
            Some(limit) => limited(limit, endpoint, base, request, call).await,
        }
    };
    // The state behind an endpoint is read-only or behind locks that recover from poisoning.
    let guarded = AssertUnwindSafe(deadline::of_request(endpoint.deadline, respond)).catch_unwind().map(|response| {
        response.unwrap_or_else(|panic| {
            tracing::error!(request_id, endpoint = name, panic = fault::panic_text(&*panic), "the endpoint panicked");
            reply::internal(&request_id)
        })
    });
    let guarded = guarded.map(|response| match endpoint.failure {
        Some(page) if response.status().is_server_error() => page(response),
        _ => response,
    });
    let observed = telemetry::Request { id: &request_id, endpoint: name };
    telemetry::observed(observed, base.clock.millis(), guarded, |response| response.status().as_u16()).await
}

fn rendered(endpoint: &Declaration, request_id: &str, result: Result<Response<Body>, Error>) -> Response<Body> {
    result.unwrap_or_else(|error| {
        let is_away = matches!(&error, Error::Store(error) if error.may_pass());
        let while_away = endpoint.while_away.filter(|_| is_away);
        let response = error.into_response(endpoint.errors, request_id);
        let Some(body) = while_away else { return response };
        let mut empty = reply::text(body.to_owned());
        *empty.extensions_mut() = response.extensions().clone();
        empty
    })
}

/// Runs an endpoint. Its reply and its own refusals are responses already, all other errors are still to be converted.
pub(super) async fn run<E: Endpoint>(state: &E::State, request: &Request) -> Result<Response<Body>, Error> {
    match attempt::<E>(state, request).await {
        Ok(reply) => Ok(reply.into_response(request, E::CACHE)),
        Err(error) => error.refused(E::ERRORS, E::CONTENDED),
    }
}

/// Authenticates, reads the input and calls the handler.
async fn attempt<E: Endpoint>(state: &E::State, request: &Request) -> Result<E::Reply, Error<E::Refusal>> {
    let base = state.as_ref();
    let bearer = || Bearer::of(request.headers(), &base.config.keys, base.clock.seconds());
    let caller = E::Caller::of(bearer).ok_or(Error::Unauthorized)?;
    match input::<E>(base, request) {
        Ok(input) => E::handle(state, caller, input).await,
        Err(fault) if caller.may_call(base, E::CHECKS_ACCOUNT).await? => Err(Error::Body(fault)),
        Err(_) => Err(Error::Unauthorized),
    }
}

fn input<E: Endpoint>(base: &Base, request: &Request) -> Result<E::Input, BodyFault> {
    // No GET endpoint reads a body.
    if *request.method() != Method::GET {
        body::check_size(request, E::BODY_LIMIT)?;
    }
    E::Input::read(Received { request, routes: E::ROUTES, proxies: &base.config.proxies })
}

/// Counts a request against the rate limit of its address, and then runs its endpoint if the limit allows it.
async fn limited(
    limit: RateLimit,
    endpoint: &Declaration,
    base: &Base,
    request: &Request,
    call: CallFuture<'_>,
) -> Response<Body> {
    let request_id = route::request_id(request);
    let source = route::source_ip(request);
    let address = address::counted_as(source, request.headers(), &base.config.proxies);
    let hit = match limiter::hit(&base.db, limit, &address, base.clock.millis()).await {
        Ok(hit) => hit,
        Err(error) => return rendered(endpoint, &request_id, Err(error.into())),
    };
    let result = if hit.allowed {
        call.await
    } else {
        telemetry::rate_limited();
        Err(Error::TooManyAttempts { retry_seconds: hit.reset_seconds })
    };
    let mut response = rendered(endpoint, &request_id, result);
    set_rate_headers(&mut response, limit, hit);
    response
}

/// Sets the rate limit headers of a response to a request that was counted.
fn set_rate_headers(response: &mut Response<Body>, limit: RateLimit, hit: Hit) {
    reply::set_number(response, RATE_LIMIT, u64::from(limit.requests));
    reply::set_number(response, RATE_REMAINING, u64::from(hit.remaining));
    reply::set_number(response, RATE_RESET, hit.reset_seconds);
}
