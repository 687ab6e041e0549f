//! Everything that keeps a content endpoint from its ordinary answer.

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
    /// A body that is not looked at further (ruling 1).
    Body(BodyFault),
    /// The table failed.
    Store(StoreError),
}

impl Error {
    /// The answer to the caller; a failure of the table is logged with it.
    pub fn into_response(self, request_id: &str) -> Response<Body> {
        match self {
            Self::Unauthorized => reply::unauthorized(),
            Self::Body(fault) => reply::message(reply::body_status(&fault), &fault.to_string()),
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
