//! GET /staff: the staff by player group (contract 14).

use crate::State;
use crate::error::Error;
use lambda_http::{Body, Request, Response};
use shared::model::{Pointer, Staff};
use shared::store::{StoreError, keys};
use std::sync::Arc;

/// Answers the request. The published shape is the contract's.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let (pointer, staff) = state.base.published.at_current(|pointer| load(state, pointer)).await?;
    let rendered = state.staff_reply.get(pointer.version.clone(), || staff.as_ref().clone());
    Ok(rendered.reply(request.headers()))
}

async fn load(state: &State, pointer: Arc<Pointer>) -> Result<Arc<Staff>, StoreError> {
    let staff = state.staff.get(&state.base.db, &keys::staff(&pointer.version)).await?;
    Ok(staff.unwrap_or_default())
}
