//! Publishing: every row of the new version beside the old one, then its record, then one conditional write that
//! moves the pointer. Whatever happens before that write, readers see the old version whole.

use crate::compile::Compiled;
use crate::write::write_all;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use shared::model::{Pointer, StoreConfig};
use shared::store::{Db, StoreError, codec, keys};

/// What publishing came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// This very store is what is published already.
    Unchanged,
    /// The pointer was moved to this store.
    Switched {
        /// What it pointed to before; `None` on the first publish.
        previous: Option<String>,
        /// Rows that were written for the version.
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
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is kept of a version beside its rows: enough to point back to it, and to find its rows again. All else
/// is found from its category list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// The version.
    pub version: String,
    /// When it was first published, seconds since 1970 UTC.
    pub published_at: i64,
    /// How many rows it has.
    pub rows: u64,
    /// Its config, which a rollback puts back into the pointer.
    pub config: StoreConfig,
    /// The urls of its pages.
    pub pages: Vec<String>,
}

/// Publishes a store. Interrupted, it can be run again; `now` is in seconds since 1970 UTC.
///
/// # Errors
/// [`PublishError`]; the version that was published before is then still published, or another publisher's is.
pub async fn publish(db: &Db, compiled: &Compiled, now: i64) -> Result<Published, PublishError> {
    let before = read_pointer(db).await?;
    let known = read_version(db, &compiled.version).await?;
    if known.is_some() && before.as_ref().is_some_and(|pointer| pointer.version == compiled.version) {
        return Ok(Published::Unchanged);
    }
    let parts = compiled.parts(&compiled.version);
    let rows = parts.len();
    write_all(db, parts.into_iter().map(|(key, part)| codec::encode_published(&key, &part))).await?;
    let record = VersionRecord {
        version: compiled.version.clone(),
        published_at: known.map_or(now, |record| record.published_at),
        rows: u64::try_from(rows).unwrap_or(u64::MAX),
        config: compiled.config.clone(),
        pages: compiled.pages.iter().map(|page| page.url.clone()).collect(),
    };
    let record = codec::encode_live(&keys::version(&compiled.version), &record)?;
    write_all(db, std::iter::once(Ok(record))).await?;
    let pointer = Pointer { version: compiled.version.clone(), config: compiled.config.clone() };
    let previous = before.map(|pointer| pointer.version);
    match move_pointer(db, previous.as_deref(), &pointer).await {
        // Two publishers of one and the same store: both have what they wanted.
        Err(PublishError::Raced { winner }) if winner == compiled.version => Ok(Published::Unchanged),
        moved => moved.map(|()| Published::Switched { previous, rows }),
    }
}

/// Moves the pointer by one conditional write: only if it still points to `from`, or is not there yet.
///
/// # Errors
/// [`PublishError::Raced`] where it points elsewhere by now.
pub async fn move_pointer(db: &Db, from: Option<&str>, to: &Pointer) -> Result<(), PublishError> {
    const OPERATION: &str = "PutItem";
    let item = codec::encode_live(&keys::pointer(), to)?;
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    let put = match from {
        None => put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK),
        Some(version) => put
            .condition_expression("#version = :from")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":from", AttributeValue::S(version.to_owned())),
    };
    let Err(error) = put.send().await else { return Ok(()) };
    if error.as_service_error().is_some_and(PutItemError::is_conditional_check_failed_exception) {
        let winner = read_pointer(db).await?.map(|pointer| pointer.version).unwrap_or_default();
        return Err(PublishError::Raced { winner });
    }
    Err(StoreError::from_sdk(OPERATION, error).into())
}

/// What is published; `None` in an empty table.
///
/// # Errors
/// Where the database does not answer, or with something unreadable.
pub async fn read_pointer(db: &Db) -> Result<Option<Pointer>, StoreError> {
    let key = keys::pointer();
    db.get(&key, true).await?.map(|item| codec::decode_live(&key, item)).transpose()
}

/// The record of a version; `None` where it was never written whole.
///
/// # Errors
/// Where the database does not answer, or with something unreadable.
pub async fn read_version(db: &Db, version: &str) -> Result<Option<VersionRecord>, StoreError> {
    let key = keys::version(version);
    db.get(&key, true).await?.map(|item| codec::decode_live(&key, item)).transpose()
}
