//! The calls about coupons and gift cards: entering one, removing it, and what is left on a card (rules.md, "Coupons and gift cards").
//! Entering reserves nothing: uses and balance are taken when the order is paid. Whoever has a card may ask what is left on it: no
//! token is needed, and every refusal counts as a try of an unknown code (rules.md, "Unknown codes").

use crate::State;
use crate::context::{self, CART_CHANGED};
use crate::referrals::WithCaptured;
use crate::unknown_codes::{self, TooMany, Tries};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Contended, Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips, WithAddress, WithCookie};
use shared::http::body;
use shared::http::reply::Outcome;
use shared::model::{AppliedCoupon, AppliedGiftCard, Cart, Code, CodeKind, CodeText, Coupon, CouponUses, Discount};
use shared::money::{self, CurrencyFormat, Decimal, date_and_time};
use shared::rules::code::{Applied, CodeRefusal, LeftOut, judge, usable};
use shared::shop::carts::{Attempt, LoadedCart, drop_unpublished};
use shared::shop::codes;
use shared::table::keys;
use shared::telemetry;
use shared::token::Claim;
use std::convert::Infallible;

pub struct AcceptCoupon;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct CouponRequest {
    /// The code of a coupon or gift card. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST_COUPON }>")]
    #[serde(deserialize_with = "body::code::<{ CodeText::LONGEST_COUPON }, _>")]
    coupon: CodeText,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum AcceptCouponReply {
    /// The code is on the cart.
    Applied {
        /// Always true.
        success: bool,
        /// The outcome, as a text for people: the code was applied, replaced another of its kind, or was already on the cart.
        message: &'static str,
        /// Percentage: the coupon's, 12.5 for 12.5 %. 0 for a coupon of an amount and for a gift card.
        percent: Decimal,
        /// Money: what the coupon takes off this cart. 0 for a gift card.
        amount: Decimal,
        /// Money: what the gift card pays of this cart. 0 for a coupon.
        sum: Decimal,
        /// The kind of code.
        #[serde(rename = "type")]
        kind: CodeKind,
    },
    /// The code is refused.
    Refused {
        /// Always false.
        success: bool,
        /// The reason, as a text for people.
        message: String,
    },
}

impl Endpoint for AcceptCoupon {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<WithAddress<JsonBody<CouponRequest>>>;
    type Reply = WithCookie<Json<AcceptCouponReply>>;
    type Refusal = TooMany;

    const ROUTES: &'static [&'static str] = &["POST /cart/acceptCoupon"];
    const SUMMARY: &'static str = "applies a coupon or gift card to the cart";
    const NUMBER: Option<u8> = Some(3);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 4 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured(WithAddress(JsonBody(body), address), captured): Self::Input,
    ) -> Result<Self::Reply, Error<TooMany>> {
        let reply = context::with_retries(state, &captured, || attempt(state, claim, &body.coupon, &address)).await?;
        Ok(reply.rendered())
    }
}

async fn attempt(
    state: &State,
    claim: Claim,
    text: &CodeText,
    address: &str,
) -> Result<Attempt<AcceptCouponReply>, Error<TooMany>> {
    let now = state.base.clock.seconds();
    let more = [keys::code(text), keys::code_use(text, claim.user), unknown_codes::key(address)];
    let mut context = context::load(state, claim, &more).await?.ok_or(Error::Unauthorized)?;
    let tries = Tries::take(state, &mut context.rows, address)?.map_err(Error::Refused)?;
    let code = codes::take(&mut context.rows, text)?;
    if code.is_none() {
        tries.count(state).await?.map_err(Error::Refused)?;
    }
    let uses = codes::take_uses(&mut context.rows, text, context.user)?;
    let (code, uses) = context.usable(code, uses);
    let format = CurrencyFormat::new(context.active.config.digits);
    // A code that no cart could use is refused before the cart's items are read.
    if let Err(refusal) = usable(code.as_ref(), uses, now) {
        return Ok(Attempt::Done(refused(refusal, format)));
    }
    // Only a gift card depends on another code: it pays what the coupon on the cart leaves.
    let depends_on_codes = matches!(code, Some(Code::Gift(_))) && context.cart.coupon.is_some();
    let loaded = if depends_on_codes {
        LoadedCart::load(&state.sources(), context, None).await?
    } else {
        LoadedCart::load_without_codes(&state.sources(), context).await?
    };
    let lines = loaded.lines();
    let is_proven = claim.login().is_some_and(|login| login.is_proven());
    let coupon_sum = loaded.codes(&lines, is_proven, now).applied().coupon_sum();
    let applied = match judge(code.as_ref(), uses, loaded.code_inputs(&lines, is_proven, coupon_sum), now) {
        Ok(applied) => applied,
        Err(refusal) => return Ok(Attempt::Done(refused(refusal, format))),
    };
    let mut cart = loaded.context.cart.clone();
    let message = match (applied.code, claim.login()) {
        (Code::Coupon(coupon), _) => put_coupon(&mut cart, coupon),
        (Code::Gift(gift), Some(login)) => put_gift_card(&mut cart, &AppliedGiftCard::entered_by(login, gift)),
        (Code::Gift(_), None) => {
            let message = "Please log in again before you enter a gift card.".to_owned();
            return Ok(Attempt::Done(AcceptCouponReply::Refused { success: false, message }));
        }
    };
    let reply = accepted(message.unwrap_or("This code is on your cart already."), &applied, format);
    if message.is_none() {
        return Ok(Attempt::Done(reply));
    }
    drop_unpublished(&state.sources(), &loaded.context.active.version, &mut cart).await?;
    Ok(Attempt::Write(Box::new(cart), reply))
}

