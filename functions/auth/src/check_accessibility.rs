//! GET /checkAccessibility: whether the storefront may be shown (api.md, "GET /checkAccessibility").

use crate::State;
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, Json, RoundTrips, TokenCookie};
use shared::model::User;
use shared::table::keys;
use std::convert::Infallible;

pub struct CheckAccessibility;

/// Whether the storefront may be shown to the visitor. Always 200: the storefront reads every response as JSON.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Accessibility<'a> {
    /// Whether the storefront may be shown.
    success: bool,
    /// The first reason that applies: `maintenance`, `banned` or `invalid_token`. Absent if `success` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    status: Option<&'static str>,
    /// The reason, as a text for people. Absent if `success` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<&'a str>,
}

impl Endpoint for CheckAccessibility {
    type State = State;
    type Caller = ();
    type Input = TokenCookie;
    type Reply = Json<Accessibility<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["GET /checkAccessibility"];
    const SUMMARY: &'static str = "returns whether the storefront may be shown to the visitor";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 1 };

    async fn handle(state: &State, (): (), TokenCookie(token): TokenCookie) -> Result<Self::Reply, Error> {
        let (active, visitor) = tokio::join!(state.base.published.active_version(), visitor(state, token.as_deref()));
        let (active, visitor) = (active?, visitor?);
        let blocked = |status, message| Accessibility { success: false, status: Some(status), message: Some(message) };
        Ok(Json::of(&match (active.closed(), visitor) {
            (Some(message), _) => blocked("maintenance", message),
            (None, Visitor::Banned) => blocked("banned", "You are banned from this store."),
            (None, Visitor::Unknown) => blocked("invalid_token", "Your login has expired. Please log in again."),
            (None, Visitor::Welcome) => Accessibility { success: true, status: None, message: None },
        }))
    }
}

enum Visitor {
    /// A visitor without a token, or with a valid one.
    Welcome,
    /// The owner of a token whose name is banned.
    Banned,
    /// A visitor whose token is not valid.
    Unknown,
}

async fn visitor(state: &State, token: Option<&str>) -> Result<Visitor, Error> {
    let Some(token) = token else { return Ok(Visitor::Welcome) };
    let base = &state.base;
    let Ok(claim) = base.config.keys.verify(token, base.clock.seconds()) else { return Ok(Visitor::Unknown) };
    let key = keys::user(claim.user);
    let mut rows = base.db.batch_get(vec![key.clone()]).await?;
    let user: Option<User> = rows.take_live(&key)?;
    Ok(match user {
        Some(user) if user.banned => Visitor::Banned,
        Some(user) if user.admits(claim.issued_at) => Visitor::Welcome,
        _ => Visitor::Unknown,
    })
}
