//! Integer ids, one type for each kind.

use serde::{Deserialize, Serialize};
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
    /// A game server that a buyer can select.
    ServerId
);
id!(
    /// An order's running number (`order_data.id`); buyers use [`super::InternalId`].
    OrderNumber
);

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
}
