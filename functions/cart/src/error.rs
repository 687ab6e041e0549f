//! Everything that keeps a cart endpoint from its ordinary answer.

use lambda_http::http::StatusCode;
use lambda_http::{Body, Response};
use shared::fault;
use shared::http::body::BodyFault;
use shared::http::reply::{self, Outcome};
use shared::store::StoreError;

/// A refusal or a fault; what the caller learns stands in [`Error::into_response`] alone.
#[derive(Debug)]
pub enum Error {
    /// No token, or none that speaks for a user (ruling 2).
    Unauthorized,
    /// A body that is not looked at further (ruling 1).
    Body(BodyFault),
    /// Other writers kept coming in between (ruling 8).
    Contention,
    /// The table failed.
    Store(StoreError),
}

impl Error {
    /// The answer to the caller; a failure of the table is logged with it.
    pub fn into_response(self, request_id: &str) -> Response<Body> {
        match self {
            Self::Unauthorized => reply::unauthorized(),
            Self::Body(BodyFault::TooLarge) => {
                reply::message(StatusCode::PAYLOAD_TOO_LARGE, &BodyFault::TooLarge.to_string())
            }
            Self::Body(fault) => {
                reply::json(StatusCode::BAD_REQUEST, &Outcome { success: false, message: &fault.to_string() })
            }
            Self::Contention => {
                let message = "The cart was changed by another request at the same time. Please try again.";
                reply::ok(&Outcome { success: false, message })
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
