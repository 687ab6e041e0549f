//! Transactions: writes with their conditions, sent together. A cancelled transaction is read by position in one pure
//! function, [`judge`].

mod token;

use super::client::Db;
use super::codec::{self, Item, encode_live, key_attributes};
use super::keys::{Key, PK, TTL};
use super::{StoreError, Turns};
use crate::random;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use serde::Serialize;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;

const OPERATION: &str = "TransactWriteItems";

/// The attribute that counts the writes of a counter or ledger; absent is 0. Functions of a version from before it was
/// stored do not count theirs.
pub const VERSION: &str = "version";

/// How often [`send`] tries what the database has too little capacity for: up to 0.6 s, in which its capacity grows again.
const THROTTLED_TURNS: u32 = 6;
/// How often [`send_patiently`] tries. The last pauses last up to a second.
const CONTENTION_TURNS: u32 = 8;

/// A limit in the condition of a write. If the condition fails, the guard says which refusal that is.
pub trait Guard {
    type Refusal;

    /// The refusal, decided from the item as it was. `None` if the limit is not exceeded, so that something else has
    /// changed since it was read.
    fn refusal(&self, old: Option<&Item>) -> Option<Self::Refusal>;
}

/// The guard of a transaction that has no limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unguarded {}

impl Guard for Unguarded {
    type Refusal = Self;

    fn refusal(&self, _: Option<&Item>) -> Option<Self> {
        match *self {}
    }
}

#[derive(Debug, Clone)]
enum Change {
    Put(Item),
    Update(String),
    Delete,
    Check,
}

