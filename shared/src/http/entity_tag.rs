//! Strong entity tags and 304 (rules.md, "Caching").

use lambda_http::http::HeaderMap;
use lambda_http::http::header::IF_NONE_MATCH;
use sha2::{Digest, Sha256};

/// Bytes of the hash in a tag.
const BYTES: usize = 16;

/// The strong tag of a body, including the quotes.
pub fn of(body: &str) -> String {
    let hash = Sha256::digest(body);
    format!("\"{}\"", hex::encode(&hash[..BYTES]))
}

/// Whether the caller already has the body with this tag (RFC 9110, 13.1.2: weak comparison).
pub fn matches(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut candidates = values.flat_map(|value| value.split(',')).map(str::trim);
    candidates.any(|candidate| candidate == "*" || candidate.trim_start_matches("W/") == tag)
}
