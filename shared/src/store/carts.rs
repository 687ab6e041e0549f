//! Carts: read with others, written whole on the condition that nobody wrote in between (ruling 8).

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{Item, decode_live, encode_live, key_attributes};
use super::keys::{self, PK, SK};
use crate::model::{Cart, UserId};
use crate::telemetry::database_call;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::HashMap;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Saved {
    /// It is in the table.
    Written,
    /// Another write came in between; nothing was written.
    Conflict,
}

/// Attributes that a cart may be without.
const OPTIONAL: [&str; 2] = ["code", "referral"];

/// Takes a user's cart out of what was read; before the first write it is empty.
///
/// # Errors
/// [`StoreError::Unreadable`] where it does not decode.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Cart, StoreError> {
    let key = keys::cart(user);
    rows.take(&key).map_or_else(|| Ok(Cart::empty(user)), |item| decode_live(&key, item))
}

/// Writes `cart`, whose `version` is the one that was read, as the next version.
///
/// # Errors
/// [`StoreError`] where the database answers neither with the write nor with the failed condition.
pub async fn save(db: &Db, cart: &Cart) -> Result<Saved, StoreError> {
    let key = keys::cart(cart.user);
    let next = Cart { version: cart.version.saturating_add(1), ..cart.clone() };
    let mut attributes = encode_live(&key, &next)?;
    attributes.remove(PK);
    attributes.remove(SK);
    let update = Update::of(attributes);
    let mut request = db.client().update_item().table_name(db.table()).set_key(Some(key_attributes(&key)));
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
    match database_call(Box::pin(request.update_expression(update.expression).send())).await {
        Ok(_) => Ok(Saved::Written),
        Err(error) => match error.as_service_error() {
            Some(
                UpdateItemError::ConditionalCheckFailedException(_) | UpdateItemError::TransactionConflictException(_),
            ) => Ok(Saved::Conflict),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

/// An update expression that sets what is there and removes what is not.
struct Update {
    expression: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Update {
    fn of(attributes: Item) -> Self {
        let absent = OPTIONAL.iter().filter(|name| !attributes.contains_key(**name));
        let removes: Vec<String> = absent.map(|name| (*name).to_owned()).collect();
        let mut names: HashMap<String, String> = HashMap::new();
        let mut values = HashMap::new();
        let mut sets: Vec<String> = Vec::new();
        for (name, value) in attributes {
            sets.push(format!("#{name} = :{name}"));
            names.insert(format!("#{name}"), name.clone());
            values.insert(format!(":{name}"), value);
        }
        names.extend(removes.iter().map(|name| (format!("#{name}"), name.clone())));
        let mut expression = format!("SET {}", sets.join(", "));
        if !removes.is_empty() {
            let removes: Vec<String> = removes.iter().map(|name| format!("#{name}")).collect();
            expression.push_str(" REMOVE ");
            expression.push_str(&removes.join(", "));
        }
        Self { expression, names, values }
    }
}
