//! The referral code of a visitor who is not logged in (rules.md, "Referral codes"): a cookie that POST
//! /capture-referral sets. The browser's first write to a cart applies it in the same write, and clears it whether it
//! was applied or not.

use crate::State;
use crate::support::referral;
use lambda_http::http::header::SET_COOKIE;
use lambda_http::http::{HeaderMap, HeaderValue};
use lambda_http::{Body, Response};
use shared::http::cookie;
use shared::model::{Cart, CodeText, Referral};
use shared::rules::referral::SetReferral;
use shared::store::StoreError;
use std::sync::atomic::{AtomicBool, Ordering};

const COOKIE: &str = "captured_referral";
/// How long a browser keeps the code, in seconds: 30 days.
const SECONDS: u32 = 30 * 86_400;

tokio::task_local! {
    /// The code of the request that is being handled.
    static CAPTURED: Captured;
}

struct Captured {
    is_sent: bool,
    /// Its code; `None` if it holds none.
    code: Option<CodeText>,
    is_spent: AtomicBool,
}

impl Captured {
    fn of(headers: &HeaderMap) -> Self {
        let value = cookie::value(headers, COOKIE);
        let text = value.as_deref().and_then(cookie::decoded);
        let text = text.filter(|text| text.chars().count() <= CodeText::LONGEST);
        let code = text.and_then(|text| CodeText::parse(&text).ok());
        Self { is_sent: value.is_some(), code, is_spent: AtomicBool::new(false) }
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

/// Handles a request with the code of its cookie.
pub async fn in_request(headers: &HeaderMap, handle: impl Future<Output = Response<Body>>) -> Response<Body> {
    let respond = async {
        let mut response = handle.await;
        if CAPTURED.with(|captured| captured.is_spent.load(Ordering::Relaxed)) {
            response.headers_mut().extend(set("", 0).map(|cookie| (SET_COOKIE, cookie)));
        }
        response
    };
    CAPTURED.scope(Captured::of(headers), respond).await
}

/// Reads the referral of the request's code, if it is in force. Reads nothing for a request without the cookie.
pub async fn read(state: &State) -> Result<Option<Referral>, StoreError> {
    let Some(code) = CAPTURED.try_with(|captured| captured.code.clone()).ok().flatten() else { return Ok(None) };
    referral::in_force(state, &code).await
}

/// Applies a referral to a cart that is about to be written, under the rules of setReferral.
pub async fn apply(state: &State, cart: &mut Cart, captured: Referral) -> Result<(), StoreError> {
    if referral::decide(state, Some(&captured), cart, true).await? == SetReferral::Apply {
        cart.referral = Some(captured.code);
    }
    Ok(())
}

/// The request has written a cart: its code is spent.
pub fn spend() {
    let spend = |captured: &Captured| captured.is_spent.store(captured.is_sent, Ordering::Relaxed);
    // Outside of a request nothing is captured.
    _ = CAPTURED.try_with(spend);
}
