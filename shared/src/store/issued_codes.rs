//! Changes of codes by the store's owner: switching, editing, and adding to a gift card. Orders count uses and balances
//! at the same time, so only the attributes that change are written.

use super::codec::{Item, Row, encode_live};
use super::keys::{self, Key};
use super::single::apply;
use super::transaction::{Guard, Sent, Write, send};
use super::{Db, RETRIES, StoreError, pause_before, read_live};
use crate::model::{Code, CodeKind, CodeText, GiftCard, Money};
use serde::{Deserialize, Serialize};

/// A kind's word in the table.
pub const fn tag(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Coupon => "coupon",
        CodeKind::Gift => "gift",
    }
}

/// Switches a coupon or gift card on or off. `false` if there is none of this kind. Fails if it is not known whether it
/// was switched.
pub async fn switch(db: &Db, kind: CodeKind, code: &CodeText, is_on: bool) -> Result<bool, StoreError> {
    let write = switched(keys::code(code), is_on).only_if("#kind = :kind");
    apply(db, write.name("#kind", "kind").text(":kind", tag(kind))).await
}

/// Switches a referral code on or off. `false` if there is none.
pub async fn switch_referral(db: &Db, code: &CodeText, is_on: bool) -> Result<bool, StoreError> {
    apply(db, switched(keys::referral(code), is_on).only_if_present()).await
}

fn switched(key: Key, is_on: bool) -> Write {
    Write::update(key, "SET #active = :on").name("#active", "active").flag(":on", is_on)
}

/// Writes what differs between two states of a code. `false` if the code under this text is another one by now. Fails
/// if it is not known whether it was changed.
pub async fn edit(db: &Db, before: &Code, after: &Code) -> Result<bool, StoreError> {
    let key = keys::code(before.text());
    let (old, new) = (encode_live(&key, before)?, encode_live(&key, after)?);
    let sets: Vec<_> = new.iter().filter(|(name, value)| old.get(*name) != Some(*value)).collect();
    let removes: Vec<_> = old.keys().filter(|name| !new.contains_key(*name)).collect();
    let terms = |mark: char, count: usize, term: fn(char, usize) -> String| {
        (0..count).map(|place| term(mark, place)).collect::<Vec<_>>().join(", ")
    };
    let mut clauses = Vec::new();
    if !sets.is_empty() {
        let term = |mark, place| format!("#{mark}{place} = :{mark}{place}");
        clauses.push(format!("SET {}", terms('s', sets.len(), term)));
    }
    if !removes.is_empty() {
        clauses.push(format!("REMOVE {}", terms('r', removes.len(), |mark, place| format!("#{mark}{place}"))));
    }
    if clauses.is_empty() {
        return Ok(true);
    }
    let mut write = Write::update(key, clauses.join(" ")).only_if_equal("id", before.id());
    for (place, (name, value)) in sets.into_iter().enumerate() {
        write = write.name(format!("#s{place}"), name).value(format!(":s{place}"), value.clone());
    }
    for (place, name) in removes.into_iter().enumerate() {
        write = write.name(format!("#r{place}"), name);
    }
    apply(db, write).await
}

/// An amount that the store's owner added to a gift card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopUp {
    /// Unique among those of the card.
    pub key: String,
    pub amount: Money,
    pub note: String,
    /// When it was added, seconds since 1970 UTC.
    pub at: i64,
}

/// The result of adding to a gift card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToppedUp {
    /// It is added to the balance.
    Written,
    /// The card got an amount with this key before; nothing was written.
    Before(TopUp),
    /// The card was removed or replaced by another; nothing was written.
    NoCard,
    /// The balance would be above [`Money::LARGEST`]; nothing was written.
    TooMuch,
}

/// Adds to a gift card's balance, once per key, and to what was put on it in all, if that is known of the card. Without
/// a response it is not known whether it was added: the same call adds it only once.
pub async fn top_up(db: &Db, card: &GiftCard, top_up: &TopUp) -> Result<ToppedUp, StoreError> {
    let key = keys::top_up(&card.code, &top_up.key);
    let item = encode_live(&key, top_up)?;
    let start = if card.start_balance.is_some() { ", start_balance = start_balance + :amount" } else { "" };
    for round in 0..=RETRIES {
        pause_before(round).await;
        let row = Write::put(key.clone(), item.clone()).only_if_absent().guarded_by(Refusal::Before);
        let balance = Write::update(keys::code(&card.code), format!("SET balance = balance + :amount{start}"))
            .only_if("#id = :id AND balance <= :most")
            .name("#id", "id")
            .number(":id", card.id)
            .number(":amount", top_up.amount.minor())
            .number(":most", Money::LARGEST.minor() - top_up.amount.minor())
            .guarded_by(Refusal::Balance(card.id.get()));
        match send(db, vec![row, balance]).await? {
            Sent::Written => return Ok(ToppedUp::Written),
            Sent::Refused(Refusal::Before) => {
                if let Some(before) = read_live(db, &key).await? {
                    return Ok(ToppedUp::Before(before));
                }
            }
            Sent::Refused(Refusal::Balance(_)) => return Ok(ToppedUp::TooMuch),
            Sent::Refused(Refusal::NoCard) => return Ok(ToppedUp::NoCard),
            Sent::Conflict => {}
        }
    }
    Err(StoreError::Contended)
}

/// The top-ups of a gift card, oldest first.
pub async fn top_ups(db: &Db, code: &CodeText) -> Result<Vec<TopUp>, StoreError> {
    let rows = db.query(&keys::top_ups(code)).await?;
    let mut found: Vec<TopUp> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    found.sort_by_key(|top_up| top_up.at);
    Ok(found)
}

/// The reason for which nothing is added to a gift card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Before,
    /// The balance of the card with this id.
    Balance(u64),
    NoCard,
}

impl Guard for Refusal {
    type Refusal = Self;

    fn refusal(&self, old: Option<&Item>) -> Option<Self> {
        let Self::Balance(id) = self else { return Some(*self) };
        let is_card = old.and_then(|item| item.get("id")?.as_n().ok()).is_some_and(|found| *found == id.to_string());
        Some(if is_card { *self } else { Self::NoCard })
    }
}
