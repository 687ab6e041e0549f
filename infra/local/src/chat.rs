//! A stand-in for the chat platform, so that the chat login can be tried without an account anywhere: an authorize page
//! with a few sample accounts, a token endpoint and a user endpoint, on a loopback port of their own. It checks what a
//! platform checks: client, secret, redirect URL, PKCE, and that a code is used once. No function knows of it.

use crate::auth_by_host::is_here;
use crate::gateway::serve_each;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use shared::random;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use stripe_stand_in::html::{Parameters, in_html};
use tokio::net::TcpListener;
use url::Url;

/// The largest body of a request, in bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// The secret that the stand-in expects of every client. It protects nothing.
const CLIENT_SECRET: &str = "stand-in-client-secret";
/// The code of `events/auth/chat_callback.json`, with the challenge that belongs to the state in this file. It is known
/// from the start and can be used more than once.
const SAMPLE: (&str, &str) = ("sample-code", "WMMi-xx-KvRfMLh_D_r6OQSAcTmxRigonLrDXrHrBjo");

/// The accounts to log in as, with their names.
const ACCOUNTS: [(&str, &str); 3] = [
    ("418203377561042101", "thornwick"),
    ("418203377561042102", "quillfeather"),
    ("418203377561042103", "Pebble <& Sons>"),
];
/// What the authorize page carries from its URL to its form.
const CARRIED: [&str; 7] =
    ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"];

/// A client that is registered with the stand-in.
#[derive(Debug, Clone)]
pub struct Client {
    pub id: String,
    /// The URL that buyers are sent back to.
    pub redirect_url: String,
}

impl Client {
    /// Whether buyers may be sent back to a URL: the registered one, or if that is on this machine, its path at any name
    /// and port of this machine (RFC 8252, section 7.3, has the port).
    fn may_return_to(&self, url: &str) -> bool {
        let parse = |url: &str| Url::parse(url).ok().filter(is_here);
        let is_here_as_well = |(asked, own): (Url, Url)| {
            (asked.scheme(), asked.path(), asked.query()) == (own.scheme(), own.path(), own.query())
        };
        url == self.redirect_url || parse(url).zip(parse(&self.redirect_url)).is_some_and(is_here_as_well)
    }
}

/// The content of `CHAT_SECRET` for the stand-in.
pub fn secret() -> String {
    json!({ "client_secret": CLIENT_SECRET }).to_string()
}

/// Serves a stand-in until the runtime ends.
pub async fn serve(listener: TcpListener, platform: ChatPlatform) {
    let platform = Arc::new(platform);
    let respond = move |request: Request<Incoming>, _| {
        let platform = Arc::clone(&platform);
        async move {
            let (head, body) = request.into_parts();
            let body = Limited::new(body, LARGEST_BODY).collect().await;
            let body = body.map(Collected::to_bytes).unwrap_or_default();
            Ok::<_, Infallible>(platform.respond(&head, &body).map(|text| Full::new(Bytes::from(text))))
        }
    };
    serve_each(listener, respond).await;
}

#[derive(Debug)]
pub struct ChatPlatform {
    client: Client,
    codes: Mutex<HashMap<String, Code>>,
    tokens: Mutex<HashMap<String, &'static str>>,
}

#[derive(Debug, Clone)]
struct Code {
    account: &'static str,
    challenge: String,
    /// The address that it was sent to.
    redirect_url: String,
}

impl ChatPlatform {
    pub fn new(client: Client) -> Self {
        Self { client, codes: Mutex::default(), tokens: Mutex::default() }
    }

    fn respond(&self, head: &request::Parts, body: &[u8]) -> Response<String> {
        let path = head.uri.path();
        match (&head.method, path) {
            (&Method::GET, "/authorize") => {
                let query = Parameters::parse(head.uri.query().unwrap_or_default().as_bytes());
                match self.problem(&query) {
                    None => html(StatusCode::OK, authorize_page(&query)),
                    Some(problem) => html(StatusCode::BAD_REQUEST, problem_page(problem)),
                }
            }
            (&Method::POST, "/authorize") => self.decide(&Parameters::parse(body)),
            (&Method::POST, "/token") => self.exchange(&head.headers, &Parameters::parse(body)),
            (&Method::GET, "/user") => self.user(&head.headers),
            _ => json_reply(StatusCode::NOT_FOUND, &json!({ "message": "Not Found" })),
        }
    }

