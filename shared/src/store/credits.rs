//! Credits of virtual currency that the store's owner gives. Each has a key, and an account gets one credit per key:
//! the same transaction writes the credit and adds to the balance.

use super::client::Db;
use super::codec::{Item, Row, encode_live};
use super::transaction::{Guard, Sent, Write, send};
use super::{RETRIES, StoreError, keys, pause_before, read_live, users};
use crate::model::{Money, UserId};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credit {
    pub key: String,
    pub amount: Money,
    pub note: String,
    /// When it was given, seconds since 1970 UTC.
    pub at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credited {
    /// It is added to the balance.
    Written,
    /// The account got a credit with this key before; nothing was written.
    Before(Credit),
    /// There is no such account; nothing was written.
    NoAccount,
    /// The balance would be above [`Money::LARGEST`]; nothing was written.
    TooMuch,
}

/// Gives a credit, once per key. Without a response it is not known whether it was given: the same call gives it only
/// once.
pub async fn give(db: &Db, user: UserId, credit: &Credit) -> Result<Credited, StoreError> {
    let key = keys::credit(user, &credit.key);
    let item = encode_live(&key, credit)?;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let row = Write::put(key.clone(), item.clone()).only_if_absent().guarded_by(Refusal::Before);
        let most = Money::LARGEST.minor() - credit.amount.minor();
        let balance = users::credit_up_to(user, credit.amount, most).guarded_by(Refusal::Balance);
        match send(db, vec![row, balance]).await? {
            Sent::Written => return Ok(Credited::Written),
            Sent::Refused(Refusal::Before) => {
                if let Some(before) = read_live(db, &key).await? {
                    return Ok(Credited::Before(before));
                }
            }
            Sent::Refused(Refusal::Balance) => return Ok(Credited::TooMuch),
            Sent::Refused(Refusal::NoAccount) => return Ok(Credited::NoAccount),
            Sent::Conflict => {}
        }
    }
    Err(StoreError::Contended)
}

/// The credits of an account, oldest first.
pub async fn of(db: &Db, user: UserId) -> Result<Vec<Credit>, StoreError> {
    let rows = db.query(&keys::credits(user)).await?;
    let mut credits: Vec<Credit> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    credits.sort_by_key(|credit| credit.at);
    Ok(credits)
}

/// The reason for which a credit is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Before,
    Balance,
    NoAccount,
}

impl Guard for Refusal {
    type Refusal = Self;

    fn refusal(&self, old: Option<&Item>) -> Option<Self> {
        Some(if *self == Self::Balance && old.is_none_or(Item::is_empty) { Self::NoAccount } else { *self })
    }
}
