//! POST /cart/get: the cart with what it costs now (rules.md, "Carts").

use crate::State;
use crate::context;
use crate::servers::{self, ServerBody};
use crate::write::{Contention, Failure};
use serde::Serialize;
use shared::endpoint::{Endpoint, ErrorBody, Json, RoundTrips};
use shared::http::wire::{self, CurrencyFormat, Decimal};
use shared::model::{Code, CodeId, CodeKind, Discount, ItemId, LineId, Money, Referral, ServerId, UserId};
use shared::rules::cart::{PricedLine, Sums, sums};
use shared::rules::code::Applied;
use shared::rules::pricing::Limits;
use shared::token::Claim;
use shared::usecases::carts::LoadedCart;

/// POST /cart/get.
pub struct GetCart;

/// The cart with its lines.
#[derive(Serialize)]
pub struct CartView<'a> {
    cart: CartBody<'a>,
    items: Vec<ItemBody<'a>>,
}

/// The cart; `items`, `clear_price`, `virtual_price` and `price` are additions (api.md, "Added fields").
#[derive(Serialize)]
struct CartBody<'a> {
    id: UserId,
    user_id: UserId,
    gift_id: Option<CodeId>,
    gift_sum: Decimal,
    coupon_id: Option<CodeId>,
    coupon_sum: Decimal,
    referral: Option<&'a str>,
    gift_code: &'a str,
    coupon_code: &'a str,
    coupon_type: &'static str,
    coupon_value: Decimal,
    referral_code: &'a str,
    items: u64,
    clear_price: Decimal,
    virtual_price: Decimal,
    price: Decimal,
}

/// A line of the cart.
#[derive(Serialize)]
struct ItemBody<'a> {
    id: ItemId,
    cid: LineId,
    name: &'a str,
    image: &'a str,
    price: Decimal,
    is_subs: bool,
    virtual_price: Decimal,
    is_virtual_currency_only: bool,
    vars: Vec<VariableBody<'a>>,
    count: u32,
    #[serde(flatten)]
    limits: Limits,
    is_unavailable: bool,
    payment_type: u8,
    is_any_price: bool,
    min_price: Decimal,
    allow_select_server: bool,
    allowed_servers: Vec<ServerBody<'a>>,
    selected_server: Option<ServerId>,
}

#[derive(Serialize)]
struct VariableBody<'a> {
    id: u64,
    name: &'a str,
    value: &'a str,
}

impl Endpoint for GetCart {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<CartView<'static>>;
    type Refusal = Contention;

    const NAME: &'static str = "cart/get";
    const ROUTES: &'static [&'static str] = &["POST /cart/get"];
    const SUMMARY: &'static str = "the cart with what it costs now";
    const NUMBER: Option<u8> = Some(9);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Failure> {
        let context = context::load(state, claim, []).await?;
        let loaded = LoadedCart::load(&state.sources(), context, None).await?;
        let lines = loaded.lines();
        let applied = loaded.applied(&lines, state.base.clock.seconds()).ok();
        let wire = CurrencyFormat::new(loaded.context.active.config.digits);
        Ok(Json::of(&CartView {
            cart: cart_body(loaded.context.user, sums(&lines), applied.as_ref(), loaded.referral(), wire),
            items: lines.iter().map(|line| item_body(line, wire)).collect(),
        }))
    }
}

fn cart_body<'a>(
    user: UserId,
    sums: Sums,
    applied: Option<&Applied<'a>>,
    referral: Option<&'a Referral>,
    wire: CurrencyFormat,
) -> CartBody<'a> {
    let of_kind = |kind: CodeKind| applied.filter(|applied| applied.code.kind() == kind);
    let (coupon, gift) = (of_kind(CodeKind::Coupon), of_kind(CodeKind::Gift));
    let sum = |applied: Option<&Applied<'_>>| applied.map_or(Money::ZERO, |applied| applied.sum);
    let id = |applied: Option<&Applied<'_>>| applied.map(|applied| applied.code.id());
    let text = |applied: Option<&Applied<'a>>| applied.map_or("", |applied| applied.code.text().as_str());
    let (coupon_type, coupon_value) = coupon.map_or(("", wire::ZERO), |applied| coupon_terms(applied.code, wire));
    CartBody {
        id: user,
        user_id: user,
        gift_id: id(gift),
        gift_sum: wire.money(sum(gift)),
        coupon_id: id(coupon),
        coupon_sum: wire.money(sum(coupon)),
        referral: referral.map(|referral| referral.owner_name.as_str()),
        gift_code: text(gift),
        coupon_code: text(coupon),
        coupon_type,
        coupon_value,
        referral_code: referral.map_or("", |referral| referral.code.as_str()),
        items: sums.items,
        clear_price: wire.money(sums.clear_price),
        virtual_price: wire.money(sums.virtual_price),
        price: wire.money(sums.clear_price.less(sum(coupon)).less(sum(gift))),
    }
}

fn coupon_terms(code: &Code, wire: CurrencyFormat) -> (&'static str, Decimal) {
    match code {
        Code::Coupon(coupon) => match coupon.discount {
            Discount::Percentage(percent) => ("percentage", wire::percent(percent)),
            Discount::Amount(amount) => ("amount", wire.money(amount)),
        },
        Code::Gift(_) => ("", wire::ZERO),
    }
}

fn item_body<'a>(line: &PricedLine<'a>, wire: CurrencyFormat) -> ItemBody<'a> {
    let item = &line.published.item;
    let name =
        |id: u64| item.variables.iter().find(|variable| variable.id == id).map(|variable| variable.name.as_str());
    let chosen = line.line.variables.iter();
    let selectable = |id: &ServerId| item.allow_select_server && item.servers.iter().any(|server| server.id == *id);
    ItemBody {
        id: item.id,
        cid: line.line.id,
        name: &item.name,
        image: &item.image,
        price: wire.money(line.unit_price),
        is_subs: item.is_subscription,
        virtual_price: wire.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        vars: chosen.filter_map(|v| Some(VariableBody { id: v.id, name: name(v.id)?, value: &v.value })).collect(),
        count: line.count,
        limits: line.availability.limits,
        is_unavailable: line.availability.unavailable,
        payment_type: line.line.payment_type.wire(),
        is_any_price: item.any_price,
        min_price: wire.money(item.min_price),
        allow_select_server: item.allow_select_server,
        allowed_servers: servers::bodies(&item.servers),
        selected_server: line.line.server.filter(selectable),
    }
}
