//! POST /payments/checkStatus: the state of a payment (contract 6; rulings 3 and 4). Every request is counted before
//! it is looked at; counter, order and user are read side by side.

use crate::State;
use crate::error::{Error, Label};
use jiff::Timestamp;
use lambda_http::http::header::HeaderName;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::bearer::Caller;
use shared::http::body::{self, BodyFault};
use shared::http::wire::{Decimal, Wire};
use shared::http::{address, reply, route};
use shared::model::{InternalId, Order, OrderNumber, OrderStatus, Pointer, UserId};
use shared::rules::visibility::{Sight, sight};
use shared::store::limiter::{self, Hit};
use shared::store::{StoreError, keys, orders, users};
use shared::telemetry;
use shared::token::Claim;
use std::sync::Arc;

const FIELD: &str = "order_id";
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The outcome with the order. `status` says that the lookup worked, never that the order is paid (ruling 4).
#[derive(Serialize)]
struct Success<'a> {
    status: &'static str,
    message: &'static str,
    order_data: OrderBody<'a>,
}

#[derive(Serialize)]
struct OrderBody<'a> {
    id: OrderNumber,
    internal_id: &'a str,
    price: Decimal,
    currency: &'a str,
    status: &'static str,
    gateway: &'a str,
    created_at: String,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Response<Body> {
    let source = route::source_ip(request);
    let address = address::counted_as(source, request.headers(), &state.base.config.trusted_proxies);
    let caller = Caller::of(request.headers(), &state.base.config.keys, state.base.clock.seconds());
    let wanted = body::required_text(request, FIELD, InternalId::LONGEST).map(|text| InternalId::new(&text));
    let count = limiter::hit(&state.base.db, &address, state.base.clock.millis());
    let (hit, found) = tokio::join!(count, look_up(state, wanted, caller.claim()));
    let request_id = route::request_id(request);
    let hit = match hit {
        Ok(hit) => hit,
        Err(error) => return Error::Store(error).into_response(&request_id),
    };
    if !hit.allowed {
        telemetry::rate_limited();
    }
    let answer = if hit.allowed { found } else { Err(Error::TooManyAttempts { retry_seconds: hit.reset_seconds }) };
    let mut response = answer.unwrap_or_else(|error| error.into_response(&request_id));
    set_rate_headers(&mut response, hit);
    response
}

/// The answer to a request that passes the limit.
async fn look_up(
    state: &State,
    wanted: Result<InternalId, BodyFault>,
    claim: Option<Claim>,
) -> Result<Response<Body>, Error> {
    let id = wanted.map_err(Error::Body)?;
    let (pointer, found) = tokio::join!(state.base.published.pointer(), read(state, &id, claim));
    let (order, caller) = found?;
    let pointer: Arc<Pointer> = pointer?;
    match sight(order.as_ref(), caller) {
        Sight::Shown(order) => Ok(shown(order, Wire::new(pointer.config.digits))),
        Sight::Unauthorized => Err(Error::Unauthorized),
        Sight::Forbidden => {
            Ok(reply::ok(&Label { status: "forbidden", message: "This payment belongs to somebody else." }))
        }
        Sight::NotFound => Ok(reply::ok(&Label { status: "not_found", message: "This payment does not exist." })),
    }
}

/// The order, and the caller where the token still speaks for one.
async fn read(
    state: &State,
    id: &InternalId,
    claim: Option<Claim>,
) -> Result<(Option<Order>, Option<UserId>), StoreError> {
    let mut wanted = vec![keys::order(id)];
    wanted.extend(claim.map(|claim| keys::user(claim.user)));
    let mut rows = state.base.db.batch_get(wanted).await?;
    let caller = match claim {
        Some(claim) => users::admit(&mut rows, claim)?.map(|user| user.id),
        None => None,
    };
    Ok((orders::take(&mut rows, id)?, caller))
}

fn shown(order: &Order, wire: Wire) -> Response<Body> {
    let message = match order.status {
        OrderStatus::Pending => "The payment is pending.",
        OrderStatus::Paid => "The payment was received.",
        OrderStatus::Failed => "The payment failed.",
        OrderStatus::Cancelled => "The payment was cancelled.",
        OrderStatus::Refunded => "The payment was refunded.",
    };
    let order_data = OrderBody {
        id: order.id,
        internal_id: order.internal_id.as_str(),
        price: wire.money(order.price),
        currency: &order.currency,
        status: order.status.as_str(),
        gateway: &order.gateway,
        created_at: created_at(order.created_at),
    };
    reply::ok(&Success { status: "success", message, order_data })
}

/// `YYYY-MM-DD HH:MM:SS` in UTC (ruling 4).
fn created_at(seconds: i64) -> String {
    let at = Timestamp::from_second(seconds).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Every answer whose request was counted says where the address stands (ruling 3).
fn set_rate_headers(response: &mut Response<Body>, hit: Hit) {
    reply::set_number(response, RATE_LIMIT, u64::from(limiter::LIMIT));
    reply::set_number(response, RATE_REMAINING, u64::from(hit.remaining));
    reply::set_number(response, RATE_RESET, hit.reset_seconds);
}
