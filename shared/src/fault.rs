//! Where a failure of the table becomes an answer: the same for every endpoint (ruling 1).

use crate::http::{Body, Response, reply, serve};
use crate::store::StoreError;

/// Logs a failure, once, with all its causes, and answers it: 503 where the same request may pass in a moment, else 500
/// with the request's id and nothing of the inside.
#[must_use]
pub fn answer(request_id: &str, error: &StoreError) -> Response<Body> {
    serve::log_fault(request_id, error);
    match error {
        StoreError::Unavailable { .. } => reply::unavailable(),
        StoreError::Refused { .. } | StoreError::Unreadable { .. } => reply::internal(request_id),
    }
}
