//! POST /cart/getSelectServers: the servers that can be selected for items in the cart (contract 11; ruling 11).

use crate::State;
use crate::error::Error;
use crate::servers::{self, ServerBody};
use crate::visit;
use lambda_http::{Body, Request, Response};
use shared::http::reply;
use shared::model::ItemType;
use std::collections::BTreeMap;

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let claim = visit::claim_alone(state, request).await?;
    let visit = visit::begin(state, claim, []).await?;
    let goods = visit::goods(state, &visit, []).await?;
    let items = goods.items.values().map(|published| &published.item);
    let selectable = items.filter(|item| item.allow_select_server && item.kind == ItemType::CmdServer);
    let servers: BTreeMap<String, Vec<ServerBody<'_>>> =
        selectable.map(|item| (item.id.to_string(), servers::bodies(&item.servers))).collect();
    Ok(reply::ok(&servers))
}
