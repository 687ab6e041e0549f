//! What is kept of a version besides its rows, and how its rows are found again.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, TransactWriteItem, Update};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use shared::model::{CategoryHead, CategoryPath, CategoryWithItems, PageUrl, StoreConfig, Tree};
use shared::store::codec::{self, Row};
use shared::store::keys::{self, Key};
use shared::store::transaction::{Sent, Write, send_patiently};
use shared::store::{Db, StoreError};

/// Categories that are read at once.
const IN_FLIGHT: usize = 8;

/// Separates a store's hash from the generation in a version's name.
const GENERATION: char = '-';

/// The name of a version: the hash of its store, and from the second generation on (a repair) which one it is.
pub(crate) fn version_name(store: &str, generation: u64) -> String {
    if generation <= 1 { store.to_owned() } else { format!("{store}{GENERATION}{generation}") }
}

/// The hash of the store that a version holds: the name that [`crate::compile`] gave it.
#[must_use]
pub fn store_of(version: &str) -> &str {
    version.split_once(GENERATION).map_or(version, |(store, _)| store)
}

pub(crate) fn generation(version: &str) -> u64 {
    version.split_once(GENERATION).and_then(|(_, generation)| generation.parse().ok()).unwrap_or(1)
}

/// What is kept of a version: enough to point back to it, and to find its rows again. All else is found from its
/// category list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub version: String,
    /// When it was first published, seconds since 1970 UTC; of a version that is not whole yet, when that began.
    pub published_at: i64,
    /// How many rows it has.
    pub rows: u64,
    /// Its config, which a rollback puts back into the active version.
    pub config: StoreConfig,
    /// The urls of its pages.
    pub pages: Vec<String>,
    /// Whether every row of it was written.
    #[serde(default = "crate::files::yes")]
    pub whole: bool,
    /// When the active version was last moved to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_at: Option<i64>,
    /// When the active version was last moved away from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<i64>,
    /// Since when its rows are being removed. The active version is never moved to such a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing_since: Option<i64>,
    /// The owner's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl VersionRecord {
    /// Whether the active version may be moved to it.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.whole && self.removing_since.is_none()
    }

    /// When it was last of use.
    #[must_use]
    pub fn last_used(&self) -> i64 {
        self.retired_at.or(self.switched_at).unwrap_or(self.published_at)
    }
}

/// The record of a version, whole or not.
///
/// # Errors
/// If the database does not respond, or with something unreadable.
pub async fn read_record(db: &Db, version: &str) -> Result<Option<VersionRecord>, StoreError> {
    let key = keys::version(version);
    db.get(&key, true).await?.map(|item| codec::decode_live(&key, item)).transpose()
}

/// The record of a version; `None` if it was never written whole.
///
/// # Errors
/// If the database does not respond, or with something unreadable.
pub async fn read_version(db: &Db, version: &str) -> Result<Option<VersionRecord>, StoreError> {
    Ok(read_record(db, version).await?.filter(|record| record.whole))
}

/// Stores what a version is called. Returns whether there is such a version.
///
/// # Errors
/// If the database does not respond.
pub async fn set_label(db: &Db, version: &str, label: &str) -> Result<bool, StoreError> {
    let write = Write::update(keys::version(version), "SET #label = :label");
    let write = write.only_if_present().name("#label", "label").text(":label", label);
    Ok(send_patiently(db, vec![write]).await? == Sent::Written)
}

/// Every version in the table, newest first by its last use as the published one; those that are not whole among them.
///
/// # Errors
/// If the database does not respond, or with something unreadable.
pub async fn list_versions(db: &Db) -> Result<Vec<VersionRecord>, StoreError> {
    let rows = db.query(&keys::versions()).await?;
    let mut records: Vec<VersionRecord> = rows.into_iter().map(Row::live_found).collect::<Result<_, _>>()?;
    records.sort_by_key(|record| {
        (std::cmp::Reverse(record.switched_at.unwrap_or(record.published_at)), record.version.clone())
    });
    Ok(records)
}

