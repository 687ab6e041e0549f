//! POST /payments/checkStatus: the state of an order (api.md, "POST /payments/checkStatus"). Every request is counted,
//! also one that is refused. Counter, order and user are read concurrently.

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

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusRequest {
    /// The order's internal id, matched exactly.
    #[cfg_attr(feature = "schema", schemars(with = "body::Text<{ InternalId::LONGEST }>"))]
    #[serde(deserialize_with = "body::text::<{ InternalId::LONGEST }, _, _>")]
    order_id: InternalId,
}

/// The outcome of the lookup. `status` never says that the order is paid (rules.md, "Who may see an order").
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StatusReply<'a> {
    /// The caller may see the order.
    Success {
        /// The state of the order, as a text for people.
        message: &'static str,
        /// The order.
        order_data: OrderBody<'a>,
    },
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
}

/// An order.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrderBody<'a> {
    /// The order's running number.
    id: OrderNumber,
    /// The order's internal id, as sent in `order_id`.
    internal_id: &'a str,
    /// Money: what was charged, in `currency`.
    price: Decimal,
    /// The currency code.
    currency: &'a str,
    /// The state of the order.
    status: OrderStatus,
    /// The name of the payment gateway.
    gateway: &'a str,
    /// The time of creation: `YYYY-MM-DD HH:MM:SS` in UTC.
    created_at: String,
}

impl Endpoint for CheckStatus {
    type State = State;
    type Caller = Option<Claim>;
    type Input = JsonBody<StatusRequest>;
    type Reply = Json<StatusReply<'static>>;
    type Refusal = Infallible;

    const NAME: &'static str = "payments/checkStatus";
    const ROUTES: &'static [&'static str] = &["POST /payments/checkStatus"];
    const SUMMARY: &'static str = "returns the state of an order, at most 18 lookups a minute per address";
    const NUMBER: Option<u8> = Some(6);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Status;
    const UNAUTHORIZED: Option<&'static str> =
        Some("The order has an owner, and there is no token or one that is not valid");
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "", requests: 18, seconds: 60 });

    async fn handle(state: &State, claim: Option<Claim>, JsonBody(body): Self::Input) -> Result<Self::Reply, Error> {
        let id = body.order_id;
        let (version, found) = tokio::join!(state.base.published.active_version(), read(state, &id, claim));
        let (order, caller) = found?;
        let digits = version?.config.digits;
        let reply = match visibility_of(order.as_ref(), caller) {
            OrderVisibility::Shown(order) => shown(order, CurrencyFormat::new(order.digits.unwrap_or(digits))),
            OrderVisibility::Unauthorized => return Err(Error::Unauthorized),
            OrderVisibility::Forbidden => {
                StatusReply::Forbidden { message: "This payment belongs to another account." }
            }
            OrderVisibility::NotFound => StatusReply::NotFound { message: "This payment does not exist." },
        };
        Ok(Json::of(&reply))
    }
}

/// The order, and the caller if their account accepts the token.
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

fn shown(order: &Order, wire: CurrencyFormat) -> StatusReply<'_> {
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
        status: order.status,
        gateway: &order.gateway,
        created_at: created_at(order.created_at),
    };
    StatusReply::Success { message, order_data }
}

/// `YYYY-MM-DD HH:MM:SS` in UTC (api.md, "POST /payments/checkStatus").
fn created_at(seconds: i64) -> String {
    let at = Timestamp::from_second(seconds).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}
