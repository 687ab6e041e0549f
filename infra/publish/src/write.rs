//! Writes and deletes many items: 25 at a time, a few batches concurrently, until nothing is left unprocessed.

use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::store::codec::{Item, key_attributes};
use shared::store::keys::Key;
use shared::store::{Db, StoreError, backoff};

/// The most items one `BatchWriteItem` takes.
pub(crate) const BATCH: usize = 25;
/// Batches in flight at once: enough to hide the way there and back, few enough to stay below a new table's
/// throughput.
pub(crate) const IN_FLIGHT: usize = 4;
/// How often unprocessed items are sent again, waiting up to 1.3 s before each.
const ROUNDS: u32 = 12;
const OPERATION: &str = "BatchWriteItem";

/// Called with how many more items are done.
pub type OnProgress<'a> = &'a (dyn Fn(u64) + Sync);

/// Writes items over what is under their keys, see [`write_each`].
pub(crate) async fn write_all<I>(db: &Db, items: I) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<Item, StoreError>>,
{
    write_each(db, items, &|_| {}).await
}

/// Writes items over what is under their keys. Items are made when their turn comes, so that memory does
/// not grow with their number. Keys must differ. What the database leaves unprocessed is sent again after a
/// growing, random wait.
///
/// # Errors
/// [`StoreError`] if the database does not take an item; what was written before stays, and the same call can be
/// made again.
pub async fn write_each<I>(db: &Db, items: I, progress: OnProgress<'_>) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<Item, StoreError>>,
{
    run(db, items.map(|item| put(item?)), progress).await
}

/// Deletes items; those that are not there are as good as deleted.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the same call can be made again.
pub async fn delete_each<I>(db: &Db, keys: I, progress: OnProgress<'_>) -> Result<(), StoreError>
where
    I: Iterator<Item = Key>,
{
    run(db, keys.map(|key| delete(&key)), progress).await
}

fn refused(error: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    StoreError::Refused { operation: OPERATION, source: Box::new(error) }
}

fn put(item: Item) -> Result<WriteRequest, StoreError> {
    let put = PutRequest::builder().set_item(Some(item)).build().map_err(refused)?;
    Ok(WriteRequest::builder().put_request(put).build())
}

fn delete(key: &Key) -> Result<WriteRequest, StoreError> {
    let delete = DeleteRequest::builder().set_key(Some(key_attributes(key))).build().map_err(refused)?;
    Ok(WriteRequest::builder().delete_request(delete).build())
}

async fn run<I>(db: &Db, requests: I, progress: OnProgress<'_>) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<WriteRequest, StoreError>>,
{
    let writes = stream::iter(batches(requests)).map(|batch| async move {
        let batch = batch?;
        let size = batch.len() as u64;
        write_batch(db, batch).await?;
        progress(size);
        Ok(())
    });
    writes.buffer_unordered(IN_FLIGHT).try_collect::<()>().await
}

/// Up to [`BATCH`] things at a time, made when their turn comes.
pub(crate) fn batches<T, E>(mut things: impl Iterator<Item = Result<T, E>>) -> impl Iterator<Item = Result<Vec<T>, E>> {
    std::iter::from_fn(move || {
        let batch: Result<Vec<T>, E> = things.by_ref().take(BATCH).collect();
        match batch {
            Ok(batch) if batch.is_empty() => None,
            batch => Some(batch),
        }
    })
}

async fn write_batch(db: &Db, mut requests: Vec<WriteRequest>) -> Result<(), StoreError> {
    for round in 0..ROUNDS {
        let answer = Box::pin(db.client().batch_write_item().request_items(db.table(), requests).send()).await;
        let answer = answer.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
        requests = answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect();
        if requests.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: None })
}
