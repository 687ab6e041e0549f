//! Carts: read together with other items, written whole on the condition that no other request wrote in between (rules.md,
//! "Writing a cart"). Attributes that a cart does not have stay.

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{encode_live, key_attributes};
use super::keys::{self, Key, PK, SK};
use super::transaction::Write;
use crate::model::{Cart, InternalId, UserId};
use crate::random;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use std::collections::HashMap;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// The cart is in the table.
    Written,
    /// Another request wrote in between; nothing was written.
    Conflict,
}

/// Takes a user's cart out of the rows; before its first write it is empty.
///
/// # Errors
/// [`StoreError::Unreadable`] if it does not decode.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Cart, StoreError> {
    let key = keys::cart(user);
    rows.take(&key).map_or_else(|| Ok(Cart::empty(user)), |row| row.live(&key))
}

/// Writes a cart as the version after the one that was read, which is still in it.
///
/// If the response to the first attempt is lost, the SDK retries, and the condition fails on what the first attempt wrote.
/// The write's id in the cart distinguishes this from a conflict.
///
/// # Errors
/// [`StoreError`] if the database confirms neither the write nor a failed condition.
pub async fn save(db: &Db, cart: &Cart) -> Result<Saved, StoreError> {
    let key = keys::cart(cart.user);
    // Without entropy there is no id, and a lost response then looks like a conflict.
    let write = random::id();
    let update = Update::of(cart, write.clone(), &key)?;
    let mut request = UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&key)));
    request = request.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    request = if cart.version == 0 {
        request.condition_expression("attribute_not_exists(pk)")
    } else {
        let read = AttributeValue::N(cart.version.to_string());
        request.condition_expression("#version = :read").expression_attribute_values(":read", read)
    };
    for (name, value) in update.values {
        request = request.expression_attribute_values(name, value);
    }
    for (placeholder, name) in update.names {
        request = request.expression_attribute_names(placeholder, name);
    }
    match db.update_item(request.update_expression(update.expression)).await {
        Ok(_) => Ok(Saved::Written),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                let last = failed.item().and_then(|item| item.get(LAST_WRITE)).and_then(|value| value.as_s().ok());
                Ok(if write.is_some() && write.as_ref() == last { Saved::Written } else { Saved::Conflict })
            }
            Some(UpdateItemError::TransactionConflictException(_)) => Ok(Saved::Conflict),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

/// The write of a cart as the version after the one that was read, as part of a transaction.
///
/// # Errors
/// [`StoreError::Unreadable`] if it cannot be encoded.
pub fn write<G>(cart: &Cart) -> Result<Write<G>, StoreError> {
    let key = keys::cart(cart.user);
    let update = Update::of(cart, None, &key)?;
    let write = Write::update(key, update.expression);
    let write = update.names.into_iter().fold(write, |write, (placeholder, name)| write.name(placeholder, name));
    let write = update.values.into_iter().fold(write, |write, (placeholder, value)| write.value(placeholder, value));
    Ok(if cart.version == 0 {
        write.only_if("attribute_not_exists(pk)")
    } else {
        write.only_if("#version = :read").number(":read", cart.version)
    })
}

/// The write that forgets a cart's open checkout, on the condition that it is this order's.
#[must_use]
pub fn forget_checkout<G>(user: UserId, order: &InternalId) -> Write<G> {
    Write::update(keys::cart(user), "SET #version = #version + :one REMOVE checkout")
        .only_if("checkout.#order = :order")
        .name("#version", "version")
        .name("#order", "order")
        .number(":one", 1)
        .text(":order", order.as_str())
}

/// The attribute with the id of the cart's last write.
const LAST_WRITE: &str = "last_write";

/// The attributes of a cart that are missing if they are not set.
const OPTIONAL: [&str; 3] = ["code", "referral", "checkout"];

/// An update expression that sets a cart's attributes and removes those that it does not have.
struct Update {
    expression: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Update {
    fn of(cart: &Cart, write: Option<String>, key: &Key) -> Result<Self, StoreError> {
        let mut attributes = encode_live(key, cart)?;
        attributes.remove(PK);
        attributes.remove(SK);
        let version = cart.version.saturating_add(1);
        attributes.insert("version".to_owned(), AttributeValue::N(version.to_string()));
        attributes.extend(write.map(|id| (LAST_WRITE.to_owned(), AttributeValue::S(id))));
        let removed: Vec<&str> = OPTIONAL.into_iter().filter(|name| !attributes.contains_key(*name)).collect();
        let set: Vec<String> = attributes.keys().map(|name| format!("#{name} = :{name}")).collect();
        let remove = if removed.is_empty() { String::new() } else { format!(" REMOVE #{}", removed.join(", #")) };
        let expression = format!("SET {}{remove}", set.join(", "));
        let names = attributes.keys().map(String::as_str).chain(removed);
        Ok(Self {
            expression,
            names: names.map(|name| (format!("#{name}"), name.to_owned())).collect(),
            values: attributes.into_iter().map(|(name, value)| (format!(":{name}"), value)).collect(),
        })
    }
}
