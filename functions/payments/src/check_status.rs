//! POST /payments/checkStatus: the state of a payment (api.md, "POST /payments/checkStatus"). Every request is counted
//! before it is looked at; counter, order and user are read side by side.

use crate::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips};
use shared::http::body;
use shared::http::wire::{CurrencyFormat, Decimal};
use shared::model::{InternalId, Order, OrderNumber, OrderStatus, UserId};
use shared::rules::visibility::{OrderVisibility, visibility_of};
use shared::store::limiter::RateLimit;
use shared::store::{StoreError, keys, orders, users};
use shared::token::Claim;
use std::convert::Infallible;

/// POST /payments/checkStatus.
pub struct CheckStatus;

/// Which order.
#[derive(Deserialize)]
pub struct Lookup {
    /// The order's internal id, matched exactly.
    #[serde(deserialize_with = "body::text::<{ InternalId::LONGEST }, _, _>")]
    order_id: InternalId,
}

/// The outcome. `status` says that the lookup worked, never that the order is paid (rules.md, "Who may see an order").
#[derive(Serialize)]
pub struct Outcome<'a> {
    status: &'static str,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_data: Option<OrderBody<'a>>,
}

#[derive(Serialize)]
struct OrderBody<'a> {
    id: OrderNumber,
    internal_id: &'a str,
    price: Decimal,
    currency: &'a str,
    status: &'static str,
    gateway: &'a str,
    created_at: String,
}

impl Endpoint for CheckStatus {
    type State = State;
    type Caller = Option<Claim>;
    type Input = JsonBody<Lookup>;
    type Reply = Json<Outcome<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "payments/checkStatus";
    const ROUTES: &'static [&'static str] = &["POST /payments/checkStatus"];
    const SUMMARY: &'static str = "the state of an order, 18 lookups a minute per address";
    const NUMBER: Option<u8> = Some(6);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Status;
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "", requests: 18, seconds: 60 });

    async fn handle(
        state: &State,
        claim: Option<Claim>,
        JsonBody(lookup): JsonBody<Lookup>,
    ) -> Result<Self::Reply, Error> {
        let id = lookup.order_id;
        let (version, found) = tokio::join!(state.base.published.active_version(), read(state, &id, claim));
        let (order, caller) = found?;
        let digits = version?.config.digits;
        let outcome = match visibility_of(order.as_ref(), caller) {
            OrderVisibility::Shown(order) => shown(order, CurrencyFormat::new(order.digits.unwrap_or(digits))),
            OrderVisibility::Unauthorized => return Err(Error::Unauthorized),
            OrderVisibility::Forbidden => without_order("forbidden", "This payment belongs to another account."),
            OrderVisibility::NotFound => without_order("not_found", "This payment does not exist."),
        };
        Ok(Json::of(&outcome))
    }
}

/// The order, and the caller where the token still speaks for one.
async fn read(
    state: &State,
    id: &InternalId,
    claim: Option<Claim>,
) -> Result<(Option<Order>, Option<UserId>), StoreError> {
    let mut wanted = vec![keys::order(id)];
    wanted.extend(claim.map(|claim| keys::user(claim.user)));
    let mut rows = state.base.db.batch_get(wanted).await?;
    let caller = match claim {
        Some(claim) => users::admit(&mut rows, claim)?.map(|user| user.id),
        None => None,
    };
    Ok((orders::take(&mut rows, id)?, caller))
}

const fn without_order(status: &'static str, message: &'static str) -> Outcome<'static> {
    Outcome { status, message, order_data: None }
}

fn shown(order: &Order, wire: CurrencyFormat) -> Outcome<'_> {
    let message = match order.status {
        OrderStatus::Pending => "The payment is pending.",
        OrderStatus::Paid => "The payment was received.",
        OrderStatus::Failed => "The payment failed.",
        OrderStatus::Cancelled => "The payment was cancelled.",
        OrderStatus::Refunded => "The payment was refunded.",
    };
    let order_data = OrderBody {
        id: order.id,
        internal_id: order.internal_id.as_str(),
        price: wire.money(order.price),
        currency: &order.currency,
        status: order.status.as_str(),
        gateway: &order.gateway,
        created_at: created_at(order.created_at),
    };
    Outcome { status: "success", message, order_data: Some(order_data) }
}

/// `YYYY-MM-DD HH:MM:SS` in UTC (api.md, "POST /payments/checkStatus").
fn created_at(seconds: i64) -> String {
    let at = Timestamp::from_second(seconds).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}
