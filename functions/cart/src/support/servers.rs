//! Servers as the cart endpoints name their fields, which differ from the catalog's (rules.md, "Server selection").

use serde::Serialize;
use shared::model::{Server, ServerId};

/// A server that can be selected.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ServerBody<'a> {
    /// The server's id.
    server_id: ServerId,
    /// The server's name, as buyers see it.
    server_name: &'a str,
}

pub fn bodies(servers: &[Server]) -> Vec<ServerBody<'_>> {
    servers.iter().map(|server| ServerBody { server_id: server.id, server_name: &server.name }).collect()
}
