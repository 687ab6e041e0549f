//! What handlers read of a request, as types.

use super::Described;
use crate::http::body::{self, BodyFault};
use crate::http::route;
use lambda_http::Request;
use serde::de::DeserializeOwned;
use std::str::FromStr;

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

    /// The schema of what is read; `None` if nothing is.
    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema>;
}

impl Input for () {
    const KIND: InputKind = InputKind::Nothing;

    fn read(_: &Request, _: &[&str]) -> Result<Self, BodyFault> {
        Ok(())
    }

    #[cfg(feature = "schema")]
    fn schema(_: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
        None
    }
}

/// A JSON object, read into a struct. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Described + Send> Input for JsonBody<T> {
    const KIND: InputKind = InputKind::JsonBody;

    fn read(request: &Request, _: &[&str]) -> Result<Self, BodyFault> {
        body::object(request).map(Self)
    }

    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
        Some(generator.subschema_for::<T>())
    }
}

/// The parameter of the path, percent-decoded and parsed; `None` if it is not UTF-8 or does not parse. What that means is
/// for the handler to say, since a token comes before it (rules.md, "Order of refusals").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathParameter<T>(pub Option<T>);

impl<T: FromStr + Described + Send> Input for PathParameter<T> {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(request: &Request, routes: &[&str]) -> Result<Self, BodyFault> {
        Ok(Self(route::parameter(request, routes).and_then(|text| text.parse().ok())))
    }

    #[cfg(feature = "schema")]
    fn schema(generator: &mut schemars::SchemaGenerator) -> Option<schemars::Schema> {
        Some(generator.subschema_for::<T>())
    }
}
