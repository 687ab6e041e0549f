//! Access tokens and chat states: what is accepted was signed with one of the keys.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use harness::{NOW, repository};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};
use shared::http::bearer::Bearer;
use shared::token::{LONGEST, TokenKeys};

/// The verification of tokens and states.
#[derive(Debug)]
pub struct Token {
    keys: TokenKeys,
    /// Key ids and secrets.
    secrets: Vec<(String, Vec<u8>)>,
}

/// HMAC-SHA256.
pub fn hmac(secret: &[u8], text: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(secret).map(|mac| mac.chain_update(text).finalize());
    mac.map(|code| code.into_bytes().to_vec()).unwrap_or_default()
}

impl Token {
    /// A secret: one of ours, one that is derived from ours, or another.
    fn secret(&self, random: &mut Random) -> Vec<u8> {
        let ours = &random.pick(&self.secrets).1;
        match random.below(8) {
            0 => Vec::new(),
            1 => b"0123456789abcdef0123456789abcdef".to_vec(),
            2 => self.secrets.first().map(|(kid, _)| kid.clone().into_bytes()).unwrap_or_default(),
            3 => hmac(ours, b"chat-state"),
            _ => ours.clone(),
        }
    }

    /// Whether one of our secrets, or of what `derive` makes of them, signed the token.
    fn is_ours(&self, token: &str, derive: impl Fn(&[u8]) -> Vec<u8>) -> bool {
        let Some((text, signature)) = token.rsplit_once('.') else { return false };
        let Ok(signature) = BASE64_URL_SAFE_NO_PAD.decode(signature) else { return false };
        self.secrets.iter().any(|(_, secret)| hmac(&derive(secret), text.as_bytes()) == signature)
    }
}

/// The JSON of a part of a token.
fn part(token: &str, place: usize) -> Option<Value> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(place)?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A part in base64, mostly as the standard wants it.
fn encoded(random: &mut Random, text: &[u8]) -> String {
    match random.below(12) {
        0 => BASE64_STANDARD.encode(text),
        1 => BASE64_URL_SAFE.encode(text),
        _ => BASE64_URL_SAFE_NO_PAD.encode(text),
    }
}

impl Target for Token {
    const NAME: &'static str = "token";
    type Input = String;

    fn start() -> Result<Self, FuzzError> {
        let text = std::fs::read_to_string(repository().join("events/token-keys.json")).map_err(FuzzError::setup)?;
        let keys = TokenKeys::parse(&text).map_err(FuzzError::setup)?;
        let secrets: serde_json::Map<String, Value> = serde_json::from_str(&text).map_err(FuzzError::setup)?;
        let secret = |(kid, secret): (String, Value)| (kid, secret.as_str().unwrap_or_default().as_bytes().to_vec());
        Ok(Self { keys, secrets: secrets.into_iter().map(secret).collect() })
    }

    fn input(&self, random: &mut Random) -> String {
        let kid = &self.secrets[0].0;
        let header = json!({ "alg": "HS256", "typ": "JWT", "kid": kid });
        let claims = json!({ "sub": "1", "iat": NOW, "exp": NOW + 3_600, "iss": "storefront", "via": "name" });
        let state = json!({ "nonce": "00ff", "iat": NOW, "exp": NOW + 600, "iss": "storefront/chat-state" });
        let claims = if random.one_in(4) { state } else { claims };
        let unchanged = random.one_in(3);
        let of = |random: &mut Random, value: &Value| {
            if unchanged { value.to_string() } else { mutate::json_text(random, value) }
        };
        let (header, claims) = (of(random, &header), of(random, &claims));
        let text = format!("{}.{}", encoded(random, header.as_bytes()), encoded(random, claims.as_bytes()));
        let secret = self.secret(random);
        let signature = if random.one_in(10) {
            let mac = Hmac::<Sha512>::new_from_slice(&secret).map(|mac| mac.chain_update(&text).finalize());
            mac.map(|code| code.into_bytes().to_vec()).unwrap_or_default()
        } else {
            hmac(&secret, text.as_bytes())
        };
        let token = format!("{text}.{}", encoded(random, &signature));
        if random.one_in(3) { mutate::text(random, &token) } else { token }
    }

    fn check(&mut self, token: &String) -> Result<Outcome, String> {
        let (claim, state) = (self.keys.verify(token, NOW), self.keys.verify_state(token, NOW));
        rule(claim.is_err() || state.is_err(), || "both a token and a state".to_owned())?;
        if claim.is_ok() || state.is_ok() {
            let parts = (token.split('.').count(), token.len() <= LONGEST, part(token, 0), part(token, 1));
            let (3, true, Some(header), Some(claims)) = parts else {
                return Err(format!("not a JWT of at most {LONGEST} bytes: {parts:?}"));
            };
            rule(header["alg"] == "HS256", || format!("accepted: {header}"))?;
            rule(claims["exp"].as_i64().is_some_and(|exp| exp >= NOW - 60), || format!("accepted: {claims}"))?;
            let issuer = if claim.is_ok() { "storefront" } else { "storefront/chat-state" };
            rule(claims["iss"] == issuer, || format!("accepted: {claims}"))?;
            let derive = |secret: &[u8]| if claim.is_ok() { secret.to_vec() } else { hmac(secret, b"chat-state") };
            rule(self.is_ours(token, derive), || "accepted, and not signed by one of our keys".to_owned())?;
        }
        if let Ok(claim) = claim {
            let claims = part(token, 1).unwrap_or_default();
            rule(claims["sub"] == claim.user.to_string(), || format!("{claims} is {claim:?}"))?;
            rule(claims["iat"].as_i64() == Some(claim.issued_at), || format!("{claims} is {claim:?}"))?;
        }
        // The header says the same as the token in it.
        if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
            let of_header = Bearer::of(&headers, &self.keys, NOW).claim();
            let trimmed = self.keys.verify(token.trim(), NOW).ok();
            rule(of_header == trimmed, || format!("{of_header:?} by the header, {trimmed:?} by the token"))?;
        }
        Ok(if claim.is_ok() || state.is_ok() { Outcome::Accepted } else { Outcome::Refused })
    }
}
