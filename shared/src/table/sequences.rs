//! Integer ids: one counter item for each kind, which holds the next free id. Gaps are normal.

use super::client::Db;
use super::codec::key_attributes;
use super::{StoreError, keys};
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

/// Ids of users.
pub const USERS: &str = "user";
/// Running numbers of orders.
pub const ORDERS: &str = "order";
/// Ids of coupons and gift cards.
pub const CODES: &str = "code";
/// Ids of commands and of logins in the game, for all game servers together.
pub const COMMANDS: &str = "command";

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
