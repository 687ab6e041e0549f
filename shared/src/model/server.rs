//! Game servers, as items and orders name them.

use super::ServerId;
use serde::{Deserialize, Serialize};

/// A game server that a buyer may choose for an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Server {
    /// The server's id.
    pub id: ServerId,
    /// The server's name, as buyers see it.
    pub name: String,
}
