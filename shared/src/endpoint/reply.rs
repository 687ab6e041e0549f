//! Responses of endpoints: ordinary ones, and errors with their conversion into responses.

use super::Cache;
use crate::fault;
use crate::http::body::BodyFault;
use crate::http::lambda::LastResponse;
use crate::http::reply::{self, Outcome, Rendered};
use crate::table::{LostRace, StoreError};
use lambda_http::http::header::{RETRY_AFTER, SET_COOKIE};
use lambda_http::http::{HeaderValue, Method, StatusCode};
use lambda_http::{Body, Request, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::convert::Infallible;
use std::fmt;
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

/// The text of a refusal because of too many attempts.
pub fn too_many_attempts(retry_seconds: u64) -> String {
    format!("Too many attempts. Please try again in {}.", shown_wait(retry_seconds))
}

/// A time to wait, in words; never too short.
pub fn shown_wait(seconds: u64) -> String {
    match seconds {
        0 | 1 => "1 second".to_owned(),
        2..120 => format!("{seconds} seconds"),
        _ => format!("{} minutes", seconds.div_ceil(60)),
    }
}

/// A refusal of one endpoint or function. Its [`fmt::Display`] is the text that the caller reads.
pub trait Refusal: fmt::Display + fmt::Debug + Send + Sized {
    fn status(&self) -> StatusCode;

    /// Seconds until the same request may succeed, if that is known.
    fn retry_seconds(&self) -> Option<u64> {
        None
    }

    /// The response, if it does not have the shape of the endpoint's error bodies.
    fn response(&self) -> Option<Response<Body>> {
        None
    }

    /// The shape of its body; `usual` is that of the endpoint's errors.
    fn shape(&self, usual: ErrorBody) -> ErrorBody {
        usual
    }

    /// Every refusal, after its condition, for the documentation.
    fn documented() -> Vec<(&'static str, Self)>;
}

impl Refusal for Infallible {
    fn status(&self) -> StatusCode {
        match *self {}
    }

    fn documented() -> Vec<(&'static str, Self)> {
        Vec::new()
    }
}

/// The error of an endpoint; `R` is the endpoint's own refusals.
#[derive(Debug)]
pub enum Error<R = Infallible> {
    /// The token is missing or not valid.
    Unauthorized,
    /// The address has made too many requests.
    TooManyAttempts {
        /// Seconds until the address may try again.
        retry_seconds: u64,
    },
    /// The body cannot be read.
    Body(BodyFault),
    Store(StoreError),
    /// The payment provider failed, for this reason. The same request may succeed later.
    Provider(String),
    /// The endpoint's own refusal.
    Refused(R),
}

/// The response if other requests kept changing what an endpoint writes.
#[derive(Debug, Clone, Copy)]
pub struct Contended {
    pub status: StatusCode,
    /// The text that the caller reads.
    pub text: &'static str,
    /// The condition, for the documentation.
    pub when: &'static str,
}

impl Contended {
    pub(super) fn response(&self, shape: ErrorBody) -> Response<Body> {
        shape.response(self.status, self.text)
    }
}

impl<R> LostRace for Error<R> {
    fn is_contended(&self) -> bool {
        matches!(self, Self::Store(StoreError::Contended))
    }
}

impl<R> From<StoreError> for Error<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The shape of an endpoint's error bodies. `message` or `error` is the text that a person reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBody {
    Message,
    /// `{success: false, message}`
    Success,
    /// `{success: false, error}`
    SuccessError,
    /// `{status: "error", message}`, also for a refused token
    Status,
    /// `{status: false, message}`
    StatusFlag,
}

#[derive(Debug, Serialize)]
struct Label<'a> {
    status: &'a str,
    message: &'a str,
}

/// A body with a flag and a text in `error`.
#[derive(Debug, Serialize)]
struct Failure<'a> {
    success: bool,
    error: &'a str,
}

impl ErrorBody {
    pub(super) fn refusal<R: Refusal>(self, refusal: &R) -> Response<Body> {
        if let Some(response) = refusal.response() {
            return response;
        }
        let mut response = refusal.shape(self).response(refusal.status(), &refusal.to_string());
        if let Some(seconds) = refusal.retry_seconds() {
            reply::set_number(&mut response, RETRY_AFTER, seconds);
        }
        response
    }