/// A write of a transaction. Its condition holds what was read: if it fails, the decision has to be made again.
#[derive(Debug, Clone)]
pub struct Write {
    key: Key,
    change: Change,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Write {
    fn new(key: Key, change: Change) -> Self {
        Self { key, change, condition: None, names: HashMap::new(), values: HashMap::new() }
    }

    /// Replaces the item with this key; `item` includes the key.
    pub fn put(key: Key, item: Item) -> Self {
        Self::new(key, Change::Put(item))
    }

    /// Replaces the item with this key by a live thing.
    pub fn put_live<T: Serialize>(key: Key, thing: &T) -> Result<Self, StoreError> {
        let item = encode_live(&key, thing)?;
        Ok(Self::put(key, item))
    }

    /// Adds the second after which the table may remove the item that is put.
    #[must_use]
    pub fn kept_until(mut self, second: i64) -> Self {
        if let Change::Put(item) = &mut self.change {
            item.extend([codec::number(TTL, second)]);
        }
        self
    }

    pub fn update(key: Key, expression: impl Into<String>) -> Self {
        Self::new(key, Change::Update(expression.into()))
    }

    /// Adds a clause to the expression of an update.
    #[must_use]
    pub fn also(mut self, clause: &str) -> Self {
        if let Change::Update(expression) = &mut self.change {
            expression.push(' ');
            expression.push_str(clause);
        }
        self
    }

    /// Adds to one number of the item, which `#added` names in a condition.
    pub fn add(key: Key, attribute: &str, number: impl Display) -> Self {
        Self::update(key, "ADD #added :added").name("#added", attribute).number(":added", number)
    }

    /// Sets numbers of the item and counts the write, on the condition that each number is still what was found and
    /// that the item's [`VERSION`] is `version`.
    pub fn set_numbers(key: Key, numbers: &[NumberChange], version: u64) -> Self {
        let (mut sets, mut conditions) = (Vec::new(), Vec::new());
        for (place, number) in numbers.iter().enumerate() {
            sets.push(format!("#a{place} = :e{place}"));
            conditions.push(match number.found {
                Some(_) => format!("#a{place} = :f{place}"),
                None => format!("attribute_not_exists(#a{place})"),
            });
        }
        let write = Self::update(key, format!("SET {} ADD #version :one", sets.join(", ")));
        let write = write.only_if(conditions.join(" AND ")).and_at(version).number(":one", 1);
        numbers.iter().enumerate().fold(write, |write, (place, number)| {
            let write = write.name(format!("#a{place}"), number.attribute.clone());
            let write = write.number(format!(":e{place}"), number.expected);
            match number.found {
                Some(found) => write.number(format!(":f{place}"), found),
                None => write,
            }
        })
    }

    /// Adds to the condition that the item's [`VERSION`] is `read`.
    #[must_use]
    pub fn and_at(self, read: u64) -> Self {
        let is_at = if read == 0 { "attribute_not_exists(#version)" } else { "#version = :version" };
        let write = self.and_if(is_at).name("#version", VERSION);
        if read == 0 { write } else { write.number(":version", read) }
    }

    pub fn delete(key: Key) -> Self {
        Self::new(key, Change::Delete)
    }

    /// Changes nothing; only the condition counts.
    pub fn check(key: Key) -> Self {
        Self::new(key, Change::Check)
    }

    pub fn guarded_by<G>(self, guard: G) -> Guarded<G> {
        Guarded { write: self, guard: Some(guard) }
    }

    #[must_use]
    pub fn only_if(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Adds a condition to the others.
    #[must_use]
    pub fn and_if(mut self, condition: &str) -> Self {
        self.condition = Some(match self.condition.take() {
            Some(others) => format!("{condition} AND ({others})"),
            None => condition.to_owned(),
        });
        self
    }

    #[must_use]
    pub fn only_if_present(self) -> Self {
        self.only_if("attribute_exists(#pk)").name("#pk", PK)
    }

    /// Adds to the condition that the item exists.
    #[must_use]
    pub fn and_if_present(self) -> Self {
        self.and_if("attribute_exists(#pk)").name("#pk", PK)
    }

    /// On the condition that the item does not exist.
    #[must_use]
    pub fn only_if_absent(self) -> Self {
        self.only_if("attribute_not_exists(#pk)").name("#pk", PK)
    }

    /// On the condition that a number of the item is the one that was read.
    #[must_use]
    pub fn only_if_equal(self, attribute: &str, number: impl Display) -> Self {
        self.only_if("#read = :read").name("#read", attribute).number(":read", number)
    }

    #[must_use]
    pub fn name(mut self, placeholder: impl Into<String>, name: impl Into<String>) -> Self {
        self.names.insert(placeholder.into(), name.into());
        self
    }

    #[must_use]
    pub fn value(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.values.insert(placeholder.into(), value);
        self
    }

    #[must_use]
    pub fn values(mut self, values: Item) -> Self {
        self.values.extend(values);
        self
    }

    #[must_use]
    pub fn number(self, placeholder: impl Into<String>, number: impl Display) -> Self {
        self.value(placeholder, AttributeValue::N(number.to_string()))
    }

    #[must_use]
    pub fn text(self, placeholder: impl Into<String>, text: &str) -> Self {
        self.value(placeholder, AttributeValue::S(text.to_owned()))
    }

    /// Adds a truth value to the expressions.
    #[must_use]
    pub fn flag(self, placeholder: &str, is_true: bool) -> Self {
        self.value(placeholder, AttributeValue::Bool(is_true))
    }

    fn into_item(self, table: &str) -> Result<TransactWriteItem, BuildError> {
        // The database refuses an empty map.
        let names = (!self.names.is_empty()).then_some(self.names);
        let values = (!self.values.is_empty()).then_some(self.values);
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        let key = Some(key_attributes(&self.key));
        let item = TransactWriteItem::builder();
        macro_rules! finish {
            ($builder:expr) => {
                $builder
                    .table_name(table)
                    .set_condition_expression(self.condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old)
                    .build()?
            };
        }
        Ok(match self.change {
            Change::Put(attributes) => item.put(finish!(Put::builder().set_item(Some(attributes)))),
            Change::Update(text) => item.update(finish!(Update::builder().set_key(key).update_expression(text))),
            Change::Delete => item.delete(finish!(Delete::builder().set_key(key))),
            Change::Check => item.condition_check(finish!(ConditionCheck::builder().set_key(key))),
        }
        .build())
    }
}

/// A write, and the limit that its condition guards, if it guards one.
#[derive(Debug, Clone)]
pub struct Guarded<G> {
    write: Write,
    guard: Option<G>,
}

impl<G> From<Write> for Guarded<G> {
    fn from(write: Write) -> Self {
        Self { write, guard: None }
    }
}

fn split<G>(parts: Vec<Guarded<G>>) -> (Vec<Write>, Vec<Option<G>>) {
    parts.into_iter().map(|part| (part.write, part.guard)).unzip()
}

fn unguarded(writes: Vec<Write>) -> Vec<Guarded<Unguarded>> {
    writes.into_iter().map(Guarded::from).collect()
}

/// A number of an item that is to be corrected.
#[derive(Debug, Clone)]
pub struct NumberChange {
    pub attribute: String,
    /// The number that was read; `None` if the attribute is missing.
    pub found: Option<i64>,
    pub expected: i64,
}

/// Sends writes as one transaction. It has a random token, so that repeating it, also by the SDK, has no second effect. It is
/// never half written; without a response it is not known whether it was written. Fails with [`StoreError::Contended`], and
/// writes nothing, if what was read has changed, or another transaction holds one of the items: read again and try again.
pub async fn send(db: &Db, writes: Vec<Write>) -> Result<(), StoreError> {
    match send_guarded(db, unguarded(writes)).await? {
        Ok(()) => Ok(()),
        Err(refusal) => match refusal {},
    }
}

/// Sends writes as [`send`] does. Whether they are written: `false` if what was read has changed.
pub async fn sent(db: &Db, writes: Vec<Write>) -> Result<bool, StoreError> {
    is_written(send(db, writes).await)
}

/// Whether something was written: `false` after a lost race.
pub fn is_written(sent: Result<(), StoreError>) -> Result<bool, StoreError> {
    match sent {
        Err(StoreError::Contended) => Ok(false),
        sent => sent.map(|()| true),
    }
}

/// Sends writes as [`send`] does; or nothing was written because a limit does not allow it.
pub async fn send_guarded<G: Guard>(db: &Db, parts: Vec<Guarded<G>>) -> Result<Result<(), G::Refusal>, StoreError> {
    let (writes, guards) = split(parts);
    send_while(db, (writes, guards), random::uuid().as_deref(), (THROTTLED_TURNS, |_| false)).await
}

/// Sends writes as [`send_guarded`] does, and again as long as nothing but another transaction on the same items, or too little
/// capacity, prevents it. The token is made of the writes, so that every repetition is the same transaction: one that was carried
/// out after all, by an attempt whose response was lost, is not refused by what it has written itself.
pub async fn send_patiently<G: Guard>(db: &Db, parts: Vec<Guarded<G>>) -> Result<Result<(), G::Refusal>, StoreError> {
    let (writes, guards) = split(parts);
    let token = token::of(db.table(), &writes);
    let is_held = |reasons: &[CancellationReason]| !reasons.iter().any(has_changed);
    send_while(db, (writes, guards), Some(&token), (CONTENTION_TURNS, is_held)).await
}

/// Sends writes, again as long as the database has too little capacity, or `goes_on` says so of a lost race.
async fn send_while<G: Guard>(
    db: &Db,
    (writes, guards): (Vec<Write>, Vec<Option<G>>),
    token: Option<&str>,
    (rounds, goes_on): (u32, impl Fn(&[CancellationReason]) -> bool),
) -> Result<Result<(), G::Refusal>, StoreError> {
    let mut not_now = StoreError::Contended;
    let mut turns = Turns::of(rounds);
    while turns.next().await {
        not_now = match attempt(db, writes.clone(), &guards, token).await? {
            Attempt::Written => return Ok(Ok(())),
            Attempt::Refused(refusal) => return Ok(Err(refusal)),
            Attempt::Lost(reasons) if !goes_on(&reasons) => return Err(StoreError::Contended),
            Attempt::Lost(_) => StoreError::Contended,
            Attempt::NotNow(error) => error,
        };
    }
    Err(not_now)
}

/// Sends writes as [`send`] does. If conditions fail, returns the writes' positions with the items as they are: what was
/// read can be corrected without reading again. The list is empty if only another transaction prevented it.
pub async fn send_or_read(db: &Db, writes: Vec<Write>) -> Result<Result<(), Vec<(usize, Option<Item>)>>, StoreError> {
    let (writes, guards) = split(unguarded(writes));
    let reasons = match attempt(db, writes, &guards, None).await? {
        Attempt::Written => return Ok(Ok(())),
        Attempt::Refused(refusal) => match refusal {},
        Attempt::Lost(reasons) => reasons,
        Attempt::NotNow(error) => return Err(error),
    };
    let failed = reasons.into_iter().enumerate().filter(|(_, reason)| has_changed(reason));
    Ok(Err(failed.map(|(place, reason)| (place, reason.item)).collect()))
}

fn has_changed(reason: &CancellationReason) -> bool {
    reason.code() == Some("ConditionalCheckFailed")
}

/// The outcome of sending writes once.
enum Attempt<R> {
    Written,
    Refused(R),
    /// What was read has changed, or another transaction is on the same items, by the reason of each write.
    Lost(Vec<CancellationReason>),
    /// Too little capacity, which the SDK repeats of a single call only, or the same transaction is being carried out.
    NotNow(StoreError),
}

/// Sends writes once.
async fn attempt<G: Guard>(
    db: &Db,
    writes: Vec<Write>,
    guards: &[Option<G>],
    token: Option<&str>,
) -> Result<Attempt<G::Refusal>, StoreError> {
    let items: Result<Vec<TransactWriteItem>, BuildError> =
        writes.into_iter().map(|write| write.into_item(db.table())).collect();
    let items = items.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    let Err(error) = db.transact_write(items, token).await else {
        return Ok(Attempt::Written);
    };
    let cancelled = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
        // An earlier attempt, whose response was lost, is still being carried out.
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return Ok(Attempt::NotNow(StoreError::from_sdk(OPERATION, error)));
        }
        _ => return Err(StoreError::from_sdk(OPERATION, error)),
    };
    let reasons = cancelled.cancellation_reasons().to_vec();
    match judge(guards, &reasons, error) {
        Ok(refusal) => Ok(Attempt::Refused(refusal)),
        Err(StoreError::Contended) => Ok(Attempt::Lost(reasons)),
        Err(error @ StoreError::Unavailable { .. }) => Ok(Attempt::NotNow(error)),
        Err(error) => Err(error),
    }
}

