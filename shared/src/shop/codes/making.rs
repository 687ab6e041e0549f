//! Making coupons and gift cards.

use crate::model::{Code, CodeId, CodeText, Coupon, GiftCard, Money};
use crate::table::bulk::{OnProgress, write_each};
use crate::table::codec::encode_live;
use crate::table::keys::{self, Key};
use crate::table::single::{self, CODES};
use crate::table::{Db, StoreError};

/// Stores a coupon under the next free id. `None` if its code is taken. Fails if it is not known whether it was made.
pub async fn add_coupon(db: &Db, coupon: Coupon) -> Result<Option<Code>, StoreError> {
    let id = CodeId::new(single::reserve(db, CODES, 1).await?);
    let (key, coupon) = (keys::code(&coupon.code), Code::Coupon(Coupon { id, ..coupon }));
    Ok(single::create(db, &key, &coupon).await?.then_some(coupon))
}

/// The properties that gift cards made together share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub balance: Money,
    pub starts_at: Option<i64>,
    pub ends_at: Option<i64>,
    /// For whom they are, in the owner's words.
    pub made_for: Option<String>,
    /// The owner's note.
    pub note: Option<String>,
}

/// The id and the text of a code.
pub type Card = (u64, CodeText);

/// Random codes under ids of their own, which are still to be written.
pub async fn new_codes(db: &Db, count: u32) -> Result<Vec<Card>, StoreError> {
    let first = single::reserve(db, CODES, u64::from(count)).await?;
    let card = |id| Ok((id, random_code().ok_or_else(StoreError::no_entropy)?));
    (first..).take(count as usize).map(card).collect()
}

/// 80 random bits as five words of consonants and vowels in turn, such as `lusab-babad-gutih-tugad-mudof`: they can
/// be said over a telephone, and no letter looks like a digit.
fn random_code() -> Option<CodeText> {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let mut bytes = [0_u8; 10];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::with_capacity(29);
    for pair in bytes.chunks_exact(2) {
        let word = u16::from_be_bytes([pair[0], pair[1]]);
        if !text.is_empty() {
            text.push('-');
        }
        for (shift, letters) in
            [(12, &CONSONANTS[..]), (10, &VOWELS[..]), (6, &CONSONANTS[..]), (4, &VOWELS[..]), (0, &CONSONANTS[..])]
        {
            text.push(char::from(letters[usize::from(word >> shift) % letters.len()]));
        }
    }
    CodeText::parse(&text).ok()
}

impl Batch {
    /// One of the gift cards.
    pub fn card(&self, (id, code): &Card) -> Code {
        Code::Gift(GiftCard {
            id: CodeId::new(*id),
            code: code.clone(),
            active: true,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            balance: self.balance,
            start_balance: self.balance,
            made_for: self.made_for.clone(),
            note: self.note.clone(),
        })
    }
}

/// Writes codes that are made of their ids and texts.
pub async fn write_codes(
    db: &Db,
    cards: impl Iterator<Item = &Card>,
    code: impl Fn(&Card) -> Code,
    progress: OnProgress<'_>,
) -> Result<(), StoreError> {
    write_each(db, cards.map(|card| encode_live(&keys::code(&card.1), &code(card))), progress).await
}

/// Those of these codes that the table does not have.
pub async fn missing_codes<'a>(db: &Db, cards: &'a [Card]) -> Result<Vec<&'a Card>, StoreError> {
    let keys: Vec<Key> = cards.iter().map(|(_, code)| keys::code(code)).collect();
    let mut rows = db.batch_get(keys.clone()).await?;
    Ok(cards.iter().zip(&keys).filter(|(_, key)| rows.take(key).is_none()).map(|(card, _)| card).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_five_words_that_can_be_said_aloud() {
        let code = random_code().unwrap();
        let words: Vec<&str> = code.as_str().split('-').collect();
        assert_eq!(words.len(), 5);
        for word in words {
            let letters: Vec<char> = word.chars().collect();
            assert_eq!(letters.len(), 5, "{word}");
            for (place, letter) in letters.iter().enumerate() {
                let letters = if place % 2 == 0 { "bdfghjklmnprstvz" } else { "aiou" };
                assert!(letters.contains(*letter), "{word}");
            }
        }
        assert_ne!(code, random_code().unwrap());
    }
}
