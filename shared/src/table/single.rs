//! Conditional writes of one item or a few, and integer ids: one counter item for each kind, which holds the next free id.

use super::codec::{Item, key_attributes};
use super::keys::{self, Key};
use super::transaction::{Guard, Write, send_guarded};
use super::{Db, StoreError, in_turns};
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use serde::Serialize;

/// How often writes are sent while other transactions hold an item.
const HELD_TURNS: u32 = 8;

/// The guard of a write of which only the condition counts.
#[derive(Debug, Clone, Copy)]
struct Condition;

impl Guard for Condition {
    type Refusal = ();

    fn refusal(&self, _: Option<&Item>) -> Option<()> {
        Some(())
    }
}

/// Sends one write, again while other transactions hold its item. Returns whether its condition was met.
pub async fn apply(db: &Db, write: Write) -> Result<bool, StoreError> {
    apply_all(db, vec![write]).await
}

/// Sends writes as one transaction, again while others hold an item. Returns whether every condition was met. Unlike
/// [`super::transaction::send_patiently`] it has a random token: the same writes have an effect each time they are sent, and
/// in every table. If the database does not respond, it is not known whether they were written.
pub async fn apply_all(db: &Db, writes: Vec<Write>) -> Result<bool, StoreError> {
    in_turns(HELD_TURNS, || async {
        let writes = writes.iter().cloned().map(|write| write.guarded_by(Condition)).collect();
        Ok(send_guarded(db, writes).await?.is_ok())
    })
    .await
}

/// Writes a live thing under a key that must be free. Returns whether it was written.
pub async fn create<T: Serialize>(db: &Db, key: &Key, thing: &T) -> Result<bool, StoreError> {
    apply(db, Write::put_live(key.clone(), thing)?.only_if_absent()).await
}

/// Ids of users.
pub const USERS: &str = "user";
/// Running numbers of orders.
pub const ORDERS: &str = "order";
/// Ids of coupons and gift cards.
pub const CODES: &str = "code";
/// Ids of commands and of logins in the game, for all game servers together.
pub const COMMANDS: &str = "command";
/// Every kind.
pub const KINDS: [&str; 4] = [USERS, ORDERS, CODES, COMMANDS];

/// The attribute that holds the next free id.
pub const NEXT: &str = "next";

/// Reserves `count` consecutive ids of a kind and returns the first of them. If the database does not respond, ids that
/// were reserved without a response remain a gap.
pub async fn reserve(db: &Db, kind: &str, count: u64) -> Result<u64, StoreError> {
    let key = keys::sequence(kind);
    let number = |value: u64| AttributeValue::N(value.to_string());
    let request = UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&key)));
    let request = request
        .update_expression("SET #next = if_not_exists(#next, :one) + :count")
        .expression_attribute_names("#next", NEXT)
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":count", number(count))
        .return_values(ReturnValue::UpdatedNew);
    let updated = db.update_item(request).await.map_err(|error| StoreError::from_sdk("UpdateItem", error))?;
    let next = updated.attributes.as_ref().and_then(|item| item.get(NEXT)).and_then(|value| value.as_n().ok());
    let next: Option<u64> = next.and_then(|text| text.parse().ok());
    next.and_then(|next| next.checked_sub(count)).ok_or_else(|| StoreError::unreadable(&key, NEXT))
}
