//! Responses.

use crate::request::{self, BodyFault};
use crate::store::{Order, StoreError};
use crate::{Outcome, store};
use lambda_http::http::StatusCode;
use lambda_http::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use lambda_http::{Body, Error, Request, Response, tracing};
use serde::Serialize;

type Reply = Result<Response<Body>, Error>;

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct Label<'a> {
    status: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Success<'a> {
    status: &'a str,
    message: &'a str,
    order_data: OrderData<'a>,
}

#[derive(Serialize)]
struct OrderData<'a> {
    id: u64,
    internal_id: &'a str,
    price: serde_json::Number,
    currency: &'a str,
    status: &'a str,
    gateway: &'a str,
    created_at: String,
}

pub fn outcome(outcome: &Outcome) -> Reply {
    match outcome {
        Outcome::Shown(order, digits) => json(StatusCode::OK, &success(order, *digits)),
        Outcome::Forbidden => label(StatusCode::OK, "forbidden", "This payment belongs to another account."),
        Outcome::NotFound => label(StatusCode::OK, "not_found", "This payment does not exist."),
        Outcome::Unauthorized => {
            let mut response = label(StatusCode::UNAUTHORIZED, "error", "Unauthorized")?;
            response.headers_mut().insert(WWW_AUTHENTICATE, "Bearer".parse()?);
            Ok(response)
        }
        Outcome::Refused(fault @ BodyFault::TooLarge) => {
            json(StatusCode::PAYLOAD_TOO_LARGE, &Message { message: &fault.to_string() })
        }
        Outcome::Refused(fault) => label(StatusCode::BAD_REQUEST, "error", &fault.to_string()),
    }
}

fn success(order: &Order, digits: u32) -> Success<'_> {
    let message = match order.status.as_str() {
        "PENDING" => "The payment is pending.",
        "PAID" => "The payment was received.",
        "FAILED" => "The payment failed.",
        "CANCELLED" => "The payment was cancelled.",
        _ => "The payment was refunded.",
    };
    let created_at = chrono::DateTime::from_timestamp(order.created_at, 0).unwrap_or_default();
    let order_data = OrderData {
        id: order.id,
        internal_id: &order.internal_id,
        price: price(order.price, digits),
        currency: &order.currency,
        status: &order.status,
        gateway: &order.gateway,
        created_at: created_at.format("%Y-%m-%d %H:%M:%S").to_string(),
    };
    Success { status: "success", message, order_data }
}

/// Minor units as a JSON number, without a fraction where there is none.
fn price(minor: i64, digits: u32) -> serde_json::Number {
    let scale = 10_i64.pow(digits);
    let fraction = serde_json::Number::from_f64(minor as f64 / scale as f64);
    fraction.filter(|_| minor % scale != 0).unwrap_or_else(|| (minor / scale).into())
}

pub fn not_found() -> Reply {
    json(StatusCode::NOT_FOUND, &Message { message: "Not Found" })
}

pub fn too_many_attempts(reset_seconds: u64) -> Reply {
    let message = format!("Too many attempts. Please try again in {reset_seconds} seconds.");
    let mut response = label(StatusCode::TOO_MANY_REQUESTS, "error", &message)?;
    response.headers_mut().insert(RETRY_AFTER, reset_seconds.into());
    Ok(response)
}

pub fn store_failed(request: &Request, error: &StoreError) -> Reply {
    tracing::error!(%error, "the request failed");
    if error.is_passing() {
        let message = "The store is busy at the moment. Please try again shortly.";
        let mut response = json(StatusCode::SERVICE_UNAVAILABLE, &Message { message })?;
        response.headers_mut().insert(RETRY_AFTER, store::RETRY_SECONDS.into());
        return Ok(response);
    }
    let message = format!("Internal error. If it happens again, name the request {}.", request::id(request));
    json(StatusCode::INTERNAL_SERVER_ERROR, &Message { message: &message })
}

fn label(status: StatusCode, label: &str, message: &str) -> Reply {
    json(status, &Label { status: label, message })
}

fn json(status: StatusCode, body: &impl Serialize) -> Reply {
    let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    Ok(response.header(CACHE_CONTROL, "no-store").body(serde_json::to_string(body)?.into())?)
}
