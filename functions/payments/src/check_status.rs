//! POST /payments/checkStatus: the state of an order (api.md, "POST /payments/checkStatus"). Every request is counted,
//! also one that is refused.

use crate::{DEADLINE, State};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips};
use shared::http::body;
use shared::model::{InternalId, Order, OrderNumber, OrderStatus, User};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::rules::order::{OrderVisibility, visibility_of};
use shared::shop::accounts;
use shared::shop::orders::{self, StoredOrder};
use shared::shop::payments::{Desk, Settled};
use shared::table::limiter::RateLimit;
use shared::table::{StoreError, keys};
use shared::token::Claim;
use std::convert::Infallible;
use std::time::Duration;

/// The texts of refusals to show an order.
pub const FORBIDDEN: &str = "This payment belongs to another account.";
pub const NOT_FOUND: &str = "This payment does not exist.";

/// How often the provider is asked about an order, in seconds.
const EVERY_SECONDS: i64 = 10;

pub struct CheckStatus;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct StatusRequest {
    /// The order's internal id, matched exactly.
    #[schemars(with = "body::Text<{ InternalId::LONGEST }>")]
    #[serde(deserialize_with = "body::text::<{ InternalId::LONGEST }, _, _>")]
    order_id: InternalId,
    /// The provider's id of the checkout, from the address to which the buyer returned. With it, `status` says how
    /// far the payment is, and the provider is asked if the order is still pending.
    #[serde(default)]
    #[schemars(extend("x-beyond-contract" = true))]
    checkout_id: Option<String>,
}

/// The outcome of the lookup. Without a `checkout_id`, `status` never says that the order is paid
/// (rules.md, "Who may see an order").
#[derive(Serialize, schemars::JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StatusReply<'a> {
    /// The caller may see the order.
    Success {
        /// The state of the order, as a text for people.
        message: &'static str,
        /// The order.
        order_data: OrderBody<'a>,
    },
    /// The caller may see the order, and its payment has not ended. Only if the request has a `checkout_id`.
    #[schemars(extend("x-beyond-contract" = true))]
    Pending {
        /// The state of the order, as a text for people.
        message: &'static str,
        /// The order.
        order_data: OrderBody<'a>,
    },
    /// The caller may see the order, and its payment failed. Only if the request has a `checkout_id`.
    #[schemars(extend("x-beyond-contract" = true))]
    Failed {
        /// The state of the order, as a text for people.
        message: &'static str,
        /// The order.
        order_data: OrderBody<'a>,
    },
    /// The caller may see the order, and it was cancelled or refunded. Only if the request has a `checkout_id`.
    #[schemars(extend("x-beyond-contract" = true))]
    Cancelled {
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
#[derive(Serialize, schemars::JsonSchema)]
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

    const ROUTES: &'static [&'static str] = &["POST /payments/checkStatus"];
    const SUMMARY: &'static str = "returns the state of an order";
    const NUMBER: Option<u8> = Some(6);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 3 };
    const ERRORS: ErrorBody = ErrorBody::Status;
    const UNAUTHORIZED: Option<&'static str> =
        Some("The order has an owner, and there is no token or one that is not valid");
    const DEADLINE: Duration = DEADLINE;
    const RATE_LIMIT: Option<RateLimit> = Some(RateLimit { kind: "", requests: 18, seconds: 60 });

    async fn handle(state: &State, claim: Option<Claim>, JsonBody(body): Self::Input) -> Result<Self::Reply, Error> {
        let id = &body.order_id;
        // Of data of an earlier version nothing is read.
        let (active, found) = tokio::join!(state.base.published.active_version(), read(state, id, claim));
        let ((mut order, caller), _) = (found?, active?);
        let caller = caller.map(|user| user.id);
        let is_shown =
            matches!(visibility_of(order.as_ref().map(|stored| &stored.order), caller), OrderVisibility::Shown(_));
        if let Some(stored) = order.as_ref().filter(|stored| is_shown && may_ask(stored, body.checkout_id.as_deref()))
            && ask(state, stored).await
        {
            order = orders::get(&state.base.db, id).await?;
        }
        let is_card_banned = order.as_ref().is_some_and(|stored| stored.effects.card_banned);
        let reply = match visibility_of(order.as_ref().map(|stored| &stored.order), caller) {
            OrderVisibility::Shown(order) => shown(order, is_card_banned, body.checkout_id.is_some()),
            OrderVisibility::Unauthorized => return Err(Error::Unauthorized),
            OrderVisibility::Forbidden => StatusReply::Forbidden { message: FORBIDDEN },
            OrderVisibility::NotFound => StatusReply::NotFound { message: NOT_FOUND },
        };
        Ok(Json::of(&reply))
    }
}

/// Whether the provider is asked: the order is pending, and the checkout is its own.
fn may_ask(stored: &StoredOrder, checkout: Option<&str>) -> bool {
    let session = stored.session();
    stored.order.status == OrderStatus::Pending && session.is_some() && session == checkout
}

/// Asks the provider what became of the order's checkout, unless it was asked a moment ago, and writes it. Whether the
/// order may have changed. If the provider does not respond, the stored order is shown.
async fn ask(state: &State, stored: &StoredOrder) -> bool {
    let (base, Some(stripe)) = (&state.base, &state.stripe) else { return false };
    let clock = base.clock.as_ref();
    match Desk::new(&base.db, clock, stripe).ask(stored, EVERY_SECONDS).await {
        Ok(settled) => settled != Some(Settled::Open),
        Err(error) => {
            tracing::warn!(order = %stored.order.internal_id, error = %error, "the order could not be settled");
            true
        }
    }
}

/// The order, and the caller if their account accepts the token.
pub async fn read(
    state: &State,
    id: &InternalId,
    claim: Option<Claim>,
) -> Result<(Option<StoredOrder>, Option<User>), StoreError> {
    let mut wanted = vec![keys::order(id)];
    wanted.extend(claim.map(|claim| keys::user(claim.user)));
    let mut rows = state.base.db.batch_get(wanted).await?;
    let caller = match claim {
        Some(claim) => accounts::admit(&mut rows, claim)?,
        None => None,
    };
    Ok((StoredOrder::take(&mut rows, id)?, caller))
}

/// An order that the caller may see. After a checkout, `status` says how far the payment is; otherwise it says that the
/// lookup worked.
fn shown(order: &Order, is_card_banned: bool, after_checkout: bool) -> StatusReply<'_> {
    let order_data = OrderBody {
        id: order.id,
        internal_id: order.internal_id.as_str(),
        price: CurrencyFormat::of(order).money(order.price),
        currency: &order.currency,
        status: order.status,
        gateway: &order.gateway,
        created_at: money::date_and_time(order.created_at),
    };
    let message = match order.status {
        OrderStatus::Paid => "The payment was received.",
        OrderStatus::Failed => "The payment failed.",
        OrderStatus::Pending | OrderStatus::Cancelled if is_card_banned => {
            "This card is banned from this store. What it paid is returned to it."
        }
        OrderStatus::Pending => "The payment is pending.",
        OrderStatus::Cancelled => "The payment was cancelled.",
        OrderStatus::Refunded => "The payment was refunded.",
    };
    match order.status {
        OrderStatus::Pending if after_checkout => StatusReply::Pending { message, order_data },
        OrderStatus::Failed if after_checkout => StatusReply::Failed { message, order_data },
        OrderStatus::Cancelled | OrderStatus::Refunded if after_checkout => {
            StatusReply::Cancelled { message, order_data }
        }
        _ => StatusReply::Success { message, order_data },
    }
}
