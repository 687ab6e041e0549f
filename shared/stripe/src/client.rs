//! Sends calls, reads what comes back, and the outcomes of a call that are not its reply.

use crate::call::Call;
use crate::values::{ApiBase, Invalid, SecretKey};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use outgoing::OutgoingError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// The longest message of Stripe that is kept, in characters.
const MESSAGE: usize = 300;

#[derive(Debug, Clone)]
pub struct Client {
    http: outgoing::Client,
    base: ApiBase,
    key: SecretKey,
}

impl Client {
    /// A client that sends to `base` with `key`.
    pub const fn new(http: outgoing::Client, base: ApiBase, key: SecretKey) -> Self {
        Self { http, base, key }
    }

    /// The same client over connections that are kept: see [`outgoing::Client::keeping`].
    #[must_use]
    pub fn keeping(&self) -> Self {
        Self { http: self.http.keeping(), ..self.clone() }
    }

    /// The key that requests are sent with.
    pub const fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Sends a request, once, and reads the reply. The variants of the error say whether the request may have had its
    /// effect.
    pub async fn send<T: DeserializeOwned>(&self, call: &Call<T>) -> Result<T, Error> {
        let request = call.request(&self.base, &self.key)?;
        let response = self.http.send(request).await.map_err(Error::NoResponse)?;
        read(&response, &self.key)
    }
}

fn read<T: DeserializeOwned>(response: &Response<Bytes>, key: &SecretKey) -> Result<T, Error> {
    let status = response.status();
    if status.is_success() {
        return serde_json::from_slice(response.body()).map_err(|error| unreadable(status, &error));
    }
    let headers = response.headers();
    let request = text(headers, "request-id");
    let replayed = text(headers, "idempotent-replayed").is_some_and(|value| value == "true");
    if status.is_server_error() {
        return Err(Error::Failed(Failure { status: status.as_u16(), request, replayed }));
    }
    let body: ErrorBody = serde_json::from_slice(response.body()).map_err(|error| unreadable(status, &error))?;
    let error = body.error;
    let message: String = key.without_key(&error.message.unwrap_or_default()).chars().take(MESSAGE).collect();
    let kind = kind(status, &error.kind);
    let refusal =
        Refusal { status: status.as_u16(), kind, code: error.code, param: error.param, message, request, replayed };
    Err(if is_busy(status, headers) { Error::Busy(refusal) } else { Error::Refused(refusal) })
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Whether a refusal is for the moment only. A 408 comes from a proxy; the header is Stripe's own word.
fn is_busy(status: StatusCode, headers: &HeaderMap) -> bool {
    let statuses = [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS];
    statuses.contains(&status) || text(headers, "stripe-should-retry").is_some_and(|value| value == "true")
}

fn kind(status: StatusCode, word: &str) -> RefusalKind {
    match (status, word) {
        (_, "idempotency_error") => RefusalKind::Idempotency,
        (StatusCode::BAD_REQUEST, _) => RefusalKind::Request,
        (StatusCode::UNAUTHORIZED, _) => RefusalKind::Key,
        (StatusCode::PAYMENT_REQUIRED, _) => RefusalKind::Card,
        (StatusCode::FORBIDDEN, _) => RefusalKind::Permission,
        (StatusCode::NOT_FOUND, _) => RefusalKind::NotFound,
        _ => RefusalKind::Other,
    }
}

/// The content of a response may be personal: only the place of the fault is kept.
fn unreadable(status: StatusCode, error: &serde_json::Error) -> Error {
    let what = if error.is_data() { "an unexpected value" } else { "not JSON" };
    let reason = format!("{what} at line {}, column {}", error.line(), error.column());
    Error::Unreadable { status: status.as_u16(), reason }
}

/// The reason why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value that cannot be sent. Nothing was sent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Stripe refused the request permanently: it had no effect, and the same request will be refused again. See
    /// [`RefusalKind::Idempotency`] for the exception.
    #[error("Stripe refused the request: {0}")]
    Refused(Refusal),
    #[error("Stripe cannot take the request now: {0}")]
    Busy(Refusal),
    /// Stripe failed. It is not known whether the request had its effect.
    #[error("Stripe failed: {0}")]
    Failed(Failure),
    /// No response. The variants of [`OutgoingError`] say whether the request may have had its effect.
    #[error("Stripe did not respond")]
    NoResponse(#[source] OutgoingError),
    /// A response that is not what this call returns. It is not known whether the request had its effect.
    #[error("Stripe's response cannot be read (status {status}): {reason}")]
    Unreadable {
        status: u16,
        /// The place at which reading stopped; nothing of the content.
        reason: String,
    },
}

impl Error {
    /// Whether the request with this idempotency key has ended without an object and always will: a refusal, or a
    /// server error that Stripe repeats from its memory.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Invalid(_) => true,
            Self::Refused(refusal) => refusal.kind != RefusalKind::Idempotency,
            Self::Failed(failure) => failure.replayed,
            Self::Busy(_) | Self::NoResponse(_) | Self::Unreadable { .. } => false,
        }
    }

    /// Whether Stripe refused the request because there were too many: it had no effect.
    pub const fn is_rate_limited(&self) -> bool {
        matches!(self, Self::Busy(Refusal { status: 429, .. }))
    }

    /// The refusal, if Stripe gave one.
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) | Self::Busy(refusal) => Some(refusal),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub kind: RefusalKind,
    /// Stripe's code, such as `resource_missing`.
    pub code: Option<String>,
    pub param: Option<String>,
    /// Stripe's message to developers. It may repeat what was sent, but not the key.
    pub message: String,
    /// The id of the request in Stripe's logs.
    pub request: Option<String>,
    /// Whether this is the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {}", self.message, self.status)?;
        for (name, value) in [("code", &self.code), ("parameter", &self.param), ("request", &self.request)] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        f.write_str(")")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// A parameter, or the object's state, does not allow it (400).
    Request,
    /// The key is not valid (401).
    Key,
    /// The payment was declined (402).
    Card,
    /// The key has no right to this (403).
    Permission,
    /// There is no such object (404).
    NotFound,
    /// The idempotency key was used with other parameters (400). That earlier request may have had its effect.
    Idempotency,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub status: u16,
    /// The id of the request in Stripe's logs.
    pub request: Option<String>,
    /// Whether Stripe repeats the error of an earlier request with the same idempotency key: it always will.
    pub replayed: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        if let Some(request) = &self.request {
            write!(f, ", request {request}")?;
        }
        f.write_str(if self.replayed { ", replayed" } else { "" })
    }
}

