//! POST /cart/getSelectServers: the servers that can be selected for items in the cart (rules.md, "Server selection").

use crate::State;
use crate::support::context;
use crate::support::servers::{self, ServerBody};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, RoundTrips};
use shared::model::ItemType;
use shared::token::Claim;
use std::collections::BTreeMap;
use std::convert::Infallible;

pub struct GetSelectServers;

/// The servers of each item, by the item's id.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct ServersByItem<'a>(BTreeMap<String, Vec<ServerBody<'a>>>);

impl Endpoint for GetSelectServers {
    type State = State;
    type Caller = Claim;
    type Input = ();
    type Reply = Json<ServersByItem<'static>>;
    type Refusal = Infallible;

    const ROUTES: &'static [&'static str] = &["POST /cart/getSelectServers"];
    const SUMMARY: &'static str = "lists the servers that can be selected for items in the cart";
    const NUMBER: Option<u8> = Some(11);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 1, cold: 2 };
    const ERRORS: ErrorBody = ErrorBody::Success;

    async fn handle(state: &State, claim: Claim, (): ()) -> Result<Self::Reply, Error> {
        let context = context::load(state, claim, &[]).await?.ok_or(Error::Unauthorized)?;
        let found = context.load_items(&state.sources(), None, []).await?;
        let items = found.items.values().map(|published| &published.item);
        let selectable = items.filter(|item| item.allow_select_server && item.kind == ItemType::CmdServer);
        let servers = selectable.map(|item| (item.id.to_string(), servers::bodies(&item.servers))).collect();
        Ok(Json::of(&ServersByItem(servers)))
    }
}
