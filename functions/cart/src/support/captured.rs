//! The referral code of a visitor who is not logged in (rules.md, "Referral codes"): a cookie that POST
//! /capture-referral sets. The browser's first write to a cart applies it in the same write, and clears it whether it
//! was applied or not.

use crate::State;
use lambda_http::http::{HeaderMap, HeaderValue};
use shared::endpoint::{Input, InputKind, Received, RequestSchemas};
use shared::http::body::BodyFault;
use shared::http::cookie;
use shared::model::{Cart, CodeText, Referral};
use shared::rules::referral::{self, SetReferral};
use shared::shop::codes;
use shared::table::{StoreError, keys};

const COOKIE: &str = "captured_referral";
/// How long a browser keeps the code, in seconds: 30 days.
const SECONDS: u32 = 30 * 86_400;

/// Input of an endpoint that writes carts, with the referral code that the browser keeps.
#[derive(Debug)]
pub struct WithCaptured<I>(pub I, pub Captured);

impl<I: Input> Input for WithCaptured<I> {
    const KIND: InputKind = I::KIND;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let captured = Captured::of(received.request.headers());
        I::read(received).map(|input| Self(input, captured))
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        I::schemas(generator)
    }
}

/// The referral code that a request's browser keeps.
#[derive(Debug)]
pub struct Captured {
    is_sent: bool,
    /// Its code; `None` if it holds none.
    code: Option<CodeText>,
}

impl Captured {
    fn of(headers: &HeaderMap) -> Self {
        let value = cookie::value(headers, COOKIE);
        let text = value.as_deref().and_then(cookie::decoded);
        let text = text.filter(|text| text.chars().count() <= CodeText::LONGEST);
        Self { is_sent: value.is_some(), code: text.and_then(|text| CodeText::parse(&text).ok()) }
    }

    /// The same for a write that does not apply the code, and spends it nevertheless.
    pub fn unapplied(self) -> Self {
        Self { code: None, ..self }
    }

    /// Reads the referral of the code, if it is in force. Reads nothing for a request without the cookie.
    pub async fn referral(&self, state: &State) -> Result<Option<Referral>, StoreError> {
        let Some(code) = &self.code else { return Ok(None) };
        in_force(state, code).await
    }

    /// The cookie that clears the code once a cart is written; `None` if the browser keeps none.
    pub fn spent(&self) -> Option<HeaderValue> {
        if self.is_sent { set("", 0) } else { None }
    }
}

/// The cookie that keeps a code; `None` if the code cannot be in a header, which percent-encoding excludes.
pub fn keep(code: &CodeText) -> Option<HeaderValue> {
    set(&cookie::encoded(code.as_str()), SECONDS)
}

/// The cookie is sent with every call to this API, also by a page of another origin of the same site.
fn set(value: &str, seconds: u32) -> Option<HeaderValue> {
    let cookie = format!("{COOKIE}={value}; Max-Age={seconds}; Path=/; HttpOnly; Secure; SameSite=Lax");
    HeaderValue::try_from(cookie).ok()
}

/// Applies a referral to a cart that is about to be written, under the rules of setReferral.
pub async fn apply(state: &State, cart: &mut Cart, captured: Referral) -> Result<(), StoreError> {
    if decide(state, Some(&captured), cart, true).await? == SetReferral::Apply {
        cart.referral = Some(captured.code);
    }
    Ok(())
}

/// Reads the referral of a code; `None` if it is not in force.
pub async fn in_force(state: &State, code: &CodeText) -> Result<Option<Referral>, StoreError> {
    let rows = state.base.db.batch_get(vec![keys::referral(code)]);
    let (active, rows) = tokio::join!(state.base.published.active_version(), rows);
    let (active, found) = (active?, codes::take_referral(&mut rows?, code)?);
    Ok(referral::in_force(found.as_ref(), active.config.is_ref).cloned())
}

/// Decides about `found` for a cart as it was read. Another code on the cart is read: one that is disabled or no longer
/// exists does not block `found`.
pub async fn decide(
    state: &State,
    found: Option<&Referral>,
    cart: &Cart,
    switched_on: bool,
) -> Result<SetReferral, StoreError> {
    let decide = |on_cart| referral::set(found, on_cart, cart.user, switched_on);
    match (decide(cart.referral.as_ref()), &cart.referral) {
        (SetReferral::AnotherIsSet, Some(on_cart)) => {
            let mut rows = state.base.db.batch_get(vec![keys::referral(on_cart)]).await?;
            let other = codes::take_referral(&mut rows, on_cart)?;
            Ok(decide(referral::in_force(other.as_ref(), switched_on).map(|_| on_cart)))
        }
        (decision, _) => Ok(decision),
    }
}
