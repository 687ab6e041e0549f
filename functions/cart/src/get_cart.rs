//! POST /cart/get: the cart at current prices (rules.md, "Carts").

use crate::offers::{self, ServerBody};
use crate::{State, context};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, RoundTrips};
use shared::model::{
    Cart, Code, CodeId, Discount, ItemId, Line, LineId, Login, PaymentType, PlayerName, ServerId, StoreConfig, UserId,
    UserSubscription, Variable, VariableKind,
};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::rules::cart::{PricedLine, server_of, sums, value_of};
use shared::rules::code::{Applied, AppliedCodes, LinePart};
use shared::rules::pricing::Limits;
use shared::rules::subscription::{rank_of, replaced};
use shared::rules::variable;
use shared::shop::carts::LoadedCart;
use shared::token::Claim;
use std::borrow::Cow;
use std::convert::Infallible;

pub struct GetCart;

/// The cart, also an empty one.
#[derive(Serialize, schemars::JsonSchema)]
pub struct CartView<'a> {
    /// The cart's sums and codes.
    cart: CartBody<'a>,
    /// The cart's lines, in the order in which they were added.
    items: Vec<CartItemBody<'a>>,
}

/// The cart; `items`, `clear_price`, `virtual_price`, `price`, `tax`, `chat_sync` and `checkout` are additions (api.md,
/// "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
struct CartBody<'a> {
    /// The user's id.
    id: UserId,
    /// The user's id.
    user_id: UserId,
    /// The id of the gift card on the cart. Null if there is none.
    gift_id: Option<CodeId>,
    /// Money: what the gift card pays.
    gift_sum: Decimal,
    /// The id of the coupon on the cart. Null if there is none.
    coupon_id: Option<CodeId>,
    /// Money: what the coupon takes off.
    coupon_sum: Decimal,
    /// The name of the referral code's owner. Null if no code is set.
    referral: Option<&'a str>,
    /// The gift card's code. Empty if there is none. If another login by name entered it, `****` and its last four
    /// characters, or `****` alone if it has fewer than 12: it has to be entered again before it pays.
    gift_code: Cow<'a, str>,
    /// The coupon's code. Empty if there is none.
    coupon_code: &'a str,
    /// `percentage` or `amount`. Empty if there is no coupon.
    coupon_type: &'static str,
    /// Percentage or money, by `coupon_type`. 0 if there is no coupon.
    coupon_value: Decimal,
    /// The referral code. Empty if none is set.
    referral_code: &'a str,
    /// Number of units in the available lines.
    #[schemars(extend("x-beyond-contract" = true))]
    items: u64,
    /// Money: the available lines that are paid in money, before codes.
    #[schemars(extend("x-beyond-contract" = true))]
    clear_price: Decimal,
    /// Virtual currency: the available lines that are sold for virtual currency only.
    #[schemars(extend("x-beyond-contract" = true))]
    virtual_price: Decimal,
    /// Money: the amount to pay, `clear_price` − `coupon_sum` − `gift_sum`.
    #[schemars(extend("x-beyond-contract" = true))]
    price: Decimal,
    /// Money: always 0; no tax is added to the prices.
    #[schemars(extend("x-beyond-contract" = true))]
    tax: Decimal,
    /// 1 if an item of the cart needs a linked account of the chat platform, else 0.
    #[schemars(range(max = 1))]
    #[schemars(extend("x-beyond-contract" = true))]
    chat_sync: u8,
    /// The open checkout. Null if there is none.
    #[schemars(extend("x-beyond-contract" = true))]
    checkout: Option<CheckoutBody<'a>>,
}

/// A checkout that is neither paid nor ended.
#[derive(Serialize, schemars::JsonSchema)]
struct CheckoutBody<'a> {
    /// The order's internal id, for payments/checkStatus.
    order_id: &'a str,
    /// When it ends, in seconds since 1970 UTC.
    until: i64,
}

