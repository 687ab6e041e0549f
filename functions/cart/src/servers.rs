//! Servers in the words of the cart, which differ from those of the catalog (rules.md, "Server selection").

use serde::Serialize;
use shared::model::{Server, ServerId};

/// A server that can be selected.
#[derive(Serialize)]
pub struct ServerBody<'a> {
    server_id: ServerId,
    server_name: &'a str,
}

/// The servers in their published order.
pub fn bodies(servers: &[Server]) -> Vec<ServerBody<'_>> {
    servers.iter().map(|server| ServerBody { server_id: server.id, server_name: &server.name }).collect()
}
