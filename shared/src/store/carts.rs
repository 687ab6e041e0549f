//! Carts: read with others, written on the condition that nobody wrote in between (ruling 8). That condition makes it
//! enough to write what changed: all else is as it was read.

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{encode_live, key_attributes};
use super::keys::{self, Key, PK, SK};
use crate::model::{AppliedCode, Cart, CodeText, Line, UserId};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
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

/// Takes a user's cart out of what was read; before the first write it is empty.
///
/// # Errors
/// [`StoreError::Unreadable`] where it does not decode.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Cart, StoreError> {
    let key = keys::cart(user);
    rows.take(&key).map_or_else(|| Ok(Cart::empty(user)), |row| row.live(&key))
}

/// A cart as it was read, and as it is to be.
#[derive(Debug, Clone)]
pub struct Edit {
    read: Cart,
    /// The cart as it is to be; its version is still the one that was read.
    pub cart: Cart,
}

impl Edit {
    /// A cart that was read, not changed yet.
    #[must_use]
    pub fn of(cart: Cart) -> Self {
        Self { read: cart.clone(), cart }
    }
}

/// Writes what an edit changed, as the next version; the first write of a cart writes all of it.
///
/// # Errors
/// [`StoreError`] where the database answers neither with the write nor with the failed condition.
pub async fn save(db: &Db, edit: &Edit) -> Result<Saved, StoreError> {
    let key = keys::cart(edit.cart.user);
    let update = Update::of(edit, &key)?;
    let mut request = UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&key)));
    request = if edit.read.version == 0 {
        request.condition_expression("attribute_not_exists(pk)")
    } else {
        let read = AttributeValue::N(edit.read.version.to_string());
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
            Some(
                UpdateItemError::ConditionalCheckFailedException(_) | UpdateItemError::TransactionConflictException(_),
            ) => Ok(Saved::Conflict),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

/// What a write sets, under the names that [`Cart`] has.
#[derive(Serialize)]
struct Changes<'a> {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [Line]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a AppliedCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    referral: Option<&'a CodeText>,
}

impl<'a> Changes<'a> {
    fn of(Edit { read, cart }: &'a Edit) -> Self {
        let is_first = read.version == 0;
        Self {
            version: read.version.saturating_add(1),
            user: is_first.then_some(cart.user),
            next_line: (is_first || cart.next_line != read.next_line).then_some(cart.next_line),
            lines: (is_first || cart.lines != read.lines).then_some(&cart.lines),
            code: cart.code.as_ref().filter(|code| read.code.as_ref() != Some(*code)),
            referral: cart.referral.as_ref().filter(|referral| read.referral.as_ref() != Some(*referral)),
        }
    }
}

/// An update expression that sets what an edit changed and removes what it took away.
struct Update {
    expression: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Update {
    fn of(edit: &Edit, key: &Key) -> Result<Self, StoreError> {
        let mut attributes = encode_live(key, &Changes::of(edit))?;
        attributes.remove(PK);
        attributes.remove(SK);
        let (read, cart) = (&edit.read, &edit.cart);
        let is_gone = [
            ("code", read.code.is_some() && cart.code.is_none()),
            ("referral", read.referral.is_some() && cart.referral.is_none()),
        ];
        let removes: Vec<&str> = is_gone.iter().filter(|(_, gone)| *gone).map(|(name, _)| *name).collect();
        let mut names: HashMap<String, String> = HashMap::new();
        let mut values = HashMap::new();
        let mut sets: Vec<String> = Vec::new();
        for (name, value) in attributes {
            sets.push(format!("#{name} = :{name}"));
            values.insert(format!(":{name}"), value);
            names.insert(format!("#{name}"), name);
        }
        let mut expression = format!("SET {}", sets.join(", "));
        if !removes.is_empty() {
            expression.push_str(" REMOVE #");
            expression.push_str(&removes.join(", #"));
        }
        names.extend(removes.iter().map(|name| (format!("#{name}"), (*name).to_owned())));
        Ok(Self { expression, names, values })
    }
}
