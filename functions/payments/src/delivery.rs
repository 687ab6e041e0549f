//! POST /payments/delivery: how far the lines of an order are delivered (api.md, "POST /payments/delivery").

use crate::State;
use crate::check_status::{FORBIDDEN, NOT_FOUND, read};
use serde::{Deserialize, Serialize};
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, JsonBody, RoundTrips};
use shared::http::body;
use shared::model::{ActiveVersion, InternalId, Items, Order, ServerId};
use shared::rules::delivery::shown::LineState;
use shared::rules::visibility::{OrderVisibility, visibility_of};
use shared::store::StoreError;
use shared::token::Claim;
use shared::usecases::delivery::{LineDelivery, lines_of};
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
    Shown {
        /// The order's lines.
        lines: Vec<LineBody>,
    },
}

/// A line of an order.
#[derive(Serialize, schemars::JsonSchema)]
pub struct LineBody {
    /// The item's name when it was sold; of a line that was recorded without it, the published one, or else empty.
    name: String,
    /// The state of its delivery.
    state: LineState,
    /// The name of the player whom it waits for; null unless `state` is `join`.
    player: Option<String>,
    /// The names of the servers that the player has to join; empty unless `state` is `join`.
    servers: Vec<String>,
}

impl Endpoint for Delivery {
    type State = State;
    type Caller = Option<Claim>;
    type Input = JsonBody<DeliveryRequest>;
    type Reply = Json<DeliveryReply>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /payments/delivery"];
    const SUMMARY: &'static str = "returns how far the lines of an order are delivered";
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Status;
    const UNAUTHORIZED: Option<&'static str> =
        Some("The order has an owner, and there is no token or one that is not valid");

    async fn handle(state: &State, claim: Option<Claim>, JsonBody(body): Self::Input) -> Result<Self::Reply, Error> {
        let base = &state.base;
        let (active, found) = tokio::join!(base.published.active_version(), read(state, &body.order_id, claim));
        let (stored, caller) = found?;
        let reply = match (visibility_of(stored.as_ref().map(|stored| &stored.order), caller), &stored) {
            (OrderVisibility::Shown(order), Some(stored)) => {
                let lines = lines_of(&base.db, base.clock.as_ref(), stored);
                let active = active?;
                let (lines, items) = tokio::try_join!(lines, unnamed(state, &active, order))?;
                DeliveryReply::Shown { lines: named(lines, order, &items, &active) }
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

/// The published items of the lines that were recorded without a name.
async fn unnamed(state: &State, active: &ActiveVersion, order: &Order) -> Result<Items, StoreError> {
    let lines = order.lines.iter().filter(|line| line.chosen.is_none());
    let plan = state.items.plan(&active.version, lines.map(|line| line.item));
    let mut rows = state.base.db.batch_get(plan.keys().collect()).await?;
    state.items.complete(plan, &mut rows, |_| false)
}

fn named(lines: Vec<LineDelivery>, order: &Order, items: &Items, active: &ActiveVersion) -> Vec<LineBody> {
    let published = |item| items.get(item).map(|published| published.item.name.clone()).unwrap_or_default();
    let servers = |ids: Vec<ServerId>| {
        let known = active.config.delivery.servers.iter().filter(|server| ids.contains(&server.id));
        known.map(|server| server.name.clone()).collect()
    };
    let named = lines.into_iter().zip(&order.lines).map(|(LineDelivery { name, state, waits_for }, line)| {
        let name = if name.is_empty() { published(&line.item) } else { name };
        let (player, ids) = waits_for.map_or((None, Vec::new()), |(player, ids)| (Some(player), ids));
        LineBody { name, state, player, servers: servers(ids) }
    });
    named.collect()
}
