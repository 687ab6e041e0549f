//! Writes many items: 25 at a time, a few batches side by side, until nothing is left unprocessed.

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::store::codec::Item;
use shared::store::{Db, StoreError, backoff};

/// The most items one `BatchWriteItem` takes.
const BATCH: usize = 25;
/// Batches in flight at once: enough to hide the way there and back, few enough to stay below a new table's
/// throughput.
const IN_FLIGHT: usize = 4;
/// How often unprocessed items are sent again, waiting up to 1.3 s before each.
const ROUNDS: u32 = 12;
const OPERATION: &str = "BatchWriteItem";

/// Writes items over whatever stood under their keys. Items are made when their turn comes, so that memory does
/// not grow with their number. Keys must differ.
pub(crate) async fn write_all<I>(db: &Db, items: I) -> Result<(), StoreError>
where
    I: Iterator<Item = Result<Item, StoreError>>,
{
    let mut items = items;
    let batches = std::iter::from_fn(move || {
        let batch: Result<Vec<Item>, StoreError> = items.by_ref().take(BATCH).collect();
        match batch {
            Ok(batch) if batch.is_empty() => None,
            batch => Some(batch),
        }
    });
    let writes = stream::iter(batches).map(|batch| async move { write_batch(db, batch?).await });
    writes.buffer_unordered(IN_FLIGHT).try_collect::<()>().await
}

async fn write_batch(db: &Db, items: Vec<Item>) -> Result<(), StoreError> {
    let refused = |error| StoreError::Refused { operation: OPERATION, source: Box::new(error) };
    let mut requests = Vec::with_capacity(items.len());
    for item in items {
        let put = PutRequest::builder().set_item(Some(item)).build().map_err(refused)?;
        requests.push(WriteRequest::builder().put_request(put).build());
    }
    for round in 0..ROUNDS {
        let answer = db.client().batch_write_item().request_items(db.table(), requests).send().await;
        let answer = answer.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
        requests = answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect();
        if requests.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(backoff(round)).await;
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: None })
}
