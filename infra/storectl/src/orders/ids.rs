//! Ids that we make: the internal id that buyers are given, and the running number.

use shared::model::{InternalId, OrderNumber};
use shared::store::{Db, StoreError, sequence};

/// Base32 without padding, lower case (RFC 4648's alphabet).
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A new internal id: 80 random bits (rules.md, "Who may see an order") as 16 characters. `None` where the system gives
/// no randomness.
#[must_use]
pub fn internal_id() -> Option<InternalId> {
    let mut bits = [0_u8; 10];
    getrandom::fill(&mut bits).ok()?;
    Some(InternalId::new(&base32(bits)))
}

fn base32(bits: [u8; 10]) -> String {
    let number = bits.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let digit = |place: u32| usize::try_from(number >> (place * 5) & 31).unwrap_or_default();
    (0..16).rev().map(|place| char::from(ALPHABET[digit(place)])).collect()
}

/// Takes the next running number of an order. A number that is then not used stays a gap.
pub(super) async fn next_number(db: &Db) -> Result<OrderNumber, StoreError> {
    sequence::reserve(db, sequence::ORDERS, 1).await.map(OrderNumber::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn eighty_bits_are_sixteen_characters() {
        assert_eq!(base32([0; 10]), "aaaaaaaaaaaaaaaa");
        assert_eq!(base32([0xff; 10]), "7777777777777777");
        assert_eq!(base32(*b"0123456789"), "gaytemzugu3doobz");
    }

    #[test]
    fn no_two_ids_are_alike() {
        let ids: BTreeSet<String> = (0..1_000).map(|_| internal_id().unwrap().as_str().to_owned()).collect();
        assert_eq!(ids.len(), 1_000);
    }
}