/// A line of the cart.
#[derive(Serialize, schemars::JsonSchema)]
struct CartItemBody<'a> {
    /// The catalog item's id.
    id: ItemId,
    /// The line's id, unique in the cart.
    cid: LineId,
    /// The item's name.
    name: &'a str,
    /// The item's image path. Empty if it has none.
    image: Cow<'a, str>,
    /// Money: the current price of one unit of this line.
    price: Decimal,
    /// Whether the item is a subscription.
    is_subs: bool,
    /// Virtual currency: the price of one unit.
    virtual_price: Decimal,
    /// Whether the item is sold for virtual currency only.
    is_virtual_currency_only: bool,
    /// The item's variables, with what the buyer has chosen.
    vars: Vec<VariableBody<'a>>,
    /// Number of units. Always 1 in a cumulative category.
    count: u32,
    #[serde(flatten)]
    limits: Limits,
    /// Whether the line cannot be bought now. If so, no sum includes it.
    is_unavailable: bool,
    /// 0 for a one-off purchase, 1 for a subscription, 2 for a gift.
    #[schemars(range(max = 2))]
    payment_type: u8,
    /// Whether the buyer chooses the price.
    is_any_price: bool,
    /// Money: the lowest price that a buyer may choose. 0 if the price is fixed.
    min_price: Decimal,
    /// Whether the buyer selects a server.
    allow_select_server: bool,
    /// The servers to select from.
    allowed_servers: Vec<ServerBody<'a>>,
    /// The id of the selected server. Null if none is selected or the item no longer has it.
    selected_server: Option<ServerId>,
    /// Money: what the coupon takes off the line. Absent if none applies to the cart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimal")]
    #[schemars(extend("x-beyond-contract" = true))]
    code_sum: Option<Decimal>,
    /// The reason why the coupon takes nothing off the line, as a sentence. Absent if it takes something off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[schemars(extend("x-beyond-contract" = true))]
    code_note: Option<String>,
    /// The recipient. Absent if the line is not a gift.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GiftBody")]
    #[schemars(extend("x-beyond-contract" = true))]
    gift: Option<GiftBody<'a>>,
    /// The name of the caller's subscription whose place this one takes: that one ends when this one is paid, and nothing is
    /// taken off for it. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    #[schemars(extend("x-beyond-contract" = true))]
    replaces: Option<&'a str>,
}

/// A variable of an item; all but `id`, `name` and `value` are additions (api.md, "Added fields").
#[derive(Serialize, schemars::JsonSchema)]
struct VariableBody<'a> {
    /// The variable's id, unique in the item.
    id: u64,
    /// The variable's name.
    name: &'a str,
    /// The value that the buyer chose or entered. Empty if it is not set, or no longer one that can be chosen.
    value: &'a str,
    /// The variable's id.
    #[schemars(extend("x-beyond-contract" = true))]
    identifier: String,
    /// How the value is written, as a sentence. Empty if its name says enough.
    #[schemars(extend("x-beyond-contract" = true))]
    description: String,
    /// 0 if the value is one of `variables`, 1 for a text, 2 for a number.
    #[serde(rename = "type")]
    #[schemars(range(max = 2))]
    #[schemars(extend("x-beyond-contract" = true))]
    kind: u8,
    /// The same as `value`.
    #[serde(rename = "use")]
    #[schemars(extend("x-beyond-contract" = true))]
    used: &'a str,
    /// The values to choose from. Empty if the buyer enters a value.
    #[schemars(extend("x-beyond-contract" = true))]
    variables: Vec<OptionBody<'a>>,
}

/// A value to choose from.
#[derive(Serialize, schemars::JsonSchema)]
struct OptionBody<'a> {
    /// The value, as buyers see it.
    name: &'a str,
    /// Money: what one unit costs more with this value.
    price: Decimal,
    /// The value.
    value: &'a str,
}

/// The recipient of a gift.
#[derive(Serialize, schemars::JsonSchema)]
struct GiftBody<'a> {
    /// The player's name, as the buyer wrote it.
    gifted_to: &'a str,
    /// URL of the player's picture. Empty if the store has none.
    avatar: String,
}

impl Endpoint for GetCart {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<CartView<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/get"];
    const SUMMARY: &'static str = "returns the cart at current prices";
    const NUMBER: Option<u8> = Some(9);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
        let loaded = LoadedCart::load(&state.sources(), context, None).await?;
        let lines = loaded.lines();
        let is_proven = claim.login().is_some_and(|login| login.is_proven());
        let codes = loaded.codes(&lines, is_proven, state.base.clock.seconds()).applied();
        let config = &loaded.context.active.config;
        let cart = cart_body(&loaded, &lines, &codes, claim.login());
        let own = &loaded.context.subscriptions;
        let parts = codes.coupon.as_ref().map(|applied| applied.lines.as_slice()).unwrap_or_default();
        let bodies = lines.iter().enumerate().map(|(place, line)| item_body(line, parts.get(place), own, config));
        Ok(Json::of(&CartView { cart, items: bodies.collect() }))
    }
}

fn cart_body<'a>(
    loaded: &'a LoadedCart,
    lines: &[PricedLine<'_>],
    codes: &AppliedCodes<'a>,
    login: Option<Login>,
) -> CartBody<'a> {
    let (user, sums, referral) = (loaded.context.user, sums(lines), loaded.referral());
    let format = CurrencyFormat::new(loaded.context.active.config.digits);
    let (coupon, gift) = (codes.coupon.as_ref(), codes.gift_card.as_ref());
    let id = |applied: Option<&Applied<'_>>| applied.map(|applied| applied.code.id());
    let (coupon_type, coupon_value) = coupon.map_or(("", money::ZERO), |applied| coupon_terms(applied, format));
    CartBody {
        id: user,
        user_id: user,
        gift_id: id(gift),
        gift_sum: format.money(codes.gift_sum()),
        coupon_id: id(coupon),
        coupon_sum: format.money(codes.coupon_sum()),
        referral: referral.map(|referral| referral.owner_name.as_str()),
        gift_code: gift.map_or(Cow::Borrowed(""), |applied| gift_code(applied.code, &loaded.context.cart, login)),
        coupon_code: coupon.map_or("", |applied| applied.code.text().as_str()),
        coupon_type,
        coupon_value,
        referral_code: referral.map_or("", |referral| referral.code.as_str()),
        items: sums.items,
        clear_price: format.money(sums.clear_price),
        virtual_price: format.money(sums.virtual_price),
        price: format.money(codes.to_pay(lines)),
        tax: money::ZERO,
        chat_sync: lines.iter().any(|line| line.item().needs_chat).into(),
        checkout: loaded
            .context
            .cart
            .checkout
            .as_ref()
            .map(|open| CheckoutBody { order_id: open.order.as_str(), until: open.until }),
    }
}

