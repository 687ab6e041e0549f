//! The auth function: logins and accounts.
//!
//! May read users, names, bans and the store's configuration; writes accounts with their names, chat accounts and logins in
//! the game, and counts logins. Calls the chat platform.

mod account;
mod chat;
mod chat_callback;
mod check_accessibility;
mod game_auth_check;
mod game_auth_init;
mod get_user;
mod settings;
mod support;
mod username;

pub use settings::ChatSettings;

use lambda_http::{Body, Request, Response};
use outgoing::Client;
use shared::base::Base;
use shared::endpoint::{self, Route};
use shared::table::connector;
use std::sync::OnceLock;

pub static ENDPOINTS: &[Route<State>] = &[
    Route::to::<chat::Chat>(),
    Route::to::<chat_callback::ChatCallback>(),
    Route::to::<get_user::GetUser>(),
    Route::to::<username::Login>(),
    Route::to::<check_accessibility::CheckAccessibility>(),
    Route::to::<game_auth_init::BeginGameLogin>(),
    Route::to::<game_auth_check::EndGameLogin>(),
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
