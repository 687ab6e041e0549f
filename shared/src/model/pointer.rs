//! The pointer to the published version, and the few settings that every function needs.

use serde::{Deserialize, Serialize};

/// What a function must know of the store before it reads anything else. Travels inside the pointer, so that
/// it costs no read of its own and never differs from the version it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreConfig {
    /// Digits of the currency's minor unit (ruling 5: two unless the store says otherwise).
    pub digits: u8,
    /// Whether *no token* means guest on pages/get and categories/get/{url} (ruling 2).
    pub guest_mode_enabled: bool,
    /// Whether referrals are switched on (`is_ref`).
    pub is_ref: bool,
    /// Whether virtual currency is used.
    pub is_virtual_currency: bool,
    /// Whether buyers log in through the chat platform (`chat_sync` = 1).
    pub chat_sync: bool,
    /// The chat platform's client; any part may be missing.
    #[serde(default)]
    pub chat: ChatLogin,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            digits: 2,
            guest_mode_enabled: false,
            is_ref: false,
            is_virtual_currency: false,
            chat_sync: false,
            chat: ChatLogin::default(),
        }
    }
}

/// An OAuth client at the chat platform (ruling 13). Nothing here is secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChatLogin {
    /// Client id.
    #[serde(default)]
    pub client_id: String,
    /// Where the platform sends the buyer back to.
    #[serde(default)]
    pub redirect_url: String,
    /// Scopes to ask for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The platform's authorize endpoint.
    #[serde(default)]
    pub authorize_url: String,
}

impl ChatLogin {
    /// Whether every part is set.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !(self.client_id.is_empty()
            || self.redirect_url.is_empty()
            || self.scopes.is_empty()
            || self.authorize_url.is_empty())
    }
}

/// Which version of the store is published (design, section 2.3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pointer {
    /// Hash of the compiled store; empty where nothing was published yet.
    pub version: String,
    /// The settings every function needs.
    pub config: StoreConfig,
}

impl Pointer {
    /// Whether nothing was published yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.version.is_empty()
    }
}