/// The gift card's code, in full for the login that entered it only (rules.md, "Logins").
fn gift_code<'a>(code: &'a Code, cart: &Cart, login: Option<Login>) -> Cow<'a, str> {
    let owner = cart.gift_card.as_ref().map(|applied| applied.login).unwrap_or_default();
    if login.is_some_and(|login| login.may_use_card_of(owner)) {
        Cow::Borrowed(code.text().as_str())
    } else {
        Cow::Owned(code.text().masked())
    }
}

/// The cheapest unit for nothing is an amount, which depends on the cart.
fn coupon_terms(applied: &Applied<'_>, format: CurrencyFormat) -> (&'static str, Decimal) {
    match applied.code {
        Code::Coupon(coupon) => match coupon.discount {
            Discount::Percentage(percent) => ("percentage", money::percent(percent)),
            Discount::Amount(_) if coupon.cheapest_free => ("amount", format.money(applied.sum)),
            Discount::Amount(amount) => ("amount", format.money(amount)),
        },
        Code::Gift(_) => ("", money::ZERO),
    }
}

fn item_body<'a>(
    line: &PricedLine<'a>,
    part: Option<&LinePart>,
    subscriptions: &'a [UserSubscription],
    config: &StoreConfig,
) -> CartItemBody<'a> {
    let (item, format) = (&line.published.item, CurrencyFormat::new(config.digits));
    CartItemBody {
        id: item.id,
        cid: line.line.id,
        name: &item.name,
        image: config.item_picture(&item.image),
        price: format.money(line.unit_price),
        is_subs: item.is_subscription,
        virtual_price: format.money(item.virtual_price),
        is_virtual_currency_only: item.virtual_only,
        vars: item.variables.iter().map(|variable| variable_body(line.line, variable, format)).collect(),
        count: line.count,
        limits: line.availability.limits,
        is_unavailable: line.availability.unavailable,
        payment_type: line.line.payment_type.number(),
        is_any_price: item.any_price,
        min_price: format.money(item.min_price),
        allow_select_server: item.allow_select_server,
        allowed_servers: offers::bodies(&item.servers),
        selected_server: server_of(line.line, item),
        code_sum: part.map(|part| format.money(part.off)),
        code_note: part.and_then(|part| part.left_out).map(|left_out| left_out.to_string()),
        gift: (line.line.payment_type == PaymentType::Gift).then(|| gift_body(line.line, config)),
        replaces: replaces(line, subscriptions),
    }
}

/// What ends when a line that can be bought is paid.
fn replaces<'a>(line: &PricedLine<'_>, subscriptions: &'a [UserSubscription]) -> Option<&'a str> {
    let item = Some(line.item()).filter(|item| item.is_subscription && !line.availability.unavailable)?;
    replaced(subscriptions, item.id, rank_of(line.published)).map(|entry| entry.name.as_str()).next()
}

fn variable_body<'a>(line: &'a Line, variable: &'a Variable, format: CurrencyFormat) -> VariableBody<'a> {
    let value = value_of(line, variable).unwrap_or_default();
    let option = |option: &'a String| {
        let price = variable.surcharges.get(option).map_or(money::ZERO, |surcharge| format.money(*surcharge));
        OptionBody { name: option, price, value: option }
    };
    let kind = match (variable.options.is_empty(), variable.kind) {
        (false, _) => 0,
        (true, VariableKind::Word | VariableKind::Text | VariableKind::SteamId | VariableKind::Uuid) => 1,
        (true, VariableKind::Number | VariableKind::Integer) => 2,
    };
    VariableBody {
        id: variable.id,
        name: &variable.name,
        value,
        identifier: variable.id.to_string(),
        description: variable::hint(variable),
        kind,
        used: value,
        variables: variable.options.iter().map(option).collect(),
    }
}

/// A line of before gifts had a recipient has none. Every character of a player's name is itself in a URL.
fn gift_body<'a>(line: &'a Line, config: &StoreConfig) -> GiftBody<'a> {
    let recipient = line.gift_to.as_ref().map(PlayerName::as_str);
    GiftBody {
        gifted_to: recipient.unwrap_or_default(),
        avatar: recipient.map_or_else(String::new, |name| config.picture_url(&config.avatar_of(name)).into_owned()),
    }
}
