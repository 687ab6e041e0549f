//! What API Gateway does in front of the functions: routes, limits, preflights, and its own answers.

use crate::cors;
use crate::error::StartError;
use crate::event::{self, Incoming};
use crate::functions::Functions;
use http::{HeaderMap, Method, Response, StatusCode};
use jiff::Timestamp;
use lambda_http::Body;
use shared::clock::Clock;
use shared::http::reply;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use template::{Cors, Route, Template, match_route};

/// The largest payload of an HTTP API, in bytes.
pub const LARGEST_BODY: usize = 10 * 1024 * 1024;

const BAD_REQUEST: &str = "Bad Request";
const TOO_LARGE: &str = "Request Entity Too Large";

/// The routes of a template with the functions behind them.
#[derive(Debug)]
pub struct Gateway {
    routes: Vec<Route>,
    cors: Option<Cors>,
    functions: Functions,
    clock: Arc<dyn Clock>,
    requests: AtomicU64,
    /// Empty, or a path that begins with a slash.
    base_path: String,
}

impl Gateway {
    /// A gateway for the template's routes.
    ///
    /// # Errors
    /// [`StartError`] where the template has no usable routes, or one to a function that does not exist.
    pub fn new(template: &Template, functions: Functions, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let routes = template.routes()?;
        if let Some(route) = routes.iter().find(|route| !Functions::NAMES.contains(&route.function.as_str())) {
            return Err(StartError::UnknownFunction(route.function.clone()));
        }
        Ok(Self {
            routes,
            cors: template.cors()?,
            functions,
            clock,
            requests: AtomicU64::new(1),
            base_path: String::new(),
        })
    }

    /// The same gateway with all routes below a path such as `/api`, as a domain with a mapping has them.
    #[must_use]
    pub fn below(self, base_path: &str) -> Self {
        Self { base_path: base_path.to_owned(), ..self }
    }

    /// Answers a request as the deployed API does. `path` is as sent, `source_ip` the caller's address.
    pub async fn respond(
        &self,
        method: &Method,
        path_and_query: (&str, &str),
        headers: &HeaderMap,
        body: &[u8],
        source_ip: &str,
    ) -> Response<Body> {
        if let (&Method::OPTIONS, Some(cors)) = (method, &self.cors) {
            let mut response = Response::new(Body::Empty);
            *response.status_mut() = StatusCode::NO_CONTENT;
            *response.headers_mut() = cors::preflight(cors, headers);
            return response;
        }
        let mut response = self.route(method, path_and_query, headers, body, source_ip).await;
        if let Some(cors) = &self.cors {
            cors::decorate(cors, headers, response.headers_mut());
        }
        response
    }

    /// Refuses a request whose body could not be taken in.
    #[must_use]
    pub fn refuse(&self, status: StatusCode, headers: &HeaderMap) -> Response<Body> {
        let message = if status == StatusCode::PAYLOAD_TOO_LARGE { TOO_LARGE } else { BAD_REQUEST };
        let mut response = own_answer(status, message);
        if let Some(cors) = &self.cors {
            cors::decorate(cors, headers, response.headers_mut());
        }
        response
    }

    async fn route(
        &self,
        method: &Method,
        (path, query): (&str, &str),
        headers: &HeaderMap,
        body: &[u8],
        source_ip: &str,
    ) -> Response<Body> {
        if !has_usable_host(headers) {
            return own_answer(StatusCode::BAD_REQUEST, BAD_REQUEST);
        }
        if body.len() > LARGEST_BODY {
            return own_answer(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let Some(path) = event::decode_path(path) else { return own_answer(StatusCode::BAD_REQUEST, BAD_REQUEST) };
        // Functions still see the whole path, as they do behind a domain's mapping.
        let routed = path.strip_prefix(&self.base_path).unwrap_or_default();
        let Some((route, parameters)) = match_route(&self.routes, method.as_str(), routed) else {
            return own_answer(StatusCode::NOT_FOUND, "Not Found");
        };
        let request_id = format!("local-{}", self.requests.fetch_add(1, Ordering::Relaxed));
        let millis = i64::try_from(self.clock.millis()).unwrap_or(i64::MAX);
        let incoming = Incoming {
            method: method.as_str(),
            path: &path,
            query,
            headers,
            body,
            source_ip,
            request_id: &request_id,
            at: Timestamp::from_millisecond(millis).unwrap_or_default(),
        };
        let event = event::build(&incoming, &route.key(), &parameters).to_string();
        // The event goes through the text that AWS would send. Building a request from it is the runtime's part, and
        // panics on what no gateway lets through.
        let request = std::panic::catch_unwind(AssertUnwindSafe(|| lambda_http::request::from_str(&event)));
        let Ok(Ok(request)) = request else { return own_answer(StatusCode::BAD_REQUEST, BAD_REQUEST) };
        let response = self.functions.call(&route.function, request).await;
        response.unwrap_or_else(|| own_answer(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"))
    }
}

/// Whether a URL can be made of the Host; the runtime panics where none can.
fn has_usable_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(http::header::HOST) else { return true };
    host.to_str().is_ok_and(|host| url::Url::parse(&format!("https://{host}/")).is_ok())
}

/// An answer of the gateway itself: `{message}` and none of the functions' headers
/// (rules.md, "Statuses and error bodies").
fn own_answer(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = reply::message(status, message);
    response.headers_mut().remove(http::header::CACHE_CONTROL);
    response
}
