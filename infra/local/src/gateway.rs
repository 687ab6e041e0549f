//! API Gateway's part: routes, limits, preflights, and its own responses.

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
    functions: Arc<Functions>,
    clock: Arc<dyn Clock>,
    requests: AtomicU64,
    /// Empty, or a path that begins with a slash.
    base_path: String,
}

impl Gateway {
    /// A gateway for the template's routes. Fails if the template has no usable routes, or a route to a function that
    /// does not exist.
    pub fn new(
        template: &Template,
        functions: impl Into<Arc<Functions>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        let routes = template.routes()?;
        if let Some(route) = routes.iter().find(|route| !Functions::NAMES.contains(&route.function.as_str())) {
            return Err(StartError::UnknownFunction(route.function.clone()));
        }
        Ok(Self {
            routes,
            cors: template.cors()?,
            functions: functions.into(),
            clock,
            requests: AtomicU64::new(1),
            base_path: String::new(),
        })
    }

    /// The same gateway with all routes below a path such as `/api`, as with a mapping of a custom domain.
    #[must_use]
    pub fn below(self, base_path: &str) -> Self {
        Self { base_path: base_path.to_owned(), ..self }
    }

    /// Responds to a request as the deployed API does. `path` is as sent; `source_ip` is the caller's address.
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

    /// Refuses a request whose body could not be received.
    pub fn refuse(&self, status: StatusCode, headers: &HeaderMap) -> Response<Body> {
        let message = if status == StatusCode::PAYLOAD_TOO_LARGE { TOO_LARGE } else { BAD_REQUEST };
        let mut response = own_response(status, message);
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
            return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST);
        }
        if body.len() > LARGEST_BODY {
            return own_response(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let Some(path) = event::decode_path(path) else { return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST) };
        // Functions receive the whole path, as with a mapping of a custom domain.
        let routed = path.strip_prefix(&self.base_path).unwrap_or_default();
        let Some((route, parameters)) = match_route(&self.routes, method.as_str(), routed) else {
            return own_response(StatusCode::NOT_FOUND, "Not Found");
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
        // The event is serialised as AWS would send it. The runtime makes a request of it, and panics on headers that
        // no gateway forwards.
        let request = std::panic::catch_unwind(AssertUnwindSafe(|| lambda_http::request::from_str(&event)));
        let Ok(Ok(request)) = request else { return own_response(StatusCode::BAD_REQUEST, BAD_REQUEST) };
        let response = self.functions.call(&route.function, request).await;
        response.unwrap_or_else(|| own_response(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"))
    }
}

/// Whether the Host header can be part of a URL; the runtime panics if it cannot.
fn has_usable_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(http::header::HOST) else { return true };
    host.to_str().is_ok_and(|host| url::Url::parse(&format!("https://{host}/")).is_ok())
}

/// The gateway's own response: `{message}`, without the headers of the functions
/// (rules.md, "Statuses and error bodies").
fn own_response(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = reply::message(status, message);
    response.headers_mut().remove(http::header::CACHE_CONTROL);
    response
}
