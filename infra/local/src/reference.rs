//! The API's reference at `/reference`, in which every call can be tried, and the OpenAPI document at `/openapi.json`.
//! Nothing is loaded from elsewhere: the viewer is Swagger UI, as its crate has it. No deployment has any of this.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use std::sync::Arc;

const DOCUMENT: &str = include_str!("../../openapi.json");
const PAGE: &str = include_str!("../reference/index.html");
const SCRIPT: &str = include_str!("../reference/page.js");
const STYLE: &str = include_str!("../reference/page.css");
/// The viewer sets styles of its own and has pictures in its style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

#[derive(Debug)]
pub struct Reference {
    document: String,
    tokens: String,
}

impl Reference {
    /// The reference for the API below `base_path` on the same port. `tokens` are names with their tokens; the first is
    /// used until another is chosen.
    pub fn new<'a>(base_path: &str, tokens: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
        let url = if base_path.is_empty() { "/" } else { base_path };
        document["servers"] = json!([{"url": url, "description": "This server."}]);
        let tokens: Vec<Value> = tokens.map(|(name, token)| json!({"name": name, "token": token})).collect();
        Self { document: document.to_string(), tokens: Value::Array(tokens).to_string() }
    }

    /// The response to GET of one of the reference's paths; `None` for any other request.
    pub fn respond(&self, method: &Method, path: &str) -> Option<Response<Full<Bytes>>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let own = |text: &'static str| Bytes::from_static(text.as_bytes());
        let (bytes, media_type) = match path {
            "/openapi.json" => (Bytes::from(self.document.clone()), "application/json"),
            "/reference" | "/reference/" => (own(PAGE), "text/html; charset=utf-8"),
            "/reference/page.js" => (own(SCRIPT), "text/javascript; charset=utf-8"),
            "/reference/page.css" => (own(STYLE), "text/css; charset=utf-8"),
            "/reference/tokens.json" => (Bytes::from(self.tokens.clone()), "application/json"),
            _ => return viewer(path.strip_prefix("/reference/")?),
        };
        Some(file(bytes, HeaderValue::from_static(media_type)))
    }
}

fn viewer(name: &str) -> Option<Response<Full<Bytes>>> {
    let config = Arc::new(utoipa_swagger_ui::Config::from("/openapi.json"));
    match utoipa_swagger_ui::serve(name, config) {
        Ok(Some(found)) => {
            let media_type = HeaderValue::from_str(&found.content_type).ok()?;
            Some(file(Bytes::from(found.bytes.into_owned()), media_type))
        }
        _ => {
            let mut missing =
                file(Bytes::from_static(b"There is no such file."), HeaderValue::from_static("text/plain"));
            *missing.status_mut() = StatusCode::NOT_FOUND;
            Some(missing)
        }
    }
}

fn file(bytes: Bytes, media_type: HeaderValue) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(bytes));
    let headers = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn reference(base_path: &str) -> Reference {
        Reference::new(base_path, [("Thornwick", "a.b.c")].into_iter())
    }

    fn get(path: &str) -> (StatusCode, String) {
        let response = reference("").respond(&Method::GET, path).unwrap();
        let status = response.status();
        let body = futures_util::FutureExt::now_or_never(response.into_body().collect()).unwrap().unwrap();
        (status, String::from_utf8_lossy(&body.to_bytes()).into_owned())
    }

    #[test]
    fn everything_that_the_page_loads_is_served_here() {
        let (_, page) = get("/reference");
        let loaded = page.split('"').filter(|text| text.starts_with('/'));
        let loaded: Vec<&str> = loaded.collect();
        assert!(loaded.len() >= 4, "{loaded:?}");
        for path in loaded {
            let (status, body) = get(path);
            assert!(status == 200 && !body.is_empty(), "{path}: {status}");
        }
        assert!(!page.contains("//"), "the page loads from elsewhere");
    }

    #[test]
    fn the_document_names_this_server_and_nothing_else_changes() {
        let (_, served) = get("/openapi.json");
        let mut served: Value = serde_json::from_str(&served).unwrap();
        let mut committed: Value = serde_json::from_str(DOCUMENT).unwrap();
        assert_eq!(served["servers"], json!([{"url": "/", "description": "This server."}]));
        served["servers"] = Value::Null;
        committed["servers"] = Value::Null;
        assert_eq!(served, committed);
        assert!(reference("/api").document.contains(r#""url":"/api""#));
    }

    #[test]
    fn tokens_are_listed_in_order_and_other_requests_are_not_answered() {
        assert_eq!(get("/reference/tokens.json").1, r#"[{"name":"Thornwick","token":"a.b.c"}]"#);
        assert_eq!(get("/reference/../../Cargo.toml").0, StatusCode::NOT_FOUND);
        assert!(reference("").respond(&Method::POST, "/reference").is_none());
        assert!(reference("").respond(&Method::GET, "/categories/get").is_none());
    }
}
