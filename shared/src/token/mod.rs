//! Access tokens and chat states: JWTs signed with HS256 (rules.md, "Tokens"). Does not read the table: whether a
//! token's user exists or has revoked it is decided when the account is read, see [`crate::shop::accounts`].

mod keys;

pub use keys::{KeysError, MIN_SECRET, TokenKeys};

pub use crate::model::LEEWAY;

use crate::model::{Login, LoginId, UserId};
use crate::random;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `iss` of every access token.
pub const ISSUER: &str = "storefront";
/// `iss` of every chat state.
pub const STATE_ISSUER: &str = "storefront/chat-state";
/// The longest token in bytes (rules.md, "Tokens").
pub const LONGEST_TOKEN: usize = 4096;
/// How long a chat state is valid, in seconds (rules.md, "Chat login").
pub const STATE_SECONDS: i64 = 600;

/// The claims of an access token (rules.md, "Tokens").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    sub: String,
    iat: i64,
    exp: i64,
    iss: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    via: Option<Via>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sid: Option<LoginId>,
}

/// How a caller logged in, as the private claim `via`. Tokens that the store's owner makes have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// By typing a name, which proves nothing.
    Name,
    /// By a confirmation in the game.
    Game,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StateClaims {
    nonce: String,
    iat: i64,
    exp: i64,
    iss: String,
}

/// A verified token: the caller and the time of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub user: UserId,
    /// The time of issue, in seconds since 1970 UTC.
    pub issued_at: i64,
    /// How the caller logged in; `None` if the store's owner made the token.
    pub via: Option<Via>,
    /// The id of the login; `None` in a token that was issued before logins had one.
    pub sid: Option<LoginId>,
}

impl Claim {
    /// The caller's login; `None` for a login by name without an id, which must be repeated before it enters a gift
    /// card or pays (rules.md, "Logins").
    pub fn login(&self) -> Option<Login> {
        match self.via {
            Some(Via::Name) => self.sid.map(Login::Name),
            Some(Via::Game) | None => Some(Login::Proven),
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct ChatState {
    /// The nonce, which the browser that began the login has in a cookie.
    pub nonce: String,
    /// The PKCE verifier of the login (RFC 7636). Secret.
    pub pkce_verifier: String,
}

impl fmt::Debug for ChatState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatState").finish_non_exhaustive()
    }
}

/// A token that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid token")]
pub struct InvalidToken;

/// A token or state that could not be signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("the token could not be signed")]
    Refused(#[from] jsonwebtoken::errors::Error),
    #[error("no entropy is available")]
    NoEntropy,
}

impl TokenKeys {
    /// Signs an access token with the first key; it is valid for `ttl` seconds from `now`, and a login of its own.
    /// Fails if the system gives no random numbers, or the JWT library refuses, which no key of a valid length causes.
    pub fn sign(&self, user: UserId, now: i64, ttl: i64) -> Result<String, SignError> {
        self.sign_via(user, now, ttl, None)
    }

    /// Signs an access token that says how the caller logged in.
    pub fn sign_via(&self, user: UserId, now: i64, ttl: i64, via: Option<Via>) -> Result<String, SignError> {
        let exp = now.saturating_add(ttl);
        let sid = random::id().and_then(|id| LoginId::parse(&id).ok()).ok_or(SignError::NoEntropy)?;
        let claims = Claims { sub: user.to_string(), iat: now, exp, iss: ISSUER.to_owned(), via, sid: Some(sid) };
        let first = self.first();
        encode(Some(first.kid()), &claims, first.secret())
    }

    /// Verifies an access token: signature by any key, `iss`, and `exp` with [`LEEWAY`]. The error has no reason: a
    /// caller must not learn it.
    pub fn verify(&self, token: &str, now: i64) -> Result<Claim, InvalidToken> {
        if token.len() > LONGEST_TOKEN {
            return Err(InvalidToken);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| InvalidToken)?;
        let known = |key: &&keys::TokenKey| header.kid.as_deref().is_none_or(|kid| kid == key.kid());
        let mut candidates = self.iter().filter(known);
        let claims: Claims = candidates.find_map(|key| decode(token, key.secret(), ISSUER).ok()).ok_or(InvalidToken)?;
        if now > claims.exp.saturating_add(LEEWAY) {
            return Err(InvalidToken);
        }
        let user = claims.sub.parse().map_err(|_| InvalidToken)?;
        Ok(Claim { user, issued_at: claims.iat, via: claims.via, sid: claims.sid })
    }

    /// Signs the `state` of a chat login, which is valid for [`STATE_SECONDS`]. It has a key of its own, so that a
    /// state is never valid as a token, nor a token as a state.
    pub fn sign_state(&self, nonce: &str, now: i64) -> Result<String, SignError> {
        let exp = now.saturating_add(STATE_SECONDS);
        let claims = StateClaims { nonce: nonce.to_owned(), iat: now, exp, iss: STATE_ISSUER.to_owned() };
        encode(None, &claims, self.first().state_secret())
    }

    /// The PKCE verifier of a login whose state is signed with the first key.
    pub fn pkce_verifier(&self, nonce: &str) -> Result<String, SignError> {
        pkce_verifier(self.first(), nonce)
    }

