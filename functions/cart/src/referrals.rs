//! Referral codes (rules.md, "Referral codes"): setting and removing one, and one that a link brought. With a token the
//! code of a link is applied to the cart. Without one the browser keeps it in a cookie, which POST /capture-referral
//! sets: its first write to a cart applies the code in the same write, and clears the cookie whether it was applied or
//! not.

use crate::State;
use crate::context::{self, CART_CHANGED};
use lambda_http::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use shared::endpoint::{
    Contended, Endpoint, Error, ErrorBody, Input, InputKind, Json, JsonBody, Received, RequestSchemas, RoundTrips,
    WithCookie,
};
use shared::http::body::{self, BodyFault};
use shared::http::cookie;
use shared::http::reply::Outcome;
use shared::model::{Cart, CodeText, Referral};
use shared::rules::referral::{self, SetReferral as Decision};
use shared::shop::carts::{Attempt, drop_unpublished};
use shared::shop::codes;
use shared::table::{StoreError, keys};
use shared::token::Claim;
use std::convert::Infallible;

pub struct SetReferral;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct ReferralRequest {
    /// The referral code. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST }>")]
    #[serde(deserialize_with = "body::code::<{ CodeText::LONGEST }, _>")]
    ref_code: CodeText,
}

impl Endpoint for SetReferral {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<JsonBody<ReferralRequest>>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/setReferral"];
    const SUMMARY: &'static str = "applies a referral code to the cart";
    const NUMBER: Option<u8> = Some(4);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(JsonBody(body), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let WithCookie { reply, cookie } = set(state, claim, &captured, &body.ref_code).await?;
        let (success, message) = outcome(reply);
        Ok(WithCookie { reply: Json::of(&Outcome { success, message }), cookie })
    }
}

/// Applies a code to the caller's cart, if the rules allow it.
pub async fn set(
    state: &State,
    claim: Claim,
    captured: &Captured,
    code: &CodeText,
) -> Result<WithCookie<Decision>, Error> {
    context::with_retries(state, captured, || attempt(state, claim, code)).await
}

/// Whether the code is on the cart now, and what the buyer reads.
pub const fn outcome(decision: Decision) -> (bool, &'static str) {
    match decision {
        Decision::NotValid => (false, "This referral code does not exist or is not valid."),
        Decision::OwnCode => (false, "You cannot use your own referral code."),
        Decision::AnotherIsSet => (false, "Another referral code is set. Please remove it first."),
        Decision::AlreadySet => (true, "This referral code is set already."),
        Decision::Apply => (true, "The referral code was applied."),
    }
}

async fn attempt(state: &State, claim: Claim, text: &CodeText) -> Result<Attempt<Decision>, Error> {
    let mut context = context::load(state, claim, &[keys::referral(text)]).await?.ok_or(Error::Unauthorized)?;
    let found = codes::take_referral(&mut context.rows, text)?;
    let decision = decide(state, found.as_ref(), &context.cart, context.active.config.is_ref).await?;
    if decision != Decision::Apply {
        return Ok(Attempt::Done(decision));
    }
    let mut cart = context.cart;
    drop_unpublished(&state.sources(), &context.active.version, &mut cart).await?;
    cart.referral = Some(text.clone());
    Ok(Attempt::Write(Box::new(cart), decision))
}

pub struct RemoveReferral;

impl Endpoint for RemoveReferral {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<()>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeReferral"];
    const SUMMARY: &'static str = "removes the referral code from the cart";
    const NUMBER: Option<u8> = Some(5);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured((), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        // The buyer wants no referral code on the cart: one that the browser keeps is not applied.
        let messages = ("No referral code is set.", "The referral code was removed.");
        context::remove_code(state, claim, &captured.unapplied(), |cart| cart.referral.take().is_some(), messages).await
    }
}

pub struct CaptureReferral;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CaptureRequest {
    /// The referral code. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST }>")]
    #[serde(rename = "ref", deserialize_with = "body::code::<{ CodeText::LONGEST }, _>")]
    code: CodeText,
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct CaptureReply {
    /// Whether the code is on the cart, or is kept by the browser.
    success: bool,
    /// Whether the code is on the caller's cart. False without a token.
    attribution_applied: bool,
    /// The outcome, as a text for people.
    message: &'static str,
}

impl Endpoint for CaptureReferral {
    type State = State;
    type Caller = Option<Claim>;
    type Input = WithCaptured<JsonBody<CaptureRequest>>;
    type Reply = WithCookie<Json<CaptureReply>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /capture-referral"];
    const SUMMARY: &'static str = "applies a referral code to the cart, or keeps it until there is one";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 4, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Option<Claim>,
        WithCaptured(JsonBody(body), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let decision = match claim {
            None => None,
            Some(claim) => match set(state, claim, &captured, &body.code).await {
                // The account does not accept the token, which then counts as none.
                Err(Error::Unauthorized) => None,
                decision => Some(decision?),
            },
        };
        if let Some(WithCookie { reply, cookie }) = decision {
            let (success, message) = outcome(reply);
            let reply = CaptureReply { success, attribution_applied: success, message };
            return Ok(WithCookie { reply: Json::of(&reply), cookie });
        }
        let cookie = in_force(state, &body.code).await?.and_then(|_| keep(&body.code));
        let (success, message) = match cookie {
            Some(_) => (true, "The referral code is applied when you log in and fill your cart."),
            None => outcome(Decision::NotValid),
        };
        let reply = CaptureReply { success, attribution_applied: false, message };
        Ok(WithCookie { reply: Json::of(&reply), cookie })
    }
}

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
        if self.is_sent { set_cookie("", 0) } else { None }
    }
}

/// The cookie that keeps a code; `None` if the code cannot be in a header, which percent-encoding excludes.
pub fn keep(code: &CodeText) -> Option<HeaderValue> {
    set_cookie(&cookie::encoded(code.as_str()), SECONDS)
}

/// The cookie is sent with every call to this API, also by a page of another origin of the same site.
fn set_cookie(value: &str, seconds: u32) -> Option<HeaderValue> {
    let cookie = format!("{COOKIE}={value}; Max-Age={seconds}; Path=/; HttpOnly; Secure; SameSite=Lax");
    HeaderValue::try_from(cookie).ok()
}

/// Applies a referral to a cart that is about to be written, under the rules of setReferral.
pub async fn apply(state: &State, cart: &mut Cart, captured: Referral) -> Result<(), StoreError> {
    if decide(state, Some(&captured), cart, true).await? == Decision::Apply {
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
) -> Result<Decision, StoreError> {
    let decide = |on_cart| referral::set(found, on_cart, cart.user, switched_on);
    match (decide(cart.referral.as_ref()), &cart.referral) {
        (Decision::AnotherIsSet, Some(on_cart)) => {
            let mut rows = state.base.db.batch_get(vec![keys::referral(on_cart)]).await?;
            let other = codes::take_referral(&mut rows, on_cart)?;
            Ok(decide(referral::in_force(other.as_ref(), switched_on).map(|_| on_cart)))
        }
        (decision, _) => Ok(decision),
    }
}
