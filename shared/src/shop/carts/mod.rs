//! Carts: their rows, reading one with everything that its price depends on, and changing one without losing another request's
//! change.

mod context;
mod edit;
mod loaded;

pub use context::{CartContext, CartItems, CartSources, drop_unpublished};
pub use edit::{Added, Attempt, LineError, add_line, change_line, edit};
pub use loaded::{CodesOnCart, LoadedCart};

use crate::model::{Cart, InternalId, UserId};
use crate::random;
use crate::table::StoreError;
use crate::table::client::{Db, Rows};
use crate::table::codec::{Item, encode_live, key_attributes};
use crate::table::keys::{self, Key, PK, SK};
use crate::table::transaction::Write;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use std::collections::HashMap;

/// Takes a user's cart out of the rows; before its first write it is empty.
pub fn take(rows: &mut Rows, user: UserId) -> Result<Cart, StoreError> {
    Ok(rows.take_live(&keys::cart(user))?.unwrap_or_else(|| Cart::empty(user)))
}

/// Writes a cart as the version after the one that was read, which is still in it.
///
/// If the response to the first attempt is lost, the SDK retries, and the condition fails on what the first attempt
/// wrote, or a transaction is on the cart by then. The write's id in the cart distinguishes this from a conflict, also
/// if other requests have written since. [`StoreError::Unavailable`] if so many have that the id would be gone: it is not
/// known whether the cart was written.
pub async fn save(db: &Db, cart: &Cart) -> Result<(), StoreError> {
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
        Ok(_) => Ok(()),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                outcome(cart, failed.item(), write.as_deref())
            }
            Some(UpdateItemError::TransactionConflictException(_)) => {
                outcome(cart, db.get(&key, true).await?.as_ref(), write.as_deref())
            }
            _ => Err(StoreError::from_sdk(UPDATE, error)),
        },
    }
}

/// The write of a cart as the version after the one that was read, as part of a transaction.
pub fn write(cart: &Cart) -> Result<Write, StoreError> {
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
pub fn forget_checkout(user: UserId, order: &InternalId) -> Write {
    Write::update(keys::cart(user), "SET #version = #version + :one REMOVE checkout")
        .only_if("checkout.#order = :order")
        .name("#version", "version")
        .name("#order", "order")
        .number(":one", 1)
        .text(":order", order.as_str())
}

/// The outcome of a write whose condition on the version failed, from the cart that was found instead.
fn outcome(read: &Cart, now: Option<&Item>, write: Option<&str>) -> Result<(), StoreError> {
    let Some((now, write)) = now.zip(write) else { return Err(StoreError::Contended) };
    let text = |name: &str| now.get(name)?.as_s().ok();
    if LAST_WRITES.iter().any(|name| text(name).is_some_and(|id| id == write)) {
        return Ok(());
    }
    let version = now.get("version").and_then(|version| version.as_n().ok()?.parse().ok()).unwrap_or(read.version);
    if version.saturating_sub(read.version) > LAST_WRITES.len() as u64 {
        return Err(StoreError::unavailable(UPDATE));
    }
    Err(StoreError::Contended)
}

const UPDATE: &str = "UpdateItem";

/// The attributes with the ids of the cart's last writes, the newest first: other requests may write while the SDK
/// waits before it retries.
const LAST_WRITES: [&str; 6] = ["last_write", "write_2", "write_3", "write_4", "write_5", "write_6"];

/// The attributes of a cart that are missing if they are not set.
const OPTIONAL: [&str; 4] = ["coupon", "gift_card", "referral", "checkout"];

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
        let is_known = write.is_some();
        attributes.extend(write.map(|id| (LAST_WRITES[0].to_owned(), AttributeValue::S(id))));
        let removed: Vec<&str> = OPTIONAL.into_iter().filter(|name| !attributes.contains_key(*name)).collect();
        let mut set: Vec<String> = attributes.keys().map(|name| format!("#{name} = :{name}")).collect();
        if is_known {
            // Each takes the value that the one before it had before this update.
            set.extend(
                LAST_WRITES.windows(2).map(|pair| format!("{} = if_not_exists({}, :no_write)", pair[1], pair[0])),
            );
        }
        let remove = if removed.is_empty() { String::new() } else { format!(" REMOVE #{}", removed.join(", #")) };
        let expression = format!("SET {}{remove}", set.join(", "));
        let names = attributes.keys().map(String::as_str).chain(removed);
        let names = names.map(|name| (format!("#{name}"), name.to_owned())).collect();
        let mut values: HashMap<_, _> =
            attributes.into_iter().map(|(name, value)| (format!(":{name}"), value)).collect();
        if is_known {
            values.insert(":no_write".to_owned(), AttributeValue::S(String::new()));
        }
        Ok(Self { expression, names, values })
    }
}
