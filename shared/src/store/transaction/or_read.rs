//! A transaction that returns what its conditions failed on.

use super::{OPERATION, Write};
use crate::store::client::Db;
use crate::store::codec::Item;
use crate::store::error::StoreError;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};

/// Sends writes as [`send`](super::send) does. If conditions fail, returns the writes' positions with the items as they are: what was
/// read can be corrected without reading again. The list is empty if only another transaction prevented it.
pub async fn send_or_read(db: &Db, writes: Vec<Write>) -> Result<Result<(), Vec<(usize, Option<Item>)>>, StoreError> {
    let items: Result<Vec<TransactWriteItem>, BuildError> =
        writes.into_iter().map(|write| write.into_item(db.table())).collect();
    let items = items.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    let Err(error) = db.transact_write(items, None).await else { return Ok(Ok(())) };
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
        return Err(StoreError::from_sdk(OPERATION, error));
    };
    let reasons = cancelled.cancellation_reasons().iter().enumerate();
    let failed = reasons.filter(|(_, reason)| reason.code() == Some("ConditionalCheckFailed"));
    let failed: Vec<_> = failed.map(|(place, reason)| (place, reason.item().cloned())).collect();
    let is_contention = |reason: &CancellationReason| reason.code() == Some("TransactionConflict");
    if failed.is_empty() && !cancelled.cancellation_reasons().iter().any(is_contention) {
        return Err(StoreError::from_sdk(OPERATION, error));
    }
    Ok(Err(failed))
}