    /// The fault of an authorize request, if it has one.
    fn problem(&self, query: &Parameters) -> Option<&'static str> {
        if query.get("response_type") != "code" {
            return Some("response_type must be code.");
        }
        if query.get("client_id") != self.client.id {
            return Some("No such client_id.");
        }
        if !self.client.may_return_to(query.get("redirect_uri")) {
            return Some("This redirect_uri is not registered for the client.");
        }
        if query.get("code_challenge").len() != 43 || query.get("code_challenge_method") != "S256" {
            return Some("The code_challenge is missing, or its method is not S256.");
        }
        None
    }

    /// The buyer has chosen: they are sent back with a code, or with a refusal.
    fn decide(&self, form: &Parameters) -> Response<String> {
        if let Some(problem) = self.problem(form) {
            return html(StatusCode::BAD_REQUEST, problem_page(problem));
        }
        let chosen = ACCOUNTS.iter().find(|(id, _)| *id == form.get("account")).map(|(id, _)| *id);
        let code = chosen.and_then(|account| {
            let code = random::uuid()?;
            let challenge = form.get("code_challenge").to_owned();
            let redirect_url = form.get("redirect_uri").to_owned();
            lock(&self.codes).insert(code.clone(), Code { account, challenge, redirect_url });
            Some(code)
        });
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        match &code {
            Some(code) => query.append_pair("code", code),
            None => query.append_pair("error", "access_denied"),
        };
        let query = query.append_pair("state", form.get("state")).finish();
        let target = HeaderValue::try_from(format!("{}?{query}", form.get("redirect_uri")));
        let Ok(target) = target else { return html(StatusCode::BAD_REQUEST, problem_page("No such redirect_uri.")) };
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::SEE_OTHER;
        response.headers_mut().insert(LOCATION, target);
        response
    }

    /// Exchanges a code for an access token (RFC 6749, section 4.1.3, and RFC 7636).
    fn exchange(&self, headers: &HeaderMap, form: &Parameters) -> Response<String> {
        let refused = |status, error: &str| json_reply(status, &json!({ "error": error }));
        if credentials(headers).as_ref() != Some(&(self.client.id.clone(), CLIENT_SECRET.to_owned())) {
            return refused(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        if form.get("grant_type") != "authorization_code" {
            return refused(StatusCode::BAD_REQUEST, "unsupported_grant_type");
        }
        let code = form.get("code");
        let sample = || Code {
            account: ACCOUNTS[0].0,
            challenge: SAMPLE.1.to_owned(),
            redirect_url: self.client.redirect_url.clone(),
        };
        let found = if code == SAMPLE.0 { Some(sample()) } else { lock(&self.codes).remove(code) };
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form.get("code_verifier")));
        let is_sound = |code: &Code| code.challenge == challenge && form.get("redirect_uri") == code.redirect_url;
        let Some(Code { account, .. }) = found.filter(is_sound) else {
            return refused(StatusCode::BAD_REQUEST, "invalid_grant");
        };
        let Some(token) = random::uuid() else { return refused(StatusCode::SERVICE_UNAVAILABLE, "server_error") };
        lock(&self.tokens).insert(token.clone(), account);
        let body = json!({ "access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": "identify" });
        json_reply(StatusCode::OK, &body)
    }

    fn user(&self, headers: &HeaderMap) -> Response<String> {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let id = token.and_then(|token| lock(&self.tokens).get(token).copied());
        match ACCOUNTS.iter().find(|(known, _)| Some(*known) == id) {
            Some((id, name)) => json_reply(StatusCode::OK, &json!({ "id": id, "username": name, "locale": "en" })),
            None => json_reply(StatusCode::UNAUTHORIZED, &json!({ "message": "401: Unauthorized" })),
        }
    }
}

/// The id and secret of a client in the header `Authorization`.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let sent = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let text = String::from_utf8(BASE64_STANDARD.decode(sent).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let decode = |text: &str| Some(percent_encoding::percent_decode_str(text).decode_utf8().ok()?.into_owned());
    Some((decode(id)?, decode(secret)?))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json_reply(status: StatusCode, body: &Value) -> Response<String> {
    reply(status, "application/json", body.to_string())
}

fn html(status: StatusCode, body: String) -> Response<String> {
    reply(status, "text/html; charset=utf-8", body)
}

fn reply(status: StatusCode, kind: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn page(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body {{ font: 16px sans-serif; margin: 3em auto; max-width: 36em }} button {{ margin: 0.25em 0; \
         padding: 0.5em 1em }}</style></head>\n<body>\n<h1>{title}</h1>\n{content}</body>\n</html>\n"
    )
}

/// The page on which the buyer chooses an account, or refuses.
fn authorize_page(query: &Parameters) -> String {
    let mut form = String::from("<form method=\"post\" action=\"/authorize\">\n");
    for name in CARRIED {
        _ = writeln!(form, "<input type=\"hidden\" name=\"{name}\" value=\"{}\">", in_html(query.get(name)));
    }
    for (id, name) in ACCOUNTS {
        _ = writeln!(form, "<p><button name=\"account\" value=\"{id}\">Log in as {}</button></p>", in_html(name));
    }
    form.push_str("<p><button name=\"account\" value=\"\">Refuse</button></p>\n</form>\n");
    let scope = in_html(query.get("scope"));
    let content = format!("<p>A store asks who you are ({scope}). This is a stand-in for a chat platform.</p>\n{form}");
    page("Chat platform", &content)
}

