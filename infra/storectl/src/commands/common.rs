//! What more than one command needs.

use crate::error::Failure;
use crate::target::Target;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use jiff::Timestamp;
use shared::model::ActiveVersion;
use shared::store::codec::{Item, key_of};
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError, keys};

/// What is published; a table that nothing was published to is refused.
pub(super) async fn published(target: &Target) -> Result<ActiveVersion, Failure> {
    read_active_version(&target.db).await?.ok_or_else(|| {
        let what = format!("Nothing was published to {} yet.", target.name);
        Failure::refused(what, "Publish a store first: `storectl publish DIR`.")
    })
}

/// Puts an item whose key must be free; returns whether it is in the table. If the response to the first attempt was
/// lost, the SDK sends it again and finds its own item: that counts as written.
pub(super) async fn put_new(db: &Db, item: Item) -> Result<bool, StoreError> {
    let put = db.client().put_item().table_name(db.table()).set_item(Some(item.clone()));
    let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK);
    let Err(error) = Box::pin(put.send()).await else { return Ok(true) };
    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(_)) => {
            Ok(db.get(&key_of(&item)?, true).await?.is_some_and(|found| found == item))
        }
        _ => Err(StoreError::from_sdk("PutItem", error)),
    }
}

/// A second since 1970 as people read it, in UTC.
pub(super) fn shown_time(second: i64) -> String {
    Timestamp::from_second(second).map_or_else(|_| second.to_string(), |at| at.to_string())
}

/// Reads a time of the command line.
pub(super) fn time(text: &str, now: i64) -> Result<i64, Failure> {
    publish::live::resolve(text, now).map_err(|error| {
        Failure::refused(format!("The time {text:?} {error}."), "Write it in one of these ways and try again.")
    })
}
