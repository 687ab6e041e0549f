//! Publishing: every row of the new version beside the old one, then one conditional write that moves the pointer.
//! Whatever happens before that write, readers see the old version whole.

use crate::compile::{Compiled, Part};
use crate::remove::{REMOVAL_SECONDS, remove};
use crate::version::{VersionRecord, begin, mark, read_record};
use crate::write::{IN_FLIGHT, OnProgress, batches, write_each};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::model::Pointer;
use shared::store::codec::Item;
use shared::store::keys::Key;
use shared::store::{Db, StoreError, backoff, codec, keys};

/// How often a switch is tried again where another transaction holds the pointer.
const ROUNDS: u32 = 6;
const OPERATION: &str = "TransactWriteItems";

/// What publishing came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// This very store is what is published already.
    Unchanged,
    /// The pointer was moved to this store.
    Switched {
        /// What it pointed to before; `None` on the first publish.
        previous: Option<String>,
        /// Rows that the version has.
        rows: usize,
    },
}

/// Why nothing was published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Somebody else moved the pointer in the meantime.
    #[error("somebody else published version {winner} in the meantime; nothing was switched")]
    Raced {
        /// The version that is published now.
        winner: String,
    },
    /// Somebody removes this very version at this moment, or has just done so.
    #[error("version {version} is being removed")]
    BeingRemoved {
        /// The version.
        version: String,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Publishes a store, see [`publish_with`].
///
/// # Errors
/// [`PublishError`]; the version that was published before is then still published, or another publisher's is.
pub async fn publish(db: &Db, compiled: &Compiled, now: i64) -> Result<Published, PublishError> {
    publish_with(db, compiled, now, &|_| {}).await
}

/// Publishes a store and tells `progress` of every row that is in the table. Interrupted, it can be run again: rows
/// that are there already are not written again. `now` is in seconds since 1970 UTC.
///
/// # Errors
/// [`PublishError`]; the version that was published before is then still published, or another publisher's is.
pub async fn publish_with(
    db: &Db,
    compiled: &Compiled,
    now: i64,
    progress: OnProgress<'_>,
) -> Result<Published, PublishError> {
    let before = read_pointer(db).await?;
    let mut known = read_record(db, &compiled.version).await?;
    let is_current = before.as_ref().is_some_and(|pointer| pointer.version == compiled.version);
    if is_current && known.as_ref().is_some_and(VersionRecord::is_ready) {
        return Ok(Published::Unchanged);
    }
    if let Some(record) = known.as_ref().filter(|record| record.removing_since.is_some()) {
        finish_removal(db, record, now).await?;
        known = None;
    }
    let rows = compiled.parts(&compiled.version).len();
    let fresh = match known {
        Some(_) => false,
        None => begin(db, &draft(compiled, rows, now)).await?,
    };
    if !known.as_ref().is_some_and(|record| record.whole) {
        write_rows(db, compiled, fresh, progress).await?;
    }
    let previous = before.map(|pointer| pointer.version);
    let pointer = Pointer { version: compiled.version.clone(), config: compiled.config.clone() };
    let first = known.is_none_or(|record| !record.whole);
    match switch(db, previous.as_deref(), &pointer, first, now).await {
        // Two publishers of one and the same store: both have what they wanted.
        Err(PublishError::Raced { winner }) if winner == compiled.version => Ok(Published::Unchanged),
        moved => moved.map(|()| Published::Switched { previous, rows }),
    }
}

/// Writes every row of a version that is published again: what was missing or altered is then as it was compiled.
///
/// # Errors
/// [`StoreError`] where the database does not answer; the same call can be made again.
pub async fn repair(db: &Db, compiled: &Compiled, progress: OnProgress<'_>) -> Result<(), StoreError> {
    write_rows(db, compiled, true, progress).await
}

/// A removal of this very version that was left behind is completed, so that it can be written anew; one that may
/// still be running is not disturbed.
async fn finish_removal(db: &Db, record: &VersionRecord, now: i64) -> Result<(), PublishError> {
    let busy = || PublishError::BeingRemoved { version: record.version.clone() };
    let abandoned = record.removing_since.is_some_and(|since| now - since >= REMOVAL_SECONDS);
    if !abandoned || !mark(db, record, now).await? {
        return Err(busy());
    }
    Ok(remove(db, record, &|_| {}).await?)
}

fn draft(compiled: &Compiled, rows: usize, now: i64) -> VersionRecord {
    VersionRecord {
        version: compiled.version.clone(),
        published_at: now,
        rows: rows as u64,
        config: compiled.config.clone(),
        pages: compiled.pages.iter().map(|page| page.url.clone()).collect(),
        whole: false,
        switched_at: None,
        retired_at: None,
        removing_since: None,
    }
}

/// Writes every row: first the category list, by which a removal finds the others, then all but the items, then the
/// items, which a removal finds by their categories. `fresh` says that nothing of the version is there yet.
async fn write_rows(db: &Db, compiled: &Compiled, fresh: bool, progress: OnProgress<'_>) -> Result<(), StoreError> {
    let stage = |part: &Part<'_>| match part {
        Part::Tree(_) => 0,
        Part::Item(_) => 2,
        _ => 1,
    };
    for wanted in 0..3 {
        let parts = compiled.parts(&compiled.version).into_iter().filter(|(_, part)| stage(part) == wanted);
        let items = parts.map(|(key, part)| codec::encode_published(&key, &part));
        if fresh {
            write_each(db, items, progress).await?;
        } else {
            write_missing(db, items, progress).await?;
        }
    }
    Ok(())
}

