//! Access tokens, chat states and Stripe's webhook events: what is accepted was signed with one of the keys.

use crate::{Outcome, PARSER, mutate, tries};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use sha2::{Sha256, Sha512};
use shared::http::bearer::Bearer;
use shared::token::{LONGEST_TOKEN, TokenKeys};
use stripe::webhook::{TOLERANCE, verify};
use stripe::{Event, ObjectId, WebhookSecret};
use tests::{NOW, repository};

/// HMAC-SHA256.
pub fn hmac(secret: &[u8], text: &[u8]) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

fn hmac_sha512(secret: &[u8], text: &[u8]) -> Vec<u8> {
    Hmac::<Sha512>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

/// A part of a token in base64, mostly as the standard wants it.
fn encoded(way: u8, part: &[u8]) -> String {
    match way {
        11 => BASE64_STANDARD.encode(part),
        10 => BASE64_URL_SAFE.encode(part),
        _ => BASE64_URL_SAFE_NO_PAD.encode(part),
    }
}

fn tokens(secrets: &Map<String, Value>) -> impl Strategy<Value = String> + use<> {
    let kid = secrets.keys().next().unwrap().clone();
    let ours: Vec<Vec<u8>> = secrets.values().map(|secret| secret.as_str().unwrap().as_bytes().to_vec()).collect();
    let derived = hmac(&ours[0], b"chat-state");
    let others = [Vec::new(), b"0123456789abcdef0123456789abcdef".to_vec(), kid.clone().into_bytes()].to_vec();
    let secret = prop_oneof![4 => select(ours), 1 => Just(derived), 2 => select(others)];
    let header = json!({ "alg": "HS256", "typ": "JWT", "kid": kid });
    let claims = json!({ "sub": "1", "iat": NOW, "exp": NOW + 3_600, "iss": "storefront", "via": "name" });
    let state = json!({ "nonce": "00ff", "iat": NOW, "exp": NOW + 600, "iss": "storefront/chat-state" });
    let claims = || prop_oneof![3 => Just(claims.clone()), 1 => Just(state.clone())];
    let whole = claims().prop_map({
        let header = header.to_string();
        move |claims| (header.clone(), claims.to_string())
    });
    let parts = prop_oneof![1 => whole, 2 => (mutate::json_text(Just(header)), mutate::json_text(claims()))];
    let ways = (0..12_u8, 0..12_u8, 0..10_u8);
    (parts, secret, ways, mutate::rarely()).prop_map(|((header, claims), secret, (first, second, code), edits)| {
        let text = format!("{}.{}", encoded(first, header.as_bytes()), encoded(second, claims.as_bytes()));
        let sign = if code == 9 { hmac_sha512 } else { hmac };
        mutate::text(&format!("{text}.{}", encoded(0, &sign(&secret, text.as_bytes()))), &edits)
    })
}

#[test]
fn access_tokens() {
    let text = std::fs::read_to_string(repository().join("events/token-keys.json")).unwrap();
    let keys = TokenKeys::parse(&text).unwrap();
    let secrets: Map<String, Value> = serde_json::from_str(&text).unwrap();
    tries("token", PARSER, tokens(&secrets), |token| verified(&keys, &secrets, &token));
}

fn verified(keys: &TokenKeys, secrets: &Map<String, Value>, token: &str) -> Outcome {
    let (claim, state) = (keys.verify(token, NOW), keys.verify_state(token, NOW));
    prop_assert!(claim.is_err() || state.is_err(), "both a token and a state");
    // The header says the same as the token in it.
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        prop_assert_eq!(Bearer::of(&headers, keys, NOW).claim(), keys.verify(token.trim(), NOW).ok());
    }
    if claim.is_err() && state.is_err() {
        return Ok(false);
    }
    let decoded: Vec<Vec<u8>> = token.split('.').flat_map(|part| BASE64_URL_SAFE_NO_PAD.decode(part)).collect();
    let [header, claims, signature] = decoded.as_slice() else {
        return Err(TestCaseError::fail("not three parts in base64"));
    };
    let [header, claims] = [header, claims].map(|part| serde_json::from_slice::<Value>(part).unwrap_or_default());
    prop_assert!(token.split('.').count() == 3 && token.len() <= LONGEST_TOKEN, "more than {LONGEST_TOKEN} bytes");
    prop_assert_eq!(&header["alg"], "HS256");
    prop_assert!(claims["exp"].as_i64().is_some_and(|exp| exp >= NOW - 60), "accepted: {claims}");
    prop_assert_eq!(&claims["iss"], if claim.is_ok() { "storefront" } else { "storefront/chat-state" });
    let (text, _) = token.rsplit_once('.').unwrap();
    let is_ours = secrets.values().any(|secret| {
        let secret = secret.as_str().unwrap().as_bytes();
        let secret = if claim.is_ok() { secret.to_vec() } else { hmac(secret, b"chat-state") };
        hmac(&secret, text.as_bytes()) == *signature
    });
    prop_assert!(is_ours, "accepted, and not signed by one of our keys");
    if let Ok(claim) = claim {
        prop_assert_eq!(&claims["sub"], &claim.user.to_string());
        prop_assert_eq!(claims["iat"].as_i64(), Some(claim.issued_at));
    }
    Ok(true)
}

