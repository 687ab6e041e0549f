//! GET /auth/chat/callback: completes a login through the chat platform (rules.md, "Chat login"), and the page that the
//! browser shows after it, in the window that the storefront opened. Its script posts the result to that storefront and
//! to no other page.

mod platform;

use crate::State;
use crate::chat::NONCE_COOKIE;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, StatusCode};
use lambda_http::{Body, Request, RequestExt as _, Response};
use oauth2::ClientSecret;
use oauth2::url::{Origin, Url};
use platform::{Grant, PlatformError};
use serde::Serialize;
use shared::endpoint::{
    Cache, Endpoint, Error, Input, InputKind, Received, Refusal, Reply, RequestSchemas, RoundTrips,
};
use shared::http::body::BodyFault;
use shared::http::cookie;
use shared::http::reply::render_in_html;
use shared::model::{ChatId, ChatLogin, ChatName, StoreConfig};
use shared::shop::accounts::logins;

/// The longest code in bytes.
const LONGEST_CODE: usize = 2_048;

pub struct ChatCallback;

/// The platform's response, as the browser carries it here.
#[derive(Debug, schemars::JsonSchema)]
pub struct Callback {
    /// The authorization code, at most 2,048 bytes.
    #[schemars(default, with = "String", length(max = LONGEST_CODE))]
    code: Option<String>,
    /// The state of the login, from the URL of GET /auth/chat.
    #[schemars(default, with = "String")]
    state: Option<String>,
    /// The platform's reason for giving no code, such as `access_denied`.
    #[schemars(default, with = "String")]
    error: Option<String>,
    #[schemars(skip)]
    nonce: Option<String>,
}

impl Input for Callback {
    const KIND: InputKind = InputKind::Query;

    fn read(received: Received<'_>) -> Result<Self, BodyFault> {
        let query = received.request.query_string_parameters();
        let parameter = |name| query.first(name).filter(|value| !value.is_empty()).map(str::to_owned);
        Ok(Self {
            code: parameter("code"),
            state: parameter("state"),
            error: parameter("error"),
            nonce: cookie::value(received.request.headers(), NONCE_COOKIE),
        })
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> RequestSchemas {
        RequestSchemas { query: Some(generator.subschema_for::<Self>()), ..RequestSchemas::default() }
    }
}

/// The reason why a login is not completed. The first five are for the store's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("The chat integration is disabled or not configured.")]
    Disabled,
    #[error("Chat login is not complete: chat.client.token_url and chat.client.user_url must be set in store.yaml.")]
    NoEndpoints,
    #[error("Chat login is not complete: storefront.url must be set in store.yaml.")]
    NoStorefront,
    #[error(
        "Chat login is not complete: AllowedOrigins must name the origin of storefront.url, or chat.client.redirect_url be under it."
    )]
    NoOrigin,
    #[error("Chat login is not complete: the client secret is missing, see storectl chat connect.")]
    NoSecret,
    #[error("This login is not valid, or it has expired. Please start again.")]
    InvalidState,
    #[error(
        "The cookie of this login is missing. A login must be completed in the browser that started it, the API must be \
         under the storefront's own site, and the storefront must send credentials."
    )]
    NoCookie,
    #[error("This login was started in another browser, or another login was started since. Please start again.")]
    OtherBrowser,
    #[error("The login was cancelled at the chat platform.")]
    Cancelled,
    #[error("The chat platform refused the login. Please start again.")]
    Refused,
    #[error("The chat platform did not respond. Please try again later.")]
    Unavailable,
    #[error("The response of the chat platform cannot be read. Please try again later.")]
    Unreadable,
}

impl From<PlatformError> for Reason {
    fn from(error: PlatformError) -> Self {
        match error {
            PlatformError::Refused => Self::Refused,
            PlatformError::Unavailable => Self::Unavailable,
            PlatformError::Unreadable => Self::Unreadable,
        }
    }
}

/// The refusal of a login, as a page that tells the storefront.
#[derive(Debug)]
pub struct NotLoggedIn {
    reason: Reason,
    /// The storefront's origin; `None` if the store does not say.
    storefront: Option<String>,
}

impl std::fmt::Display for NotLoggedIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reason.fmt(f)
    }
}

impl Refusal for NotLoggedIn {
    fn status(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }

    fn response(&self) -> Option<Response<Body>> {
        Some(refused(self.status(), &self.reason.to_string(), self.storefront.as_deref()))
    }

