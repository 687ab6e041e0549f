//! Ids: numbers of published and live things, and the id of an order that buyers and gateways use.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// A text that is not the canonical decimal form of an id (no sign, no leading zero).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal id")]
pub struct ParseIdError;

/// The largest id, 2^53 − 1: every JSON client reads it exactly.
pub const LARGEST_ID: u64 = (1 << 53) - 1;

/// Reads a canonical decimal: digits only, no leading zero, at most [`LARGEST_ID`].
fn parse_decimal(text: &str) -> Result<u64, ParseIdError> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    match text.parse() {
        Ok(number) if canonical && number <= LARGEST_ID => Ok(number),
        _ => Err(ParseIdError),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[schemars(inline)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_decimal(text).map(Self)
            }
        }
    };
}

id!(
    /// A user, the `sub` of a token and the `id` of a cart.
    UserId
);
id!(
    /// The id of a catalog item (package).
    ItemId
);
id!(
    /// A category or subcategory.
    CategoryId
);
id!(
    /// A coupon or a gift card.
    CodeId
);
id!(
    /// The id of a cart line (`cid` in cart/get), counted up inside its cart.
    LineId
);
id!(
    /// A sale.
    SaleId
);
id!(
    /// A game server that a buyer can select.
    ServerId
);
id!(
    /// An order's running number (`order_data.id`); buyers use [`super::InternalId`].
    OrderNumber
);

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
}

impl From<&str> for InternalId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

texts!(InternalId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_decimals_are_ids() {
        assert_eq!("42".parse(), Ok(UserId::new(42)));
        assert_eq!("0".parse(), Ok(UserId::new(0)));
        for text in ["", "042", "+42", "-1", "4 2", "٤", "9007199254740992", "99999999999999999999"] {
            assert_eq!(text.parse::<UserId>(), Err(ParseIdError), "{text:?}");
        }
    }

    #[test]
    fn eighty_bits_are_sixteen_characters() {
        let text = |bits: [u8; 10]| InternalId::from_bits(bits).to_string();
        assert_eq!(text([0; 10]), "aaaaaaaaaaaaaaaa");
        assert_eq!(text([0xff; 10]), "7777777777777777");
        assert_eq!(text(*b"0123456789"), "gaytemzugu3doobz");
    }
}
