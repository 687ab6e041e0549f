//! Ids of orders.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The id that buyers and gateways use for an order; matched exactly (rules.md, "Who may see an order").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InternalId(String);

impl InternalId {
    /// The longest id in characters (rules.md, "Request bodies").
    pub const LONGEST: usize = 255;

    /// Base32 in lower case (RFC 4648's alphabet).
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

    /// The id of 80 random bits: 16 characters of base32 (rules.md, "Who may see an order").
    pub fn from_bits(bits: [u8; 10]) -> Self {
        let number = bits.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        let digit = |place: u32| usize::try_from(number >> (place * 5) & 31).unwrap_or_default();
        Self((0..16).rev().map(|place| char::from(Self::ALPHABET[digit(place)])).collect())
    }

    /// The id of the order that renews a subscription: 80 bits of the SHA-256 of the provider's id of the invoice, so that
    /// one invoice makes one order (rules.md, "Subscriptions").
    pub fn of_invoice(invoice: &str) -> Self {
        let hash = Sha256::digest(invoice.as_bytes());
        let mut bits = [0_u8; 10];
        bits.copy_from_slice(&hash[..10]);
        Self::from_bits(bits)
    }

    /// An id, unchanged.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for InternalId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for InternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighty_bits_are_sixteen_characters() {
        let text = |bits: [u8; 10]| InternalId::from_bits(bits).to_string();
        assert_eq!(text([0; 10]), "aaaaaaaaaaaaaaaa");
        assert_eq!(text([0xff; 10]), "7777777777777777");
        assert_eq!(text(*b"0123456789"), "gaytemzugu3doobz");
    }
}
