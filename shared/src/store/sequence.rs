//! Integer ids: one counter item per kind, which holds the first number that is free. A batch takes a block; gaps
//! are fine.

use super::codec::key_attributes;
use super::{Db, StoreError, keys};
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

/// Users' ids.
pub const USERS: &str = "user";
/// Orders' running numbers.
pub const ORDERS: &str = "order";
/// Ids of coupons and gift cards.
pub const CODES: &str = "code";

/// Takes `count` ids of a kind and returns the first of them.
///
/// # Errors
/// [`StoreError`] if the database does not respond; a block that was taken without a response is a gap.
pub async fn reserve(db: &Db, kind: &str, count: u64) -> Result<u64, StoreError> {
    let key = keys::sequence(kind);
    let number = |value: u64| AttributeValue::N(value.to_string());
    let request = UpdateItemInput::builder()
        .table_name(db.table())
        .set_key(Some(key_attributes(&key)))
        .update_expression("SET #next = if_not_exists(#next, :one) + :count")
        .expression_attribute_names("#next", "next")
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":count", number(count))
        .return_values(ReturnValue::UpdatedNew);
    let answer = db.update_item(request).await.map_err(|error| StoreError::from_sdk("UpdateItem", error))?;
    let next = answer.attributes.as_ref().and_then(|item| item.get("next")).and_then(|value| value.as_n().ok());
    let next: Option<u64> = next.and_then(|text| text.parse().ok());
    let unreadable = || StoreError::Unreadable { kind: key.to_string(), attribute: "next".to_owned(), source: None };
    next.and_then(|next| next.checked_sub(count)).ok_or_else(unreadable)
}
