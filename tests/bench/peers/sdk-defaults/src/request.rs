//! What the caller sent.

use lambda_http::request::RequestContext;
use lambda_http::{Body, Request, RequestExt};
use serde_json::Value;
use std::net::{IpAddr, Ipv6Addr};

const LARGEST_BODY: usize = 16 * 1024;
const LONGEST_ID: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum BodyFault {
    #[error("The request body must not be larger than 16 KiB.")]
    TooLarge,
    #[error("The request body must be valid JSON.")]
    NotJson,
    #[error("The request body must be a JSON object.")]
    NotAnObject,
    #[error("The order_id field is required.")]
    Required,
    #[error("The order_id field must be a string.")]
    NotAString,
    #[error("The order_id field must not be longer than 255 characters.")]
    TooLong,
}

pub fn order_id(body: &Body) -> Result<String, BodyFault> {
    if body.len() > LARGEST_BODY {
        return Err(BodyFault::TooLarge);
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| BodyFault::NotJson)?;
    match body.as_object().ok_or(BodyFault::NotAnObject)?.get("order_id") {
        None | Some(Value::Null) => Err(BodyFault::Required),
        Some(Value::String(id)) if id.chars().count() > LONGEST_ID => Err(BodyFault::TooLong),
        Some(Value::String(id)) if id.trim().is_empty() => Err(BodyFault::Required),
        Some(Value::String(id)) => Ok(id.clone()),
        Some(_) => Err(BodyFault::NotAString),
    }
}

/// The token after `Bearer`, if there is one.
pub fn bearer(request: &Request) -> Option<&str> {
    let header = request.headers().get("authorization")?.to_str().ok()?;
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The caller's address, an IPv6 one by its /64.
pub fn counted_as(request: &Request) -> String {
    let address = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.http.source_ip.as_deref(),
        _ => None,
    };
    match address.and_then(|text| text.parse::<IpAddr>().ok()).map(|address| address.to_canonical()) {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

pub fn id(request: &Request) -> &str {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.as_deref().unwrap_or_default(),
        _ => "",
    }
}
