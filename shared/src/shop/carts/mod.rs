//! Carts: their rows, reading one with everything that its price depends on, and changing one without losing another request's
//! change (rules.md, "Writing a cart"), for example by adding a line.

mod context;

pub use context::{CartContext, CartItems, CartSources, CodesOnCart, LoadedCart, drop_unpublished};

use crate::model::{Cart, InternalId, ItemId, LineId, UserId};
use crate::rules::add_line::{Change, LineRefusal, LineToAdd, change, place, to_change};
use crate::table::client::Rows;
use crate::table::codec::{Item, encode_live, key_attributes};
use crate::table::keys::{self, Key, PK, SK};
use crate::table::transaction::Write;
use crate::table::{Db, LostRace, StoreError, TURNS, in_turns};
use crate::{random, telemetry};
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

/// The result of an attempt to change a cart.
#[derive(Debug)]
pub enum Attempt<R> {
    /// A reply; nothing is to be written.
    Done(R),
    /// The cart to be written, with the version that was read, and the reply once it is.
    Write(Box<Cart>, R),
}

/// Runs `attempt` (read and decide) and writes its result, on the condition that the cart did not change in between. If
/// it did, reads and decides again.
pub async fn edit<R, E, F>(db: &Db, attempt: impl Fn() -> F) -> Result<R, E>
where
    E: LostRace + From<StoreError>,
    F: Future<Output = Result<Attempt<R>, E>>,
{
    in_turns(TURNS, || async {
        match attempt().await? {
            Attempt::Done(reply) => Ok(reply),
            Attempt::Write(cart, reply) => match save(db, &cart).await {
                Ok(()) => Ok(reply),
                Err(error) => {
                    if error.is_contended() {
                        telemetry::conflict();
                    }
                    Err(error.into())
                }
            },
        }
    })
    .await
}

/// The result of adding a line to a cart that is still to be written.
#[derive(Debug)]
pub struct Added {
    /// The line that was added, or that has more units now.
    pub line: LineId,
    /// The items whose lines the new one replaces.
    pub replaced: Vec<ItemId>,
}

/// The reason why a line was not added or changed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The rules do not allow it.
    #[error(transparent)]
    Refused(#[from] LineRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds a line to a cart whose items were loaded together with the line's. Lines whose item is no longer published are
/// removed by the same write. Nothing is written here.
pub async fn add_line(
    sources: &CartSources<'_>,
    context: &mut CartContext,
    items: &CartItems,
    line: &LineToAdd,
) -> Result<Added, LineError> {
    drop_unpublished(sources, &context.active.version, &mut context.cart).await?;
    let placed = place(&context.inputs(items), line)?;
    context.cart = placed.cart;
    Ok(Added { line: placed.line, replaced: placed.replaced })
}

/// Changes a line of a cart, and returns whether there is something to write. Lines whose item is no longer published
/// are removed by the same write. Reads nothing if the line has that many units already. Nothing is written here.
pub async fn change_line(
    sources: &CartSources<'_>,
    context: &mut CartContext,
    line: LineId,
    wanted: &Change,
) -> Result<bool, LineError> {
    let Some(line) = to_change(&context.cart, line, wanted)?.map(|line| line.id) else { return Ok(false) };
    let items = context.load_items(sources, None, []).await?;
    drop_unpublished(sources, &context.active.version, &mut context.cart).await?;
    match change(&context.inputs(&items), line, wanted)? {
        Some(cart) => {
            context.cart = cart;
            Ok(true)
        }
        None => Ok(false),
    }
}
