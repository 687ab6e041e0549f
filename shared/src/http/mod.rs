//! HTTP for every endpoint: routes, tokens, bodies and client addresses of requests; status, headers and entity
//! tags of responses. Does not depend on the table or on any endpoint.

pub mod address;
pub mod bearer;
pub mod body;
pub mod cookie;
pub mod lambda;
pub mod reply;
pub mod route;

pub use lambda_http::{Body, Request, Response};
