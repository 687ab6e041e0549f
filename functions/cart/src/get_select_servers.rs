//! POST /cart/getSelectServers: the servers that can be selected for items in the cart (contract 11; ruling 11).

use crate::State;
use crate::error::Error;
use crate::visit;
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::http::{body, reply};
use shared::model::{ItemType, Server, ServerId};
use std::collections::BTreeMap;

/// A server, in the words of the cart.
#[derive(Serialize)]
struct ServerBody<'a> {
    server_id: ServerId,
    server_name: &'a str,
}

/// Answers the request.
pub async fn respond(state: &State, request: &Request) -> Result<Response<Body>, Error> {
    let claim = visit::claim(state, request)?;
    if let Err(fault) = body::check_size(request) {
        return Err(visit::refuse(state, claim, fault).await);
    }
    let visit = visit::begin(state, claim, []).await?;
    let goods = visit::goods(state, &visit, []).await?;
    let items = goods.items.values().map(|published| &published.item);
    let selectable = items.filter(|item| item.allow_select_server && item.kind == ItemType::CmdServer);
    let servers: BTreeMap<String, Vec<ServerBody<'_>>> =
        selectable.map(|item| (item.id.to_string(), item.servers.iter().map(body_of).collect())).collect();
    Ok(reply::ok(&servers))
}

fn body_of(server: &Server) -> ServerBody<'_> {
    ServerBody { server_id: server.id, server_name: &server.name }
}
