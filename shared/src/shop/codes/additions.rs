//! Amounts that the store's owner adds to a balance: credits of virtual currency, and top-ups of gift cards. Each has a
//! key, and a balance gets one per key: the same transaction writes the amount and adds to the balance.

use crate::model::{GiftCard, Money, UserId};
use crate::shop::accounts::users;
use crate::table::client::Db;
use crate::table::codec::{Item, Row, encode_live};
use crate::table::keys::{self, Key};
use crate::table::transaction::{Guard, Write, send_guarded};
use crate::table::{StoreError, TURNS, in_turns, read_live};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addition {
    /// Unique among those of the balance.
    pub key: String,
    pub amount: Money,
    pub note: String,
    /// When it was added, seconds since 1970 UTC.
    pub at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is added to the balance.
    Written,
    /// The balance got an amount with this key before; nothing was written.
    Before(Addition),
    /// There is no such account, or the card was removed or replaced by another; nothing was written.
    NoOwner,
    /// The balance would be above [`Money::LARGEST`]; nothing was written.
    TooMuch,
}

/// Gives an account a credit, once per key. Without a response it is not known whether it was given: the same call
/// gives it only once.
pub async fn credit(db: &Db, user: UserId, credit: &Addition) -> Result<Added, StoreError> {
    let balance = users::credit_up_to(user, credit.amount, most(credit));
    give(db, keys::credit(user, &credit.key), balance, user.get(), credit).await
}

/// Adds to a gift card's balance, once per key, and to what was put on it in all, if that is known of the card. Without
/// a response it is not known whether it was added: the same call adds it only once.
pub async fn top_up(db: &Db, card: &GiftCard, top_up: &Addition) -> Result<Added, StoreError> {
    let start = if card.start_balance.is_some() { ", start_balance = start_balance + :amount" } else { "" };
    let balance = Write::update(keys::code(&card.code), format!("SET balance = balance + :amount{start}"))
        .only_if("#id = :id AND balance <= :most")
        .name("#id", "id")
        .number(":id", card.id)
        .number(":amount", top_up.amount.minor())
        .number(":most", most(top_up));
    give(db, keys::top_up(&card.code, &top_up.key), balance, card.id.get(), top_up).await
}

/// The amounts of a partition, oldest first.
pub async fn of(db: &Db, partition: &str) -> Result<Vec<Addition>, StoreError> {
    let rows = db.query(partition).await?;
    let mut found: Vec<Addition> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    found.sort_by_key(|addition| addition.at);
    Ok(found)
}

/// The largest balance to which an amount can be added, in minor units.
const fn most(addition: &Addition) -> i64 {
    Money::LARGEST.minor() - addition.amount.minor()
}

/// Writes an amount under `key`, with `balance`, which adds it to the row with the id `owner`.
async fn give(db: &Db, key: Key, balance: Write, owner: u64, addition: &Addition) -> Result<Added, StoreError> {
    let row = Write::put(key.clone(), encode_live(&key, addition)?).only_if_absent();
    let writes = vec![row.guarded_by(Refusal::Before), balance.guarded_by(Refusal::Balance(owner))];
    in_turns(TURNS, || async {
        Ok(match send_guarded(db, writes.clone()).await? {
            Ok(()) => Added::Written,
            Err(Refusal::Before) => Added::Before(read_live(db, &key).await?.ok_or(StoreError::Contended)?),
            Err(Refusal::Balance(_)) => Added::TooMuch,
            Err(Refusal::NoOwner) => Added::NoOwner,
        })
    })
    .await
}

/// The reason for which nothing is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Before,
    /// The balance of the owner with this id.
    Balance(u64),
    NoOwner,
}

impl Guard for Refusal {
    type Refusal = Self;

    fn refusal(&self, old: Option<&Item>) -> Option<Self> {
        let Self::Balance(id) = self else { return Some(*self) };
        let is_owner = old.and_then(|item| item.get("id")?.as_n().ok()).is_some_and(|found| *found == id.to_string());
        Some(if is_owner { *self } else { Self::NoOwner })
    }
}
