//! The stand-in refuses what a chat platform refuses.

use super::*;

const REDIRECT: &str = "http://127.0.0.1:4010/auth/chat/callback";
const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more";

fn platform() -> ChatPlatform {
    let client = Client { id: "store".to_owned(), redirect_url: REDIRECT.to_owned() };
    ChatPlatform::new(client)
}

fn send(platform: &ChatPlatform, method: &str, target: &str, authorization: &str, body: &str) -> Response<String> {
    let request = Request::builder().method(method).uri(target).header(AUTHORIZATION, authorization).body(()).unwrap();
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
