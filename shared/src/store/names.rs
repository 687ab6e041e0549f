//! User names: one index row per name, written in the same transaction as the account, so that names are unique without
//! regard to case (rules.md, "Accounts") and a user is found by name with one read.

use super::client::Db;
use super::codec::{Item, decode_live, encode_live};
use super::keys::{self, PK};
use super::{StoreError, backoff};
use crate::model::{User, UserId, UserName};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use serde::{Deserialize, Serialize};

const OPERATION: &str = "TransactWriteItems";
/// How often a transaction that collided with another is sent again.
const ROUNDS: u32 = 4;

/// The attribute with the id of the user who has the name.
pub const USER: &str = "user";

/// The index row of a name; its field is called [`USER`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct NameRow {
    /// The user who has the name.
    pub user: UserId,
}

/// The outcome of creating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// The account is in the table.
    Written,
    /// Another user has the name; nothing was written.
    NameTaken(UserId),
    /// There is an account with this id; nothing was written.
    IdTaken,
}

/// The index row of a user's name.
///
/// # Errors
/// If it cannot be serialised, which does not happen.
pub fn row(name: &UserName, user: UserId) -> Result<Item, StoreError> {
    encode_live(&keys::name(name), &NameRow { user })
}

/// The user who has a name, strongly consistent.
///
/// # Errors
/// [`StoreError`] if the row cannot be read or decoded.
pub async fn owner(db: &Db, name: &UserName) -> Result<Option<UserId>, StoreError> {
    let key = keys::name(name);
    let row: Option<NameRow> = db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()?;
    Ok(row.map(|row| row.user))
}

/// Writes an account and its name's index row in one transaction, if neither exists.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the account may then have been written or not.
pub async fn create(db: &Db, user: &User, name: &UserName) -> Result<Created, StoreError> {
    let items = vec![put_new(db, row(name, user.id)?)?, put_new(db, encode_live(&keys::user(user.id), user)?)?];
    for round in 0..ROUNDS {
        let Err(error) = db.transact_write(items.clone()).await else { return Ok(Created::Written) };
        match error.as_service_error().and_then(verdict) {
            Some(Verdict::Name) => match owner(db, name).await? {
                Some(id) if id == user.id => return Ok(Created::Written),
                Some(id) => return Ok(Created::NameTaken(id)),
                // It was erased in the meantime.
                None => {}
            },
            Some(Verdict::Id) => return Ok(Created::IdTaken),
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

/// Why an account was not written.
enum Verdict {
    /// The name is taken.
    Name,
    /// The id is taken.
    Id,
    /// Another transaction holds one of the items.
    Conflict,
}

/// Reads a cancelled transaction by position: refusals count before contention.
fn verdict(error: &TransactWriteItemsError) -> Option<Verdict> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { return None };
    let reasons = cancelled.cancellation_reasons();
    let code = |place: usize| reasons.get(place).and_then(|reason| reason.code()).unwrap_or("None");
    match (code(0), code(1)) {
        ("ConditionalCheckFailed", _) => Some(Verdict::Name),
        (_, "ConditionalCheckFailed") => Some(Verdict::Id),
        ("TransactionConflict", _) | (_, "TransactionConflict") => Some(Verdict::Conflict),
        _ => None,
    }
}
