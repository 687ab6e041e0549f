//! Everything that keeps checkStatus from its ordinary answer.

use lambda_http::http::StatusCode;
use lambda_http::http::header::RETRY_AFTER;
use lambda_http::{Body, Response};
use serde::Serialize;
use shared::fault;
use shared::http::body::BodyFault;
use shared::http::reply;
use shared::store::StoreError;

/// An outcome without an order.
#[derive(Serialize)]
pub struct Label<'a> {
    /// The outcome, see the contract's Errors.
    pub status: &'static str,
    /// The text.
    pub message: &'a str,
}

/// A refusal or a fault; what the caller learns stands in [`Error::into_response`] alone.
#[derive(Debug)]
pub enum Error {
    /// The address has made too many requests (contract, Limits).
    TooManyAttempts {
        /// Seconds until its window ends.
        retry_seconds: u64,
    },
    /// A body that is not looked at further (ruling 1).
    Body(BodyFault),
    /// The order belongs to somebody, and the caller is nobody (ruling 4).
    Unauthorized,
    /// The table failed.
    Store(StoreError),
}

impl Error {
    /// The answer to the caller; a failure of the table is logged with it.
    pub fn into_response(self, request_id: &str) -> Response<Body> {
        match self {
            Self::TooManyAttempts { retry_seconds } => {
                let message = "Too many attempts. Please try again later.";
                let mut response = reply::json(StatusCode::TOO_MANY_REQUESTS, &Label { status: "error", message });
                reply::set_number(&mut response, RETRY_AFTER, retry_seconds);
                response
            }
            Self::Body(BodyFault::TooLarge) => {
                reply::message(StatusCode::PAYLOAD_TOO_LARGE, &BodyFault::TooLarge.to_string())
            }
            Self::Body(fault) => {
                reply::json(StatusCode::BAD_REQUEST, &Label { status: "error", message: &fault.to_string() })
            }
            Self::Unauthorized => {
                let body = Label { status: "error", message: "Unauthorized" };
                reply::challenge(reply::json(StatusCode::UNAUTHORIZED, &body))
            }
            Self::Store(error) => fault::answer(request_id, &error),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