/// Writes the rows that are not there. What is there is what would be written: its key holds the store's hash.
async fn write_missing<I>(db: &Db, items: I, progress: OnProgress<'_>) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<Item, StoreError>>,
{
    let writes = stream::iter(batches(items)).map(|batch| async move {
        let batch: Vec<Item> = batch?;
        let size = batch.len() as u64;
        let keys: Vec<Key> = batch.iter().map(codec::key_of).collect::<Result<_, _>>()?;
        let mut rows = db.batch_get(keys.clone()).await?;
        let missing = batch.into_iter().zip(&keys).filter(|(_, key)| rows.take(key).is_none());
        let missing: Vec<_> = missing.map(|(item, _)| Ok(item)).collect();
        write_each(db, missing.into_iter(), &|_| {}).await?;
        progress(size);
        Ok(())
    });
    writes.buffer_unordered(IN_FLIGHT).try_collect::<()>().await
}

/// Moves the pointer by one write: only if it still points to `from` (or is not there yet), and only to a version
/// that nobody removes. The records of both versions learn of it in the same write. `first` says that the version was
/// never published before.
///
/// # Errors
/// [`PublishError::Raced`] where it points elsewhere by now, [`PublishError::BeingRemoved`] where the version is
/// going or gone.
pub async fn switch(db: &Db, from: Option<&str>, to: &Pointer, first: bool, now: i64) -> Result<(), PublishError> {
    let retired = match from {
        Some(version) if version != to.version => read_record(db, version).await?.map(|record| record.version),
        _ => None,
    };
    let mut items = vec![put_pointer(db, from, to)?, note_switch(db, &to.version, first, now)?];
    if let Some(version) = retired {
        items.push(note_retired(db, &version, now)?);
    }
    for round in 0..ROUNDS {
        let request = db.client().transact_write_items().set_transact_items(Some(items.clone()));
        let Err(error) = Box::pin(request.send()).await else { return Ok(()) };
        match error.as_service_error().and_then(verdict) {
            Some(Verdict::Moved) => {
                let winner = read_pointer(db).await?.map(|pointer| pointer.version).unwrap_or_default();
                return Err(PublishError::Raced { winner });
            }
            Some(Verdict::Going) => return Err(PublishError::BeingRemoved { version: to.version.clone() }),
            Some(Verdict::Busy) => tokio::time::sleep(backoff(round)).await,
            None => return Err(StoreError::from_sdk(OPERATION, error).into()),
        }
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: None }.into())
}

/// Why a switch was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The pointer points elsewhere.
    Moved,
    /// The version is being removed, or was.
    Going,
    /// Another write holds one of the items.
    Busy,
}

/// Reads a cancelled transaction by position: a refusal counts before contention.
fn verdict(error: &TransactWriteItemsError) -> Option<Verdict> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { return None };
    let reasons = cancelled.cancellation_reasons();
    let code = |place: usize| reasons.get(place).and_then(|reason| reason.code()).unwrap_or("None");
    match (code(0), code(1), code(2)) {
        ("ConditionalCheckFailed", _, _) => Some(Verdict::Moved),
        (_, "ConditionalCheckFailed", _) => Some(Verdict::Going),
        ("TransactionConflict", _, _) | (_, "TransactionConflict", _) | (_, _, "TransactionConflict") => {
            Some(Verdict::Busy)
        }
        _ => None,
    }
}

fn refused(error: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    StoreError::Refused { operation: OPERATION, source: Box::new(error) }
}

fn put_pointer(db: &Db, from: Option<&str>, to: &Pointer) -> Result<TransactWriteItem, StoreError> {
    let put = Put::builder().table_name(db.table()).set_item(Some(codec::encode_live(&keys::pointer(), to)?));
    let put = match from {
        None => put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK),
        Some(version) => put
            .condition_expression("#version = :from")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":from", AttributeValue::S(version.to_owned())),
    };
    Ok(TransactWriteItem::builder().put(put.build().map_err(refused)?).build())
}

fn note_switch(db: &Db, version: &str, first: bool, now: i64) -> Result<TransactWriteItem, StoreError> {
    let published = if first { ", published_at = :now" } else { "" };
    let update = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::version(version))))
        .update_expression(format!("SET #whole = :whole, switched_at = :now{published} REMOVE retired_at"))
        .condition_expression("attribute_exists(#pk) AND attribute_not_exists(removing_since)")
        .expression_attribute_names("#pk", keys::PK)
        .expression_attribute_names("#whole", "whole")
        .expression_attribute_values(":whole", AttributeValue::Bool(true))
        .expression_attribute_values(":now", AttributeValue::N(now.to_string()));
    Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
}

fn note_retired(db: &Db, version: &str, now: i64) -> Result<TransactWriteItem, StoreError> {
    let update = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::version(version))))
        .update_expression("SET retired_at = :now")
        .expression_attribute_values(":now", AttributeValue::N(now.to_string()));
    Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
}

/// What is published; `None` in an empty table.
///
/// # Errors
/// Where the database does not answer, or with something unreadable.
pub async fn read_pointer(db: &Db) -> Result<Option<Pointer>, StoreError> {
    let key = keys::pointer();
    db.get(&key, true).await?.map(|item| codec::decode_live(&key, item)).transpose()
}
