//! GET /auth/chat: the URL at which a buyer logs in through the chat platform (rules.md, "Chat login").

use crate::State;
use lambda_http::http::StatusCode;
use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, RedirectUrl, Scope};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Json, Refusal, RoundTrips};
use shared::model::ChatLogin;

/// Bytes of entropy in a state.
const NONCE: usize = 16;

/// The reason if the owner's authorize endpoint cannot be parsed.
const NO_URL: &str = "the authorize endpoint is not a valid URL";

/// GET /auth/chat.
pub struct Chat;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ChatLoginReply {
    /// Chat login is enabled.
    Url {
        /// Always true.
        success: bool,
        /// The authorization URL, with a signed `state` that expires after 10 minutes.
        url: String,
    },
    /// Chat login is disabled or not configured.
    Disabled {
        /// Always false.
        success: bool,
        /// The reason, as a text for people.
        error: &'static str,
    },
}

/// The URL could not be built. The text gives the reason and has no secret.
#[derive(Debug, thiserror::Error)]
#[error("Failed to generate auth URL: {0}")]
pub struct NoUrl(String);

impl Refusal for NoUrl {
    fn status(&self) -> StatusCode {
        StatusCode::INTERNAL_SERVER_ERROR
    }

    fn documented() -> Vec<(&'static str, Self)> {
        vec![(
            "The URL could not be built; `error` begins with `Failed to generate auth URL: `",
            Self(NO_URL.to_owned()),
        )]
    }
}

impl Endpoint for Chat {
    type State = State;
    type Caller = ();
    type Input = ();
    type Reply = Json<ChatLoginReply>;
    type Refusal = NoUrl;

    const NAME: &'static str = "auth/chat";
    const ROUTES: &'static [&'static str] = &["GET /auth/chat"];
    const SUMMARY: &'static str = "returns the URL for logging in through the chat platform";
    const NUMBER: Option<u8> = Some(2);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const ERRORS: ErrorBody = ErrorBody::SuccessError;

    async fn handle(state: &State, (): (), (): ()) -> Result<Self::Reply, Error<NoUrl>> {
        let active = state.base.published.active_version().await?;
        let config = &active.config;
        let reply = if config.chat_sync && config.chat.is_complete() {
            let url = new_state(state).and_then(|signed| authorization_url(&config.chat, signed));
            ChatLoginReply::Url { success: true, url: url.map_err(|reason| Error::Refused(NoUrl(reason)))? }
        } else {
            ChatLoginReply::Disabled { success: false, error: "The chat integration is disabled or not configured." }
        };
        Ok(Json::of(&reply))
    }
}

/// A signed state with fresh entropy.
fn new_state(state: &State) -> Result<String, String> {
    let mut nonce = [0_u8; NONCE];
    getrandom::fill(&mut nonce).map_err(|_| "no entropy is available")?;
    let nonce = format!("{:032x}", u128::from_be_bytes(nonce));
    let signed = state.base.config.keys.sign_state(&nonce, state.base.clock.seconds());
    signed.map_err(|error| error.to_string())
}

/// The authorization-code URL of the store's client.
fn authorization_url(chat: &ChatLogin, state: String) -> Result<String, String> {
    let authorize = AuthUrl::new(chat.authorize_url.clone()).map_err(|_| NO_URL)?;
    let redirect = RedirectUrl::new(chat.redirect_url.clone()).map_err(|_| "the redirect URL is not valid")?;
    let client =
        BasicClient::new(ClientId::new(chat.client_id.clone())).set_auth_uri(authorize).set_redirect_uri(redirect);
    let scopes = chat.scopes.iter().cloned().map(Scope::new);
    let (url, _) = client.authorize_url(|| CsrfToken::new(state)).add_scopes(scopes).url();
    Ok(url.into())
}
