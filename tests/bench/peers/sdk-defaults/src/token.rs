//! Access tokens: JWT, HS256 alone.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use std::collections::HashMap;

const LONGEST: usize = 4096;
const LARGEST_ID: u64 = (1 << 53) - 1;

pub struct TokenKeys {
    keys: Vec<(String, DecodingKey)>,
    validation: Validation,
}

#[derive(Deserialize)]
pub struct Claims {
    pub sub: String,
    pub iat: i64,
}

impl TokenKeys {
    /// Reads a JSON object of kid to secret.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let secrets: HashMap<String, String> = serde_json::from_str(text)?;
        let key = |(kid, secret): (String, String)| (kid, DecodingKey::from_secret(secret.as_bytes()));
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp", "iss"]);
        validation.set_issuer(&["storefront"]);
        Ok(Self { keys: secrets.into_iter().map(key).collect(), validation })
    }

    /// The claims of a token that is valid by the key it names, or by any where it names none.
    pub fn verify(&self, token: &str) -> Option<Claims> {
        if token.len() > LONGEST {
            return None;
        }
        let named = decode_header(token).ok()?.kid;
        let mut keys = self.keys.iter().filter(|(kid, _)| named.as_ref().is_none_or(|named| named == kid));
        let claims = keys.find_map(|(_, key)| decode::<Claims>(token, key, &self.validation).ok())?.claims;
        // A user's id is written in one way only.
        let canonical = |id: &u64| *id <= LARGEST_ID && id.to_string() == claims.sub;
        claims.sub.parse().ok().filter(canonical)?;
        Some(claims)
    }
}
