//! POST /payments/delivery: what was bought with an order, for whom, and how far it is delivered and paid back (api.md,
//! "POST /payments/delivery").

use crate::State;
use crate::check_status::{FORBIDDEN, NOT_FOUND, read};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips};
use shared::http::body;
use shared::model::{ActiveVersion, CodeText, InternalId, Items, Money, Order, OrderLine, OrderStatus, ServerId};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::rules::delivery::shown::LineState;
use shared::rules::order::{OrderVisibility, visibility_of};
use shared::rules::sets::folded;
use shared::shop::catalog::ItemPlan;
use shared::shop::delivery::{LineDelivery, lines_of};
use shared::shop::orders::StoredOrder;
use shared::table::StoreError;
use shared::token::Claim;
use std::convert::Infallible;

pub struct Delivery;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct DeliveryRequest {
    /// The order's internal id, matched exactly.
    #[schemars(with = "body::Text<{ InternalId::LONGEST }>")]
    #[serde(deserialize_with = "body::text::<{ InternalId::LONGEST }, _, _>")]
    order_id: InternalId,
}

/// The delivery of an order, or the reason why it is not shown.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DeliveryReply {
    /// The order belongs to another user.
    Forbidden {
        /// The outcome, as a text for people.
        message: &'static str,
    },
    /// The order does not exist.
    NotFound {
        /// The outcome, as a text for people.
        message: &'static str,
    },
    /// The caller may see the order.
    #[serde(untagged)]
    Shown(Box<ShownBody>),
}

/// An order that the caller may see.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ShownBody {
    /// The order's lines.
    lines: Vec<LineBody>,
    /// The name of the account that it belongs to. Null after a guest checkout.
    player: Option<String>,
    /// Money: the tax in the price, in the order's currency. 0 if none was charged, or the order is not paid.
    tax: Decimal,
    /// Money: the part of the price that was refunded, in the order's currency.
    refunded: Decimal,
    /// When the last refund became known: `YYYY-MM-DD HH:MM:SS` in UTC. Null without one.
    refunded_at: Option<String>,
    /// Whether the payment ended without a charge.
    is_uncharged: bool,
    /// What only the login that began the order sees, and one that proves the account. Null for all others.
    own: Option<OwnBody>,
}

/// What an order's buyer sees of it.
#[derive(Serialize, schemars::JsonSchema)]
pub struct OwnBody {
    /// The payment provider's page, while the order can be paid there. Null otherwise.
    pay_url: Option<String>,
    /// The coupon: `****` and its last four characters, or `****` alone if it has fewer than 12. Null without one.
    coupon: Option<String>,
    /// The gift card, shown as the coupon is. Null without one.
    gift_card: Option<String>,
    /// Whether it paid for a subscription, which is cancelled on the page of POST /payments/portal.
    is_subscription: bool,
    /// Whether it was paid at the provider, whose receipt POST /payments/receipt finds.
    has_receipt: bool,
}

/// A line of an order.
#[derive(Serialize, schemars::JsonSchema)]
pub struct LineBody {
    /// The item's name when it was sold; of a line that was recorded without it, the published one, or else empty.
    name: String,
    /// The state of its delivery.
    state: LineState,
    /// The name of the player whom it waits for. Null unless `state` is `join`.
    player: Option<String>,
    /// The names of the servers that the player has to join; empty unless `state` is `join`.
    servers: Vec<String>,
    /// The number of units.
    count: u32,
    /// Money: what all of them cost after the coupon, in the order's currency.
    total: Decimal,
    /// The player that a gift is for, as the buyer typed the name. Null on other lines, and if it is not known.
    gift_to: Option<String>,
}

impl Endpoint for Delivery {
    type State = State;
    type Caller = Option<Claim>;
    type Input = JsonBody<DeliveryRequest>;
    type Reply = Json<DeliveryReply>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /payments/delivery"];
    const SUMMARY: &'static str = "returns what was bought with an order, and how far it is delivered";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Status;
    const UNAUTHORIZED: Option<&'static str> =
        Some("The order has an owner, and there is no token or one that is not valid");

