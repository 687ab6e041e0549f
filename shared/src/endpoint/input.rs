//! What handlers read of a request, as types.

use crate::http::body::{self, BodyFault};
use crate::http::route;
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
}

/// What a handler reads of a request.
pub trait Input: Sized + Send {
    /// What is read.
    const KIND: InputKind;

    /// Reads the request, which came in by a route of `routes`. Its body is not too large.
    ///
    /// # Errors
    /// [`BodyFault`], which names the field that is wrong.
    fn read(request: &Request, routes: &[&str]) -> Result<Self, BodyFault>;
}

impl Input for () {
    const KIND: InputKind = InputKind::Nothing;

    fn read(_: &Request, _: &[&str]) -> Result<Self, BodyFault> {
        Ok(())
    }
}

/// A JSON object, read into a struct. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Send> Input for JsonBody<T> {
    const KIND: InputKind = InputKind::JsonBody;

    fn read(request: &Request, _: &[&str]) -> Result<Self, BodyFault> {
        body::object(request).map(Self)
    }
}

/// The parameter of the path, percent-decoded; `None` if it is not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathParameter(pub Option<String>);

impl Input for PathParameter {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(request: &Request, routes: &[&str]) -> Result<Self, BodyFault> {
        Ok(Self(route::parameter(request, routes)))
    }
}
