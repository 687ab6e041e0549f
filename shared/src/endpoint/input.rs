//! The input of handlers, as types.

use super::Described;
use crate::http::body::{self, BodyFault};
use crate::http::route;
use lambda_http::Request;
use serde::de::DeserializeOwned;
use std::str::FromStr;

/// The part of a request that an endpoint reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Nothing. Only the size of a body is checked.
    Nothing,
    /// A JSON object.
    JsonBody,
    /// The path parameter.
    PathParameter,
}

/// The input of a handler.
pub trait Input: Sized + Send {
    /// The part of the request that is read.
    const KIND: InputKind;

    /// Reads a request that matched one of `routes`. The size of its body has been checked.
    ///
    /// # Errors
    /// [`BodyFault`], which names the field that is wrong.
    fn read(request: &Request, routes: &[&str]) -> Result<Self, BodyFault>;

    /// The schema of the input; `None` if the endpoint reads nothing.
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

/// A JSON object, parsed into a struct. Unknown fields are ignored.
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

/// The path parameter, percent-decoded and parsed; `None` if it is not UTF-8 or cannot be parsed. The handler decides
/// what that means, because the token is checked first (rules.md, "Order of refusals").
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
