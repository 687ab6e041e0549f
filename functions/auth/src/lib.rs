//! The auth function: logins and accounts.
//!
//! May read users, names, bans and the store's configuration; writes accounts with their names, chat accounts and
//! logins in the game, and counts logins. Calls the chat platform. The settings of the chat login are from the
//! environment (template.yaml, `Environment` of the auth function). Without it the function starts, and the callback
//! says what is missing.

mod account;
mod chat;
mod chat_callback;
mod game_login;
mod visitor;

use lambda_http::{Body, Request, Response};
use oauth2::ClientSecret;
use outgoing::Client;
use serde::Deserialize;
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::table::connector;
use std::sync::OnceLock;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<chat::Chat>(),
    Route::to::<chat_callback::ChatCallback>(),
    Route::to::<visitor::GetUser>(),
    Route::to::<account::Login>(),
    Route::to::<visitor::CheckAccessibility>(),
    Route::to::<game_login::BeginGameLogin>(),
    Route::to::<game_login::EndGameLogin>(),
];

/// The state of the function, which lives as long as its process.
#[derive(Debug)]
pub struct State {
    base: Base,
    chat: ChatSettings,
    /// Made by the first login that needs it, so that a start does not pay for it.
    outgoing: OnceLock<Client>,
}

impl AsRef<Base> for State {
    fn as_ref(&self) -> &Base {
        &self.base
    }
}

impl State {
    pub fn new(base: Base, chat: ChatSettings) -> Self {
        Self { base, chat, outgoing: OnceLock::new() }
    }

    /// The same state with another client for calls to the chat platform.
    #[must_use]
    pub fn with_outgoing(self, client: Client) -> Self {
        Self { outgoing: OnceLock::from(client), ..self }
    }

    fn outgoing(&self) -> &Client {
        self.outgoing.get_or_init(|| Client::new(connector::roots()))
    }
}

/// Connects to the database before the first request.
pub async fn warm_up(state: &State) {
    state.base.connect().await;
}

/// Responds to a request. Never panics and never fails: every fault becomes a response.
pub async fn handle(state: &State, request: Request) -> Response<Body> {
    endpoint::handle(ENDPOINTS, state, request).await
}

/// The variable with the client secret.
const SECRET: &str = "CHAT_SECRET";
/// The variable with the origins whose pages may call the API.
const ORIGINS: &str = "ALLOWED_ORIGINS";

#[derive(Debug, Clone, Default)]
pub struct ChatSettings {
    /// The secret of the store's client at the chat platform (`CHAT_SECRET`); `None` until it is set.
    secret: Option<ClientSecret>,
    /// The origins whose pages may call the API with credentials (`ALLOWED_ORIGINS`); empty if any page may call
    /// without them.
    origins: Vec<String>,
}

/// The secret in Secrets Manager. The stack creates it as `{}`.
#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    client_secret: String,
}

impl ChatSettings {
    pub fn from_env() -> Self {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// Reads variables through `var`. Their names are those of template.yaml.
    pub fn from_vars(var: impl Fn(&'static str) -> Option<String>) -> Self {
        let set = |name| var(name).filter(|value| !value.trim().is_empty());
        let origins = set(ORIGINS).unwrap_or_default();
        let origins = origins.split(',').map(str::trim).filter(|origin| !matches!(*origin, "" | "*"));
        Self { secret: set(SECRET).and_then(|text| secret(&text)), origins: origins.map(str::to_owned).collect() }
    }
}

/// The client secret in a JSON object; a text that is not one counts as a missing secret, so that the other endpoints
/// of the function continue to work.
fn secret(text: &str) -> Option<ClientSecret> {
    let stored: Result<Stored, _> = serde_json::from_str(text);
    // The error is left out: it may quote the text.
    let Ok(stored) = stored else {
        tracing::error!("{SECRET} is not a JSON object with client_secret");
        return None;
    };
    Some(stored.client_secret.trim().to_owned()).filter(|secret| !secret.is_empty()).map(ClientSecret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(secret: &str, origins: &str) -> ChatSettings {
        ChatSettings::from_vars(|name| Some(if name == SECRET { secret } else { origins }.to_owned()))
    }

    #[test]
    fn the_secret_and_the_origins_are_read() {
        let settings = read(r#"{"client_secret":" s3cret "}"#, "https://a.example,http://localhost:3000");
        assert_eq!(settings.secret.as_ref().map(|secret| secret.secret().as_str()), Some("s3cret"));
        assert_eq!(settings.origins, ["https://a.example", "http://localhost:3000"]);
        assert!(!format!("{settings:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_not_there_is_missing_and_nothing_fails() {
        for text in ["", "{}", r#"{"client_secret":""}"#, "s3cret", "[]", r#"{"client_secret":1}"#] {
            assert!(read(text, "*").secret.is_none(), "{text}");
        }
        assert!(read("{}", "*").origins.is_empty());
        assert!(ChatSettings::from_vars(|_| None).origins.is_empty());
    }
}
