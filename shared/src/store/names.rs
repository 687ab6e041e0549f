//! User names: one index row per name, written in the same transaction as the account, so that names are unique without
//! regard to case (rules.md, "Accounts") and a user is found by name with one read.

use super::client::Db;
use super::codec::{Item, encode_live};
use super::keys;
use super::transaction::{Guard, Sent, Write, send};
use super::{RETRIES, StoreError, backoff, read_live};
use crate::model::{User, UserId, UserName};
use serde::{Deserialize, Serialize};

/// The attribute with the id of the user who has the name.
pub const USER: &str = "user";

/// What the index row of a name holds; the field is called [`USER`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct NameRow {
    /// The user who has the name.
    pub user: UserId,
}

/// The result of creating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// It is in the table.
    Written,
    /// Another user has the name; nothing was written.
    NameTaken(UserId),
    /// There is an account with this id; nothing was written.
    IdTaken,
}

/// The index row of a user's name.
///
/// # Errors
/// Where it cannot be serialised, which never happens.
pub fn row(name: &UserName, user: UserId) -> Result<Item, StoreError> {
    encode_live(&keys::name(name), &NameRow { user })
}

/// The user who has a name, strongly consistent.
///
/// # Errors
/// [`StoreError`] if the row can be neither read nor decoded.
pub async fn owner(db: &Db, name: &UserName) -> Result<Option<UserId>, StoreError> {
    let row: Option<NameRow> = read_live(db, &keys::name(name)).await?;
    Ok(row.map(|row| row.user))
}

/// Writes an account and its name's index row in one transaction, if neither exists.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the account may then have been written or not.
pub async fn create(db: &Db, user: &User, name: &UserName) -> Result<Created, StoreError> {
    let account = keys::user(user.id);
    let writes = vec![
        Write::put(keys::name(name), row(name, user.id)?).only_if_absent().guarded_by(Taken::Name),
        Write::put(account.clone(), encode_live(&account, user)?).only_if_absent().guarded_by(Taken::Id),
    ];
    for round in 0..=RETRIES {
        match send(db, writes.clone()).await? {
            Sent::Written => return Ok(Created::Written),
            Sent::Refused(Taken::Name) => match owner(db, name).await? {
                Some(id) if id == user.id => return Ok(Created::Written),
                Some(id) => return Ok(Created::NameTaken(id)),
                // It was erased in the meantime.
                None => {}
            },
            Sent::Refused(Taken::Id) => return Ok(Created::IdTaken),
            Sent::Conflict => {}
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(StoreError::unavailable("TransactWriteItems"))
}

/// Why an account is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// The name is taken.
    Name,
    /// The id is taken.
    Id,
}

impl Guard for Taken {
    type Refusal = Self;

    fn refusal(&self, _: Option<&Item>) -> Option<Self> {
        Some(*self)
    }
}
