//! What handlers read of a request, as types.

use super::Admission;
use crate::http::body::{self, BodyFault};
use crate::http::{bearer, cookie, route};
use lambda_http::Request;
use serde::de::DeserializeOwned;

/// What is read of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Nothing; a body is only measured.
    Nothing,
    /// A JSON object.
    JsonBody,
    /// The parameter of the path.
    PathParameter,
    /// The cookie `token`.
    TokenCookie,
}

/// A request as an endpoint received it. Its body is not too large.
#[derive(Debug)]
pub struct Received<'a> {
    /// The request.
    pub request: &'a Request,
    /// The endpoint's route keys; the request came in by one of them.
    pub routes: &'static [&'static str],
    /// Whether its address may make it.
    pub admission: Admission,
}

/// What a handler reads of a request.
pub trait Input: Sized + Send {
    /// What is read.
    const KIND: InputKind;

    /// Reads the request.
    ///
    /// # Errors
    /// [`BodyFault`], which names the field that is wrong.
    fn read(received: Received<'_>) -> Result<Self, BodyFault>;
}

impl Input for () {
    const KIND: InputKind = InputKind::Nothing;

    fn read(_: Received<'_>) -> Result<Self, BodyFault> {
        Ok(())
    }
}

/// A JSON object, read into a struct. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Send> Input for JsonBody<T> {
    const KIND: InputKind = InputKind::JsonBody;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        body::object(received.request).map(Self)
    }
}

/// Input of an endpoint that has a rate limit and writes. The request is counted while the handler reads; the handler
/// waits for the [`Admission`] before it writes.
#[derive(Debug)]
pub struct Limited<I>(pub I, pub Admission);

impl<I: Input> Input for Limited<I> {
    const KIND: InputKind = I::KIND;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let admission = received.admission.clone();
        I::read(received).map(|input| Self(input, admission))
    }
}

/// The token that a page's request carries: that of the cookie `token`, else that of the header `Authorization`
/// (rules.md, "Tokens"). `None` if there is neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCookie(pub Option<String>);

impl Input for TokenCookie {
    const KIND: InputKind = InputKind::TokenCookie;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let headers = received.request.headers();
        let cookie = cookie::value(headers, "token").filter(|token| bearer::is_token(token));
        Ok(Self(cookie.or_else(|| bearer::sent(headers))))
    }
}

/// The parameter of the path, percent-decoded; `None` if it is not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathParameter(pub Option<String>);

impl Input for PathParameter {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self(route::parameter(received.request, received.routes)))
    }
}