#[derive(Deserialize)]
pub(crate) struct ErrorBody {
    pub(crate) error: ErrorObject,
}

#[derive(Deserialize)]
pub(crate) struct ErrorObject {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) param: Option<String>,
    pub(crate) message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Balance, Session};

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response<Bytes> {
        let builder =
            headers.iter().fold(Response::builder().status(status), |b, (name, value)| b.header(*name, *value));
        builder.body(Bytes::from(body.to_owned())).unwrap()
    }

    fn fails(status: u16, headers: &[(&str, &str)], body: &str) -> Error {
        read::<Balance>(&response(status, headers, body), &SecretKey::parse("rk_test_51secret").unwrap()).unwrap_err()
    }

    fn body(kind: &str) -> String {
        format!(r#"{{"error": {{"type": "{kind}", "code": "c", "param": "p", "message": "m", "doc_url": "d"}}}}"#)
    }

    #[test]
    fn a_refusal_has_stripes_words() {
        let error = fails(400, &[("request-id", "req_1")], &body("invalid_request_error"));
        let refusal = Refusal {
            status: 400,
            kind: RefusalKind::Request,
            code: Some("c".to_owned()),
            param: Some("p".to_owned()),
            message: "m".to_owned(),
            request: Some("req_1".to_owned()),
            replayed: false,
        };
        assert_eq!(error.refusal(), Some(&refusal));
        assert_eq!(error.to_string(), "Stripe refused the request: m (status 400, code c, parameter p, request req_1)");
    }

    #[test]
    fn a_refusal_is_final_and_what_may_pass_is_not() {
        for (status, kind) in [
            (400, RefusalKind::Request),
            (401, RefusalKind::Key),
            (402, RefusalKind::Card),
            (403, RefusalKind::Permission),
            (404, RefusalKind::NotFound),
            (405, RefusalKind::Other),
        ] {
            let error = fails(status, &[], &body("api_error"));
            assert!(matches!(&error, Error::Refused(refusal) if refusal.kind == kind), "{status}");
            assert!(error.is_final(), "{status}");
        }
        for status in [408, 409, 429] {
            let error = fails(status, &[], &body("api_error"));
            assert!(matches!(error, Error::Busy(_)) && !error.is_final(), "{status}");
            assert_eq!(error.is_rate_limited(), status == 429);
        }
        let asked_to_retry = fails(424, &[("stripe-should-retry", "true")], &body("api_error"));
        assert!(!asked_to_retry.is_final());
    }

    #[test]
    fn another_request_under_the_same_idempotency_key_proves_nothing() {
        let error = fails(400, &[], &body("idempotency_error"));
        assert!(!error.is_final());
    }

    #[test]
    fn a_server_error_is_final_once_it_is_replayed() {
        for status in [500, 502, 503, 504] {
            let first = fails(status, &[], "<html>");
            assert!(!first.is_final(), "{status}");
            let again = fails(status, &[("idempotent-replayed", "true")], &body("api_error"));
            assert!(again.is_final(), "{status}");
        }
    }

    #[test]
    fn a_response_that_cannot_be_read_shows_nothing_of_its_content() {
        for (status, body) in [
            (200, ""),
            (200, r#"{"livemode": "ada@a.example"}"#),
            (200, r#"{"livemode": tr"#),
            (302, "ada@a.example"),
            (403, "<html>ada@a.example"),
            (400, r#"{"error": "ada@a.example"}"#),
        ] {
            let error = fails(status, &[], body);
            assert!(matches!(error, Error::Unreadable { .. }), "{status} {body}: {error:?}");
            assert!(!error.is_final());
            assert!(!format!("{error} {error:?}").contains("example"), "{error:?}");
        }
    }

    #[test]
    fn the_key_is_in_no_error() {
        let error = fails(401, &[], r#"{"error": {"message": "Invalid API Key provided: rk_test_51secret"}}"#);
        assert_eq!(error.refusal().unwrap().message, "Invalid API Key provided: [key]");
        assert!(!format!("{error} {error:?}").contains("51secret"));
    }

    #[test]
    fn a_reply_is_read_past_fields_and_words_that_are_new() {
        let body = r#"{"id": "cs_1", "status": "paused", "payment_status": "lent", "livemode": false, "new": [1],
            "amount_total": 5, "currency": "usd", "metadata": {}, "expires_at": 9, "payment_intent": null}"#;
        let key = SecretKey::parse("rk_test_1").unwrap();
        let session: Session = read(&response(200, &[], body), &key).unwrap();
        assert_eq!(session.status.unwrap().as_str(), "paused");
        assert_eq!(session.payment_status.as_str(), "lent");
    }
}
