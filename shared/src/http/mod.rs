//! What every endpoint does with a request before it decides, and with an answer after: route, token, body,
//! client address; replies, entity tags, numbers. Knows no table and no endpoint.

pub mod address;
pub mod bearer;
pub mod body;
pub mod cookie;
pub mod entity_tag;
pub mod lambda;
pub mod reply;
pub mod route;
pub mod wire;

pub use lambda_http::{Body, Request, Response};
