//! Carts: read together with other items, written on the condition that no other request wrote in between (rules.md,
//! "Writing a cart"). Because of that condition only what changed is written: the rest is as it was read.

use super::StoreError;
use super::client::{Db, Rows};
use super::codec::{encode_live, key_attributes};
use super::keys::{self, Key, PK, SK};
use crate::model::{AppliedCode, Cart, CodeText, Line, UserId};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use serde::Serialize;
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

/// A cart that was read, and its new content.
#[derive(Debug, Clone)]
pub struct Edit {
    read: Cart,
    /// The new content; its version is still the one that was read.
    pub cart: Cart,
}

impl Edit {
    /// A cart that was read and is not changed yet.
    #[must_use]
    pub fn of(cart: Cart) -> Self {
        Self { read: cart.clone(), cart }
    }
}

/// Writes what an edit changed, as the next version. The first write of a cart writes all of it.
///
/// If the response to the first attempt is lost, the SDK retries, and the condition fails on what the first attempt wrote.
/// The write's id in the cart distinguishes this from a conflict.
///
/// # Errors
/// [`StoreError`] if the database confirms neither the write nor a failed condition.
pub async fn save(db: &Db, edit: &Edit) -> Result<Saved, StoreError> {
    let key = keys::cart(edit.cart.user);
    let write = write_id();
    let update = Update::of(edit, write.clone(), &key)?;
    let mut request = UpdateItemInput::builder().table_name(db.table()).set_key(Some(key_attributes(&key)));
    request = request.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
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
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                let last = failed.item().and_then(|item| item.get(LAST_WRITE)).and_then(|value| value.as_s().ok());
                Ok(if write.is_some() && write.as_ref() == last { Saved::Written } else { Saved::Conflict })
            }
            Some(UpdateItemError::TransactionConflictException(_)) => Ok(Saved::Conflict),
            _ => Err(StoreError::from_sdk("UpdateItem", error)),
        },
    }
}

/// A random id of a write. Without entropy there is none, and a lost response then looks like a conflict.
fn write_id() -> Option<String> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).is_ok().then(|| format!("{:016x}", u64::from_le_bytes(bytes)))
}

/// The attribute with the id of the cart's last write.
const LAST_WRITE: &str = "last_write";

/// The attributes that a write sets: fields of [`Cart`], and [`LAST_WRITE`].
#[derive(Serialize)]
struct Changes<'a> {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_write: Option<String>,
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
    fn of(Edit { read, cart }: &'a Edit, write: Option<String>) -> Self {
        let is_first = read.version == 0;
        Self {
            version: read.version.saturating_add(1),
            last_write: write,
            user: is_first.then_some(cart.user),
            next_line: (is_first || cart.next_line != read.next_line).then_some(cart.next_line),
            lines: (is_first || cart.lines != read.lines).then_some(&cart.lines),
            code: cart.code.as_ref().filter(|code| read.code.as_ref() != Some(*code)),
            referral: cart.referral.as_ref().filter(|referral| read.referral.as_ref() != Some(*referral)),
        }
    }
}

/// An update expression that sets what an edit changed and removes what it removed.
struct Update {
    expression: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Update {
    fn of(edit: &Edit, write: Option<String>, key: &Key) -> Result<Self, StoreError> {
        let mut attributes = encode_live(key, &Changes::of(edit, write))?;
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
