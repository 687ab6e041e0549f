//! Forged tokens, beyond those that [`crate::access`] sends to every endpoint.

use crate::support::assert_unauthorized;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};
use tests::{Call, NOW, Reply, TestStore, repository};

pub const FOREIGN: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The signing key of the test store, and its kid.
pub fn key() -> (String, Vec<u8>) {
    let text = std::fs::read_to_string(repository().join("events/token-keys.json")).unwrap();
    let keys: Value = serde_json::from_str(&text).unwrap();
    let (kid, secret) = keys.as_object().unwrap().iter().next().unwrap();
    (kid.clone(), secret.as_str().unwrap().as_bytes().to_vec())
}

fn hs256(secret: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
}

/// Thornwick's claims.
pub fn claims() -> String {
    json!({ "sub": "1", "iat": NOW - 60, "exp": NOW + 3_600, "iss": "storefront" }).to_string()
}

/// The same claims with one of them as a text of JSON.
fn with(name: &str, value: &str) -> String {
    let mut claims: Value = serde_json::from_str(&claims()).unwrap();
    claims[name] = json!("HERE");
    claims.to_string().replace("\"HERE\"", value)
}

pub fn header() -> String {
    json!({ "alg": "HS256", "typ": "JWT", "kid": key().0 }).to_string()
}

/// Header and claims in base64.
pub fn text(header: &str, claims: &str) -> String {
    format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims))
}

pub fn signed(header: &str, claims: &str, secret: &[u8]) -> String {
    let text = text(header, claims);
    format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(hs256(secret, &text)))
}

pub fn ours(header: &str, claims: &str) -> String {
    signed(header, claims, &key().1)
}

/// A token of a login by name, as they were issued before logins had ids.
pub fn without_login_id(user: u64) -> String {
    let claims = json!({ "sub": user.to_string(), "iat": NOW, "exp": NOW + 3_600, "iss": "storefront", "via": "name" });
    ours(&header(), &claims.to_string())
}

async fn send(store: &TestStore, token: &str) -> Reply {
    store.send(Call::post("/user").token(token)).await
}