    async fn handle(state: &State, claim: Option<Claim>, JsonBody(body): Self::Input) -> Result<Self::Reply, Error> {
        let base = &state.base;
        let (active, found) = tokio::join!(base.published.active_version(), read(state, &body.order_id, claim));
        let (stored, caller) = found?;
        let caller_id = caller.as_ref().map(|user| user.id);
        let reply = match (visibility_of(stored.as_ref().map(|stored| &stored.order), caller_id), &stored) {
            (OrderVisibility::Shown(order), Some(stored)) => {
                let lines = lines_of(&base.db, base.clock.as_ref(), stored);
                let active = active?;
                let (lines, items) = tokio::try_join!(lines, unnamed(state, &active, std::iter::once(order)))?;
                let format = CurrencyFormat::of(order);
                let is_own = order.owner.is_some() && may_act(stored, claim);
                let now = base.clock.seconds();
                DeliveryReply::Shown(Box::new(ShownBody {
                    lines: bodies(lines, order, &items, &active, format),
                    player: order.owner.and(caller).map(|user| user.username),
                    tax: format.money(order.tax.as_ref().map_or(Money::ZERO, |tax| tax.amount)),
                    refunded: format.money(stored.came_back()),
                    refunded_at: refunded_at(stored).map(money::date_and_time),
                    is_uncharged: is_uncharged(stored),
                    own: is_own.then(|| own(stored, now)),
                }))
            }
            (OrderVisibility::Unauthorized, _) => return Err(Error::Unauthorized),
            (OrderVisibility::Forbidden, _) => DeliveryReply::Forbidden { message: FORBIDDEN },
            (OrderVisibility::Shown(_) | OrderVisibility::NotFound, _) => {
                DeliveryReply::NotFound { message: NOT_FOUND }
            }
        };
        Ok(Json::of(&reply))
    }
}

/// Whether the caller's login is the one that began the order, or proves the account.
pub fn may_act(stored: &StoredOrder, claim: Option<Claim>) -> bool {
    let login = claim.and_then(|claim| claim.login());
    login.is_some_and(|login| login.is_proven() || stored.effects.login == Some(login))
}

/// When the last of what came back was noted, seconds since 1970 UTC.
fn refunded_at(stored: &StoredOrder) -> Option<i64> {
    stored.effects.refunded_at.filter(|_| stored.came_back() > Money::ZERO)
}

/// Whether the payment ended without one: no payment of the provider's is known.
fn is_uncharged(stored: &StoredOrder) -> bool {
    let has_payment = stored.effects.provider.as_ref().is_some_and(|provider| provider.intent.is_some());
    matches!(stored.order.status, OrderStatus::Failed | OrderStatus::Cancelled)
        && !has_payment
        && stored.effects.refunded == Money::ZERO
}

fn own(stored: &StoredOrder, now: i64) -> OwnBody {
    let StoredOrder { order, effects } = stored;
    let is_open = order.status == OrderStatus::Pending && stored.is_open(now);
    let url = effects.provider.as_ref().and_then(|provider| provider.url.clone());
    OwnBody {
        pay_url: url.filter(|_| is_open),
        coupon: effects.coupon.as_ref().map(CodeText::masked),
        gift_card: effects.gift_card.as_ref().map(|card| card.code.masked()),
        is_subscription: effects.subscription.is_some(),
        has_receipt: stored.intent().is_some(),
    }
}

/// The published items of the lines that were recorded without a name.
pub async fn unnamed<'a>(
    state: &State,
    active: &ActiveVersion,
    orders: impl Iterator<Item = &'a Order>,
) -> Result<Items, StoreError> {
    let lines = orders.flat_map(|order| &order.lines).filter(|line| line.chosen.is_none());
    let plan = ItemPlan::new(&state.base.published.cache, &active.version, lines.map(|line| line.item));
    let mut rows = state.base.db.batch_get(plan.keys().collect()).await?;
    plan.complete(&mut rows, |_| false)
}

/// The name of a line's item: the one that was sold, or else the published one.
pub fn name_of(line: &OrderLine, items: &Items) -> String {
    let sold = line.chosen.as_ref().map(|chosen| chosen.name.clone()).filter(|name| !name.is_empty());
    sold.or_else(|| Some(items.get(&line.item)?.item.name.clone())).unwrap_or_default()
}

fn bodies(
    deliveries: Vec<LineDelivery>,
    order: &Order,
    items: &Items,
    active: &ActiveVersion,
    format: CurrencyFormat,
) -> Vec<LineBody> {
    let servers = |ids: Vec<ServerId>| {
        let known = active.config.delivery.servers.iter().filter(|server| ids.contains(&server.id));
        known.map(|server| server.name.clone()).collect()
    };
    let shown = deliveries.into_iter().zip(&order.lines).filter(|(_, line)| line.bundle.is_none());
    let lines = shown.zip(folded(&order.lines)).map(|((LineDelivery { state, waits_for, .. }, _), line)| {
        let (player, ids) = waits_for.map_or((None, Vec::new()), |(player, ids)| (Some(player), ids));
        LineBody {
            name: name_of(&line, items),
            state,
            player,
            servers: servers(ids),
            count: line.count,
            total: format.money(line.total),
            gift_to: line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref()).map(ToString::to_string),
        }
    });
    lines.collect()
}
