//! The page that the browser shows after a login, in the window that the storefront opened. Its script posts the result
//! to that storefront and to no other page.

use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, StatusCode};
use lambda_http::{Body, Request, Response};
use serde::Serialize;
use shared::endpoint::{Cache, Reply};
use shared::http::reply::render_in_html;
use shared::model::{ChatId, ChatName};

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
    pub(super) fn logged_in(id: &ChatId, name: &ChatName, storefront: &str, has_discord_names: bool) -> Self {
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
pub(super) fn refused(status: StatusCode, text: &str, storefront: Option<&str>) -> Response<Body> {
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
    use crate::chat_callback::NotLoggedIn;
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest as _, Sha256};
    use shared::endpoint::Refusal as _;

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