    fn response(self, status: StatusCode, message: &str) -> Response<Body> {
        match self {
            Self::Message => reply::message(status, message),
            Self::Success => reply::json(status, &Outcome { success: false, message }),
            Self::SuccessError => reply::json(status, &Failure { success: false, error: message }),
            Self::Status => reply::json(status, &Label { status: "error", message }),
            Self::StatusFlag => reply::json(status, &reply::Refused { status: false, message }),
        }
    }
}

impl<R: Refusal> Error<R> {
    /// The response to the endpoint's own refusal, or the error if it is another one.
    pub(super) fn refused(self, shape: ErrorBody, contended: Option<Contended>) -> Result<Response<Body>, Error> {
        if let Some(contended) = contended.filter(|_| self.is_contended()) {
            return Ok(contended.response(shape));
        }
        Err(match self {
            Self::Refused(refusal) => return Ok(shape.refusal(&refusal)),
            Self::Unauthorized => Error::Unauthorized,
            Self::TooManyAttempts { retry_seconds } => Error::TooManyAttempts { retry_seconds },
            Self::Body(fault) => Error::Body(fault),
            Self::Store(error) => Error::Store(error),
            Self::Provider(reason) => Error::Provider(reason),
        })
    }
}

impl Error {
    /// The response. A failure of the database or of the payment provider is logged.
    pub(super) fn into_response(self, shape: ErrorBody, request_id: &str) -> Response<Body> {
        match self {
            Self::Unauthorized if shape == ErrorBody::Status => {
                reply::challenge(shape.response(StatusCode::UNAUTHORIZED, "Unauthorized"))
            }
            Self::Unauthorized => reply::unauthorized(),
            Self::TooManyAttempts { retry_seconds } => {
                let mut response = shape.response(StatusCode::TOO_MANY_REQUESTS, &too_many_attempts(retry_seconds));
                reply::set_number(&mut response, RETRY_AFTER, retry_seconds);
                response
            }
            Self::Body(fault @ BodyFault::TooLarge { .. }) => {
                reply::message(StatusCode::PAYLOAD_TOO_LARGE, &fault.to_string())
            }
            Self::Body(fault) => shape.response(StatusCode::BAD_REQUEST, &fault.to_string()),
            Self::Store(error) => failed(request_id, &error),
            Self::Provider(reason) => {
                tracing::error!(request_id, reason, "the payment provider is not available");
                reply::unavailable()
            }
            Self::Refused(refusal) => match refusal {},
        }
    }
}

/// Logs a failure of the database once, with all of its causes. The response is 503 if the same request may succeed
/// later, otherwise 500 with the request's id and no internals. Without usable credentials it is the process's last
/// response.
pub fn failed(request_id: &str, error: &StoreError) -> Response<Body> {
    tracing::error!(request_id, error = %error, causes = fault::causes(error), "the request failed");
    match error {
        StoreError::Unavailable { .. } | StoreError::Contended | StoreError::Outdated { .. } => reply::unavailable(),
        // Credentials come with the environment: a new process has new ones.
        StoreError::Credentials { .. } => {
            let mut response = reply::unavailable();
            response.extensions_mut().insert(LastResponse);
            response
        }
        StoreError::Refused { .. } | StoreError::Internal(_) | StoreError::Unreadable { .. } => {
            reply::internal(request_id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::too_many_attempts;

    #[test]
    fn too_many_attempts_says_when_and_never_too_early() {
        for (seconds, when) in [(0, "1 second"), (1, "1 second"), (47, "47 seconds"), (119, "119 seconds")] {
            assert_eq!(too_many_attempts(seconds), format!("Too many attempts. Please try again in {when}."));
        }
        for (seconds, minutes) in [(120, 2), (121, 3), (599, 10), (600, 10)] {
            assert_eq!(
                too_many_attempts(seconds),
                format!("Too many attempts. Please try again in {minutes} minutes.")
            );
        }
    }
}
