//! POST /payments/orders: the orders of the caller's account, newest first (api.md, "POST /payments/orders").

use crate::State;
use crate::delivery::{name_of, unnamed};
use lambda_http::http::StatusCode;
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, Json, JsonBody, Refusal, RoundTrips};
use shared::model::{Items, Login, Order, OrderLine, OrderNumber, OrderStatus};
use shared::money::{self, CurrencyFormat, Decimal};
use shared::rules::sets::folded;
use shared::shop::accounts;
use shared::shop::orders::lists::OwnedPage;
use shared::shop::orders::{StoredOrder, lists};
use shared::table::keys;
use shared::token::Claim;

/// The longest cursor in characters.
const LONGEST_CURSOR: usize = 64;

pub struct ListOrders;

#[derive(Deserialize, schemars::JsonSchema)]
pub struct OrdersRequest {
    /// `next` of the page before. Null or absent for the first page.
    #[serde(default)]
    #[schemars(length(max = 64), regex(pattern = "^[0-9]{1,20}#[0-9]{1,20}$"))]
    cursor: Option<String>,
}

/// A page of orders.
#[derive(Serialize, schemars::JsonSchema)]
pub struct OrdersReply {
    /// At most 50 orders, newest first.
    orders: Vec<ListedOrder>,
    /// The `cursor` of the next page. Null after the last one.
    next: Option<String>,
}

/// An order in a list.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ListedOrder {
    /// The order's running number.
    id: OrderNumber,
    /// The order's internal id, as sent in `order_id`.
    internal_id: String,
    /// Money: what was charged, in `currency`.
    price: Decimal,
    /// Money: the part of it that was refunded.
    refunded: Decimal,
    /// The currency code.
    currency: String,
    /// The state of the order.
    status: OrderStatus,
    /// The time of creation: `YYYY-MM-DD HH:MM:SS` in UTC.
    created_at: String,
    /// What was bought, in the order of the cart.
    lines: Vec<ListedLine>,
}

/// A line of an order in a list.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ListedLine {
    /// The item's name when it was sold; of a line that was recorded without it, the published one, or else empty.
    name: String,
    /// The number of units.
    count: u32,
}

/// The reason why no orders are listed.
#[derive(Debug, thiserror::Error)]
pub enum OrdersRefusal {
    #[error("Please log in from within the game to see the orders of your account. A name is not a proof.")]
    NameOnly,
    #[error("The cursor field must be `next` of an earlier response.")]
    Cursor,
}

impl Refusal for OrdersRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NameOnly => StatusCode::FORBIDDEN,
            Self::Cursor => StatusCode::BAD_REQUEST,
        }
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![
            ("The login is one by name, which is not a proof", Self::NameOnly),
            ("The cursor is not one", Self::Cursor),
        ]
    }
}

impl Endpoint for ListOrders {
    type State = State;
    type Caller = Claim;
    type Input = JsonBody<OrdersRequest>;
    type Reply = Json<OrdersReply>;
    type Refusal = OrdersRefusal;

    const ROUTES: &'static [&'static str] = &["POST /payments/orders"];
    const SUMMARY: &'static str = "returns the orders of the caller's account";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 3 };

    async fn handle(
        state: &State,
        claim: Claim,
        JsonBody(body): Self::Input,
    ) -> Result<Self::Reply, Error<Self::Refusal>> {
        let db = &state.base.db;
        let is_proven = claim.login().is_some_and(|login| Login::is_proven(&login));
        let cursor = body.cursor.as_deref();
        let is_readable = is_proven && cursor.is_none_or(is_cursor);
        let page =
            async { if is_readable { lists::page(db, claim.user, cursor).await } else { Ok(OwnedPage::default()) } };
        let user = db.batch_get(vec![keys::user(claim.user)]);
        let (active, user, page) = tokio::join!(state.base.published.active_version(), user, page);
        accounts::admit(&mut user?, claim)?.ok_or(Error::Unauthorized)?;
        if !is_proven {
            return Err(Error::Refused(OrdersRefusal::NameOnly));
        }
        if !is_readable {
            return Err(Error::Refused(OrdersRefusal::Cursor));
        }
        let (active, page) = (active?, page?);
        let mut rows = db.batch_get(page.orders.iter().map(keys::order).collect()).await?;
        let mut found = Vec::with_capacity(page.orders.len());
        for id in &page.orders {
            found.extend(StoredOrder::take(&mut rows, id)?);
        }
        let items = unnamed(state, &active, found.iter().map(|stored| &stored.order)).await?;
        let orders = found.iter().map(|stored| listed(stored, &items)).collect();
        Ok(Json::of(&OrdersReply { orders, next: page.next }))
    }
}

/// Whether a text has the form of a cursor, which is a sort key.
fn is_cursor(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= LONGEST_CURSOR
        && text.split_once('#').is_some_and(|(second, number)| is_number(second) && is_number(number))
}

fn listed(stored: &StoredOrder, items: &Items) -> ListedOrder {
    let order = &stored.order;
    let format = CurrencyFormat::of(order);
    let line = |line: &OrderLine| ListedLine { name: name_of(line, items), count: line.count };
    let Order { id, ref internal_id, price, ref currency, status, created_at, .. } = *order;
    ListedOrder {
        id,
        internal_id: internal_id.to_string(),
        price: format.money(price),
        refunded: format.money(stored.came_back()),
        currency: currency.clone(),
        status,
        created_at: money::date_and_time(created_at),
        lines: folded(&order.lines).iter().map(line).collect(),
    }
}
