//! User names: one index row per name, written in the same transaction as the account, so that names are unique without
//! regard to case (rules.md, "Accounts") and a user is found by name with one read.
//!
//! An older version made accounts without such a row; the rows that the table lacks are found and written. Of two users whose names
//! differ in case only, the older account keeps the name.

use super::{Added, RenameError, logins};
use crate::model::{Referral, User, UserId, UserName, next_issue};
use crate::shop::codes::set_referral_owner_name;
use crate::table::bulk::{OnProgress, all};
use crate::table::codec::{Item, encode_live};
use crate::table::keys::{self, prefix};
use crate::table::single::apply;
use crate::table::transaction::{Guard, Guarded, Write, send_guarded, sent};
use crate::table::{Db, StoreError, TURNS, in_turns, read_live};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The attribute with the id of the user who has the name.
pub const USER: &str = "user";
/// How long the former name of an account is held for it, in seconds: 30 days.
pub const HELD_SECONDS: i64 = 30 * 86_400;

/// The content of the index row of a name; the field is called [`USER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    pub user: UserId,
    /// The account's `tokens_valid_after`, so that a login need not read the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_after: Option<i64>,
    /// Set on the former name of an account: until then (seconds since 1970 UTC) no other account can have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<i64>,
}

impl NameRow {
    /// The user who has the name now; `None` if it is a former name.
    pub fn owner(&self) -> Option<UserId> {
        self.held_until.is_none().then_some(self.user)
    }

    /// Whether anyone may take the name at `now` (seconds since 1970 UTC). The row may outlive its time.
    pub fn is_free(&self, now: i64) -> bool {
        self.held_until.is_some_and(|until| until <= now)
    }

