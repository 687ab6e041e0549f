//! Whether every user name has its index row. Accounts that an older version made get theirs here; of two whose names
//! differ in case only, the older account keeps the name.

use super::finding::Finding;
use crate::table::each;
use crate::target::Target;
use aws_sdk_dynamodb::types::AttributeValue;
use shared::model::{User, UserId, UserName};
use shared::store::StoreError;
use shared::store::codec::{Item, decode_live, key_of};
use shared::store::keys::{self, PK, prefix};
use shared::store::names::{self, NameRow};
use std::collections::BTreeMap;

const CHECK: &str = "user names";

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

pub(super) async fn unique(target: &Target) -> Finding {
    match index(target).await {
        Err(error) => Finding::failed(CHECK, error.into()),
        Ok((_, without)) if !without.is_empty() => {
            let next = "only their ids find them (--id); make a new account under another name, then erase this one";
            Finding::bad(CHECK, without.join("; "), next)
        }
        Ok((0, _)) => Finding::ok(CHECK, "every user is found by name"),
        Ok((written, _)) => Finding::ok(CHECK, format!("{written} index rows were missing or wrong and are right now")),
    }
}

/// Writes what is missing of the index; returns how many rows, and the users who cannot have one.
async fn index(target: &Target) -> Result<(usize, Vec<String>), StoreError> {
    // Names are read before users: a name that is read then belongs to an account that was there before.
    let rows = rows(target).await?;
    let users = users(target).await?;
    let mut written = 0;
    for (name, (_, id)) in &users.owners {
        let found = rows.get(&keys::name(name).pk).copied();
        if found != Some(*id) {
            claim(target, names::row(name, *id, users.valid_after.get(id).copied())?, found).await?;
            written += 1;
        }
    }
    Ok((written, users.without))
}

/// The index rows: partition key to user.
async fn rows(target: &Target) -> Result<BTreeMap<String, UserId>, StoreError> {
    let mut rows = BTreeMap::new();
    each(&target.db, prefix::NAME, |item| {
        let key = key_of(&item)?;
        let row: NameRow = decode_live(&key, item)?;
        rows.insert(key.pk, row.user);
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(rows)
}

async fn users(target: &Target) -> Result<Users, StoreError> {
    let mut users = Users::default();
    each(&target.db, prefix::USER, |item| {
        let user: User = decode_live(&key_of(&item)?, item)?;
        users.take(&user);
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

/// Gives a name to a user if it is still as it was read.
async fn claim(target: &Target, row: Item, found: Option<UserId>) -> Result<(), StoreError> {
    let put = target.db.client().put_item().table_name(target.db.table()).set_item(Some(row));
    let put = match found {
        None => put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK),
        Some(other) => put
            .condition_expression("#user = :found")
            .expression_attribute_names("#user", names::USER)
            .expression_attribute_values(":found", AttributeValue::N(other.to_string())),
    };
    Box::pin(put.send()).await.map_err(|error| StoreError::from_sdk("PutItem", error))?;
    Ok(())
}
