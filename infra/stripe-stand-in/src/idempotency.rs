//! Responses that are kept for an idempotency key.

use super::error::ApiError;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How long a response is kept, in seconds.
const KEPT: i64 = 24 * 60 * 60;
/// The longest key.
const LONGEST_KEY: usize = 255;

/// The parts of a request that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) parameters: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    request: Request,
    status: u16,
    body: Value,
    at: i64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Responses(BTreeMap<String, Kept>);

impl Responses {
    /// The response to an earlier request with this key; `None` if there was none.
    pub(super) fn find(
        &mut self,
        key: &str,
        request: &Request,
        now: i64,
    ) -> Result<Option<(StatusCode, Value)>, ApiError> {
        if key.is_empty() || key.len() > LONGEST_KEY {
            let message = format!("Invalid idempotency key; must be 1 to {LONGEST_KEY} characters");
            return Err(ApiError::request(message).early());
        }
        self.0.retain(|_, kept| now < kept.at + KEPT);
        let Some(kept) = self.0.get(key) else { return Ok(None) };
        let try_another = format!("Try using a key other than '{key}' if you meant to execute a different request.");
        let fault = if kept.request.path != request.path {
            let (new, old) = (&request.path, &kept.request.path);
            format!(
                "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{new}' vs '{old}')."
            )
        } else if kept.request.parameters != request.parameters {
            "Keys for idempotent requests can only be used with the same parameters they were first used with."
                .to_owned()
        } else {
            return Ok(Some((StatusCode::from_u16(kept.status).unwrap_or_default(), kept.body.clone())));
        };
        Err(ApiError::request(format!("{fault} {try_another}")).kind("idempotency_error").early())
    }

    pub(super) fn keep(&mut self, key: &str, request: Request, (status, body): (StatusCode, Value), now: i64) {
        self.0.insert(key.to_owned(), Kept { request, status: status.as_u16(), body, at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(path: &str, value: &str) -> Request {
        Request { path: path.to_owned(), parameters: vec![("a".to_owned(), value.to_owned())] }
    }

    #[test]
    fn a_key_repeats_the_first_response_for_a_day() {
        let mut responses = Responses::default();
        let response = (StatusCode::OK, json!({ "id": 1 }));
        assert_eq!(responses.find("k", &request("/a", "1"), 0), Ok(None));
        responses.keep("k", request("/a", "1"), response.clone(), 0);
        assert_eq!(responses.find("k", &request("/a", "1"), KEPT - 1), Ok(Some(response)));
        assert_eq!(responses.find("k", &request("/a", "1"), KEPT), Ok(None));
    }

    #[test]
    fn a_key_is_for_one_request() {
        let mut responses = Responses::default();
        responses.keep("k", request("/a", "1"), (StatusCode::OK, json!({})), 0);
        for other in [request("/a", "2"), request("/b", "1")] {
            let error = responses.find("k", &other, 1).unwrap_err();
            assert_eq!(error.json()["error"]["type"], "idempotency_error");
            assert_eq!(error.status, StatusCode::BAD_REQUEST);
        }
        assert!(responses.find("", &request("/a", "1"), 1).is_err());
        assert!(responses.find(&"k".repeat(256), &request("/a", "1"), 1).is_err());
    }
}