/// Writes the record of a version that is about to be written; says whether it was the first to do so.
pub(crate) async fn begin(db: &Db, record: &VersionRecord) -> Result<bool, StoreError> {
    let item = codec::encode_live(&keys::version(&record.version), record)?;
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK);
    match Box::pin(put.send()).await {
        Ok(_) => Ok(true),
        Err(error) if error.as_service_error().is_some_and(PutItemError::is_conditional_check_failed_exception) => {
            Ok(false)
        }
        Err(error) => Err(StoreError::from_sdk("PutItem", error)),
    }
}

/// Marks a version as being removed: only if it is not yet, and only while it is not the published one.
pub(crate) async fn mark(db: &Db, record: &VersionRecord, now: i64) -> Result<bool, StoreError> {
    const OPERATION: &str = "TransactWriteItems";
    let refused = |error| StoreError::Refused { operation: OPERATION, source: Box::new(error) };
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let free = ConditionCheck::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::active_version())))
        .condition_expression("attribute_not_exists(#pk) OR #version <> :version")
        .expression_attribute_names("#pk", keys::PK)
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":version", text(&record.version));
    let mark = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::version(&record.version))))
        .update_expression("SET removing_since = :now")
        .condition_expression(
            "attribute_exists(#pk) AND (attribute_not_exists(removing_since) OR removing_since = :seen)",
        )
        .expression_attribute_names("#pk", keys::PK)
        .expression_attribute_values(":now", AttributeValue::N(now.to_string()))
        .expression_attribute_values(":seen", AttributeValue::N(record.removing_since.unwrap_or_default().to_string()));
    let items = [
        TransactWriteItem::builder().condition_check(free.build().map_err(refused)?).build(),
        TransactWriteItem::builder().update(mark.build().map_err(refused)?).build(),
    ];
    let request = db.client().transact_write_items().set_transact_items(Some(items.into()));
    match Box::pin(request.send()).await {
        Ok(_) => Ok(true),
        Err(error)
            if error.as_service_error().is_some_and(TransactWriteItemsError::is_transaction_canceled_exception) =>
        {
            Ok(false)
        }
        Err(error) => Err(StoreError::from_sdk(OPERATION, error)),
    }
}

/// A version's category list; `None` if it was not written.
///
/// # Errors
/// If the database does not respond, or with something unreadable.
pub async fn read_tree(db: &Db, version: &str) -> Result<Option<Tree>, StoreError> {
    let key = keys::tree(version);
    let item = db.get(&key, true).await?;
    Ok(item.map(|item| codec::decode_published(&key, &item)).transpose()?.map(|(tree, _)| tree))
}

/// Every category of a version with its subcategories, in order. What is missing in the table is missing here.
pub(crate) async fn read_shelves(
    db: &Db,
    version: &str,
    tree: &Tree,
) -> Result<Vec<Vec<CategoryWithItems>>, StoreError> {
    let partition = |head: &CategoryHead| keys::category(version, &CategoryPath::Slug(head.slug.clone()));
    let partitions: Vec<String> = tree.0.iter().map(|node| partition(&node.head)).collect();
    let reads = stream::iter(partitions).map(|partition| async move {
        let shelf = |row: Row| Ok(row.published(&row.key()?)?.0);
        db.query(&partition).await?.into_iter().map(shelf).collect::<Result<Vec<CategoryWithItems>, StoreError>>()
    });
    reads.buffered(IN_FLIGHT).try_collect().await
}

/// The keys of everything a version consists of but its items and its category list.
pub(crate) fn frame_keys(version: &str, tree: &Tree, pages: &[String]) -> Vec<Key> {
    let mut found = vec![
        keys::settings(version),
        keys::staff(version),
        keys::patronage(version),
        keys::deals(version),
        keys::promotions(version),
    ];
    found.extend(pages.iter().map(|url| keys::page(version, &PageUrl::new(url))));
    let mut partition = |head: &CategoryHead, shelves: usize| {
        for path in [CategoryPath::Slug(head.slug.clone()), CategoryPath::Id(head.id)] {
            found.extend((0..shelves).map(|place| keys::category_row(version, &path, place)));
        }
    };
    for node in &tree.0 {
        partition(&node.head, 1 + node.subcategories.len());
        node.subcategories.iter().for_each(|inner| partition(inner, 1));
    }
    found
}