    /// Verifies a `state`, as the service that receives the callback must; any key of the list is accepted.
    pub fn verify_state(&self, state: &str, now: i64) -> Result<ChatState, InvalidToken> {
        if state.len() > LONGEST_TOKEN {
            return Err(InvalidToken);
        }
        let signed = |key| decode::<StateClaims>(state, keys::TokenKey::state_secret(key), STATE_ISSUER).ok();
        let (key, claims) = self.iter().find_map(|key| Some((key, signed(key)?))).ok_or(InvalidToken)?;
        if now > claims.exp {
            return Err(InvalidToken);
        }
        let pkce_verifier = pkce_verifier(key, &claims.nonce).map_err(|_| InvalidToken)?;
        Ok(ChatState { nonce: claims.nonce, pkce_verifier })
    }
}

/// HMAC-SHA256 of the key of chat states over `pkce` and the nonce, so that a verifier is stored nowhere. A state's
/// signature is made with the same key, but over a text that begins with a JWT's header.
fn pkce_verifier(key: &keys::TokenKey, nonce: &str) -> Result<String, SignError> {
    let mac = keys::Hs256::new(key.state_secret())?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(mac.digest(format!("pkce{nonce}").as_bytes())))
}

fn encode(kid: Option<&str>, claims: &impl Serialize, secret: &[u8]) -> Result<String, SignError> {
    keys::install();
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::HS256) };
    Ok(jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret))?)
}

/// Checks signature, algorithm and issuer. `exp` must be present; the caller compares it with the clock.
fn decode<T: DeserializeOwned>(token: &str, secret: &[u8], issuer: &str) -> jsonwebtoken::errors::Result<T> {
    keys::install();
    let mut validation = Validation::new(Algorithm::HS256);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.set_required_spec_claims(&["exp", "iss"]);
    validation.set_issuer(&[issuer]);
    Ok(jsonwebtoken::decode(token, &DecodingKey::from_secret(secret), &validation)?.claims)
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.user.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const OLD: &str = r#"{"old":"0123456789abcdef0123456789abcdef"}"#;
    const ROTATED: &str = r#"{"new":"fedcba9876543210fedcba9876543210","old":"0123456789abcdef0123456789abcdef"}"#;

    fn keys(text: &str) -> TokenKeys {
        TokenKeys::parse(text).unwrap()
    }

    fn user() -> UserId {
        UserId::new(7)
    }

    #[test]
    fn a_token_says_how_its_owner_logged_in() {
        let by_name = keys(OLD).sign_via(user(), NOW, 60, Some(Via::Name)).unwrap();
        assert_eq!(keys(OLD).verify(&by_name, NOW).unwrap().via, Some(Via::Name));
        let claims: serde_json::Value = decode(&by_name, keys(OLD).first().secret(), ISSUER).unwrap();
        assert_eq!(claims["via"], "name");
    }

    #[test]
    fn every_token_is_of_a_login_of_its_own() {
        let login = |via| {
            let claim = keys(OLD).verify(&keys(OLD).sign_via(user(), NOW, 60, via).unwrap(), NOW).unwrap();
            (claim.sid.unwrap(), claim.login())
        };
        let [(one, by_name), (other, _)] = [login(Some(Via::Name)), login(Some(Via::Name))];
        assert_ne!(one, other);
        assert_eq!(by_name, Some(Login::Name(one)));
        let [(one, by_owner), (other, _)] = [login(None), login(None)];
        assert_ne!(one, other);
        assert_eq!(by_owner, Some(Login::Proven), "those that prove something count as one");
    }

    #[test]
    fn a_token_of_before_logins_had_ids_is_valid_and_by_name_of_no_login() {
        let claims = serde_json::json!({"sub": "7", "iat": NOW, "exp": NOW + 60, "iss": ISSUER, "via": "name"});
        let secret = b"0123456789abcdef0123456789abcdef";
        let header = serde_json::json!({"alg": "HS256", "kid": "old"});
        let by_name = keys(OLD).verify(&forge(header.clone(), claims.clone(), secret), NOW).unwrap();
        assert_eq!((by_name.sid, by_name.login()), (None, None));
        let mut claims = claims;
        claims.as_object_mut().unwrap().remove("via");
        let by_owner = keys(OLD).verify(&forge(header.clone(), claims.clone(), secret), NOW).unwrap();
        assert_eq!(by_owner.login(), Some(Login::Proven));
        claims["sid"] = serde_json::json!("not an id");
        assert_eq!(keys(OLD).verify(&forge(header, claims, secret), NOW), Err(InvalidToken));
    }

    #[test]
    fn a_rotated_key_logs_no_user_out() {
        let token = keys(OLD).sign(user(), NOW, 60).unwrap();
        assert!(keys(ROTATED).verify(&token, NOW).is_ok());
        let token = keys(ROTATED).sign(user(), NOW, 60).unwrap();
        assert_eq!(jsonwebtoken::decode_header(&token).unwrap().kid.as_deref(), Some("new"));
        assert_eq!(keys(OLD).verify(&token, NOW), Err(InvalidToken));
    }

    #[test]
    fn a_state_brings_its_nonce_and_its_verifier_back_also_after_a_rotation() {
        let before = keys(OLD);
        let state = before.sign_state("n1", NOW).unwrap();
        let verifier = before.pkce_verifier("n1").unwrap();
        for keys in [before, keys(ROTATED)] {
            let login = keys.verify_state(&state, NOW).unwrap();
            assert_eq!((login.nonce.as_str(), &login.pkce_verifier), ("n1", &verifier));
            assert!(!format!("{login:?}").contains(&verifier));
        }
        assert_eq!(verifier.len(), 43, "the shortest that RFC 7636 allows");
        assert!(verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_ne!(verifier, keys(OLD).pkce_verifier("n2").unwrap());
        assert_ne!(verifier, keys(ROTATED).pkce_verifier("n1").unwrap());
    }

    fn forge(header: serde_json::Value, claims: serde_json::Value, secret: &[u8]) -> String {
        use base64::Engine;
        use jsonwebtoken::signature::Signer;
        let part = |value: serde_json::Value| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = keys::Hs256::new(secret).unwrap().sign(text.as_bytes());
        format!("{text}.{}", base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}
