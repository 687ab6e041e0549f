//! User names: one index row per name, written in the same transaction as the account, so that names are unique without
//! regard to case (rules.md, "Accounts") and a user is found by name with one read.

use super::client::Db;
use super::codec::{Item, encode_live};
use super::keys;
use super::transaction::{Guard, Sent, Write, send};
use super::{RETRIES, StoreError, backoff, read_live};
use crate::model::{User, UserId, UserName, next_issue};
use serde::{Deserialize, Serialize};

/// The attribute with the id of the user who has the name.
pub const USER: &str = "user";

/// What the index row of a name holds; the field is called [`USER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    /// The user who has the name.
    pub user: UserId,
    /// The account's `tokens_valid_after`, so that a login need not read the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_after: Option<i64>,
}

impl NameRow {
    /// The second (since 1970 UTC) at which a token of the user that is made at `now` is issued.
    #[must_use]
    pub fn next_issue(&self, now: i64) -> i64 {
        next_issue(self.valid_after, now)
    }
}

/// What a login by name reads.
#[derive(Debug, Clone, Copy)]
pub struct Login {
    /// The name's index row; `None` if no account has the name.
    pub name: Option<NameRow>,
    /// Whether the name is banned.
    pub is_banned: bool,
}

/// Reads what a login by name needs, strongly consistent, in one round trip.
///
/// # Errors
/// [`StoreError`] if the rows can be neither read nor decoded.
pub async fn login(db: &Db, name: &UserName) -> Result<Login, StoreError> {
    let (key, ban) = (keys::name(name), keys::ban(name));
    let mut rows = db.batch_get(vec![key.clone(), ban.clone()]).await?;
    let row = rows.take(&key).map(|row| row.live(&key)).transpose()?;
    Ok(Login { name: row, is_banned: rows.take(&ban).is_some() })
}

/// Gives a name to a user, if it still belongs to `found` (`None`: to no user). Returns whether it was written.
///
/// # Errors
/// [`StoreError`] if the database does not respond.
pub async fn claim(db: &Db, name: &UserName, row: &NameRow, found: Option<UserId>) -> Result<bool, StoreError> {
    let key = keys::name(name);
    let write = Write::put(key.clone(), encode_live(&key, row)?);
    let write = match found {
        None => write.only_if_absent(),
        Some(other) => write.only_if_equal(USER, other),
    };
    Ok(send(db, vec![write]).await? == Sent::Written)
}

/// The result of creating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// It is in the table.
    Written,
    /// Another user has the name; nothing was written.
    NameTaken(NameRow),
    /// There is an account with this id; nothing was written.
    IdTaken,
    /// The name is banned; nothing was written.
    Banned,
}

/// The index row of a user's name.
///
/// # Errors
/// If it cannot be serialised, which never happens.
pub fn row(name: &UserName, user: UserId, valid_after: Option<i64>) -> Result<Item, StoreError> {
    encode_live(&keys::name(name), &NameRow { user, valid_after })
}

/// The user who has a name, strongly consistent.
///
/// # Errors
/// [`StoreError`] if the row can be neither read nor decoded.
pub async fn owner(db: &Db, name: &UserName) -> Result<Option<UserId>, StoreError> {
    Ok(find(db, name).await?.map(|row| row.user))
}

async fn find(db: &Db, name: &UserName) -> Result<Option<NameRow>, StoreError> {
    read_live(db, &keys::name(name)).await
}

/// Writes an account and its name's index row in one transaction, if neither exists and the name is not banned.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the account may then have been written or not.
pub async fn create(db: &Db, user: &User, name: &UserName) -> Result<Created, StoreError> {
    let account = keys::user(user.id);
    let index = row(name, user.id, user.tokens_valid_after)?;
    let writes = vec![
        Write::check(keys::ban(name)).only_if_absent().guarded_by(Taken::Banned),
        Write::put(keys::name(name), index).only_if_absent().guarded_by(Taken::Name),
        Write::put(account.clone(), encode_live(&account, user)?).only_if_absent().guarded_by(Taken::Id),
    ];
    for round in 0..=RETRIES {
        match send(db, writes.clone()).await? {
            Sent::Written => return Ok(Created::Written),
            Sent::Refused(Taken::Name) => match find(db, name).await? {
                Some(row) if row.user == user.id => return Ok(Created::Written),
                Some(row) => return Ok(Created::NameTaken(row)),
                // It was erased in the meantime.
                None => {}
            },
            Sent::Refused(Taken::Id) => return Ok(Created::IdTaken),
            Sent::Refused(Taken::Banned) => return Ok(Created::Banned),
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
    /// The name is banned.
    Banned,
}

impl Guard for Taken {
    type Refusal = Self;

    fn refusal(&self, _: Option<&Item>) -> Option<Self> {
        Some(*self)
    }
}