/// Every token is refused, as a header and as a cookie, before the table is read.
async fn all_are_refused(tokens: impl IntoIterator<Item = String>) {
    let store = TestStore::open().await;
    assert_eq!(send(&store, &ours(&header(), &claims())).await.status, 200, "the token that the others are made of");
    let cookie = |token: &str| Call::get("/checkAccessibility").header("cookie", &format!("token={token}"));
    assert_eq!(store.send(cookie(&ours(&header(), &claims()))).await.json()["success"], true);
    store.calls.clear();
    for token in tokens {
        assert_unauthorized(&send(&store, &token).await);
        // What separates cookies cannot be in one.
        if token.is_ascii() && !token.contains([';', ' ', '"', '=']) {
            assert_eq!(store.send(cookie(&token)).await.json()["status"], "invalid_token", "{token}");
        }
    }
    assert_eq!(store.calls.operations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused_however_none_is_written() {
    let (kid, secret) = key();
    let names = ["none", "None", "NONE", "nOnE", "none ", "", "HS256\0", "hs256", "HS256 ", "null"];
    let headers = names.map(|alg| json!({ "alg": alg, "kid": kid }).to_string());
    let odd = ["{}", r#"{"alg":null}"#, r#"{"alg":["HS256"]}"#, r#"{"alg":true}"#, "[]", "null", "\"HS256\""];
    let headers = headers.into_iter().chain(odd.map(str::to_owned));
    let tokens = headers.flat_map(|header| {
        let text = text(&header, &claims());
        [text.clone(), format!("{text}."), format!("{text}.AA"), signed(&header, &claims(), &secret)]
    });
    all_are_refused(tokens).await;
}

#[tokio::test]
async fn another_algorithm_is_refused_also_with_our_key() {
    let (kid, secret) = key();
    let names = ["HS384", "HS512", "RS256", "RS512", "PS256", "ES256", "ES384", "EdDSA", "ES256K"];
    let tokens = names.into_iter().flat_map(|alg| {
        let header = json!({ "alg": alg, "kid": kid }).to_string();
        let text = text(&header, &claims());
        let long = Hmac::<Sha512>::new_from_slice(&secret).unwrap().chain_update(&text).finalize().into_bytes();
        [signed(&header, &claims(), &secret), format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(long))]
    });
    all_are_refused(tokens).await;
}

#[tokio::test]
async fn a_signature_of_another_length_is_refused() {
    let text = text(&header(), &claims());
    let code = hs256(&key().1, &text);
    let longer = [code.clone(), vec![0]].concat();
    let codes = [&code[..31], &code[..1], &[], &longer];
    all_are_refused(codes.map(|code| format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(code)))).await;
}

#[tokio::test]
async fn a_kid_is_a_name_and_never_a_path_a_query_or_a_pattern() {
    let (kid, secret) = key();
    let names = [
        "../../../../dev/null".to_owned(),
        "/dev/null".to_owned(),
        "file:///dev/null".to_owned(),
        "https://evil.example/key".to_owned(),
        "x' UNION SELECT 'key".to_owned(),
        "*".to_owned(),
        String::new(),
        format!("{kid}\0"),
        format!("{kid} "),
        kid.to_uppercase(),
        "k".repeat(2_000),
    ];
    let of = |kid: &Value| json!({ "alg": "HS256", "kid": kid }).to_string();
    let with_name = names.iter().flat_map(|kid| {
        let header = of(&json!(kid));
        [b"".as_slice(), b"key", kid.as_bytes(), FOREIGN, &secret].map(|secret| signed(&header, &claims(), secret))
    });
    let odd = [json!(1), json!([kid]), json!({ "kid": kid }), json!(true)].map(|kid| ours(&of(&kid), &claims()));
    all_are_refused(with_name.chain(odd).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_key_that_the_token_brings_along_is_not_used() {
    let key_set = json!({ "kty": "oct", "alg": "HS256", "k": BASE64_URL_SAFE_NO_PAD.encode(FOREIGN) });
    let brought = [
        ("jwk", key_set.clone()),
        ("jku", json!("https://evil.example/keys.json")),
        ("x5u", json!("https://evil.example/chain.pem")),
        ("x5c", json!([BASE64_STANDARD.encode(FOREIGN)])),
        ("k", json!(BASE64_URL_SAFE_NO_PAD.encode(FOREIGN))),
        ("keys", json!([key_set])),
    ];
    let tokens = brought.into_iter().flat_map(|(name, value)| {
        [json!({ "alg": "HS256", name: value, "kid": key().0 }), json!({ "alg": "HS256", name: value })]
            .map(|header| signed(&header.to_string(), &claims(), FOREIGN))
    });
    all_are_refused(tokens).await;
}

#[tokio::test]
async fn a_field_that_is_there_twice_is_refused() {
    let (kid, _) = key();
    let headers = [
        format!(r#"{{"alg":"none","alg":"HS256","kid":"{kid}"}}"#),
        format!(r#"{{"alg":"HS256","alg":"none","kid":"{kid}"}}"#),
        format!(r#"{{"alg":"HS256","kid":"other","kid":"{kid}"}}"#),
    ];
    let doubled = |name: &str, value: &str| claims().replacen('{', &format!("{{\"{name}\":{value},"), 1);
    let claims_twice =
        [doubled("sub", "\"2\""), doubled("exp", "99999999999"), doubled("iat", "1"), doubled("iss", "\"x\"")];
    let tokens = headers.iter().map(|header| ours(header, &claims()));
    all_are_refused(tokens.chain(claims_twice.iter().map(|claims| ours(&header(), claims))).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn times_that_are_not_whole_numbers_of_seconds_are_refused() {
    let of_any = ["\"1e9\"", "null", "true", "[]", "{}", "1e400", "-1e400", "18446744073709551615", "1.5", "\"\""];
    let expired = ["-1", "0", "-9223372036854775808"];
    let exp = of_any.iter().chain(&expired).map(|value| ours(&header(), &with("exp", value)));
    let iat = of_any.iter().map(|value| ours(&header(), &with("iat", value)));
    all_are_refused(exp.chain(iat).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn the_largest_times_do_not_overflow() {
    let store = TestStore::open().await;
    let largest = i64::MAX.to_string();
    for claims in [with("exp", &largest), with("iat", &largest)] {
        assert_eq!(send(&store, &ours(&header(), &claims)).await.status, 200, "signed with our key: {claims}");
    }
    for claims in [with("iat", "-9223372036854775808"), with("iat", "0")] {
        assert_unauthorized(&send(&store, &ours(&header(), &claims)).await);
    }
}

#[tokio::test]
async fn a_subject_that_is_not_an_id_of_digits_is_refused() {
    let subjects =
        [r#""01""#, r#""+1""#, r#"" 1""#, r#""1 ""#, r#""1\u0000""#, r#""１""#, r#""1e0""#, r#""0x1""#, "1", "-1"];
    let others = [r#""18446744073709551617""#, r#""USER#1""#, r#""1/../2""#, r#"["1"]"#, "\"\""];
    let subjects = subjects.into_iter().chain(others);
    all_are_refused(subjects.map(|subject| ours(&header(), &with("sub", subject)))).await;
}

#[tokio::test]
async fn another_spelling_of_base64_is_not_the_same_token() {
    let token = ours(&header(), &claims());
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, code] = parts.as_slice() else { panic!("three parts") };
    let code_bytes = BASE64_URL_SAFE_NO_PAD.decode(code).unwrap();
    let mut tokens = vec![
        format!("{head}.{body}.{}", BASE64_URL_SAFE.encode(&code_bytes)),
        format!("{head}=.{body}.{code}"),
        format!("{head}.{body}==.{code}"),
        format!("{head}.{body}. {code}"),
        format!("{head}.{body} .{code}"),
        format!("{head}.{body}.{code}\u{a0}"),
        format!("{head}.{body}.{code}."),
        format!(".{head}.{body}.{code}"),
        format!("{head}..{body}.{code}"),
        format!("{head}.{body}.{code}.{code}"),
        format!("{head}.{body}.{body}.{code}"),
        format!("{head}.{body}"),
        format!("{head}%2E{body}%2E{code}"),
        format!("{head}。{body}。{code}"),
        format!("\u{feff}{token}"),
        format!("{token}\u{200b}"),
        token.to_lowercase(),
        token.to_uppercase(),
    ];
    // The last of 43 characters has two bits that no byte uses: three other characters would decode to the same code.
    let last = code.chars().last().unwrap();
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let place = alphabet.find(last).unwrap();
    assert_eq!(place % 4, 0);
    tokens
        .extend((1..4).map(|bits| format!("{}{}", &token[..token.len() - 1], &alphabet[place + bits..=place + bits])));
    all_are_refused(tokens).await;
}

#[tokio::test]
async fn the_signature_is_compared_in_the_url_alphabet_only() {
    let (header, secret) = (header(), key().1);
    let store = TestStore::open().await;
    // Most codes have a character in which the two alphabets differ.
    let mut seen = 0;
    for exp in NOW + 3_600..NOW + 3_640 {
        let text = text(&header, &with("exp", &exp.to_string()));
        let code = hs256(&secret, &text);
        let (standard, url) = (BASE64_STANDARD.encode(&code), BASE64_URL_SAFE_NO_PAD.encode(&code));
        let standard = standard.trim_end_matches('=');
        if standard != url {
            seen += 1;
            assert_eq!(send(&store, &format!("{text}.{url}")).await.status, 200);
            assert_unauthorized(&send(&store, &format!("{text}.{standard}")).await);
        }
    }
    assert!(seen > 0);
}

#[tokio::test]
async fn a_token_has_at_most_4096_bytes() {
    let store = TestStore::open().await;
    // Padding in the header changes the length by four thirds of a byte: every length but one in four can be met.
    let padded = |bytes: usize| {
        let mut header = json!({ "alg": "HS256", "kid": key().0, "pad": "" });
        for length in 0.. {
            header["pad"] = json!("x".repeat(length));
            let token = ours(&header.to_string(), &claims());
            if token.len() >= bytes {
                return token;
            }
        }
        unreachable!()
    };
    let (longest, longer) = (padded(4_095), padded(4_097));
    assert!(longest.len() <= 4_096 && longer.len() <= 4_098, "{} {}", longest.len(), longer.len());
    assert_eq!(send(&store, &longest).await.status, 200);
    assert_unauthorized(&send(&store, &longer).await);
}

#[tokio::test]
async fn a_token_with_a_field_that_is_not_ours_is_read_without_it() {
    let store = TestStore::open().await;
    for (name, value) in [("admin", "true"), ("role", "\"owner\""), ("scope", "[\"*\"]"), ("user_id", "2")] {
        let reply = send(&store, &ours(&header(), &with(name, value))).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["id"]), (200, &json!(1)), "{name}");
    }
    assert_unauthorized(&send(&store, &ours(&header(), &with("via", "\"owner\""))).await);
}
