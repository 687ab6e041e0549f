//! The index rows by which users are found: which of them the table lacks. An older version made accounts without one. Of
//! two users whose names differ in case only, the older account keeps the name.

use super::names::{self, NameRow};
use crate::model::{Referral, User, UserId, UserName};
use crate::shop::codes::set_referral_owner_name;
use crate::table::bulk::{OnProgress, all};
use crate::table::keys::{self, prefix};
use crate::table::single::apply;
use crate::table::{Db, StoreError};
use std::collections::BTreeMap;

/// How often rows are looked for again, if others are making accounts.
const INDEX_ROUNDS: usize = 3;

/// A row that is missing, or names another user than it should.
#[derive(Debug, Clone)]
struct Claim {
    name: UserName,
    row: NameRow,
    found: Option<UserId>,
}

/// The rows that the index lacks.
#[derive(Debug, Clone, Default)]
struct Lacking {
    /// The rows to write.
    claims: Vec<Claim>,
    /// Users who cannot have a row, each with the reason.
    without: Vec<String>,
}

/// Compares the index with the accounts. Calls `progress` for what it reads.
async fn lacking(db: &Db, progress: OnProgress<'_>) -> Result<Lacking, StoreError> {
    // Names are read before users: a name that is read then belongs to an account that was there before.
    let rows = all::<NameRow>(db, prefix::NAME).await?;
    progress(rows.len() as u64);
    let rows: BTreeMap<String, NameRow> = rows.into_iter().map(|(key, row)| (key.pk, row)).collect();
    let users = all::<User>(db, prefix::USER).await?;
    progress(users.len() as u64);
    // The oldest user of each name.
    let mut owners: BTreeMap<UserName, &User> = BTreeMap::new();
    let mut without = Vec::new();
    for (_, user) in &users {
        match UserName::parse(&user.username) {
            Err(error) => without.push(format!("user {} is called {:?}, but {error}", user.id, user.username)),
            Ok(name) => {
                let Some(other) = owners.insert(name.clone(), user) else { continue };
                let (older, younger) = if (other.created_at, other.id) < (user.created_at, user.id) {
                    (other, user)
                } else {
                    (user, other)
                };
                without.push(format!("user {} has the name {name}, which user {} had before", younger.id, older.id));
                owners.insert(name, older);
            }
        }
    }
    let claim = |(name, user): (UserName, &User)| {
        let found = rows.get(&keys::name(&name).pk);
        let row = NameRow { user: user.id, valid_after: user.tokens_valid_after, held_until: None };
        let is_right = found.and_then(NameRow::owner) == Some(user.id);
        (!is_right).then_some(Claim { name, row, found: found.map(|row| row.user) })
    };
    Ok(Lacking { claims: owners.into_iter().filter_map(claim).collect(), without })
}

/// Writes what is missing of the index. Returns how many rows were written, and the users who cannot have one, each with
/// the reason. Calls `progress` for what it reads and writes.
pub async fn complete(db: &Db, progress: OnProgress<'_>) -> Result<(usize, Vec<String>), StoreError> {
    let mut written = 0;
    for _ in 0..INDEX_ROUNDS {
        let Lacking { claims, without } = lacking(db, progress).await?;
        let done = write(db, &claims, progress).await?;
        written += done;
        if done == claims.len() {
            return Ok((written, without));
        }
    }
    Err(StoreError::Contended)
}

/// Writes rows of the index, each if it is still as it was found; returns how many. A name that was taken in the meantime
/// belongs to an account that [`lacking`] compares with the others. Calls `progress` for what it writes.
async fn write(db: &Db, claims: &[Claim], progress: OnProgress<'_>) -> Result<usize, StoreError> {
    let mut written = 0;
    for Claim { name, row, found } in claims {
        written += usize::from(names::claim(db, name, row, *found).await?);
        progress(1);
    }
    Ok(written)
}

/// Writes an account's name into its referral codes, which repeat it. Returns with how many it was another one. After
/// an error the same call continues.
pub async fn rename_referrals(db: &Db, user: &User) -> Result<usize, StoreError> {
    let found = all::<Referral>(db, prefix::REFERRAL).await?.into_iter().map(|(_, referral)| referral);
    let found: Vec<Referral> =
        found.filter(|referral| referral.owner == user.id && referral.owner_name != user.username).collect();
    for referral in &found {
        // A code that was removed in the meantime has no name.
        apply(db, set_referral_owner_name(&referral.code, user.id, &user.username)).await?;
    }
    Ok(found.len())
}