/// The page for an authorize request that is refused. The browser is not sent back: the redirect URL may be wrong too.
fn problem_page(text: &str) -> String {
    page("Chat platform", &format!("<p>{}</p>\n", in_html(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:4010/auth/chat/callback";
    const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more";

    fn platform() -> ChatPlatform {
        let client = Client { id: "store".to_owned(), redirect_url: REDIRECT.to_owned() };
        ChatPlatform::new(client)
    }

    fn send(platform: &ChatPlatform, method: &str, target: &str, authorization: &str, body: &str) -> Response<String> {
        let request =
            Request::builder().method(method).uri(target).header(AUTHORIZATION, authorization).body(()).unwrap();
        platform.respond(&request.into_parts().0, body.as_bytes())
    }

    /// The parameters of an authorize request, with one of them changed.
    fn parameters(changed: &str, value: &str) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let all = [
            ("response_type", "code"),
            ("client_id", "store"),
            ("redirect_uri", REDIRECT),
            ("scope", "identify"),
            ("state", "a state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("account", "418203377561042102"),
        ];
        let all = all.map(|(name, old)| (name, if name == changed { value } else { old }));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish()
    }

    fn code(platform: &ChatPlatform) -> String {
        let response = send(platform, "POST", "/authorize", "", &parameters("", ""));
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let target = response.headers()[LOCATION].to_str().unwrap().to_owned();
        let query = Parameters::parse(target.strip_prefix(&format!("{REDIRECT}?")).unwrap().as_bytes());
        assert_eq!(query.get("state"), "a state");
        query.get("code").to_owned()
    }

    fn basic(secret: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(format!("store:{secret}")))
    }

    fn exchange(platform: &ChatPlatform, authorization: &str, fields: &[(&str, &str)]) -> (StatusCode, Value) {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let response = send(platform, "POST", "/token", authorization, &form);
        (response.status(), serde_json::from_str(response.body()).unwrap())
    }

    fn fields<'a>(code: &'a str, redirect: &'a str, verifier: &'a str) -> [(&'a str, &'a str); 4] {
        [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect), ("code_verifier", verifier)]
    }

    #[test]
    fn a_code_is_exchanged_once_for_the_account_that_was_chosen() {
        let platform = platform();
        let code = code(&platform);
        let (status, token) = exchange(&platform, &basic(CLIENT_SECRET), &fields(&code, REDIRECT, VERIFIER));
        assert_eq!(status, StatusCode::OK, "{token}");
        let bearer = format!("Bearer {}", token["access_token"].as_str().unwrap());
        let user = send(&platform, "GET", "/user", &bearer, "");
        let user: Value = serde_json::from_str(user.body()).unwrap();
        assert_eq!((&user["id"], &user["username"]), (&json!("418203377561042102"), &json!("quillfeather")));
        let again = exchange(&platform, &basic(CLIENT_SECRET), &fields(&code, REDIRECT, VERIFIER));
        assert_eq!(again, (StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" })));
        assert_eq!(send(&platform, "GET", "/user", "Bearer x", "").status(), StatusCode::UNAUTHORIZED);
    }

    #[test]
    fn a_wrong_client_redirect_url_or_verifier_is_refused() {
        let platform = platform();
        for authorization in ["", "Bearer x", "Basic x", &basic("another")] {
            let refused = exchange(&platform, authorization, &fields(&code(&platform), REDIRECT, VERIFIER));
            assert_eq!(refused, (StatusCode::UNAUTHORIZED, json!({ "error": "invalid_client" })), "{authorization}");
        }
        let sound = basic(CLIENT_SECRET);
        for (redirect, verifier) in [("https://elsewhere.example", VERIFIER), (REDIRECT, "another"), (REDIRECT, "")] {
            let refused = exchange(&platform, &sound, &fields(&code(&platform), redirect, verifier));
            assert_eq!(refused.1, json!({ "error": "invalid_grant" }), "{redirect} {verifier}");
        }
        let refused = exchange(&platform, &sound, &[("grant_type", "password")]);
        assert_eq!(refused.1, json!({ "error": "unsupported_grant_type" }));
    }

    #[test]
    fn an_authorize_request_must_be_complete() {
        let platform = platform();
        let ask = |changed, value| {
            let query = parameters(changed, value);
            let page = send(&platform, "GET", &format!("/authorize?{query}"), "", "");
            assert_eq!(
                send(&platform, "POST", "/authorize", "", &query).headers().get(LOCATION).is_some(),
                page.status() == 200
            );
            page
        };
        assert_eq!(ask("", "").status(), StatusCode::OK);
        for (name, value) in [
            ("response_type", "token"),
            ("client_id", "other"),
            ("redirect_uri", "https://elsewhere.example"),
            ("code_challenge", ""),
            ("code_challenge_method", "plain"),
        ] {
            assert_eq!(ask(name, value).status(), StatusCode::BAD_REQUEST, "{name}");
        }
        let page = ask("state", "\"><script>").into_body();
        assert!(!page.contains("\"><script>"), "{page}");
    }

    #[test]
    fn a_buyer_who_refuses_is_sent_back_with_an_error() {
        let response = send(&platform(), "POST", "/authorize", "", &parameters("account", ""));
        let target = response.headers()[LOCATION].to_str().unwrap();
        assert!(target.ends_with("?error=access_denied&state=a+state"), "{target}");
    }
}
