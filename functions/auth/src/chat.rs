//! GET /auth/chat: the URL at which a buyer logs in through the chat platform (contract 2; ruling 13).

use crate::State;
use crate::error::{Error, Failure};
use lambda_http::{Body, Response};
use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, RedirectUrl, Scope};
use serde::Serialize;
use shared::http::reply;
use shared::model::ChatLogin;

/// Bytes of entropy in a state.
const NONCE: usize = 16;

/// The answer with the URL.
#[derive(Serialize)]
struct Success<'a> {
    success: bool,
    url: &'a str,
}

/// Answers the request, whatever stands in it.
pub async fn respond(state: &State) -> Result<Response<Body>, Error> {
    let pointer = state.base.published.pointer().await?;
    let config = &pointer.config;
    if !config.chat_sync || !config.chat.is_complete() {
        let error = "The chat integration is disabled or not configured.";
        return Ok(reply::ok(&Failure { success: false, error }));
    }
    let signed = new_state(state)?;
    let url = authorization_url(&config.chat, signed).map_err(Error::ChatUrl)?;
    Ok(reply::ok(&Success { success: true, url: &url }))
}

/// A signed state with fresh entropy.
fn new_state(state: &State) -> Result<String, Error> {
    let mut nonce = [0_u8; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| Error::ChatUrl("no entropy is available".to_owned()))?;
    let nonce = format!("{:032x}", u128::from_be_bytes(nonce));
    let signed = state.base.config.keys.sign_state(&nonce, state.base.clock.seconds());
    signed.map_err(|error| Error::ChatUrl(error.to_string()))
}

/// The authorization-code URL of the store's client.
fn authorization_url(chat: &ChatLogin, state: String) -> Result<String, String> {
    let authorize = AuthUrl::new(chat.authorize_url.clone()).map_err(|_| "the authorize endpoint is no URL")?;
    let redirect = RedirectUrl::new(chat.redirect_url.clone()).map_err(|_| "the redirect URL is no URL")?;
    let client =
        BasicClient::new(ClientId::new(chat.client_id.clone())).set_auth_uri(authorize).set_redirect_uri(redirect);
    let scopes = chat.scopes.iter().cloned().map(Scope::new);
    let (url, _) = client.authorize_url(|| CsrfToken::new(state)).add_scopes(scopes).url();
    Ok(url.into())
}
