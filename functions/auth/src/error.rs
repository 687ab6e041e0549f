//! Everything that keeps an auth endpoint from its ordinary answer.

use lambda_http::http::StatusCode;
use lambda_http::{Body, Response};
use serde::Serialize;
use shared::fault;
use shared::http::body::BodyFault;
use shared::http::reply;
use shared::store::StoreError;

/// The answer of auth/chat without a URL (contract, Errors).
#[derive(Serialize)]
pub struct Failure<'a> {
    /// Always false.
    pub success: bool,
    /// The text.
    pub error: &'a str,
}

/// A refusal or a fault; what the caller learns stands in [`Error::into_response`] alone.
#[derive(Debug)]
pub enum Error {
    /// No token, or none that speaks for a user (ruling 2).
    Unauthorized,
    /// A body that is too large (ruling 1).
    Body(BodyFault),
    /// The authorization URL could not be built; the text says why and holds no secret (contract, Errors).
    ChatUrl(String),
    /// The table failed.
    Store(StoreError),
}

impl Error {
    /// The answer to the caller; a failure of the table is logged with it.
    pub fn into_response(self, request_id: &str) -> Response<Body> {
        match self {
            Self::Unauthorized => reply::unauthorized(),
            Self::Body(fault) => reply::message(reply::body_status(&fault), &fault.to_string()),
            Self::ChatUrl(reason) => {
                let error = format!("Failed to generate auth URL: {reason}");
                reply::json(StatusCode::INTERNAL_SERVER_ERROR, &Failure { success: false, error: &error })
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
