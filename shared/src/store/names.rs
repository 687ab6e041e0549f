//! User names: one index row per name, written in the same transaction as the account, so that names are unique without
//! regard to case (rules.md, "Accounts") and a user is found by name with one read.

use super::client::Db;
use super::codec::{Item, decode_live, encode_live, key_attributes};
use super::keys::{self, PK};
use super::{StoreError, backoff};
use crate::model::{User, UserId, UserName, next_issue};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Put, TransactWriteItem};
use serde::{Deserialize, Serialize};

const OPERATION: &str = "TransactWriteItems";
/// How often a transaction that collided with another is sent again.
const ROUNDS: u32 = 4;

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

/// What became of a new account.
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
/// Where it cannot be serialised, which never happens.
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
    let key = keys::name(name);
    db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()
}

/// Writes an account and its name's index row in one transaction, if neither is there and the name is not banned.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the account may then have been written or not.
pub async fn create(db: &Db, user: &User, name: &UserName) -> Result<Created, StoreError> {
    let items = vec![
        put_new(db, row(name, user.id, user.tokens_valid_after)?)?,
        put_new(db, encode_live(&keys::user(user.id), user)?)?,
        not_banned(db, name)?,
    ];
    for round in 0..ROUNDS {
        // The request has a token, so that its retries have no second effect.
        let Err(error) = db.transact_write(items.clone()).await else { return Ok(Created::Written) };
        match error.as_service_error().and_then(verdict) {
            Some(Verdict::Name) => match find(db, name).await? {
                Some(row) if row.user == user.id => return Ok(Created::Written),
                Some(row) => return Ok(Created::NameTaken(row)),
                // It was erased in the meantime.
                None => {}
            },
            Some(Verdict::Id) => return Ok(Created::IdTaken),
            Some(Verdict::Banned) => return Ok(Created::Banned),
            Some(Verdict::Conflict) => {}
            None => return Err(StoreError::from_sdk(OPERATION, error)),
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: None })
}

fn put_new(db: &Db, item: Item) -> Result<TransactWriteItem, StoreError> {
    let put = Put::builder().table_name(db.table()).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK).build();
    let put = put.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    Ok(TransactWriteItem::builder().put(put).build())
}

fn not_banned(db: &Db, name: &UserName) -> Result<TransactWriteItem, StoreError> {
    let check = ConditionCheck::builder().table_name(db.table()).set_key(Some(key_attributes(&keys::ban(name))));
    let check = check.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK).build();
    let check = check.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    Ok(TransactWriteItem::builder().condition_check(check).build())
}

/// Why an account was not written.
enum Verdict {
    /// The name is taken.
    Name,
    /// The id is taken.
    Id,
    /// The name is banned.
    Banned,
    /// Another transaction holds one of the items.
    Conflict,
}

/// Reads a cancelled transaction by position: refusals count before contention.
fn verdict(error: &TransactWriteItemsError) -> Option<Verdict> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { return None };
    let reasons = cancelled.cancellation_reasons();
    let code = |place: usize| reasons.get(place).and_then(|reason| reason.code()).unwrap_or("None");
    match (code(0), code(1), code(2)) {
        (_, _, "ConditionalCheckFailed") => Some(Verdict::Banned),
        ("ConditionalCheckFailed", ..) => Some(Verdict::Name),
        (_, "ConditionalCheckFailed", _) => Some(Verdict::Id),
        ("TransactionConflict", ..) | (_, "TransactionConflict", _) | (.., "TransactionConflict") => {
            Some(Verdict::Conflict)
        }
        _ => None,
    }
}
