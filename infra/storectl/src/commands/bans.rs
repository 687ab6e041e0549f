//! `ban`, `unban` and `revoke`: who may log in, and which tokens are refused (rules.md, "Bans" and "Tokens").
//!
//! A ban belongs to a name, so that it also holds before a first login. If the name has an account, the account is marked
//! and its tokens are refused by the same transaction.

use super::common::shown_time;
use super::users::find_which;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{BanName, OneUser};
use crate::error::{Exit, Failure};
use crate::target::Target;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem, Update};
use serde_json::json;
use shared::model::{User, UserName};
use shared::store::codec::{decode_live, key_attributes};
use shared::store::keys::{self, Key, PK};
use shared::store::{Db, StoreError, backoff, names};

const OPERATION: &str = "TransactWriteItems";
/// How often a transaction is sent again if the account changed in between.
const ROUNDS: u32 = 4;

/// Bans a name.
pub(super) async fn ban(target: &Target, options: &BanName) -> Result<Answer, Failure> {
    let name = parse(&options.name)?;
    let now = target.seconds().await?;
    let banned = written(target, &name, |db, user| {
        let row = db.put(keys::ban(&name), now)?;
        let account = match user {
            Some(user) => refuse_tokens(db, user, &name, user.next_issue(now), ", #banned = :true")?,
            None => vec![db.absent(&keys::name(&name))?],
        };
        Ok([vec![row], account].concat())
    })
    .await?;
    let account = banned
        .as_ref()
        .map_or_else(|| "it has no account".to_owned(), |user| format!("every token of user {} is refused", user.id));
    let text = format!("{} {name} is banned; {account}.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "name": name.to_string(), "banned": true, "user": banned.map(|user| user.id) })))
}

/// Lifts the ban of a name. Tokens from before the ban stay refused.
pub(super) async fn unban(target: &Target, options: &BanName) -> Result<Answer, Failure> {
    let name = parse(&options.name)?;
    if target.db.get(&keys::ban(&name), true).await?.is_none() {
        return Err(Failure::refused(format!("The name {name} is not banned."), "Check how it is written."));
    }
    let user = written(target, &name, |db, user| {
        let row = db.delete(&keys::ban(&name))?;
        let account = match user {
            Some(user) => db.update(&keys::user(user.id), "REMOVE #banned", &[("#banned", "banned")], vec![])?,
            None => db.absent(&keys::name(&name))?,
        };
        Ok(vec![row, account])
    })
    .await?;
    let text = format!("{} {name} may log in again.", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "name": name.to_string(), "banned": false, "user": user.map(|user| user.id) })))
}

/// Refuses every token issued so far, by the database's clock: also one that was made in this second, after an earlier
/// revocation.
pub(super) async fn revoke(target: &Target, options: &OneUser) -> Result<Answer, Failure> {
    let user = find_which(target, &options.user).await?;
    let after = user.next_issue(target.seconds().await?);
    let name = UserName::parse(&user.username).ok();
    let owner = match &name {
        Some(name) => names::owner(&target.db, name).await?,
        None => None,
    };
    let items = match name.filter(|_| owner == Some(user.id)) {
        Some(name) => refuse_tokens(&Table(&target.db), &user, &name, after, ""),
        None => Ok(vec![valid_after(&Table(&target.db), &user, after, "")?]),
    };
    target.db.transact_write(items?).await.map_err(|error| {
        let failure = Failure::from(StoreError::from_sdk(OPERATION, error));
        failure.done("It is not known whether the tokens were revoked.").next("Run the same command again.")
    })?;
    let text = format!("{} Every token that {} (user {}) had is refused.", paint(GOOD, "ok"), user.username, user.id);
    Ok(Answer::new(text, json!({ "user": user.id, "tokens_valid_after": shown_time(after) })))
}

fn parse(text: &str) -> Result<UserName, Failure> {
    UserName::parse(text).map_err(|error| {
        Failure::refused(format!("The name {text:?} cannot be used: {error}."), "Give the player's name.")
    })
}

