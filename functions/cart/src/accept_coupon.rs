//! POST /cart/acceptCoupon: puts a coupon or gift card on the cart (contract 3; ruling 9). Reserves nothing: uses and
//! balance are taken when the order is paid.

use crate::State;
use crate::error::Error;
use crate::visit;
use crate::write::{self, Attempt};
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::reply::{self, Outcome};
use shared::http::wire::{self, Decimal, Wire};
use shared::model::{AppliedCode, Code, CodeText, Discount};
use shared::rules::cart::price_lines;
use shared::rules::code::{Applied, Refusal, judge, usable};
use shared::store::carts::Edit;
use shared::store::{codes, keys};
use shared::telemetry;
use shared::token::Claim;

const FIELD: &str = "coupon";
/// The longest code in characters, as sent (contract, Limits).
const LONGEST: usize = 40;

/// The answer where the code is on the cart now.
#[derive(Serialize)]
struct Reply<'a> {
    success: bool,
    message: &'a str,
    percent: Decimal,
    amount: Decimal,
    sum: Decimal,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let (claim, code) = visit::claim_and_code(state, request, FIELD, LONGEST).await?;
    write::with_retries(state, || attempt(state, claim, &code)).await
}

async fn attempt(state: &State, claim: Claim, text: &CodeText) -> Result<Attempt, Error> {
    let now = state.base.clock.seconds();
    let code_keys = [keys::code(text), keys::code_use(text, claim.user)];
    let mut visit = visit::begin(state, claim, code_keys).await?;
    let code = codes::take(&mut visit.rows, text)?;
    let uses = codes::take_uses(&mut visit.rows, text, visit.user)?;
    let wire = Wire::new(visit.pointer.config.digits);
    // A code that no cart could use is refused before the cart's items are read.
    if let Err(refusal) = usable(code.as_ref(), uses, now) {
        return Ok(Attempt::Done(refused(refusal, wire)));
    }
    let goods = visit::goods(state, &visit, []).await?;
    let lines = price_lines(&visit.cart.lines, &goods.items, &goods.sold, &visit.ledger);
    let applied = match judge(code.as_ref(), uses, &lines, now) {
        Ok(applied) => applied,
        Err(refusal) => return Ok(Attempt::Done(refused(refusal, wire))),
    };
    let on_cart = AppliedCode { code: text.clone(), id: applied.code.id(), kind: applied.code.kind() };
    if visit.cart.code.as_ref() == Some(&on_cart) {
        return Ok(Attempt::Done(accepted("This code is on your cart already.", &applied, wire)));
    }
    let message = match (applied.code, &visit.cart.code) {
        (Code::Coupon(_), None) => "The coupon was applied.",
        (Code::Gift(_), None) => "The gift card was applied.",
        (Code::Coupon(_), Some(_)) => "The coupon was applied and replaces the code that was on your cart.",
        (Code::Gift(_), Some(_)) => "The gift card was applied and replaces the code that was on your cart.",
    };
    let response = accepted(message, &applied, wire);
    let mut edit = Edit::of(visit.cart);
    // Lines whose item is no longer published go with the next write (ruling 8).
    edit.cart.lines.retain(|line| goods.items.contains_key(&line.item));
    edit.cart.code = Some(on_cart);
    Ok(Attempt::Write(Box::new(edit), response))
}

fn accepted(message: &str, applied: &Applied<'_>, wire: Wire) -> Response<Body> {
    let sum = wire.money(applied.sum);
    reply::ok(&match applied.code {
        Code::Coupon(coupon) => {
            let percent = match coupon.discount {
                Discount::Percentage(percent) => wire::percent(percent),
                Discount::Amount(_) => wire::ZERO,
            };
            Reply { success: true, message, percent, amount: sum, sum: wire::ZERO, kind: "coupon" }
        }
        Code::Gift(_) => Reply { success: true, message, percent: wire::ZERO, amount: wire::ZERO, sum, kind: "gift" },
    })
}

fn refused(refusal: Refusal, wire: Wire) -> Response<Body> {
    telemetry::code_refused(refusal.kind());
    let text = match refusal {
        Refusal::Unknown => "This code does not exist.".to_owned(),
        Refusal::NotValidNow => "This code is not valid at the moment.".to_owned(),
        Refusal::UsedUp => "This code has been used up.".to_owned(),
        Refusal::NoBalance => "There is nothing left on this gift card.".to_owned(),
        Refusal::EmptyCart => "Your cart is empty.".to_owned(),
        Refusal::BelowMinimum { minimum } => {
            format!("This coupon applies to carts of {} or more.", wire.money(minimum))
        }
        Refusal::NothingEligible => "This code applies to nothing in your cart.".to_owned(),
    };
    reply::ok(&Outcome { success: false, message: &text })
}
