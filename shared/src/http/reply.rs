//! Responses: status, headers, body. Every body is JSON or a page. Everything except the cached GET endpoints is `no-store`
//! (rules.md, "Caching").

use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use lambda_http::http::{HeaderMap, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How long browsers and proxies may cache a response, in seconds, and how long after that while they revalidate.
const MAX_AGE: i64 = 30;
const STALE: i64 = 60;
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=30, stale-while-revalidate=60");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The `Retry-After` of a response when the database is not available, in seconds.
const RETRY_SECONDS: u64 = 1;

/// A body with a text only.
#[derive(Debug, Serialize)]
pub struct Message<'a> {
    pub message: &'a str,
}

/// A refusal with a flag in `status`, such as that of a token (rules.md, "Statuses and error bodies").
#[derive(Debug, Serialize)]
pub struct Refused<'a> {
    pub status: bool,
    pub message: &'a str,
}

/// The outcome: success, or a refusal with its reason.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Outcome<'a> {
    /// Whether the request succeeded.
    pub success: bool,
    /// The outcome, as a text for people.
    pub message: &'a str,
}

/// A body as JSON text.
pub fn render(body: &impl Serialize) -> String {
    // Bodies consist of strings, numbers and each other; serialising them cannot fail.
    serde_json::to_string(body).unwrap_or_default()
}

/// A body as JSON that cannot end the element of a page that it is in. The characters occur only within strings.
pub fn render_in_html(body: &impl Serialize) -> String {
    let json = render(body);
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A response that cannot be cached.
pub fn json(status: StatusCode, body: &impl Serialize) -> Response<Body> {
    let mut response = text(render(body));
    *response.status_mut() = status;
    response
}

/// 200 with a rendered body that cannot be cached.
pub fn text(body: String) -> Response<Body> {
    let mut response = Response::new(Body::Text(body));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

pub fn message(status: StatusCode, message: &str) -> Response<Body> {
    json(status, &Message { message })
}

/// The gateway's own response to an unknown route or a wrong method.
pub fn no_route() -> Response<Body> {
    message(StatusCode::NOT_FOUND, "Not Found")
}

/// 403 for a request that did not come through the shop's edge.
pub fn past_the_edge() -> Response<Body> {
    message(StatusCode::FORBIDDEN, "Please call the API at the address of the shop, below /api.")
}

/// 401 with the body of every endpoint except checkStatus.
pub fn unauthorized() -> Response<Body> {
    let body = Refused { status: false, message: "Unauthorized: a valid access token is required." };
    challenge(json(StatusCode::UNAUTHORIZED, &body))
}

pub fn challenge(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// 503: nothing is half written, and the caller can try again.
pub fn unavailable() -> Response<Body> {
    let body = "The store is busy at the moment. Please try again shortly.";
    let mut response = message(StatusCode::SERVICE_UNAVAILABLE, body);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    response
}

/// 500 with the request's id and no internals.
pub fn internal(request_id: &str) -> Response<Body> {
    let text = format!("Internal error. If it happens again, name the request {request_id}.");
    message(StatusCode::INTERNAL_SERVER_ERROR, &text)
}

pub fn set_number(response: &mut Response<Body>, name: HeaderName, value: u64) {
    response.headers_mut().insert(name, HeaderValue::from(value));
}

/// A rendered body with its entity tag: rendered once, sent many times.
#[derive(Debug, Clone)]
pub struct Rendered {
    body: String,
    /// Computed for the first caller who may cache the body.
    tag: OnceLock<String>,
}

impl Rendered {
    pub fn new(body: &impl Serialize) -> Self {
        Self { body: render(body), tag: OnceLock::new() }
    }

    pub fn body(&self) -> &str {
        &self.body
    }

    /// 200 with the body, or 304 if the caller already has it. Both can be cached (rules.md, "Caching").
    pub fn reply(&self, request: &HeaderMap, lasts: Option<i64>) -> Response<Body> {
        let tag = self.tag.get_or_init(|| entity_tag(&self.body));
        cacheable(request, tag, lasts, || text(self.body.clone()))
    }
}

/// A response that can be cached, or 304 if the caller already has the one with this tag (rules.md, "Caching"). `lasts` are the
/// seconds until the calendar changes it.
pub fn cacheable(
    request: &HeaderMap,
    tag: &str,
    lasts: Option<i64>,
    whole: impl FnOnce() -> Response<Body>,
) -> Response<Body> {
    let mut response = if has_tag(request, tag) {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        whole()
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, cache_control(lasts));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// How long a response can be cached; never beyond what the calendar changes.
fn cache_control(lasts: Option<i64>) -> HeaderValue {
    let before_edge = lasts.filter(|lasts| *lasts < MAX_AGE + STALE);
    let shorter =
        before_edge.map(|lasts| HeaderValue::try_from(format!("public, max-age={}", lasts.clamp(0, MAX_AGE))));
    shorter.and_then(Result::ok).unwrap_or(PUBLIC)
}

/// The last rendered body with the key that it was rendered for. It is rendered again only when the key changes.
#[derive(Debug)]
pub struct RenderedOnce<K>(Mutex<Option<(K, Arc<Rendered>)>>);

impl<K: PartialEq> RenderedOnce<K> {
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The body for `key`, rendered by `render` if the last one had another key.
    pub fn get<B: Serialize>(&self, key: K, render: impl FnOnce() -> B) -> Arc<Rendered> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.as_ref().filter(|(last, _)| *last == key) {
            Some((_, rendered)) => Arc::clone(rendered),
            None => {
                let rendered = Arc::new(Rendered::new(&render()));
                *slot = Some((key, Arc::clone(&rendered)));
                rendered
            }
        }
    }
}

impl<K: PartialEq> Default for RenderedOnce<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of the hash in a tag.
const BYTES: usize = 16;

/// The strong tag of a body, including the quotes.
pub fn entity_tag(body: &str) -> String {
    let hash = Sha256::digest(body);
    format!("\"{}\"", hex::encode(&hash[..BYTES]))
}

/// Whether the caller already has the body with this tag (RFC 9110, 13.1.2: weak comparison).
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut candidates = values.flat_map(|value| value.split(',')).map(str::trim);
    candidates.any(|candidate| candidate == "*" || candidate.trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_page_has_no_markup_and_reads_as_before() {
        let text = "</script><!-- & \u{2028}\u{2029} \"é\"";
        let json = render_in_html(&text);
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