const SECRETS: [&str; 2] = ["whsec_new", "whsec_old"];

/// A webhook event is accepted over these bytes and at this time only.
#[test]
fn webhooks() {
    let secrets = SECRETS.map(|secret| WebhookSecret::parse(secret).unwrap());
    let event = json!({
        "id": "evt_1", "object": "event", "type": "checkout.session.completed", "created": NOW, "livemode": false,
        "data": { "object": { "id": "cs_test_1", "payment_intent": "pi_1", "charge": "ch_1" } },
    });
    let away = select(vec![0, 0, 0, 299, -300, 301, -301, 86_400]);
    let secret = select(vec!["whsec_new", "whsec_old", "whsec_foreign", ""]);
    let changes = (mutate::rarely(), mutate::rarely());
    let inputs = (mutate::json_text(Just(event)), away, secret, 0..4_u8, changes);
    let inputs = inputs.prop_map(|(body, away, secret, way, (in_header, in_body))| {
        let at = NOW + away;
        let v1 = hex::encode(hmac(secret.as_bytes(), format!("{at}.{body}").as_bytes()));
        let header = match way {
            3 => format!("t={at},v1={v1},v0=legacy"),
            2 => format!("v1={},v1={v1}, t={at}", "00".repeat(32)),
            _ => format!("t={at},v1={v1}"),
        };
        (mutate::text(&header, &in_header), mutate::bytes(body.as_bytes(), &in_body))
    });
    tries("webhook", PARSER, inputs, |(header, body)| {
        let is_valid = verify(Some(&header), &body, &secrets, NOW).is_ok();
        if is_valid {
            signed(&header, &body)?;
        }
        if let Ok(event) = serde_json::from_slice::<Event>(&body) {
            let ids = [Some(&event.id), event.object.as_ref(), event.payment_intent.as_ref(), event.charge.as_ref()];
            let is_plain = |id: &ObjectId| id.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            prop_assert!(ids.into_iter().flatten().all(is_plain), "not safe in a path: {event:?}");
        }
        Ok(is_valid)
    });
}

fn signed(header: &str, body: &[u8]) -> Outcome {
    let values = |name: &str| {
        let parts = header.split(',').filter_map(|part| part.trim().split_once('='));
        parts.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
    };
    let times = values("t");
    let is_now = times.len() == 1 && times[0].parse::<i64>().is_ok_and(|time| time.abs_diff(NOW) <= TOLERANCE);
    prop_assert!(is_now, "accepted of {times:?}");
    let text = [times[0].as_bytes(), b".", body].concat();
    let expected = SECRETS.map(|secret| hex::encode(hmac(secret.as_bytes(), &text)));
    let is_ours = values("v1").iter().any(|v1| expected.contains(&v1.to_ascii_lowercase()));
    prop_assert!(is_ours, "accepted, and signed by none of our secrets");
    Ok(true)
}