/// Reads a cancelled transaction whose writes had these guards: the limit that does not allow it, or `error` as one of the store.
/// The order is:
///
/// 1. A row that was read has changed: a lost race. This comes first because no other reason can be trusted then: the very same
///    order may have taken the last unit when it was recorded a moment ago.
/// 2. A refusal, the first by position.
/// 3. Another transaction is on the same items: a lost race as well.
/// 4. A fault: first too little capacity, then every other reason, which is a bug.
pub fn judge<G: Guard>(
    guards: &[Option<G>],
    reasons: &[CancellationReason],
    error: impl Error + Send + Sync + 'static,
) -> Result<G::Refusal, StoreError> {
    let has_code = |reason: &CancellationReason, code: &str| reason.code() == Some(code);
    let failed = guards.iter().zip(reasons).filter(|(_, reason)| has_changed(reason));
    let mut first = None;
    for (guard, reason) in failed {
        match guard.as_ref().and_then(|guard| guard.refusal(reason.item())) {
            Some(refusal) => first = first.or(Some(refusal)),
            None => return Err(StoreError::Contended),
        }
    }
    if let Some(refusal) = first {
        return Ok(refusal);
    }
    if reasons.iter().any(|reason| has_code(reason, "TransactionConflict")) {
        return Err(StoreError::Contended);
    }
    let throttled = ["ProvisionedThroughputExceeded", "ThrottlingError", "RequestLimitExceeded"];
    if reasons.iter().any(|reason| throttled.iter().any(|code| has_code(reason, code))) {
        return Err(StoreError::Unavailable { operation: OPERATION, source: Some(Box::new(error)) });
    }
    Err(StoreError::Refused { operation: OPERATION, source: Box::new(error) })
}
