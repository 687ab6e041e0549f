//! The player and the client of a login in the game (rules.md, "Logins in the game").

use serde::{Deserialize, Deserializer};
use shared::endpoint::Error;
use shared::model::{LoginSecret, PlayerName};
use shared::random;
use shared::shop::accounts::game_login::Client;
use shared::table::StoreError;
use std::str::FromStr;

/// The player's name in the game, as POST /auth/username takes it.
#[derive(schemars::JsonSchema)]
pub struct SentName(#[schemars(with = "String")] pub PlayerName);

impl FromStr for SentName {
    type Err = shared::model::NotAPlayerName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        PlayerName::parse(text).map(Self)
    }
}

/// Who calls. A request without a body is one without the field.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct SecretRequest {
    /// The secret that game_auth/init returned, by which the caller is known at any address; empty or null in a client that keeps
    /// secrets and has none yet. Absent: the caller is known by their address.
    #[serde(default, deserialize_with = "sent")]
    #[schemars(default, with = "Option<String>", regex(pattern = "^([0-9a-f]{32})?$"))]
    secret: Option<Sent>,
}

/// The secret that a client sends which keeps one.
#[derive(Debug)]
enum Sent {
    None,
    Secret(LoginSecret),
}

fn sent<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Sent>, D::Error> {
    let text = Option::<String>::deserialize(field)?.unwrap_or_default();
    if text.is_empty() {
        return Ok(Some(Sent::None));
    }
    LoginSecret::parse(&text).map(Sent::Secret).map(Some).map_err(serde::de::Error::custom)
}

/// What a client is known by.
#[derive(Debug)]
pub enum Known {
    ByAddress,
    BySecret(LoginSecret),
}

impl Known {
    /// What a client is known by that begins a login: one that keeps a secret and has none is given one.
    pub fn beginning(request: SecretRequest) -> Result<Self, Error> {
        Ok(match request.secret {
            None => Self::ByAddress,
            Some(Sent::Secret(secret)) => Self::BySecret(secret),
            Some(Sent::None) => Self::BySecret(LoginSecret::new(random::bits().ok_or_else(StoreError::no_entropy)?)),
        })
    }

    /// What a client is known by that asks about its login; `None` if it keeps a secret and has none: it began nothing.
    pub fn asking(request: SecretRequest) -> Option<Self> {
        match request.secret {
            None => Some(Self::ByAddress),
            Some(Sent::Secret(secret)) => Some(Self::BySecret(secret)),
            Some(Sent::None) => None,
        }
    }

    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::ByAddress => None,
            Self::BySecret(secret) => Some(secret.as_str()),
        }
    }

    /// The client, at an address that is in a network.
    pub fn client(&self, player: &PlayerName, (address, network): (&str, &str)) -> Client {
        match self {
            Self::ByAddress => Client::new(player, None, (address, network)),
            Self::BySecret(secret) => Client::new(player, Some(secret), (address, network)),
        }
    }
}
