//! GET /auth/chat, by Discord's name GET /auth/discord: the URL at which a buyer logs in through the chat platform (rules.md, "Chat login").

use crate::State;
use lambda_http::http::{HeaderValue, StatusCode};
use oauth2::basic::BasicClient;
use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope};
use serde::Serialize;
use shared::endpoint::{Endpoint, Error, ErrorBody, Input, InputKind, Json, Received, Refusal, RequestSchemas};
use shared::endpoint::{RoundTrips, WithCookie};
use shared::http::body::BodyFault;
use shared::http::route;
use shared::model::{ChatLogin, StoreConfig};
use shared::token::STATE_SECONDS;

/// Bytes of entropy in a state.
const NONCE: usize = 16;
/// The cookie with the nonce of a login, which the callback compares with that of the state.
pub(crate) const NONCE_COOKIE: &str = "chat_login";

/// The reason if the owner's authorize endpoint cannot be parsed.
const NO_URL: &str = "the authorize endpoint is not a valid URL";

pub struct Chat;

#[derive(Serialize, schemars::JsonSchema)]
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

/// The route by Discord's own name, which storefronts written for it call.
const DISCORD: &str = "GET /auth/discord";

/// Whether the platform was asked for by Discord's own name.
pub struct ByName {
    is_discord: bool,
}

impl Input for ByName {
    const KIND: InputKind = InputKind::Nothing;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        Ok(Self { is_discord: route::is_at(received.request, DISCORD) })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        <() as Input>::schemas(generator)
    }
}

impl ByName {
    /// Whether the store has a login at a platform of this name.
    fn is_offered(&self, config: &StoreConfig) -> bool {
        config.chat_sync && config.chat.is_complete() && (!self.is_discord || config.chat.has_discord_names())
    }
}

impl Endpoint for Chat {
    type State = State;
    type Caller = ();
    type Input = ByName;
    type Reply = WithCookie<Json<ChatLoginReply>>;
    type Refusal = NoUrl;

    const ROUTES: &'static [&'static str] = &["GET /auth/chat", DISCORD];
    const SUMMARY: &'static str = "returns the URL for logging in through the chat platform";
    const NUMBER: Option<u8> = Some(2);
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 0, cold: 1 };
    const ERRORS: ErrorBody = ErrorBody::SuccessError;

    async fn handle(state: &State, (): (), asked: ByName) -> Result<Self::Reply, Error<NoUrl>> {
        let active = state.base.published.active_version().await?;
        let config = &active.config;
        let (reply, cookie) = if asked.is_offered(config) {
            let login = BegunLogin::new(state).and_then(|login| login.begin(&config.chat));
            let (url, cookie) = login.map_err(|reason| Error::Refused(NoUrl(reason)))?;
            (ChatLoginReply::Url { success: true, url }, Some(cookie))
        } else {
            let error = "The chat integration is disabled or not configured.";
            (ChatLoginReply::Disabled { success: false, error }, None)
        };
        Ok(WithCookie { reply: Json::of(&reply), cookie })
    }
}

struct BegunLogin {
    nonce: String,
    state: String,
    pkce_verifier: PkceCodeVerifier,
}

impl BegunLogin {
    /// A login with fresh entropy.
    fn new(state: &State) -> Result<Self, String> {
        let mut nonce = [0_u8; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| "no entropy is available")?;
        let nonce = format!("{:032x}", u128::from_be_bytes(nonce));
        let keys = &state.base.config.keys;
        let signed = keys.sign_state(&nonce, state.base.clock.seconds()).map_err(|error| error.to_string())?;
        let verifier = keys.pkce_verifier(&nonce).map_err(|error| error.to_string())?;
        Ok(Self { nonce, state: signed, pkce_verifier: PkceCodeVerifier::new(verifier) })
    }

    /// The authorization-code URL of the store's client, and the cookie of the browser that goes there.
    fn begin(self, chat: &ChatLogin) -> Result<(String, HeaderValue), String> {
        let redirect = RedirectUrl::new(chat.redirect_url.clone()).map_err(|_| "the redirect URL is not valid")?;
        let cookie = nonce_cookie(&self.nonce, redirect.url().path())?;
        Ok((authorization_url(chat, redirect, self)?, cookie))
    }
}

/// The cookie is sent to the callback only, and also when the platform's page leads there.
fn nonce_cookie(nonce: &str, callback: &str) -> Result<HeaderValue, String> {
    // A path may contain the sign that ends a cookie's attribute.
    let path = if callback.contains(';') { "/" } else { callback };
    let cookie =
        format!("{NONCE_COOKIE}={nonce}; Max-Age={STATE_SECONDS}; Path={path}; HttpOnly; Secure; SameSite=Lax");
    HeaderValue::try_from(cookie).map_err(|_| "the path of the redirect URL cannot be in a cookie".to_owned())
}

fn authorization_url(chat: &ChatLogin, redirect: RedirectUrl, login: BegunLogin) -> Result<String, String> {
    let authorize = AuthUrl::new(chat.authorize_url.clone()).map_err(|_| NO_URL)?;
    let client =
        BasicClient::new(ClientId::new(chat.client_id.clone())).set_auth_uri(authorize).set_redirect_uri(redirect);
    let scopes = chat.scopes.iter().cloned().map(Scope::new);
    let challenge = PkceCodeChallenge::from_code_verifier_sha256(&login.pkce_verifier);
    let request = client.authorize_url(|| CsrfToken::new(login.state)).add_scopes(scopes);
    let (url, _) = request.set_pkce_challenge(challenge).url();
    Ok(url.into())
}
