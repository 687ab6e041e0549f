//! The keys that sign and verify tokens, and the cryptography of the JWT library: HMAC-SHA256 only, so that no other
//! algorithm can be tried. The library's own backends add RSA and elliptic curves to every function.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use serde::de::{Deserializer, MapAccess, Visitor};
use sha2::Sha256;
use std::fmt;

/// The shortest secret in bytes (rules.md, "Tokens").
pub const MIN_SECRET: usize = 32;

/// An ordered list of keys. The first signs and all verify, so that a key can be rotated without logging users out
/// (rules.md, "Tokens").
#[derive(Clone)]
pub struct TokenKeys(Vec<TokenKey>);

/// A key. Its secret is never printed.
#[derive(Clone)]
pub(super) struct TokenKey {
    kid: String,
    secret: Vec<u8>,
    state_secret: Vec<u8>,
    addresses: Hs256,
}

/// A text without usable keys. The message never contains the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("the token keys are not a JSON object of key ids and secrets")]
    NotAnObject,
    #[error("no token key")]
    Empty,
    #[error("duplicate token key {0:?}")]
    Twice(String),
    #[error("the secret of token key {0:?} is shorter than {MIN_SECRET} bytes")]
    Short(String),
}

impl TokenKeys {
    /// Reads a JSON object of key ids and secrets; the order in the text is the order of the keys.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let pairs = json.deserialize_map(Pairs).map_err(|_| KeysError::NotAnObject)?;
        json.end().map_err(|_| KeysError::NotAnObject)?;
        let mut keys: Vec<TokenKey> = Vec::with_capacity(pairs.len());
        for (kid, secret) in pairs {
            if keys.iter().any(|key| key.kid == kid) {
                return Err(KeysError::Twice(kid));
            }
            if secret.len() < MIN_SECRET {
                return Err(KeysError::Short(kid));
            }
            // HMAC-SHA256 of the key over "chat-state" (rules.md, "Chat login").
            let mac = Hs256::new(secret.as_bytes()).map_err(|_| KeysError::Short(kid.clone()))?;
            let state_secret = mac.digest(b"chat-state");
            let addresses = Hs256::new(&mac.digest(b"address")).map_err(|_| KeysError::Short(kid.clone()))?;
            keys.push(TokenKey { kid, secret: secret.into_bytes(), state_secret, addresses });
        }
        if keys.is_empty() { Err(KeysError::Empty) } else { Ok(Self(keys)) }
    }

    /// A hash of a client's address, by HMAC-SHA256 of the first key over "address" (rules.md, "First day").
    pub fn hash_of_address(&self, address: &str) -> String {
        hex::encode(self.first().addresses.digest(address.as_bytes()))
    }

    pub(super) fn first(&self) -> &TokenKey {
        // Only `parse` makes a list, and it refuses an empty one.
        &self.0[0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TokenKey> {
        self.0.iter()
    }
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| &key.kid)).finish()
    }
}

impl TokenKey {
    pub(super) fn kid(&self) -> &str {
        &self.kid
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(super) fn state_secret(&self) -> &[u8] {
        &self.state_secret
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, String)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of kid to secret")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key: &EncodingKey| Ok(Box::new(Hs256::for_algorithm(*algorithm, key.as_bytes())?)),
    verifier_factory: |algorithm, key: &DecodingKey| {
        Ok(Box::new(Hs256::for_algorithm(*algorithm, key.try_get_as_bytes()?)?))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs this provider for the process; the first call counts.
pub(super) fn install() {
    // An error means that an earlier call has installed it.
    let _ = PROVIDER.install_default();
}

/// HMAC-SHA256 with one key.
#[derive(Clone)]
pub(super) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    pub(super) fn new(secret: &[u8]) -> jsonwebtoken::errors::Result<Self> {
        Hmac::new_from_slice(secret).map(Self).map_err(|_| Error::from(ErrorKind::InvalidKeyFormat))
    }

    fn for_algorithm(algorithm: Algorithm, secret: &[u8]) -> jsonwebtoken::errors::Result<Self> {
        if algorithm == Algorithm::HS256 { Self::new(secret) } else { Err(ErrorKind::InvalidAlgorithm.into()) }
    }

    /// The 32 bytes of the code over `message`.
    pub(super) fn digest(&self, message: &[u8]) -> Vec<u8> {
        self.0.clone().chain_update(message).finalize().into_bytes().to_vec()
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        Ok(self.digest(message))
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.0.clone().chain_update(message).verify_slice(signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn the_order_of_the_text_is_the_order_of_the_keys() {
        let keys = TokenKeys::parse(&format!(r#"{{"z":"{SECRET}","a":"{SECRET}"}}"#)).unwrap();
        assert_eq!(format!("{keys:?}"), r#"["z", "a"]"#);
    }

    #[test]
    fn unusable_keys_are_refused_without_showing_them() {
        let parse = |text: &str| TokenKeys::parse(text).unwrap_err();
        assert_eq!(parse("[]"), KeysError::NotAnObject);
        assert_eq!(parse("{}x"), KeysError::NotAnObject);
        assert_eq!(parse(r#"{"a":1}"#), KeysError::NotAnObject);
        assert_eq!(parse("{}"), KeysError::Empty);
        assert_eq!(parse(r#"{"a":"short"}"#), KeysError::Short("a".to_owned()));
        assert_eq!(parse(&format!(r#"{{"a":"{SECRET}","a":"{SECRET}"}}"#)), KeysError::Twice("a".to_owned()));
        assert!(!parse(r#"{"a":"short"}"#).to_string().contains("short\""));
    }
}
