//! Who is let in where: every endpoint with every kind of `Authorization` header (rulings 1, 2 and 4).

use crate::support::{assert_unauthorized, fields};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384};
use shared::model::UserId;
use shared::store::keys;
use tests::{Call, NOW, Reply, TestStore, repository};

/// Route keys of every endpoint with an access test here: first those that read a token, then those that do not.
pub const COVERED: &[&str] = &[
    "POST /cart/acceptCoupon",
    "POST /cart/setReferral",
    "POST /cart/removeReferral",
    "POST /cart/get",
    "POST /cart/getPromoted",
    "POST /cart/getSelectServers",
    "POST /user",
    "POST /categories/get/{url+}",
    "POST /pages/get",
    "POST /items/getFeaturedDeals",
    "POST /payments/checkStatus",
    "GET /categories/get",
    "POST /categories/get",
    "GET /staff",
    "GET /settings/get",
    "GET /patrons/get",
    "GET /auth/chat",
];

/// How many of [`COVERED`] read a token.
pub const READERS: usize = 11;

/// What a header comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No token, or one that is not ours or no longer.
    Refused,
    /// A sound token that speaks for nobody: no such user, or revoked.
    Gone,
    /// Thornwick's token.
    Accepted,
}

/// A header by what it is about; `None` where none is sent.
type Case = (&'static str, Kind, Option<String>);

fn bearer(what: &'static str, kind: Kind, token: &str) -> Case {
    (what, kind, Some(format!("Bearer {token}")))
}

/// The first key that tokens are signed with, and its kid.
fn first_key() -> (String, String) {
    let text = std::fs::read_to_string(repository().join("events/token-keys.json")).unwrap_or_default();
    let keys: Value = serde_json::from_str(&text).unwrap_or_default();
    let first = keys.as_object().and_then(|keys| keys.iter().next());
    first.map(|(kid, secret)| (kid.clone(), secret.as_str().unwrap_or_default().to_owned())).unwrap_or_default()
}

fn part(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

fn sign(text: &str, secret: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map(|mac| mac.chain_update(text).finalize());
    format!("{text}.{}", mac.map(|code| BASE64_URL_SAFE_NO_PAD.encode(code.into_bytes())).unwrap_or_default())
}

fn sign_384(text: &str, secret: &str) -> String {
    let mac = Hmac::<Sha384>::new_from_slice(secret.as_bytes()).map(|mac| mac.chain_update(text).finalize());
    format!("{text}.{}", mac.map(|code| BASE64_URL_SAFE_NO_PAD.encode(code.into_bytes())).unwrap_or_default())
}

/// The claims of a sound token of Thornwick's, with some of them set otherwise; null leaves one out.
fn claims(changed: &[(&str, Value)]) -> Value {
    let mut claims = json!({"sub": "1", "iat": NOW - 60, "exp": NOW + 3_600, "iss": "storefront"});
    for (name, value) in changed {
        claims[*name] = value.clone();
    }
    if let Some(claims) = claims.as_object_mut() {
        claims.retain(|_, value| !value.is_null());
    }
    claims
}

/// A sound token with a character of its signature exchanged.
fn with_another_signature(token: &str) -> String {
    let start = token.rfind('.').map_or(0, |dot| dot + 1);
    let other = if token[start..].starts_with('A') { "B" } else { "A" };
    format!("{}{other}{}", &token[..start], &token[start + 1..])
}

/// Headers without a token, or with something that is none.
fn without_a_token(store: &TestStore) -> Vec<Case> {
    let as_sent = |what, header: &str| (what, Kind::Refused, Some(header.to_owned()));
    let token = store.token("Thornwick");
    vec![
        ("no header", Kind::Refused, None),
        as_sent("an empty header", ""),
        as_sent("Bearer alone", "Bearer"),
        as_sent("Bearer and a space", "Bearer "),
        as_sent("Bearer undefined", "Bearer undefined"),
        as_sent("Bearer null", "Bearer null"),
        as_sent("another scheme", "Basic VGhvcm53aWNrOjE="),
        as_sent("another scheme with a sound token", &format!("Token {token}")),
        as_sent("a token without a scheme", &token),
        as_sent("two tokens", &format!("Bearer {token}, Bearer {token}")),
        as_sent("no JWT", "Bearer a.b.c"),
        as_sent("bytes that are no ASCII", "Bearer é💎\t"),
        as_sent("a token cut short", &format!("Bearer {}", &token[..token.len() - 20])),
    ]
}

/// Tokens that somebody made who is not us, or that are over.
fn forged() -> Vec<Case> {
    let (kid, secret) = first_key();
    let head = part(&json!({"alg": "HS256", "typ": "JWT", "kid": kid}));
    let ours = |changed: &[(&str, Value)]| sign(&format!("{head}.{}", part(&claims(changed))), &secret);
    let headed = |header: &Value| format!("{}.{}", part(header), part(&claims(&[])));
    let none = headed(&json!({"alg": "none", "kid": kid}));
    let hs384 = headed(&json!({"alg": "HS384", "kid": kid}));
    let unknown_kid = headed(&json!({"alg": "HS256", "kid": "other"}));
    let sound = headed(&json!({"alg": "HS256", "kid": kid}));
    let padding = json!("x".repeat(4_096));
    let refused = |what, token: String| bearer(what, Kind::Refused, &token);
    vec![
        refused("a forged signature", with_another_signature(&ours(&[]))),
        refused("no signature", format!("{sound}.")),
        refused("alg none without a signature", format!("{none}.")),
        refused("alg none, signed with our key", sign(&none, &secret)),
        refused("alg HS384 over a signature of HS256", sign(&hs384, &secret)),
        refused("alg HS384, signed with our key", sign_384(&hs384, &secret)),
        refused("an unknown kid", sign(&unknown_kid, &secret)),
        refused("a foreign key", sign(&sound, "0123456789abcdef0123456789abcdef")),
        refused("no key at all", sign(&sound, "")),
        refused("no exp", ours(&[("exp", Value::Null)])),
        refused("an exp that is no number", ours(&[("exp", json!("never"))])),
        refused("expired beyond the leeway", ours(&[("exp", json!(NOW - 61))])),
        refused("another iss", ours(&[("iss", json!("somebody"))])),
        refused("no iss", ours(&[("iss", Value::Null)])),
        refused("no sub", ours(&[("sub", Value::Null)])),
        refused("a sub that is no id", ours(&[("sub", json!("1 or 2"))])),
        refused("no iat", ours(&[("iat", Value::Null)])),
        refused("overlong", ours(&[("pad", padding)])),
        bearer("expired within the leeway", Kind::Accepted, &ours(&[("exp", json!(NOW - 59))])),
        bearer("made as the forged ones are, but sound", Kind::Accepted, &ours(&[])),
    ]
}

/// Every header, and what it comes to.
fn cases(store: &TestStore) -> Vec<Case> {
    let state = store.keys.sign_state("0123", NOW).unwrap_or_default();
    let mut cases = without_a_token(store);
    cases.extend(forged());
    cases.extend([
        bearer("the state of a chat login", Kind::Refused, &state),
        bearer("a user that does not exist", Kind::Gone, &store.token_of(UserId::new(999))),
        bearer("a revoked user", Kind::Gone, &store.token("Grimble")),
        bearer("a sound token", Kind::Accepted, &store.token("Thornwick")),
        ("a scheme in lower case", Kind::Accepted, Some(format!("bearer {}", store.token("Thornwick")))),
    ]);
    cases
}

fn with(call: Call, case: &Case, place: usize) -> Call {
    // Every case comes from an address of its own, so that none meets the limit of another.
    let call = call.from_ip(&format!("203.0.113.{place}"));
    case.2.iter().fold(call, |call, header| call.header("authorization", header))
}

/// A request to a route that a sound token of Thornwick's gets an ordinary answer to.
fn request(route: &str) -> Call {
    let (method, path) = route.split_once(' ').unwrap_or_default();
    let path = path.replace("{url+}", "ranks");
    let call = if method == "GET" { Call::get(&path) } else { Call::post(&path) };
    match path.as_str() {
        "/cart/acceptCoupon" => call.json(&json!({"coupon": "THREEBACK"})),
        "/cart/setReferral" => call.json(&json!({"ref_code": "lantern"})),
        "/pages/get" => call.json(&json!({"url": "rules"})),
        "/payments/checkStatus" => call.json(&json!({"order_id": "4mjyi2i34hbzt6b6"})),
        _ => call,
    }
}

#[track_caller]
fn assert_refused(route: &str, case: &Case, reply: &Reply, logged_out: &Reply) {
    let status = match (route, case.1) {
        ("POST /pages/get", Kind::Gone) | ("POST /items/getFeaturedDeals", _) => 200,
        _ => 401,
    };
    assert_eq!(reply.status, status, "{route}: {}: {}", case.0, reply.text);
    match (route, case.1) {
        ("POST /pages/get", Kind::Gone) => assert_eq!(reply.json()["success"], true),
        ("POST /items/getFeaturedDeals", _) => assert_eq!(reply.text, logged_out.text, "{}", case.0),
        ("POST /payments/checkStatus", _) => {
            assert_eq!(reply.header("www-authenticate"), "Bearer");
            assert_eq!(reply.text, r#"{"status":"error","message":"Unauthorized"}"#);
        }
        _ => assert_unauthorized(reply),
    }
}

#[tokio::test]
async fn every_endpoint_that_reads_a_token_refuses_all_that_is_none_and_writes_nothing() {
    for route in &COVERED[..READERS] {
        let store = TestStore::open().await;
        let logged_out = store.send(request(route)).await;
        for (place, case) in cases(&store).iter().enumerate().filter(|(_, case)| case.1 != Kind::Accepted) {
            store.calls.clear();
            let reply = store.send(with(request(route), case, place)).await;
            assert_refused(route, case, &reply, &logged_out);
            // checkStatus counts the request, and opens the window of an address that is new.
            let counted = if *route == "POST /payments/checkStatus" { 2 } else { 0 };
            assert!(store.calls.writes() <= counted, "{:?}", store.calls.operations());
        }
        let cart = store.db.get(&keys::cart(UserId::new(1)), true).await.unwrap().unwrap();
        assert_eq!(cart["version"].as_n().unwrap(), "1", "{route}");
    }
}

#[tokio::test]
async fn every_endpoint_that_reads_a_token_accepts_a_sound_one() {
    for route in &COVERED[..READERS] {
        let store = TestStore::open().await;
        let logged_out = store.send(request(route)).await;
        for (place, case) in cases(&store).iter().enumerate().filter(|(_, case)| case.1 == Kind::Accepted) {
            let reply = store.send(with(request(route), case, place)).await;
            assert_eq!(reply.status, 200, "{route}: {}: {}", case.0, reply.text);
            assert_ne!(reply.text, logged_out.text, "{route}: {}", case.0);
        }
    }
}

#[tokio::test]
async fn endpoints_that_read_no_token_answer_alike_with_any_header() {
    let store = TestStore::open().await;
    for route in &COVERED[READERS..] {
        let seen = |reply: &Reply| {
            let mut body = reply.json();
            if *route == "GET /auth/chat" {
                let url = body["url"].as_str().unwrap_or_default().to_owned();
                // The state is another one every time.
                let rest: Vec<&str> = url.split(['?', '&']).filter(|pair| !pair.starts_with("state=")).collect();
                body["url"] = json!(rest);
            }
            (reply.status, reply.header("etag").to_owned(), reply.header("cache-control").to_owned(), body)
        };
        let expected = store.send(request(route)).await;
        assert_eq!(expected.status, 200);
        for (place, case) in cases(&store).iter().enumerate() {
            let reply = store.send(with(request(route), case, place)).await;
            assert_eq!(seen(&reply), seen(&expected), "{route}: {}", case.0);
        }
    }
}

#[tokio::test]
async fn the_token_comes_before_the_body() {
    let store = TestStore::open().await;
    // checkStatus needs no token for an order without an owner, so there the body comes first.
    let routes = COVERED[..READERS]
        .iter()
        .filter(|route| !["POST /payments/checkStatus", "POST /items/getFeaturedDeals"].contains(*route));
    for route in routes {
        for body in ["{", "[]", "{}", &"x".repeat(16 * 1024 + 1)] {
            for token in ["undefined", "a.b.c"] {
                assert_unauthorized(&store.send(request(route).bytes(body).token(token)).await);
            }
        }
    }
}

#[tokio::test]
async fn a_token_issued_before_the_users_tokens_became_valid_is_refused() {
    let store = TestStore::open().await;
    let ((kid, secret), key) = (first_key(), keys::user(UserId::new(1)));
    let mut user = store.db.get(&key, true).await.unwrap().unwrap();
    let after = aws_sdk_dynamodb::types::AttributeValue::N(NOW.to_string());
    user.insert("tokens_valid_after".to_owned(), after);
    crate::support::put(&store, user).await;
    let header = part(&json!({"alg": "HS256", "kid": kid}));
    let issued = |at: i64| sign(&format!("{header}.{}", part(&claims(&[("iat", json!(at))]))), &secret);
    assert_unauthorized(&store.send(Call::post("/user").token(&issued(NOW - 1))).await);
    assert_eq!(store.send(Call::post("/user").token(&issued(NOW))).await.status, 200);
}

/// Ruling 4: what a caller without a sound token may look up.
#[tokio::test]
async fn an_order_without_an_owner_is_shown_to_everybody() {
    let store = TestStore::open().await;
    for (place, case) in cases(&store).iter().enumerate() {
        let ask = |order: &str| Call::post("/payments/checkStatus").json(&json!({ "order_id": order }));
        let guest = store.send(with(ask("ska237syhxydekce"), case, place)).await;
        assert_eq!((guest.status.as_u16(), &guest.json()["status"]), (200, &json!("success")), "{}", case.0);
        let unknown = store.send(with(ask("aaaaaaaaaaaaaaaa"), case, place)).await;
        assert_eq!((unknown.status.as_u16(), &unknown.json()["status"]), (200, &json!("not_found")), "{}", case.0);
        assert_eq!(fields(&unknown.json()), ["status", "message"]);
    }
}
