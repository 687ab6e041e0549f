//! What a handler receives: the caller, by the access to its endpoint, and its input as types.

use crate::base::Base;
use crate::http::address::{self, Proxies};
use crate::http::bearer::{self, Bearer};
use crate::http::body::{self, BodyFault};
use crate::http::{cookie, route};
use crate::shop::accounts;
use crate::table::StoreError;
use crate::token::Claim;
use lambda_http::Request;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::str::FromStr;

/// The access to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone. A token is ignored.
    Ignored,
    /// Anyone. A token that is not valid counts as none.
    Optional,
    /// Callers with a valid token.
    Required,
    /// Callers with a valid token, and callers without one if the store has guest mode on.
    RequiredOrGuest,
}

/// The caller of a request, as its handler receives it. Only the token's signature, issuer and expiry are checked here.
/// The handler reads the account together with its other data, and [`accounts::admit`] checks whether the account still
/// accepts the token.
pub trait Caller: Sized + Send {
    const ACCESS: Access;

    /// The caller of a request; `None` if they may not call. `bearer` reads and verifies the token.
    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self>;

    /// Whether the caller may learn what is wrong with their body: only after full authentication.
    fn may_call(&self, base: &Base, checks_account: bool) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

impl Caller for () {
    const ACCESS: Access = Access::Ignored;

    fn of(_: impl FnOnce() -> Bearer) -> Option<Self> {
        Some(())
    }

    async fn may_call(&self, _: &Base, _: bool) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl Caller for Option<Claim> {
    const ACCESS: Access = Access::Optional;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        Some(bearer().claim())
    }

    async fn may_call(&self, _: &Base, _: bool) -> Result<bool, StoreError> {
        Ok(true)
    }
}

impl Caller for Claim {
    const ACCESS: Access = Access::Required;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        bearer().claim()
    }

    async fn may_call(&self, base: &Base, checks_account: bool) -> Result<bool, StoreError> {
        if checks_account { accounts::is_admitted(&base.db, *self).await } else { Ok(true) }
    }
}

/// A caller with a token, or without one if the store may have guest mode on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitor {
    /// No token. The handler refuses the caller unless guest mode is on, see
    /// [`crate::table::published::Published::at_current_for_guest`].
    Guest,
    User(Claim),
}

impl Caller for Visitor {
    const ACCESS: Access = Access::RequiredOrGuest;

    fn of(bearer: impl FnOnce() -> Bearer) -> Option<Self> {
        match bearer() {
            Bearer::Absent => Some(Self::Guest),
            Bearer::Invalid => None,
            Bearer::Verified(claim) => Some(Self::User(claim)),
        }
    }

    async fn may_call(&self, base: &Base, checks_account: bool) -> Result<bool, StoreError> {
        match self {
            Self::Guest => Ok(base.published.active_version().await?.config.guest_mode_enabled),
            Self::User(claim) => claim.may_call(base, checks_account).await,
        }
    }
}

/// The part of a request that an endpoint reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Nothing. Only the size of a body is checked.
    Nothing,
    JsonBody,
    PathParameter,
    /// The path parameter, and a JSON object.
    PathParameterAndJsonBody,
    TokenCookie,
    /// The bytes of the body, with their signature.
    Signed,
    /// Parameters of the query.
    Query,
}

impl InputKind {
    /// Whether a JSON object is read.
    pub const fn has_json_body(self) -> bool {
        matches!(self, Self::JsonBody | Self::PathParameterAndJsonBody)
    }
}

/// A request as an endpoint received it. Its body is not too large.
#[derive(Debug)]
pub struct Received<'a> {
    pub request: &'a Request,
    /// The endpoint's route keys; the request came in by one of them.
    pub routes: &'static [&'static str],
    pub proxies: &'a Proxies,
}

impl Received<'_> {
    /// The address that the request is counted for (rules.md, "Client address").
    pub fn address(&self) -> String {
        address::counted_as(route::source_ip(self.request), self.request.headers(), self.proxies)
    }
}

pub trait Input: Sized + Send {
    /// The part of the request that is read.
    const KIND: InputKind;

    fn read(received: Received<'_>) -> Result<Self, BodyFault>;

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas;
}

/// The schemas of what an endpoint reads of a request.
#[derive(Debug, Default)]
pub struct RequestSchemas {
    /// Those of the path parameters, in the order of the path.
    pub path_parameters: Vec<schemars::Schema>,
    pub query: Option<schemars::Schema>,
    /// That of the JSON body.
    pub body: Option<schemars::Schema>,
}

impl Input for () {
    const KIND: InputKind = InputKind::Nothing;

    fn read(_: Received<'_>) -> Result<Self, BodyFault> {
        Ok(())
    }

    fn schemas(_: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas::default()
    }
}

/// A JSON object, parsed into a struct. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + JsonSchema + Send> Input for JsonBody<T> {
    const KIND: InputKind = InputKind::JsonBody;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        body::object(received.request).map(Self)
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas { body: Some(generator.subschema_for::<T>()), ..RequestSchemas::default() }
    }
}

/// Input of an endpoint that counts some of its requests itself, with the address that they are counted for.
#[derive(Debug)]
pub struct WithAddress<I>(pub I, pub String);

impl<I: Input> Input for WithAddress<I> {
    const KIND: InputKind = I::KIND;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let address = received.address();
        I::read(received).map(|input| Self(input, address))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        I::schemas(generator)
    }
}

/// A body whose bytes are signed. Nothing of it is parsed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The header `Stripe-Signature`; several are joined by commas.
    pub signature: Option<String>,
    pub body: Vec<u8>,
}

impl Input for Signed {
    const KIND: InputKind = InputKind::Signed;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let headers = received.request.headers().get_all("stripe-signature").iter();
        let headers: Vec<&str> = headers.map(|value| value.to_str().unwrap_or_default()).collect();
        let signature = (!headers.is_empty()).then(|| headers.join(","));
        Ok(Self { signature, body: received.request.body().to_vec() })
    }

    fn schemas(_: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas::default()
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

    fn schemas(_: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas::default()
    }
}

/// The path parameter as a decimal id, with or without spaces around it, as storefronts send it; `None` if it is
/// something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathId<T>(pub Option<T>);

impl<T: FromStr + JsonSchema + Send> Input for PathId<T> {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let text = route::parameter(received.request, received.routes);
        Ok(Self(text.and_then(|text| text.trim().parse().ok())))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas { path_parameters: vec![generator.subschema_for::<T>()], ..RequestSchemas::default() }
    }
}

/// The path parameter, percent-decoded and parsed; `None` if it is not UTF-8 or cannot be parsed. The handler decides
/// what that means, because the token is checked first (rules.md, "Order of refusals").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathParameter<T>(pub Option<T>);

impl<T: FromStr + JsonSchema + Send> Input for PathParameter<T> {
    const KIND: InputKind = InputKind::PathParameter;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self(route::parameter(received.request, received.routes).and_then(|text| text.parse().ok())))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas { path_parameters: vec![generator.subschema_for::<T>()], ..RequestSchemas::default() }
    }
}

/// The path parameter as `P` reads it, and a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithBody<P, B>(pub P, pub B);

impl<P: Input, B: DeserializeOwned + JsonSchema + Send> Input for WithBody<P, B> {
    const KIND: InputKind = InputKind::PathParameterAndJsonBody;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let body = body::object(received.request)?;
        P::read(received).map(|path| Self(path, body))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas { body: JsonBody::<B>::schemas(generator).body, ..P::schemas(generator) }
    }
}