    fn documented() -> Vec<(&'static str, Self)> {
        let of = |(when, reason)| (when, Self { reason, storefront: None });
        [
            ("Chat login is disabled or not configured", Reason::Disabled),
            ("`chat.client.token_url` or `chat.client.user_url` is missing in store.yaml", Reason::NoEndpoints),
            ("`storefront.url` is missing in store.yaml; nothing is posted", Reason::NoStorefront),
            (
                "`AllowedOrigins` does not name the storefront's origin, and the redirect URL is not under it",
                Reason::NoOrigin,
            ),
            ("The store has no client secret yet", Reason::NoSecret),
            ("`state` is missing, not valid, or has expired", Reason::InvalidState),
            ("The browser did not send the cookie of GET /auth/chat", Reason::NoCookie),
            ("The cookie is that of another login", Reason::OtherBrowser),
            ("`error` is `access_denied`: the buyer did not allow the login", Reason::Cancelled),
            ("Another `error`, no `code`, or a code that the platform refuses, such as a used one", Reason::Refused),
            ("The platform responds with an error, too late, or not at all", Reason::Unavailable),
            ("The platform's response is not what it should be", Reason::Unreadable),
        ]
        .map(of)
        .into()
    }
}

impl Endpoint for ChatCallback {
    type State = State;
    type Caller = ();
    type Input = Callback;
    type Reply = Page;
    type Refusal = NotLoggedIn;

    const ROUTES: &'static [&'static str] = &["GET /auth/chat/callback"];
    const SUMMARY: &'static str = "completes a login through the chat platform, and tells the storefront's page";
    /// The settings decide where the code is sent, so that a stale version is read before that.
    const ROUND_TRIPS: RoundTrips = RoundTrips { warm: 2, cold: 2 };

    async fn handle(state: &State, (): (), callback: Callback) -> Result<Page, Error<NotLoggedIn>> {
        let active = state.base.published.active_version().await?;
        let storefront = origin(&active.config.storefront_url);
        let refused = |reason| Error::Refused(NotLoggedIn { reason, storefront: storefront.clone() });
        let (secret, storefront) = configured(state, &active.config, storefront.as_deref()).map_err(refused)?;
        let (code, pkce_verifier) = verified(state, callback).map_err(refused)?;
        let grant = Grant { code, pkce_verifier, secret };
        let account = platform::account(state.outgoing(), &active.config.chat, grant).await;
        let (id, name) = account.map_err(|error| refused(error.into()))?;
        logins::completed(&state.base.db, &id, name.clone(), state.base.clock.seconds()).await?;
        Ok(Page::logged_in(&id, &name, storefront, active.config.chat.has_discord_names()))
    }
}

/// The origin of a storefront's URL; `None` if it has none.
fn origin(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.origin()).filter(Origin::is_tuple).map(|origin| origin.ascii_serialization())
}

/// The client secret and the storefront's origin, if the store and its stack have everything that a login needs.
fn configured<'s>(
    state: &'s State,
    config: &StoreConfig,
    storefront: Option<&'s str>,
) -> Result<(&'s ClientSecret, &'s str), Reason> {
    if !config.chat_sync || !config.chat.is_complete() {
        return Err(Reason::Disabled);
    }
    let ChatLogin { token_url, user_url, .. } = &config.chat;
    if token_url.is_empty() || user_url.is_empty() {
        return Err(Reason::NoEndpoints);
    }
    let storefront = storefront.ok_or(Reason::NoStorefront)?;
    // A storefront with the API under its own origin, as the shop's edge has it, needs no cross-origin calls.
    let is_own = || origin(&config.chat.redirect_url).as_deref() == Some(storefront);
    if !state.chat.origins.iter().any(|allowed| allowed == storefront) && !is_own() {
        return Err(Reason::NoOrigin);
    }
    Ok((state.chat.secret.as_ref().ok_or(Reason::NoSecret)?, storefront))
}

