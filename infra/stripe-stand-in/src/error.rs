//! Refusals in the shape in which Stripe sends them.

use http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<String>,
    message: String,
    /// Whether it was found before the request was executed: such a refusal is not kept for the idempotency key.
    pub(super) is_early: bool,
}

impl ApiError {
    /// A refusal of a request (400).
    pub(super) fn request(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "invalid_request_error",
            code: None,
            param: None,
            message: message.into(),
            is_early: false,
        }
    }

    /// A refusal of a parameter (400).
    pub(super) fn parameter(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::request(message) }
    }

    /// An id that no object has (404).
    pub(super) fn missing(object: &str, param: &str, id: &str) -> Self {
        let error = Self::parameter(param, format!("No such {object}: '{id}'")).code("resource_missing");
        Self { status: StatusCode::NOT_FOUND, ..error }
    }

    pub(super) fn status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(super) fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// The same refusal, found before the request was executed.
    pub(super) fn early(self) -> Self {
        Self { is_early: true, ..self }
    }

    /// A refusal with a status, for faults.
    pub(super) fn of_status(status: StatusCode) -> Self {
        let (kind, code, message) = match status.as_u16() {
            402 => ("card_error", Some("card_declined"), "Your card was declined."),
            403 => {
                let message = "The provided key does not have the required permissions for this endpoint.";
                ("invalid_request_error", None, message)
            }
            409 => {
                let message = "There is currently another in-progress request using this Idempotent Key.";
                ("idempotency_error", Some("idempotency_key_in_use"), message)
            }
            429 => ("invalid_request_error", Some("rate_limit"), "Request rate limit exceeded."),
            400..500 => ("invalid_request_error", None, "Invalid request."),
            _ => ("api_error", None, "An unknown error occurred."),
        };
        let error = Self { code, ..Self::request(message) };
        // Limits are applied before execution; the others are outcomes of it.
        let is_early = matches!(status.as_u16(), 401 | 403 | 409 | 429);
        Self { is_early, ..error.kind(kind).status(status) }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn json(&self) -> Value {
        let mut error = json!({ "type": self.kind, "message": self.message });
        if let Some(code) = self.code {
            error["code"] = code.into();
            error["doc_url"] = format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-")).into();
        }
        if let Some(param) = &self.param {
            error["param"] = param.as_str().into();
        }
        json!({ "error": error })
    }
}
