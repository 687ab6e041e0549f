//! `restore`: a backup into an empty table.
//!
//! A mark in the place of the active version to the published version says that a restore has begun and how far it
//! came. While it is there, functions respond 503 and every other command refuses. The active version takes its place
//! last, in one write with the sequences, so that no request is served from half a store.

mod contents;

use crate::answer::{Answer, GOOD, paint};
use crate::archive::{self, Seal};
use crate::cli::Restore;
use crate::console::Console;
use crate::error::{Exit, Failure, capital};
use crate::progress::Progress;
use crate::table::each;
use crate::target::Target;
use crate::upgrade::is_needed;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use contents::Contents;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::model::SCHEMA;
use shared::store::codec::{Item, decode_live, encode_live, key_attributes, key_of};
use shared::store::keys::{self, PK, prefix};
use shared::store::{Db, StoreError};
use std::fmt::Write as _;
use std::path::Path;

/// Items between two notes of how far it came.
const CHUNK: usize = 1_000;
/// The mark is there and is that of this backup.
const IS_MARKED: &str = "#mark.sha256 = :sha256";

/// The mark of a restore that has begun, as an item.
#[derive(Serialize, Deserialize)]
struct Marked {
    /// Named by [`keys::RESTORING`].
    restoring: Mark,
}

/// The mark of a restore that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
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
        None if is_needed(&target.db).await? => {
            let what = format!("{} holds data of an earlier format already.", capital(&target.name));
            return Err(Failure::refused(what, "If they were just restored, run `storectl upgrade`: it continues."));
        }
        None => {
            let what = format!("{} is not empty.", capital(&target.name));
            return Err(Failure::refused(what, "Restore into a new table: nothing is ever overwritten."));
        }
    };
    let again = if from > 0 { format!(", continuing after {from}") } else { String::new() };
    let shown = format!("{} items of {} into {}{again}", seal.items, seal.taken_at, target.name);
    console.confirm(&shown, "Restore?", options.yes)?;
    if found.is_none() {
        begin(&target.db, &seal).await?;
    }
    let progress = console.progress("Restoring", Some(seal.items));
    progress.advance(from);
    let restored = fill(&target.db, path, &seal, from, &progress).await;
    restored.map_err(|failure| {
        let done = format!("{} of {} items are restored; they are not served yet.", progress.position(), seal.items);
        let resumes = failure.exit != Exit::Refused;
        let next = if resumes {
            format!("{} Run the same command again: it continues.", failure.next)
        } else {
            failure.next.clone()
        };
        failure.done(done).next(next)
    })?;
    let mut text = format!("{} {} items of {} are in {}.", paint(GOOD, "ok"), seal.items, seal.taken_at, target.name);
    let upgraded = upgrade_restored(target, console).await?;
    if let Some(from) = upgraded {
        _ = write!(text, "\nTheir schema number was {from}; they are upgraded to {SCHEMA}.");
    }
    let json = json!({
        "items": seal.items, "taken_at": seal.taken_at, "resumed_after": from, "upgraded_from": upgraded,
    });
    Ok(Answer::new(text, json))
}

/// Upgrades what was restored, if it is of an earlier format; returns the schema number that it had.
async fn upgrade_restored(target: &Target, console: &Console) -> Result<Option<u32>, Failure> {
    if !is_needed(&target.db).await? {
        return Ok(None);
    }
    let upgraded = super::upgrade::bring(target, console).await.map_err(|failure| {
        let done = format!("All items are restored, in an earlier format: functions respond 503. {}", failure.done);
        failure.done(done)
    })?;
    Ok(upgraded.from)
}

async fn mark(db: &Db) -> Result<Option<Mark>, StoreError> {
    let key = keys::active_version();
    let item = db.get(&key, true).await?.filter(|item| item.contains_key(keys::RESTORING));
    Ok(item.map(|item| decode_live::<Marked>(&key, item)).transpose()?.map(|marked| marked.restoring))
}

/// Whether a restore was begun and is not done.
pub(super) async fn is_running(db: &Db) -> Result<bool, Failure> {
    Ok(mark(db).await?.is_some())
}

/// Refuses to work on a table that is half restored: what is written there would be lost or counted twice.
pub(super) async fn must_not_be_running(target: &Target) -> Result<(), Failure> {
    if is_running(&target.db).await? {
        let what = format!("A restore into {} was begun and is not done.", target.name);
        return Err(Failure::refused(what, "Complete it with the same `storectl restore` first."));
    }
    Ok(())
}

/// Whether the table is empty but for counters of addresses, which a first request leaves behind.
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