/// The code and its PKCE verifier, if this browser began the login and the platform sent a code.
fn verified(state: &State, callback: Callback) -> Result<(String, String), Reason> {
    let Callback { code, state: sent, error, nonce } = callback;
    let base = &state.base;
    let sent = sent.ok_or(Reason::InvalidState)?;
    let login = base.config.keys.verify_state(&sent, base.clock.seconds()).map_err(|_| Reason::InvalidState)?;
    if nonce.ok_or(Reason::NoCookie)? != login.nonce {
        return Err(Reason::OtherBrowser);
    }
    match error.as_deref() {
        Some("access_denied") => return Err(Reason::Cancelled),
        Some(_) => return Err(Reason::Refused),
        None => {}
    }
    let code = code.filter(|code| code.len() <= LONGEST_CODE).ok_or(Reason::Refused)?;
    Ok((code, login.pkce_verifier))
}

/// Posts the message in the page's data. The same on every page, so that one hash allows it.
const SCRIPT: &str = r#"const { storefront, message } = JSON.parse(document.getElementById("data").textContent);
if (storefront && window.opener) {
  window.opener.postMessage(message, storefront);
  if (message.success) window.close();
}"#;
/// The policy allows this script and nothing else; the hash is of [`SCRIPT`].
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'sha256-S1neGM3Q1otrNMQDDeCgfI/HS0BFtEDwH4mk5VmInpc='; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
const LOGGED_IN: &str = "You are logged in. You can close this window.";

/// The page of a login that is complete.
#[derive(Debug, Clone)]
pub struct Page(String);

/// The login is complete. A storefront keeps the account in its cookies, by the names that it knows.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct LoggedIn<'a> {
    /// Always true.
    success: bool,
    /// The name of the account at the chat platform.
    chat_username: &'a str,
    /// The id of the account at the chat platform, as a text.
    chat_id: &'a str,
    /// Discord's names of the two; left out if the store names another platform.
    #[serde(flatten)]
    discord: Option<DiscordNames<'a>>,
}

/// An account by Discord's own names, which storefronts written for it read.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct DiscordNames<'a> {
    /// As `chat_username`.
    discord_username: &'a str,
    /// As `chat_id`.
    discord_id: &'a str,
}

/// The message that a page posts if the login is not complete.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    error: bool,
    message: &'a str,
}

#[derive(Debug, Serialize)]
struct Data<'a, M> {
    storefront: Option<&'a str>,
    message: &'a M,
}

impl Page {
    /// The page for the account that logged in.
    fn logged_in(id: &ChatId, name: &ChatName, storefront: &str, has_discord_names: bool) -> Self {
        let (chat_username, chat_id) = (name.as_str(), id.as_str());
        let names = DiscordNames { discord_username: chat_username, discord_id: chat_id };
        let discord = has_discord_names.then_some(names);
        let message = LoggedIn { success: true, chat_username, chat_id, discord };
        Self(html(LOGGED_IN, &Data { storefront: Some(storefront), message: &message }))
    }
}

impl Reply for Page {
    fn into_response(self, _: &Request, _: Cache) -> Response<Body> {
        response(StatusCode::OK, self.0)
    }

    fn content(generator: &mut schemars::SchemaGenerator) -> shared::endpoint::Content {
        shared::endpoint::Content { media_type: "text/html", schema: generator.subschema_for::<LoggedIn<'static>>() }
    }
}

/// The page of a login that is not complete. It says why, and posts it if the storefront is known.
fn refused(status: StatusCode, text: &str, storefront: Option<&str>) -> Response<Body> {
    let message = Failed { error: true, message: text };
    response(status, html(text, &Data { storefront, message: &message }))
}

fn response(status: StatusCode, html: String) -> Response<Body> {
    let mut response = Response::new(Body::Text(html));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // The page's own address has the code in it.
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
    response
}

/// The page with one of this service's own texts, which contain no markup.
fn html<M: Serialize>(text: &str, data: &Data<'_, M>) -> String {
    let data = render_in_html(data);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Chat login</title></head>\n<body>\n\
         <p>{text}</p>\n<script type=\"application/json\" id=\"data\">{data}</script>\n<script>{SCRIPT}</script>\n\
         </body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_has_the_hash_of_the_script() {
        let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
        let allowed = format!("script-src 'sha256-{hash}';");
        assert!(POLICY.to_str().unwrap().contains(&allowed), "{allowed}");
    }

    #[test]
    fn the_texts_of_this_service_contain_no_markup() {
        let texts = NotLoggedIn::documented().into_iter().map(|(_, refusal)| refusal.to_string());
        for text in texts.chain([LOGGED_IN.to_owned()]) {
            assert!(!text.contains(['<', '>', '&']), "{text}");
        }
    }
}
