//! The index rows by which users are found: which of them the table lacks. An older version made accounts without one. Of
//! two users whose names differ in case only, the older account keeps the name.

use crate::table::each;
use publish::OnProgress;
use shared::model::{User, UserId, UserName};
use shared::store::codec::{decode_live, key_of};
use shared::store::keys::{self, prefix};
use shared::store::names::{self, NameRow};
use shared::store::{Db, StoreError};
use std::collections::BTreeMap;

/// How often rows are looked for again, if others are making accounts.
const ROUNDS: usize = 3;

/// A row that is missing, or names another user than it should.
#[derive(Debug, Clone)]
pub struct Claim {
    name: UserName,
    row: NameRow,
    found: Option<UserId>,
}

/// The rows that the index lacks.
#[derive(Debug, Clone, Default)]
pub struct Lacking {
    /// The rows to write.
    pub claims: Vec<Claim>,
    /// Users who cannot have a row, each with the reason.
    pub without: Vec<String>,
}

/// The result of [`complete`].
#[derive(Debug, Clone, Default)]
pub struct Completed {
    /// How many rows were written.
    pub written: usize,
    /// Users who cannot have a row, each with the reason.
    pub without: Vec<String>,
}

/// Users by what their names show.
#[derive(Default)]
struct Users {
    /// The oldest user of each name, with the second the account was made.
    owners: BTreeMap<UserName, (i64, UserId)>,
    /// Until when the tokens of users are refused.
    valid_after: BTreeMap<UserId, i64>,
    /// Users who cannot be found by name.
    without: Vec<String>,
}

/// Compares the index with the accounts. Calls `progress` for what it reads.
///
/// # Errors
/// [`StoreError`] if the table cannot be read.
pub async fn lacking(db: &Db, progress: OnProgress<'_>) -> Result<Lacking, StoreError> {
    // Names are read before users: a name that is read then belongs to an account that was there before.
    let rows = rows(db, progress).await?;
    let Users { owners, valid_after, without } = users(db, progress).await?;
    let claim = |(name, (_, user)): (UserName, (i64, UserId))| {
        let found = rows.get(&keys::name(&name).pk);
        let row = NameRow { user, valid_after: valid_after.get(&user).copied(), held_until: None };
        let is_right = found.and_then(NameRow::owner) == Some(user);
        (!is_right).then_some(Claim { name, row, found: found.map(|row| row.user) })
    };
    Ok(Lacking { claims: owners.into_iter().filter_map(claim).collect(), without })
}

/// Writes what is missing of the index. Calls `progress` for what it reads and writes.
///
/// # Errors
/// [`StoreError`] if the database does not respond, or if others kept changing the same names.
pub async fn complete(db: &Db, progress: OnProgress<'_>) -> Result<Completed, StoreError> {
    let mut written = 0;
    for _ in 0..ROUNDS {
        let Lacking { claims, without } = lacking(db, progress).await?;
        let done = write(db, &claims, progress).await?;
        written += done;
        if done == claims.len() {
            return Ok(Completed { written, without });
        }
    }
    Err(StoreError::unavailable("TransactWriteItems"))
}

/// Writes rows of the index, each if it is still as it was found; returns how many. A name that was taken in the meantime
/// belongs to an account that [`lacking`] compares with the others. Calls `progress` for what it writes.
///
/// # Errors
/// [`StoreError`] if the database does not respond.
pub async fn write(db: &Db, claims: &[Claim], progress: OnProgress<'_>) -> Result<usize, StoreError> {
    let mut written = 0;
    for Claim { name, row, found } in claims {
        written += usize::from(names::claim(db, name, row, *found).await?);
        progress(1);
    }
    Ok(written)
}

/// The index rows by partition key.
async fn rows(db: &Db, progress: OnProgress<'_>) -> Result<BTreeMap<String, NameRow>, StoreError> {
    let mut rows = BTreeMap::new();
    each(db, prefix::NAME, |item| {
        let key = key_of(&item)?;
        let row: NameRow = decode_live(&key, item)?;
        rows.insert(key.pk, row);
        progress(1);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(rows)
}

async fn users(db: &Db, progress: OnProgress<'_>) -> Result<Users, StoreError> {
    let mut users = Users::default();
    each(db, prefix::USER, |item| {
        let user: User = decode_live(&key_of(&item)?, item)?;
        users.take(&user);
        progress(1);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(users)
}

impl Users {
    fn take(&mut self, user: &User) {
        let name = match UserName::parse(&user.username) {
            Ok(name) => name,
            Err(error) => {
                self.without.push(format!("user {} is called {:?}, but {error}", user.id, user.username));
                return;
            }
        };
        self.valid_after.extend(user.tokens_valid_after.map(|after| (user.id, after)));
        let this = (user.created_at, user.id);
        let other = *self.owners.entry(name.clone()).or_insert(this);
        if other != this {
            let (older, younger) = (this.min(other), this.max(other));
            self.without.push(format!("user {} has the name {name}, which user {} had before", younger.1, older.1));
            self.owners.insert(name, older);
        }
    }
}
