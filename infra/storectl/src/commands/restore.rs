//! `restore`: a backup into an empty table.
//!
//! A mark in the table says that a restore has begun and how far it came; the pointer to the published version is
//! written last, together with the mark's end, so that nobody is served half a store.

use crate::answer::{Answer, GOOD, paint};
use crate::archive::{self, Seal};
use crate::cli::Restore;
use crate::console::Console;
use crate::error::{Exit, Failure, capital};
use crate::progress::Progress;
use crate::target::Target;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::store::codec::{Item, decode_live, encode_live, key_attributes, key_of};
use shared::store::keys::{self, PK, prefix};
use shared::store::{Db, StoreError};
use std::path::Path;

/// Items between two notes of how far it came.
const CHUNK: usize = 1_000;

/// The mark of a restore that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The backup's checksum.
    sha256: String,
    /// How many of its items are in the table for certain.
    done: u64,
}

pub(super) async fn run(target: &Target, console: &Console, options: &Restore) -> Result<Answer, Failure> {
    let path = &options.file;
    let seal = archive::verify(path)?;
    let found = mark(&target.db).await?;
    let from = match &found {
        Some(mark) if mark.sha256 == seal.sha256 => mark.done,
        Some(_) => {
            let what = "A restore of another backup was begun in this table and is not done.";
            return Err(Failure::refused(what, "Complete that one, or restore into another table."));
        }
        None if is_empty(&target.db).await? => 0,
        None => {
            let what = format!("{} is not empty.", capital(&target.name));
            return Err(Failure::refused(what, "Restore into a new table: nothing is ever overwritten."));
        }
    };
    let again = if from > 0 { format!(", going on after {from}") } else { String::new() };
    let shown = format!("{} items of {} into {}{again}", seal.items, seal.taken_at, target.name);
    console.confirm(&shown, "Restore?", options.yes)?;
    if found.is_none() {
        begin(&target.db, &seal).await?;
    }
    let progress = console.progress("Restoring", Some(seal.items));
    progress.advance(from);
    let restored = fill(&target.db, path, &seal, from, &progress).await;
    restored.map_err(|failure| {
        let done = format!("{} of {} items are restored; nobody is served them yet.", progress.position(), seal.items);
        let next = format!("{} Run the same command again, it goes on.", failure.next);
        failure.done(done).next(next)
    })?;
    let text = format!("{} {} items of {} are in {}.", paint(GOOD, "ok"), seal.items, seal.taken_at, target.name);
    Ok(Answer::new(text, json!({ "items": seal.items, "taken_at": seal.taken_at, "resumed_after": from })))
}

async fn mark(db: &Db) -> Result<Option<Mark>, StoreError> {
    let key = keys::restore();
    db.get(&key, true).await?.map(|item| decode_live(&key, item)).transpose()
}

/// Whether nothing is in the table but counters of addresses, which a first request leaves behind.
async fn is_empty(db: &Db) -> Result<bool, StoreError> {
    let mut start = None;
    loop {
        let scan = db.client().scan().table_name(db.table()).consistent_read(true);
        let scan = scan.filter_expression("NOT begins_with(#pk, :rate)").expression_attribute_names("#pk", PK);
        let scan = scan.expression_attribute_values(":rate", AttributeValue::S(prefix::RATE.to_owned()));
        let page = Box::pin(scan.set_exclusive_start_key(start).send()).await;
        let page = page.map_err(|error| StoreError::from_sdk("Scan", error))?;
        if page.count > 0 {
            return Ok(false);
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            return Ok(true);
        }
    }
}

/// Marks the table as being restored; of two who try at once one is told.
async fn begin(db: &Db, seal: &Seal) -> Result<(), Failure> {
    let item = encode_live(&keys::restore(), &Mark { sha256: seal.sha256.clone(), done: 0 })?;
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK);
    let Err(error) = Box::pin(put.send()).await else { return Ok(()) };
    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(_)) => {
            let what = "Somebody else has just begun a restore into this table.";
            Err(Failure::new(Exit::Raced, what, "Let them finish, then look with `storectl doctor`."))
        }
        _ => Err(StoreError::from_sdk("PutItem", error).into()),
    }
}

async fn fill(db: &Db, path: &Path, seal: &Seal, from: u64, progress: &Progress) -> Result<(), Failure> {
    let mut items = archive::items(path, seal)?;
    let (mut pointer, mut done) = (None, 0_u64);
    loop {
        let chunk: Vec<Item> = items.by_ref().take(CHUNK).collect::<Result<_, Failure>>()?;
        if chunk.is_empty() {
            break;
        }
        done += chunk.len() as u64;
        let (held, chunk) = split(chunk)?;
        pointer = held.or(pointer);
        if done <= from {
            continue;
        }
        publish::write_each(db, chunk.into_iter().map(Ok), &|written| progress.advance(written)).await?;
        note(db, done).await?;
    }
    Ok(finish(db, pointer).await?)
}

/// Takes the pointer out of a chunk: it is written last.
fn split(chunk: Vec<Item>) -> Result<(Option<Item>, Vec<Item>), StoreError> {
    let (mut pointer, mut others) = (None, Vec::with_capacity(chunk.len()));
    for item in chunk {
        if key_of(&item)? == keys::pointer() { pointer = Some(item) } else { others.push(item) }
    }
    Ok((pointer, others))
}

/// Notes how far it came.
async fn note(db: &Db, done: u64) -> Result<(), StoreError> {
    let request = db.client().update_item().table_name(db.table()).set_key(Some(key_attributes(&keys::restore())));
    let request = request.update_expression("SET done = :done").condition_expression("attribute_exists(#pk)");
    let request = request.expression_attribute_names("#pk", PK);
    let request = request.expression_attribute_values(":done", AttributeValue::N(done.to_string()));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk("UpdateItem", error))?;
    Ok(())
}

/// The pointer comes and the mark goes, in one write.
async fn finish(db: &Db, pointer: Option<Item>) -> Result<(), StoreError> {
    const OPERATION: &str = "TransactWriteItems";
    let refused = |error| StoreError::Refused { operation: OPERATION, source: Box::new(error) };
    let end = Delete::builder().table_name(db.table()).set_key(Some(key_attributes(&keys::restore())));
    let mut writes = vec![TransactWriteItem::builder().delete(end.build().map_err(refused)?).build()];
    if let Some(pointer) = pointer {
        let put = Put::builder().table_name(db.table()).set_item(Some(pointer)).build().map_err(refused)?;
        writes.push(TransactWriteItem::builder().put(put).build());
    }
    let request = db.client().transact_write_items().set_transact_items(Some(writes));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
    Ok(())
}