/// The message to the buyer; `None` if the coupon is on the cart already.
fn put_coupon(cart: &mut Cart, coupon: &Coupon) -> Option<&'static str> {
    let coupon = AppliedCoupon::from(coupon);
    match cart.coupon.replace(coupon.clone()) {
        Some(old) if old == coupon => None,
        Some(_) => Some("The coupon was applied and replaces the coupon that was on your cart."),
        None => Some("The coupon was applied."),
    }
}

/// The message to the buyer; `None` if this login's card is on the cart already. A card that another login entered
/// becomes this login's own.
fn put_gift_card(cart: &mut Cart, entered: &AppliedGiftCard) -> Option<&'static str> {
    match cart.gift_card.replace(entered.clone()) {
        Some(old) if old == *entered => None,
        Some(old) if old.id != entered.id => {
            Some("The gift card was applied and replaces the gift card that was on your cart.")
        }
        _ => Some("The gift card was applied."),
    }
}

fn accepted(message: &'static str, applied: &Applied<'_>, format: CurrencyFormat) -> AcceptCouponReply {
    let (kind, taken) = (applied.code.kind(), format.money(applied.sum));
    let percent = match applied.code {
        Code::Coupon(Coupon { discount: Discount::Percentage(percent), .. }) => money::percent(*percent),
        Code::Coupon(_) | Code::Gift(_) => money::ZERO,
    };
    let (amount, sum) = match kind {
        CodeKind::Coupon => (taken, money::ZERO),
        CodeKind::Gift => (money::ZERO, taken),
    };
    AcceptCouponReply::Applied { success: true, message, percent, amount, sum, kind }
}

fn refused(refusal: CodeRefusal, format: CurrencyFormat) -> AcceptCouponReply {
    telemetry::code_refused(refusal.kind());
    let message = match refusal {
        CodeRefusal::Unknown => "This code does not exist.".to_owned(),
        CodeRefusal::NotValidNow => "This code is not valid at the moment.".to_owned(),
        CodeRefusal::UsedUp => "This code has been used up.".to_owned(),
        CodeRefusal::NotYet { at } => format!("You can use this code again from {} UTC.", date_and_time(at)),
        CodeRefusal::NoBalance => "There is nothing left on this gift card.".to_owned(),
        CodeRefusal::EmptyCart => "Your cart is empty.".to_owned(),
        CodeRefusal::BelowMinimum { minimum } => {
            format!("This coupon applies to carts of {} or more.", format.money(minimum))
        }
        CodeRefusal::Subscription => "This code cannot be used for a subscription.".to_owned(),
        CodeRefusal::NothingEligible => "This code applies to nothing in your cart.".to_owned(),
        CodeRefusal::NotFirst => "This code is for a first purchase, and you have bought something before.".to_owned(),
        CodeRefusal::GiftByName => LeftOut::GiftByName.to_string(),
        CodeRefusal::OnSale => {
            "What is in your cart is on sale already, and the sale takes off more than this code.".to_owned()
        }
        CodeRefusal::TooFew => {
            "Put at least two items in your cart that this code applies to: the cheapest is free.".to_owned()
        }
    };
    AcceptCouponReply::Refused { success: false, message }
}

