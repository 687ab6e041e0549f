//! POST /user: the caller's account (contract 12).

use crate::State;
use crate::error::Error;
use jiff::Timestamp;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::bearer::Caller;
use shared::http::wire::{Decimal, Wire};
use shared::http::{body, reply};
use shared::model::UserId;
use shared::store::{keys, users};

/// The answer.
#[derive(Serialize)]
struct Reply<'a> {
    id: UserId,
    username: &'a str,
    avatar: &'a str,
    system: &'a str,
    identificator: &'a str,
    uuid: &'a str,
    created_at: String,
    updated_at: String,
    /// Present exactly when the store uses virtual currency (ruling 12).
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_currency: Option<Decimal>,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let caller = Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds());
    let claim = caller.claim().ok_or(Error::Unauthorized)?;
    if let Err(fault) = body::check_size(request) {
        let admitted = users::is_admitted(&state.base.db, claim).await?;
        return Err(if admitted { Error::Body(fault) } else { Error::Unauthorized });
    }
    let read = state.base.db.batch_get(vec![keys::user(claim.user)]);
    let (pointer, rows) = tokio::join!(state.base.published.pointer(), read);
    let user = users::admit(&mut rows?, claim)?.ok_or(Error::Unauthorized)?;
    let config = &pointer?.config;
    let balance = Wire::new(config.digits).money(user.virtual_currency);
    Ok(reply::ok(&Reply {
        id: user.id,
        username: &user.username,
        avatar: &user.avatar,
        system: &user.system,
        identificator: &user.identificator,
        uuid: &user.uuid,
        created_at: iso_8601(user.created_at),
        updated_at: iso_8601(user.updated_at),
        virtual_currency: config.is_virtual_currency.then_some(balance),
    }))
}

/// ISO 8601 in UTC, with Z (contract, User).
fn iso_8601(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
