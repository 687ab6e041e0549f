//! The edge in front of the API, with the parameter Shop: what proves that a request came through it, and what may be
//! called without it (rules.md, "The edge").

use lambda_http::http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use std::fmt;
use subtle::ConstantTimeEq as _;

/// The header with the secret. The edge overwrites what a caller sends in it.
const KEY: &str = "x-origin-key";
/// The header with the caller's address, as the edge saw it.
const VIEWER: &str = "x-viewer-address";
/// The shortest secret in bytes.
pub const SHORTEST: usize = 32;
/// The beginnings of the route keys that are served without the edge: those of the sweep, which no request has, of payment
/// providers, and of game servers.
const OPEN: [&str; 4] = ["SCHEDULE ", "POST /payments/webhook/", "GET /plugin/", "POST /plugin/"];

/// The secrets that the edge may send: the one that a deploy gives it, and while that is rotated, the one before.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginKeys {
    current: String,
    #[serde(default)]
    previous: Option<String>,
}

impl fmt::Debug for OriginKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OriginKeys").finish_non_exhaustive()
    }
}

impl OriginKeys {
    /// Reads `{"current":"…","previous":"…"}`; `previous` may be missing. `None` if the text is anything else, or a secret is
    /// shorter than [`SHORTEST`].
    pub fn parse(text: &str) -> Option<Self> {
        // The parser's error is left out: it may quote the text.
        let keys: Self = serde_json::from_str(text).ok()?;
        let are_long = keys.secrets().all(|secret| secret.len() >= SHORTEST);
        are_long.then_some(keys)
    }

    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.current).chain(&self.previous).map(String::as_bytes)
    }

    /// Whether a request was sent by the edge.
    fn sent(&self, headers: &HeaderMap) -> bool {
        let key = headers.get(KEY).map(HeaderValue::as_bytes).unwrap_or_default();
        self.secrets().fold(false, |found, secret| found | bool::from(secret.ct_eq(key)))
    }

    /// Whether a request to an endpoint with these route keys may be served.
    pub fn admit(&self, routes: &[&str], headers: &HeaderMap) -> bool {
        routes.iter().all(|route| is_open(route)) || self.sent(headers)
    }

    /// The caller's address, if the edge says it.
    pub fn viewer<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        headers.get(VIEWER).filter(|_| self.sent(headers)).and_then(|value| value.to_str().ok())
    }
}

/// Whether a route is served without the edge.
pub fn is_open(route: &str) -> bool {
    OPEN.iter().any(|open| route.starts_with(open))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn secrets_are_read_and_never_printed() {
        let keys = OriginKeys::parse(&format!(r#"{{"current":"{CURRENT}","previous":"{CURRENT}2"}}"#)).unwrap();
        assert_eq!(keys.secrets().count(), 2);
        assert!(!format!("{keys:?}").contains("0123"));
    }

    #[test]
    fn a_text_without_a_usable_secret_is_refused() {
        let short = format!(r#"{{"current":"{CURRENT}","previous":""}}"#);
        let unknown = format!(r#"{{"current":"{CURRENT}","next":"{CURRENT}"}}"#);
        for text in ["", "{}", CURRENT, r#"{"current":"short"}"#, r#"{"current":1}"#, &short, &unknown] {
            assert_eq!(OriginKeys::parse(text), None, "{text}");
        }
    }
}
