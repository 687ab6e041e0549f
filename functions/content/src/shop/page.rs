//! The response of a page.

use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, StatusCode};
use lambda_http::{Body, Request, Response};
use shared::endpoint::{Cache, Content, Refusal, Reply};
use shared::http::reply;
use std::fmt;

/// Only the shop's own scripts and styles run; pictures may be anywhere, because a store's files can name any.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

/// A page, or the style sheet of one.
#[derive(Debug)]
pub struct Html {
    media_type: &'static str,
    body: String,
    /// The seconds until the calendar changes it.
    lasts: Option<i64>,
}

impl Html {
    pub(super) const fn page(body: String, lasts: Option<i64>) -> Self {
        Self { media_type: HTML, body, lasts }
    }

    pub(super) const fn css(body: String) -> Self {
        Self { media_type: "text/css; charset=utf-8", body, lasts: None }
    }
}

impl Reply for Html {
    fn into_response(self, request: &Request, _: Cache) -> Response<Body> {
        let tag = reply::entity_tag(&self.body);
        reply::cacheable(request.headers(), &tag, self.lasts, || response(StatusCode::OK, self.media_type, self.body))
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> Content {
        Content { media_type: "text/html", schema: generator.subschema_for::<String>() }
    }
}

/// There is no page at the path: the shop's page that says so, or a text if the path is not a page's.
#[derive(Debug)]
pub struct NotFound(Option<String>);

impl NotFound {
    pub(super) const fn page(html: String) -> Self {
        Self(Some(html))
    }

    pub(super) const fn text() -> Self {
        Self(None)
    }

    pub(super) fn no_shop() -> Self {
        Self::page(
            "<!doctype html><html lang=\"en\"><title>No shop</title><h1>No shop</h1><p>This store has no pages: there is no \
             <code>shop</code> in its store.yaml."
                .to_owned(),
        )
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Not found")
    }
}

impl Refusal for NotFound {
    fn status(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    fn response(&self) -> Option<Response<Body>> {
        let html = self.0.clone().unwrap_or_else(|| {
            "<!doctype html><title>Not found</title><h1>Not found</h1><p>This store has no such page.".to_owned()
        });
        Some(response(self.status(), HTML, html))
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![("The shop has no such page", Self::text())]
    }
}

/// A failure as a page: the message that programs get, which has no text of the store or of a caller.
pub fn trouble(failed: Response<Body>) -> Response<Body> {
    let Body::Text(json) = failed.body() else { return failed };
    let json: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Please try again</title>\n<h1>The shop cannot be shown just now</h1>\n<p>Please try again in a minute. {}",
        json["message"].as_str().unwrap_or_default()
    );
    let mut page = response(failed.status(), HTML, html);
    *page.extensions_mut() = failed.extensions().clone();
    page.headers_mut().extend(failed.headers().get(RETRY_AFTER).map(|seconds| (RETRY_AFTER, seconds.clone())));
    page
}

fn response(status: StatusCode, media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::Text(body));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (Some(name), HeaderValue::from_static(value))));
    response
}