    /// The second (since 1970 UTC) at which a token of the user that is made at `now` is issued.
    pub fn next_issue(&self, now: i64) -> i64 {
        next_issue(self.valid_after, now)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// Since when it is banned, seconds since 1970 UTC.
    pub since: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hashes of the cards that are banned with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Login {
    /// The name's index row; `None` if no account has the name.
    pub name: Option<NameRow>,
    pub is_banned: bool,
}

/// Reads what a login by name needs, strongly consistent, in one round trip.
pub async fn login(db: &Db, name: &UserName) -> Result<Login, StoreError> {
    let (key, ban) = (keys::name(name), keys::ban(name));
    let mut rows = db.batch_get(vec![key.clone(), ban.clone()]).await?;
    let row = rows.take_live(&key)?;
    Ok(Login { name: row, is_banned: rows.take(&ban).is_some() })
}

/// Gives a name to a user, if it still belongs to `found` (`None`: to no user). Returns whether it was written.
pub async fn claim(db: &Db, name: &UserName, row: &NameRow, found: Option<UserId>) -> Result<bool, StoreError> {
    let write = Write::put_live(keys::name(name), row)?;
    let write = match found {
        None => write.only_if_absent(),
        Some(other) => write.only_if_equal(USER, other),
    };
    sent(db, vec![write]).await
}

/// The index row of a user's name.
pub fn row(name: &UserName, user: UserId, valid_after: Option<i64>) -> Result<Item, StoreError> {
    encode_live(&keys::name(name), &NameRow { user, valid_after, held_until: None })
}

/// The write that fails if an account has the name. A name that is only held for an account passes.
pub fn must_be_unowned(name: &UserName) -> Write {
    let write = Write::check(keys::name(name)).name("#pk", keys::PK);
    write.only_if("attribute_not_exists(#pk) OR attribute_exists(held_until)")
}

/// The user who has a name, strongly consistent.
pub async fn owner(db: &Db, name: &UserName) -> Result<Option<UserId>, StoreError> {
    Ok(find(db, name).await?.and_then(|row| row.owner()))
}

/// The index row of a name, strongly consistent; also that of a former name.
pub async fn find(db: &Db, name: &UserName) -> Result<Option<NameRow>, StoreError> {
    read_live(db, &keys::name(name)).await
}

/// Writes an account and its name's index row in one transaction, if neither exists and the name is not banned. A name
/// that was held until the second in which the account is made is free. `None`, and nothing is written, if there is an account
/// with this id. If the database does not respond, the account may have been written or not.
pub async fn create(db: &Db, user: &User, name: &UserName) -> Result<Option<Added>, StoreError> {
    let index = row(name, user.id, user.tokens_valid_after)?;
    let writes = vec![
        Write::check(keys::ban(name)).only_if_absent().guarded_by(Taken::Banned),
        Write::put(keys::name(name), index)
            .only_if(FREE)
            .name("#pk", keys::PK)
            .number(":now", user.created_at)
            .guarded_by(Taken::Name),
        Write::put_live(keys::user(user.id), user)?.only_if_absent().guarded_by(Taken::Id),
    ];
    in_turns(TURNS, || async {
        Ok(match send_guarded(db, writes.clone()).await? {
            Ok(()) => Some(Added::Written),
            // It may have been erased in the meantime.
            Err(Taken::Name) => match find(db, name).await?.ok_or(StoreError::Contended)? {
                row if row.user == user.id => Some(Added::Written),
                row => Some(Added::NameTaken(row)),
            },
            Err(Taken::Id) => None,
            Err(Taken::Banned) => Some(Added::Banned),
        })
    })
    .await
}

/// The condition that no account has a name, and that it is not held for one at `:now`.
const FREE: &str = "attribute_not_exists(#pk) OR held_until <= :now";

/// Writes the account `after` over `before`, as far as the name goes, with the index rows of both names, in one
/// transaction. `after` has another name, and its `updated_at` is the present second. An account that was changed or banned since
/// is a lost race. If the database does not respond, the account may have been renamed or not.
pub async fn rename(db: &Db, before: &User, after: &User, name: &UserName) -> Result<(), RenameError> {
    let (id, now) = (after.id, after.updated_at);
    let mut writes: Vec<Guarded<Taken>> = vec![rename_account(before, after).into()];
    let former = UserName::parse(&before.username).ok();
    if former.as_ref() != Some(name) {
        let own = format!("{FREE} OR #user = :user");
        let index = row(name, id, after.tokens_valid_after)?;
        let index = Write::put(keys::name(name), index).only_if(own).name("#pk", keys::PK).name("#user", USER);
        writes.push(index.number(":now", now).number(":user", id).guarded_by(Taken::Name));
        writes.push(Write::check(keys::ban(name)).only_if_absent().guarded_by(Taken::Banned));
        // Who has begun a login of the name, or is known by it, logs in another player.
        writes.push(logins::forget(name).into());
        if let Some(former) = former
            && owner(db, &former).await? == Some(id)
        {
            writes.push(hold(&former, after)?.into());
        }
    }
    send_guarded(db, writes).await?.map_err(|taken| match taken {
        Taken::Banned => RenameError::NameBanned,
        Taken::Name | Taken::Id => RenameError::NameTaken,
    })
}

/// The write that holds a former name of an account.
fn hold(name: &UserName, user: &User) -> Result<Write, StoreError> {
    let until = user.updated_at.saturating_add(HELD_SECONDS);
    let held = NameRow { user: user.id, valid_after: user.tokens_valid_after, held_until: Some(until) };
    Ok(Write::put_live(keys::name(name), &held)?.kept_until(until).only_if_equal(USER, user.id))
}

/// The write of the account's name, on the condition that what the index rows repeat of it is as it was read.
fn rename_account(before: &User, after: &User) -> Write {
    let is_as_read = match before.tokens_valid_after {
        Some(_) => "tokens_valid_after = :after",
        None => "attribute_not_exists(tokens_valid_after)",
    };
    let write = Write::update(keys::user(after.id), "SET username = :name, avatar = :avatar, updated_at = :now")
        .only_if(format!("username = :former AND attribute_not_exists(banned) AND {is_as_read}"))
        .text(":name", &after.username)
        .text(":former", &before.username)
        .text(":avatar", &after.avatar)
        .number(":now", after.updated_at);
    before.tokens_valid_after.into_iter().fold(write, |write, second| write.number(":after", second))
}

/// The write that frees a former name of a user, whose account is erased.
pub fn release(name: keys::Key, user: UserId) -> Write {
    Write::delete(name).only_if_equal(USER, user)
}

/// The reason why an account is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Name,
    Id,
    Banned,
}

impl Guard for Taken {
    type Refusal = Self;

    fn refusal(&self, _: Option<&Item>) -> Option<Self> {
        Some(*self)
    }
}

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
        written += usize::from(claim(db, name, row, *found).await?);
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
