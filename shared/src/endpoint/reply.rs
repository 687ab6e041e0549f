//! Ordinary responses.

use super::Cache;
use crate::http::reply::{self, Rendered};
use lambda_http::http::header::SET_COOKIE;
use lambda_http::http::{HeaderValue, Method};
use lambda_http::{Body, Request, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::marker::PhantomData;
use std::sync::Arc;

pub trait Reply: Send {
    fn into_response(self, request: &Request, cache: Cache) -> Response<Body>;

    /// The body, for the documentation.
    fn content(generator: &mut schemars::SchemaGenerator) -> Content;
}

#[derive(Debug)]
pub struct Content {
    /// `application/json`, for example.
    pub media_type: &'static str,
    pub schema: schemars::Schema,
}

/// A response that also sets a cookie, if there is one to set.
#[derive(Debug, Clone)]
pub struct WithCookie<R> {
    /// The response without the cookie.
    pub reply: R,
    pub cookie: Option<HeaderValue>,
}

impl<T: Serialize> WithCookie<T> {
    /// The response with its body as JSON.
    pub fn rendered(self) -> WithCookie<Json<T>> {
        WithCookie { reply: Json::of(&self.reply), cookie: self.cookie }
    }
}

impl<R: Reply> Reply for WithCookie<R> {
    fn into_response(self, request: &Request, cache: Cache) -> Response<Body> {
        let mut response = self.reply.into_response(request, cache);
        response.headers_mut().extend(self.cookie.map(|cookie| (SET_COOKIE, cookie)));
        response
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> Content {
        R::content(generator)
    }
}

/// 200 with a JSON body of type `T`. It is rendered on construction, so that the body can borrow its data; `T` is the
/// type with `'static` lifetimes.
#[derive(Debug, Clone)]
pub struct Json<T> {
    body: Rendering,
    /// The seconds until the calendar changes it.
    lasts: Option<i64>,
    shape: PhantomData<fn() -> T>,
}

#[derive(Debug, Clone)]
enum Rendering {
    /// For one response.
    Once(String),
    /// Cached with its entity tag for as long as its data does not change.
    Kept(Arc<Rendered>),
}

impl<T> Json<T> {
    pub fn of(body: &impl Serialize) -> Self {
        Self { body: Rendering::Once(reply::render(body)), lasts: None, shape: PhantomData }
    }

    /// A body that was rendered earlier.
    pub const fn kept(body: Arc<Rendered>) -> Self {
        Self { body: Rendering::Kept(body), lasts: None, shape: PhantomData }
    }

    /// The same body, which the calendar changes in so many seconds.
    #[must_use]
    pub fn until(self, lasts: Option<i64>) -> Self {
        Self { lasts, ..self }
    }
}

impl<T: JsonSchema> Reply for Json<T> {
    fn into_response(self, request: &Request, cache: Cache) -> Response<Body> {
        match self.body {
            Rendering::Once(body) => reply::text(body),
            Rendering::Kept(body) if cache == Cache::Public && request.method() == Method::GET => {
                body.reply(request.headers(), self.lasts)
            }
            Rendering::Kept(body) => reply::text(body.body().to_owned()),
        }
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> Content {
        Content { media_type: "application/json", schema: generator.subschema_for::<T>() }
    }
}