/// Marks the table as being restored; of two attempts at once one is refused.
async fn begin(db: &Db, seal: &Seal) -> Result<(), Failure> {
    let restoring = Mark { sha256: seal.sha256.clone(), done: 0 };
    let item = encode_live(&keys::active_version(), &Marked { restoring })?;
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK);
    let Err(error) = Box::pin(put.send()).await else { return Ok(()) };
    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(_)) => {
            let what = "Conflict: another restore into this table has just begun.";
            Err(Failure::new(Exit::Raced, what, "Let them finish, then look with `storectl doctor`."))
        }
        _ => Err(StoreError::from_sdk("PutItem", error).into()),
    }
}

async fn fill(db: &Db, path: &Path, seal: &Seal, from: u64, progress: &Progress) -> Result<(), Failure> {
    let mut items = archive::items(path, seal)?;
    let (mut active, mut done) = (None, 0_u64);
    let mut contents = Contents::default();
    loop {
        let chunk: Vec<Item> = items.by_ref().take(CHUNK).collect::<Result<_, Failure>>()?;
        if chunk.is_empty() {
            break;
        }
        done += chunk.len() as u64;
        chunk.iter().try_for_each(|item| contents.add(item))?;
        let (held, chunk) = split(chunk)?;
        active = held.or(active);
        if done <= from {
            continue;
        }
        publish::write_each(db, chunk.into_iter().map(Ok), &|written| progress.advance(written)).await?;
        note(db, seal, done).await?;
    }
    nothing_else(db, &contents).await?;
    Ok(finish(db, seal, active, &contents).await?)
}

/// Makes sure that the table holds what the backup holds, and nothing that was written in the meantime.
async fn nothing_else(db: &Db, contents: &Contents) -> Result<(), Failure> {
    let mut found = Contents::default();
    each(db, "", |item| found.add(&item)).await?;
    if found.is_same(contents) {
        return Ok(());
    }
    let what = "Something else was written into the table while it was being restored.";
    Err(Failure::refused(what, "Stop all writers to that table, and restore into a new, empty table."))
}

/// Takes the active version out of a chunk: it is written last.
fn split(chunk: Vec<Item>) -> Result<(Option<Item>, Vec<Item>), StoreError> {
    let (mut active, mut others) = (None, Vec::with_capacity(chunk.len()));
    for item in chunk {
        if key_of(&item)? == keys::active_version() { active = Some(item) } else { others.push(item) }
    }
    Ok((active, others))
}

/// Notes how far it came.
async fn note(db: &Db, seal: &Seal, done: u64) -> Result<(), StoreError> {
    let request =
        db.client().update_item().table_name(db.table()).set_key(Some(key_attributes(&keys::active_version())));
    let request = request.update_expression("SET #mark.done = :done").condition_expression(IS_MARKED);
    let request = request.expression_attribute_names("#mark", keys::RESTORING);
    let request = request.expression_attribute_values(":done", AttributeValue::N(done.to_string()));
    let request = request.expression_attribute_values(":sha256", AttributeValue::S(seal.sha256.clone()));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk("UpdateItem", error))?;
    Ok(())
}

/// The active version takes the place of the mark, and sequences move beyond every id that the backup holds, in one
/// write.
async fn finish(db: &Db, seal: &Seal, active: Option<Item>, contents: &Contents) -> Result<(), StoreError> {
    const OPERATION: &str = "TransactWriteItems";
    let refused = |error| StoreError::Refused { operation: OPERATION, source: Box::new(error) };
    let sha256 = AttributeValue::S(seal.sha256.clone());
    let end = if let Some(active) = active {
        let put = Put::builder().table_name(db.table()).set_item(Some(active)).condition_expression(IS_MARKED);
        let put = put.expression_attribute_names("#mark", keys::RESTORING);
        let put = put.expression_attribute_values(":sha256", sha256).build().map_err(refused)?;
        TransactWriteItem::builder().put(put).build()
    } else {
        let delete = Delete::builder().table_name(db.table()).set_key(Some(key_attributes(&keys::active_version())));
        let delete = delete.condition_expression(IS_MARKED).expression_attribute_names("#mark", keys::RESTORING);
        let delete = delete.expression_attribute_values(":sha256", sha256).build().map_err(refused)?;
        TransactWriteItem::builder().delete(delete).build()
    };
    let mut writes = vec![end];
    for (kind, next) in contents.behind() {
        let put = Put::builder().table_name(db.table()).set_item(Some(contents::sequence(kind, next)?));
        writes.push(TransactWriteItem::builder().put(put.build().map_err(refused)?).build());
    }
    let request = db.client().transact_write_items().set_transact_items(Some(writes));
    Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
    Ok(())
}
