//! Access control: every endpoint with every kind of `Authorization` header (rules.md, "Tokens").

use crate::attacks::tokens;
use crate::support::{assert_unauthorized, open_to_guests, republish};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use shared::endpoint::{Access, InputKind};
use shared::model::UserId;
use shared::table::keys;
use tests::{Call, Endpoint, NOW, Reply, TestStore, endpoints};

/// Endpoints that check a token.
fn readers() -> impl Iterator<Item = Endpoint> {
    endpoints().into_iter().filter(|endpoint| endpoint.declaration.access != Access::Ignored)
}

/// Whether an endpoint refuses a caller without a valid token, for any data.
fn refuses(endpoint: &Endpoint) -> bool {
    matches!(endpoint.declaration.access, Access::Required | Access::RequiredOrGuest)
}

/// The kind of caller that a header makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No token, or one that is not valid.
    Refused,
    /// A verified token without an account that accepts it: no such user, revoked, or older than the account.
    Gone,
    /// Thornwick's token.
    Accepted,
}

/// A header with a description; `None` if none is sent.
type Case = (&'static str, Kind, Option<String>);

fn bearer(what: &'static str, kind: Kind, token: &str) -> Case {
    (what, kind, Some(format!("Bearer {token}")))
}

/// The claims of a valid token of Thornwick's, with some of them changed; null removes one.
fn claims(changed: &[(&str, Value)]) -> String {
    let mut claims: Value = serde_json::from_str(&tokens::claims()).unwrap();
    for (name, value) in changed {
        claims[*name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims.to_string()
}

/// A valid token with one character of its signature changed.
fn with_another_signature(token: &str) -> String {
    let start = token.rfind('.').map_or(0, |dot| dot + 1);
    let other = if token[start..].starts_with('A') { "B" } else { "A" };
    format!("{}{other}{}", &token[..start], &token[start + 1..])
}

/// Headers without a token, or with one that is malformed.
fn without_a_token(store: &TestStore) -> Vec<Case> {
    let as_sent = |what, header: &str| (what, Kind::Refused, Some(header.to_owned()));
    let token = store.token("Thornwick");
    vec![
        ("no header", Kind::Refused, None),
        as_sent("an empty header", ""),
        as_sent("Bearer without a token", "Bearer"),
        as_sent("Bearer and a space", "Bearer "),
        as_sent("Bearer undefined", "Bearer undefined"),
        as_sent("Bearer null", "Bearer null"),
        as_sent("another scheme", "Basic VGhvcm53aWNrOjE="),
        as_sent("another scheme with a sound token", &format!("Token {token}")),
        as_sent("a token without a scheme", &token),
        as_sent("two tokens", &format!("Bearer {token}, Bearer {token}")),
        as_sent("no JWT", "Bearer a.b.c"),
        as_sent("bytes that are not ASCII", "Bearer é💎\t"),
        as_sent("a token cut short", &format!("Bearer {}", &token[..token.len() - 20])),
    ]
}

/// Tokens of other issuers, and expired ones.
fn forged() -> Vec<Case> {
    let (kid, secret) = tokens::key();
    let ours = |changed: &[(&str, Value)]| tokens::ours(&tokens::header(), &claims(changed));
    let signed = |header: &Value, secret: &[u8]| tokens::signed(&header.to_string(), &claims(&[]), secret);
    let sound = json!({ "alg": "HS256", "kid": kid });
    let padding = json!("x".repeat(4_096));
    let refused = |what, token: String| bearer(what, Kind::Refused, &token);
    vec![
        refused("a forged signature", with_another_signature(&ours(&[]))),
        refused("no signature", format!("{}.", tokens::text(&sound.to_string(), &claims(&[])))),
        refused("alg none, signed with our key", signed(&json!({ "alg": "none", "kid": kid }), &secret)),
        refused("alg HS384 over a signature of HS256", signed(&json!({ "alg": "HS384", "kid": kid }), &secret)),
        refused("an unknown kid", signed(&json!({ "alg": "HS256", "kid": "other" }), &secret)),
        refused("a foreign key", signed(&sound, tokens::FOREIGN)),
        refused("no key at all", signed(&sound, b"")),
        refused("no exp", ours(&[("exp", Value::Null)])),
        refused("an exp that is not a number", ours(&[("exp", json!("never"))])),
        refused("expired beyond the leeway", ours(&[("exp", json!(NOW - 61))])),
        refused("another iss", ours(&[("iss", json!("another-service"))])),
        refused("no iss", ours(&[("iss", Value::Null)])),
        refused("no sub", ours(&[("sub", Value::Null)])),
        refused("a sub that is not an id", ours(&[("sub", json!("1 or 2"))])),
        refused("no iat", ours(&[("iat", Value::Null)])),
        refused("overlong", ours(&[("pad", padding)])),
        bearer("expired within the leeway", Kind::Accepted, &ours(&[("exp", json!(NOW - 59))])),
        bearer("made as the forged ones are, but sound", Kind::Accepted, &ours(&[])),
    ]
}

/// Every header, with the kind of caller that it makes.
fn cases(store: &TestStore) -> Vec<Case> {
    let state = store.keys.sign_state("0123", NOW).unwrap_or_default();
    let thornwick = TestStore::sample().live.users.iter().find(|user| user.username == "Thornwick");
    let (id, created_at) = thornwick.map_or((UserId::new(0), 0), |user| (user.id, user.created_at));
    let issued = |at: i64| store.keys.sign(id, at, NOW + 3_600 - at).unwrap_or_default();
    let mut cases = without_a_token(store);
    cases.extend(forged());
    cases.extend([
        bearer("the state of a chat login", Kind::Refused, &state),
        bearer("a user that does not exist", Kind::Gone, &store.token_of(UserId::new(999))),
        bearer("a revoked user", Kind::Gone, &store.token("Grimble")),
        bearer("a token older than the account", Kind::Gone, &issued(created_at - 61)),
        bearer("a token as old as the account, by a slow clock", Kind::Accepted, &issued(created_at - 60)),
        bearer("a sound token", Kind::Accepted, &store.token("Thornwick")),
        ("a scheme in lower case", Kind::Accepted, Some(format!("bearer {}", store.token("Thornwick")))),
    ]);
    cases
}

fn with(call: Call, case: &Case, place: usize) -> Call {
    // Every case has its own address, so that none reaches the rate limit of another.
    let call = call.from_ip(&format!("203.0.113.{place}"));
    case.2.iter().fold(call, |call, header| call.header("authorization", header))
}

#[track_caller]
fn assert_refused(endpoint: &Endpoint, case: &Case, reply: &Reply, logged_out: &Reply) {
    let what = format!("{}: {}: {}", endpoint.route, case.0, reply.text);
    if !refuses(endpoint) {
        assert_eq!((reply.status, &reply.text), (logged_out.status, &logged_out.text), "{what}");
    } else if case.1 == Kind::Gone && !endpoint.declaration.checks_account {
        assert_eq!(reply.status, 200, "{what}");
    } else {
        assert_eq!(reply.status, 401, "{what}");
        assert_unauthorized(reply);
    }
    if reply.status == 401 {
        assert_eq!(reply.header("www-authenticate"), "Bearer", "{what}");
    }
}

#[tokio::test]
async fn every_endpoint_that_reads_a_token_refuses_every_invalid_one_and_writes_nothing() {
    for endpoint in readers() {
        let store = TestStore::open().await;
        let cart = keys::cart(UserId::new(1));
        let before = store.db.get(&cart, true).await.unwrap();
        let logged_out = store.send(endpoint.anonymous_call()).await;
        for (place, case) in cases(&store).iter().enumerate().filter(|(_, case)| case.1 != Kind::Accepted) {
            store.calls.clear();
            let reply = store.send(with(endpoint.anonymous_call(), case, place)).await;
            assert_refused(&endpoint, case, &reply, &logged_out);
            assert!(store.calls.writes() <= endpoint.counting_writes(), "{:?}", store.calls.operations());
        }
        assert_eq!(store.db.get(&cart, true).await.unwrap(), before, "{}", endpoint.route);
    }
}

#[tokio::test]
async fn every_endpoint_that_reads_a_token_accepts_a_valid_one() {
    for endpoint in readers() {
        let store = TestStore::open().await;
        let logged_out = store.send(endpoint.anonymous_call()).await;
        for (place, case) in cases(&store).iter().enumerate().filter(|(_, case)| case.1 == Kind::Accepted) {
            let reply = store.send(with(endpoint.anonymous_call(), case, place)).await;
            assert_eq!(reply.status, endpoint.status(), "{}: {}: {}", endpoint.route, case.0, reply.text);
            assert_ne!(reply.text, logged_out.text, "{}: {}", endpoint.route, case.0);
        }
    }
}

#[tokio::test]
async fn endpoints_that_read_no_token_respond_the_same_with_any_header() {
    let store = TestStore::open().await;
    for endpoint in endpoints().iter().filter(|endpoint| endpoint.declaration.access == Access::Ignored) {
        let seen = |reply: &Reply| {
            let mut body = reply.data();
            if let Some(url) = body["url"].as_str() {
                // The state of a chat login is different every time, and so is what follows from it.
                let is_fresh = |pair: &&str| pair.starts_with("state=") || pair.starts_with("code_challenge=");
                body["url"] = json!(url.split(['?', '&']).filter(|pair| !is_fresh(pair)).collect::<Vec<_>>());
            }
            // A login's own id is in its token, so the token and its signature are different every time too.
            let is_json = reply.header("content-type") == "application/json";
            if let Some(issued) = body.as_str().filter(|_| is_json).and_then(|token| token.split('.').nth(1)) {
                let mut claims: Value =
                    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(issued).unwrap()).unwrap();
                claims["sid"].take();
                body = claims;
            }
            (reply.status, reply.header("etag").to_owned(), reply.header("cache-control").to_owned(), body)
        };
        // Its visitors send the token as a cookie; a header counts if there is none.
        if endpoint.declaration.input == InputKind::TokenCookie {
            continue;
        }
        let expected = store.send(endpoint.anonymous_call()).await;
        assert_eq!(expected.status, 200);
        for (place, case) in cases(&store).iter().enumerate() {
            let reply = store.send(with(endpoint.anonymous_call(), case, place)).await;
            assert_eq!(seen(&reply), seen(&expected), "{}: {}", endpoint.route, case.0);
        }
    }
}

#[tokio::test]
async fn the_token_comes_before_the_body() {
    let store = TestStore::open().await;
    for endpoint in readers().filter(refuses) {
        for body in ["{", "[]", "{}", &"x".repeat(16 * 1024 + 1)] {
            for token in ["undefined", "a.b.c"] {
                let reply = store.send(endpoint.anonymous_call().bytes(body).token(token)).await;
                assert_unauthorized(&reply);
            }
            for gone in [store.token("Grimble"), store.token_of(UserId::new(9_999))] {
                let reply = store.send(endpoint.anonymous_call().bytes(body).token(&gone)).await;
                assert!(reply.status == 401 || !endpoint.declaration.checks_account, "{}: {body:.9}", endpoint.route);
            }
        }
    }
}

#[tokio::test]
async fn a_token_issued_at_or_before_the_revocation_is_refused() {
    let store = TestStore::open().await;
    let key = keys::user(UserId::new(1));
    let mut user = store.db.get(&key, true).await.unwrap().unwrap();
    let after = aws_sdk_dynamodb::types::AttributeValue::N(NOW.to_string());
    user.insert("tokens_valid_after".to_owned(), after);
    crate::support::put(&store, user).await;
    let issued = |at: i64| tokens::ours(&tokens::header(), &claims(&[("iat", json!(at))]));
    for at in [NOW - 1, NOW] {
        assert_unauthorized(&store.send(Call::post("/user").token(&issued(at))).await);
    }
    assert_eq!(store.send(Call::post("/user").token(&issued(NOW + 1))).await.status, 200);
}

#[tokio::test]
async fn guest_mode_admits_callers_without_a_token_but_not_with_a_rejected_one() {
    for endpoint in readers().filter(|endpoint| endpoint.declaration.access == Access::RequiredOrGuest) {
        let store = open_to_guests().await;
        let call = || endpoint.anonymous_call();
        assert_eq!(store.send(call()).await.status, 200, "{}", endpoint.route);
        for logged_out in ["", "undefined", "Bearer", "Bearer undefined", "Bearer null"] {
            let reply = store.send(call().header("authorization", logged_out)).await;
            assert_eq!(reply.status, 200, "{}: {logged_out:?}", endpoint.route);
        }
        assert_unauthorized(&store.send(call().token("a.b.c")).await);
        let revoked = store.send(call().token(&store.token("Grimble"))).await;
        assert_eq!(revoked.status == 401, endpoint.declaration.checks_account, "{}", endpoint.route);
        republish(&store, |_| ()).await;
        assert_unauthorized(&store.send(call()).await);
    }
}
