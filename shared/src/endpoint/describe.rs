//! The description of an endpoint for its documentation: the schemas of its request and reply, and its other responses.
//! Everything follows from the endpoint's types, so that the documentation cannot say something else. Compiled with the
//! feature `schema` only, which no deployed function has.

use super::reply::Content;
use super::{Access, Cache, Endpoint, Error, Input, Received, Refusal, Reply, RequestSchemas};
use crate::http::address::Proxies;
use crate::http::body::BodyFault;
use crate::http::route::parameter_names;
use crate::http::{address, reply};
use lambda_http::http::HeaderValue;
use lambda_http::http::header::{CONTENT_TYPE, RETRY_AFTER};
use lambda_http::{Body, Request, Response};
use schemars::SchemaGenerator;

/// Stands for the request id in example bodies.
const REQUEST_ID: &str = "JKJaXmPLvHcESHA=";
/// Stands for the seconds in `Retry-After`.
const RETRY_SECONDS: u64 = 60;

/// The generators of an endpoint's schemas. They collect the types that schemas refer to.
#[derive(Debug)]
pub struct Schemas {
    pub requests: SchemaGenerator,
    pub replies: SchemaGenerator,
}

/// The documentation of an endpoint, beyond its [`super::Declaration`].
#[derive(Debug)]
pub struct Description {
    pub request: RequestSchemas,
    /// Whether a request without a body is refused.
    pub needs_body: bool,
    /// The names of the path parameters, in the order of their schemas.
    pub path_parameters: Vec<&'static str>,
    /// The ordinary response, with status 200.
    pub reply: Content,
    pub others: Vec<OtherResponse>,
}

/// A response other than the ordinary one.
#[derive(Debug)]
pub struct OtherResponse {
    pub status: u16,
    /// The condition for it, as a phrase.
    pub when: &'static str,
    /// An example of the body, as JSON; empty if it has none. Of a page, the text that it shows.
    pub body: String,
    pub is_page: bool,
    pub retry_after: bool,
    /// Whether other endpoints respond the same for the same reason.
    pub common: bool,
}

impl OtherResponse {
    fn of(when: &'static str, response: &Response<Body>) -> Self {
        let body = match response.body() {
            Body::Text(text) => text.clone(),
            // No reply of this service is binary.
            _ => String::new(),
        };
        let retry_after = response.headers().contains_key(RETRY_AFTER);
        let is_page =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        Self { status: response.status().as_u16(), when, body, is_page, retry_after, common: false }
    }

    fn refused<E: Endpoint>(when: &'static str, refusal: &E::Refusal) -> Self {
        let text = refusal.to_string();
        let response = Self::of(when, &E::ERRORS.refusal(refusal));
        if response.is_page { Self { body: text, ..response } } else { response }
    }

    fn common(when: &'static str, response: &Response<Body>) -> Self {
        Self { common: true, ..Self::of(when, response) }
    }
}

pub(super) fn describe<E: Endpoint>(schemas: &mut Schemas) -> Description {
    Description {
        request: E::Input::schemas(&mut schemas.requests),
        needs_body: fault_of::<E>(Body::Empty).is_some(),
        path_parameters: E::ROUTES.iter().map(|route| parameter_names(route)).max_by_key(Vec::len).unwrap_or_default(),
        reply: E::Reply::content(&mut schemas.replies),
        others: others::<E>(),
    }
}

fn others<E: Endpoint>() -> Vec<OtherResponse> {
    let response = |error: Error| error.into_response(E::ERRORS, REQUEST_ID);
    let refusals = E::Refusal::documented().into_iter();
    let mut others: Vec<OtherResponse> =
        refusals.map(|(when, refusal)| OtherResponse::refused::<E>(when, &refusal)).collect();
    others.extend(E::CONTENDED.map(|contended| OtherResponse::of(contended.when, &contended.response(E::ERRORS))));
    if E::CACHE == Cache::Public {
        let mut unchanged = Response::new(Body::Empty);
        *unchanged.status_mut() = lambda_http::http::StatusCode::NOT_MODIFIED;
        others.push(OtherResponse::of("The caller already has this response (GET with `If-None-Match`)", &unchanged));
    }
    if E::Input::KIND.has_json_body() {
        let when = "The body is not a JSON object, or a field is missing or has a value that it cannot have";
        others.push(OtherResponse::common(when, &response(Error::Body(example_fault::<E>()))));
    }
    if let Some(when) = unauthorized::<E>() {
        let response = OtherResponse::of(when, &response(Error::Unauthorized));
        others.push(OtherResponse { common: E::UNAUTHORIZED.is_none(), ..response });
    }
    if !E::ROUTES.iter().all(|route| address::is_open(route)) {
        others.push(OtherResponse::common(
            "With a shop: the request did not come through its edge",
            &reply::past_the_edge(),
        ));
    }
    if E::RATE_LIMIT.is_some() {
        let limited = response(Error::TooManyAttempts { retry_seconds: RETRY_SECONDS });
        others.push(OtherResponse::of("Too many requests from this address", &limited));
    }
    if E::ROUTES.iter().any(|route| !route.starts_with("GET ") && !route.starts_with("HEAD ")) {
        let large = response(Error::Body(BodyFault::TooLarge { limit: E::BODY_LIMIT }));
        others.push(OtherResponse::common("The body is too large", &large));
    }
    let failure = |when, response| match E::FAILURE {
        Some(page) => OtherResponse { body: "Please try again".to_owned(), ..OtherResponse::of(when, &page(response)) },
        None => OtherResponse::common(when, &response),
    };
    others.push(failure("An error in the service", reply::internal(REQUEST_ID)));
    if E::WHILE_AWAY.is_none() {
        others.push(failure("The database is not available", reply::unavailable()));
    }
    others
}

/// The fault of a body without fields, or of a body that is not an object if every field is optional.
fn example_fault<E: Endpoint>() -> BodyFault {
    let fault = |body: &str| fault_of::<E>(Body::from(body));
    fault("{}").or_else(|| fault("[]")).unwrap_or(BodyFault::NotAnObject)
}

/// The fault of a body; `None` if it accepts it.
fn fault_of<E: Endpoint>(body: Body) -> Option<BodyFault> {
    let mut request = Request::new(body);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    E::Input::read(Received { request: &request, routes: E::ROUTES, proxies: &Proxies::default() }).err()
}

fn unauthorized<E: Endpoint>() -> Option<&'static str> {
    E::UNAUTHORIZED.or(match <E::Caller as super::Caller>::ACCESS {
        Access::Ignored | Access::Optional => None,
        Access::Required => Some("No token, or one that is not valid"),
        Access::RequiredOrGuest => Some("A token that is not valid; no token, unless guest mode is on"),
    })
}