pub struct RemoveCoupon;

impl Endpoint for RemoveCoupon {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<()>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeCoupon"];
    const SUMMARY: &'static str = "removes the coupon from the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured((), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let messages = ("No coupon is on your cart.", "The coupon was removed.");
        context::remove_code(state, claim, &captured, |cart| cart.coupon.take().is_some(), messages).await
    }
}

pub struct RemoveGiftcard;

impl Endpoint for RemoveGiftcard {
    type State = State;
    type Caller = Claim;
    type Input = WithCaptured<()>;
    type Reply = WithCookie<Json<Outcome<'static>>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/removeGiftcard"];
    const SUMMARY: &'static str = "removes the gift card from the cart";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Success;
    const CONTENDED: Option<Contended> = Some(CART_CHANGED);

    async fn handle(
        state: &State,
        claim: Claim,
        WithCaptured((), captured): Self::Input,
    ) -> Result<Self::Reply, Error> {
        let messages = ("No gift card is on your cart.", "The gift card was removed.");
        context::remove_code(state, claim, &captured, |cart| cart.gift_card.take().is_some(), messages).await
    }
}

pub struct GetGift;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct GiftRequest {
    /// The code of a gift card. Case and surrounding whitespace are ignored.
    #[schemars(with = "body::Text<{ CodeText::LONGEST_COUPON }>")]
    #[serde(deserialize_with = "body::code::<{ CodeText::LONGEST_COUPON }, _>")]
    gift: CodeText,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum GiftReply {
    /// The card can be used.
    Usable {
        /// Always true.
        status: bool,
        /// The outcome, as a text for people.
        message: &'static str,
        /// Money: everything that was put on the card.
        start_balance: Decimal,
        /// Money: what is left on the card, without what open checkouts hold.
        end_balance: Decimal,
    },
    /// The card does not exist, cannot be used at the moment, or is empty.
    Refused {
        /// Always false.
        status: bool,
        /// The reason, as a text for people.
        message: &'static str,
    },
}

impl Endpoint for GetGift {
    type State = State;
    type Caller = ();
    type Input = WithAddress<JsonBody<GiftRequest>>;
    type Reply = Json<GiftReply>;
    type Refusal = TooMany;

    const ROUTES: &'static [&'static str] = &["POST /cart/getGift"];
    const SUMMARY: &'static str = "returns the balance of a gift card";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 3, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::StatusFlag;

    async fn handle(
        state: &State,
        (): (),
        WithAddress(JsonBody(body), address): Self::Input,
    ) -> Result<Self::Reply, Error<TooMany>> {
        let keys = vec![keys::code(&body.gift), unknown_codes::key(&address)];
        let (active, rows) = tokio::join!(state.base.published.active_version(), state.base.db.batch_get(keys));
        let (active, mut rows) = (active?, rows?);
        let tries = Tries::take(state, &mut rows, &address)?.map_err(Error::Refused)?;
        // A coupon is not a gift card: its code is as unknown as any other.
        let code = codes::take(&mut rows, &body.gift)?.filter(|code| matches!(code, Code::Gift(_)));
        let reply = match usable(code.as_ref(), CouponUses::default(), state.base.clock.seconds()) {
            Ok(Code::Gift(card)) => {
                let format = CurrencyFormat::new(active.config.digits);
                GiftReply::Usable {
                    status: true,
                    message: "This gift card can be used.",
                    start_balance: format.money(card.start_balance),
                    end_balance: format.money(card.balance),
                }
            }
            Ok(Code::Coupon(_)) => refuse(CodeRefusal::Unknown),
            Err(refusal) => refuse(refusal),
        };
        if matches!(reply, GiftReply::Refused { .. }) {
            tries.count(state).await?.map_err(Error::Refused)?;
        }
        Ok(Json::of(&reply))
    }
}

fn refuse(refusal: CodeRefusal) -> GiftReply {
    telemetry::code_refused(refusal.kind());
    let message = match refusal {
        CodeRefusal::NoBalance => "There is nothing left on this gift card.",
        CodeRefusal::NotValidNow => "This gift card is not valid at the moment.",
        _ => "This gift card does not exist.",
    };
    GiftReply::Refused { status: false, message }
}