/// Sends the writes that `items` makes for a name and its account, and once more if the account changed in between.
/// Returns the account.
async fn written(
    target: &Target,
    name: &UserName,
    items: impl Fn(&Table<'_>, Option<&User>) -> Result<Vec<TransactWriteItem>, StoreError>,
) -> Result<Option<User>, Failure> {
    for round in 0..ROUNDS {
        let user = match names::owner(&target.db, name).await? {
            Some(id) => {
                let key = keys::user(id);
                let item = target.db.get(&key, true).await?;
                item.map(|item| decode_live::<User>(&key, item)).transpose()?
            }
            None => None,
        };
        match target.db.transact_write(items(&Table(&target.db), user.as_ref())?).await {
            Ok(()) => return Ok(user),
            Err(error)
                if error.as_service_error().is_some_and(TransactWriteItemsError::is_transaction_canceled_exception) => {
            }
            Err(error) => {
                let failure = Failure::from(StoreError::from_sdk(OPERATION, error));
                return Err(failure
                    .done("It is not known whether it was written.")
                    .next("Run the same command again."));
            }
        }
        tokio::time::sleep(backoff(round)).await;
    }
    let what = format!("The account of {name} was changed by another request every time.");
    Err(Failure::new(Exit::Raced, what, "Run the same command again."))
}

/// The writes that refuse every token of a user that was issued until `after`, on the account and on its name's row.
fn refuse_tokens(
    table: &Table<'_>,
    user: &User,
    name: &UserName,
    after: i64,
    more: &str,
) -> Result<Vec<TransactWriteItem>, StoreError> {
    let index = table.update(
        &keys::name(name),
        "SET valid_after = :after",
        &[],
        vec![(":after", AttributeValue::N(after.to_string()))],
    )?;
    Ok(vec![valid_after(table, user, after, more)?, index])
}

fn valid_after(table: &Table<'_>, user: &User, after: i64, more: &str) -> Result<TransactWriteItem, StoreError> {
    let mut names = Vec::new();
    let mut values = vec![(":after", AttributeValue::N(after.to_string()))];
    if !more.is_empty() {
        names.push(("#banned", "banned"));
        values.push((":true", AttributeValue::Bool(true)));
    }
    table.update(&keys::user(user.id), &format!("SET tokens_valid_after = :after{more}"), &names, values)
}

/// Builds the writes of a transaction.
struct Table<'a>(&'a Db);

impl Table<'_> {
    fn put(&self, key: Key, since: i64) -> Result<TransactWriteItem, StoreError> {
        let mut item = key_attributes(&key);
        item.insert("since".to_owned(), AttributeValue::N(since.to_string()));
        let put = Put::builder().table_name(self.0.table()).set_item(Some(item)).build().map_err(refused)?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    fn delete(&self, key: &Key) -> Result<TransactWriteItem, StoreError> {
        let delete = Delete::builder().table_name(self.0.table()).set_key(Some(key_attributes(key)));
        Ok(TransactWriteItem::builder().delete(delete.build().map_err(refused)?).build())
    }

    /// Fails if there is an item.
    fn absent(&self, key: &Key) -> Result<TransactWriteItem, StoreError> {
        let check = ConditionCheck::builder().table_name(self.0.table()).set_key(Some(key_attributes(key)));
        let check = check.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK);
        Ok(TransactWriteItem::builder().condition_check(check.build().map_err(refused)?).build())
    }

    /// Changes an item that must be there.
    fn update(
        &self,
        key: &Key,
        expression: &str,
        names: &[(&str, &str)],
        values: Vec<(&str, AttributeValue)>,
    ) -> Result<TransactWriteItem, StoreError> {
        let mut update = Update::builder()
            .table_name(self.0.table())
            .set_key(Some(key_attributes(key)))
            .update_expression(expression)
            .condition_expression("attribute_exists(#pk)")
            .expression_attribute_names("#pk", PK);
        for (placeholder, name) in names {
            update = update.expression_attribute_names(*placeholder, *name);
        }
        for (placeholder, value) in values {
            update = update.expression_attribute_values(placeholder, value);
        }
        Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
    }
}

fn refused(error: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    StoreError::Refused { operation: OPERATION, source: Box::new(error) }
}
