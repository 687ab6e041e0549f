//! Everything that keeps a catalog endpoint from its ordinary answer.

use lambda_http::http::StatusCode;
use lambda_http::{Body, Response};
use shared::fault;
use shared::http::body::BodyFault;
use shared::http::reply;
use shared::store::StoreError;

/// A refusal or a fault; what the caller learns stands in [`Error::into_response`] alone.
#[derive(Debug)]
pub enum Error {
    /// No token where one is needed, or none that speaks for a user (ruling 2).
    Unauthorized,
    /// A body that is too large (ruling 1).
    Body(BodyFault),
    /// No category of that url (ruling 1).
    UnknownCategory,
    /// The table failed.
    Store(StoreError),
}

impl Error {
    /// The answer to the caller; a failure of the table is logged with it.
    pub fn into_response(self, request_id: &str) -> Response<Body> {
        match self {
            Self::Unauthorized => reply::unauthorized(),
            Self::Body(fault) => reply::message(reply::body_status(&fault), &fault.to_string()),
            Self::UnknownCategory => reply::message(StatusCode::NOT_FOUND, "This category does not exist."),
            Self::Store(error) => fault::answer(request_id, &error),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BodyFault> for Error {
    fn from(fault: BodyFault) -> Self {
        Self::Body(fault)
    }
}
