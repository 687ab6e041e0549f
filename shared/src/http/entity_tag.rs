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

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::http::HeaderValue;

    fn matching(header: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static(header));
        matches(&headers, "\"abc\"")
    }

    #[test]
    fn any_tag_of_the_list_matches() {
        assert!(matching("\"abc\""));
        assert!(matching("W/\"abc\""));
        assert!(matching("\"x\" , \"abc\""));
        assert!(matching("*"));
        assert!(!matching("abc"));
        assert!(!matching("\"abcd\""));
        assert!(!matches(&HeaderMap::new(), "\"abc\""));
    }

    #[test]
    fn different_bodies_have_different_tags() {
        assert_ne!(of("a"), of("b"));
        assert_eq!(of("a").len(), 34);
    }
}
