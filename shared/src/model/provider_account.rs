//! Accounts at payment providers.

use serde::{Deserialize, Serialize};

/// An account at a payment provider, in one of its modes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderAccount {
    /// Its id; `None` if the keys were stored before the id was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether its money is real.
    pub live: bool,
}
