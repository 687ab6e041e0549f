//! The owner's own files of a version, as bytes in parts, because an item holds 400 KB. For tools: no function reads them.
//!
//! A set of files replaces another by one write of the version's record, after all of its parts are written: a version
//! never has half of one. Sets have random ids, so that writers do not write or remove each other's parts.

use super::versions::read_record;
use crate::random;
use crate::table::bulk::{delete_each, write_each};
use crate::table::codec::{Row, key_attributes};
use crate::table::keys::{self, Key};
use crate::table::single::apply;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

/// The largest part in bytes.
const PART: usize = 350 * 1_024;
/// The attribute with the bytes of a part.
const BYTES: &str = "bytes";

/// The set of files that a version has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    pub id: String,
    pub parts: u32,
}

impl FileSet {
    fn keys(&self, version: &str) -> Vec<Key> {
        (0..self.parts).map(|part| keys::version_files_part(version, &self.id, part)).collect()
    }
}

/// Reads a set; `None` if a part of it is missing.
pub async fn read(db: &Db, version: &str, set: &FileSet) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    for key in set.keys(version) {
        let part = db.get(&key, true).await?.and_then(|mut item| item.remove(BYTES));
        let Some(AttributeValue::B(part)) = part else { return Ok(None) };
        bytes.extend(part.into_inner());
    }
    Ok(Some(bytes))
}

/// Gives a version that is in the table these bytes in place of those that it has. Fails with [`StoreError::Contended`] if
/// another process replaced or removed them meanwhile. After an error the version has these bytes or those of before.
pub async fn replace(db: &Db, version: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let before = read_record(db, version).await?.and_then(|record| record.files);
    let parts: Vec<&[u8]> = bytes.chunks(PART).collect();
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let set = FileSet { id: random::id().ok_or_else(StoreError::no_entropy)?, parts: count };
    let items = set.keys(version).into_iter().zip(parts).map(|(key, part)| {
        let mut item = key_attributes(&key);
        item.insert(BYTES.to_owned(), AttributeValue::B(Blob::new(part)));
        Ok(item)
    });
    write_each(db, items, &|_| {}).await?;
    let is_replaced = apply(db, note(version, &set, before.as_ref())).await?;
    let gone = if is_replaced { before } else { Some(set) };
    let gone = gone.iter().flat_map(|set| set.keys(version)).collect::<Vec<_>>();
    delete_each(db, gone.into_iter(), &|_| {}).await?;
    if is_replaced { Ok(()) } else { Err(StoreError::Contended) }
}

/// The write that notes the set of a version, on the condition that it has the one of before.
fn note(version: &str, set: &FileSet, before: Option<&FileSet>) -> Write {
    let value = [
        ("id".to_owned(), AttributeValue::S(set.id.clone())),
        ("parts".to_owned(), AttributeValue::N(set.parts.to_string())),
    ];
    let write = Write::update(keys::version(version), "SET #files = :set")
        .only_if("attribute_exists(#pk) AND attribute_not_exists(removing_since)")
        .name("#pk", keys::PK)
        .name("#files", "files")
        .value(":set", AttributeValue::M(value.into()));
    match before {
        Some(before) => write.and_if("#files.id = :before").text(":before", &before.id),
        None => write.and_if("attribute_not_exists(#files)"),
    }
}

/// Removes every set of a version, also those that an interrupted process left.
pub async fn remove(db: &Db, version: &str) -> Result<(), StoreError> {
    let rows = db.query(&keys::version_files(version)).await?;
    let found: Vec<Key> = rows.iter().map(Row::key).collect::<Result<_, _>>()?;
    delete_each(db, found.into_iter(), &|_| {}).await
}
