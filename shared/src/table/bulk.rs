//! The table as a whole: its shape, its time to live and its clock, reads of everything in it, and writes of many items. For tools: a
//! function that called them would link the SDK's client.

use super::codec::{Item, decode_live, key_attributes, key_of};
use super::keys::{self, Key, PK, prefix};
use super::{Db, StoreError, Turns};
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, BuildError};
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, PutRequest, TableDescription, TimeToLiveDescription, WriteRequest,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use jiff::fmt::rfc2822;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};

/// The most items that one `BatchWriteItem` takes.
const BATCH: usize = 25;
/// Batches in flight concurrently: enough to hide the round trip, few enough for a new table's throughput.
pub const IN_FLIGHT: usize = 4;
/// How often in a row a batch is sent of which nothing is processed, waiting up to 1.3 s before each.
const UNPROCESSED_TURNS: u32 = 12;
const OPERATION: &str = "BatchWriteItem";

/// Called with how many more items are done.
pub type OnProgress<'a> = &'a (dyn Fn(u64) + Sync);

/// Hands every item of a kind (see [`super::keys::prefix`]; empty for all) to `take`, in no order. Pages are read one
/// after another, so that memory does not grow with the table. An error of `take` ends the scan.
pub async fn each<E: From<StoreError>>(
    db: &Db,
    kind: &str,
    mut take: impl FnMut(Item) -> Result<(), E>,
) -> Result<(), E> {
    let mut start = None;
    loop {
        let mut request = db.client().scan().table_name(db.table()).consistent_read(true);
        if !kind.is_empty() {
            request = request.filter_expression("begins_with(#pk, :kind)").expression_attribute_names("#pk", PK);
            request = request.expression_attribute_values(":kind", AttributeValue::S(kind.to_owned()));
        }
        let page = request.set_exclusive_start_key(start).send().await;
        let page = page.map_err(|error| StoreError::from_sdk("Scan", error))?;
        for item in page.items.unwrap_or_default() {
            // The commands of an order are found by its key.
            if kind != prefix::ORDER || keys::is_order(&key_of(&item)?) {
                take(item)?;
            }
        }
        start = page.last_evaluated_key.filter(|key| !key.is_empty());
        if start.is_none() {
            return Ok(());
        }
    }
}

/// Every live thing of a kind with its key, in no order.
pub async fn all<T: DeserializeOwned>(db: &Db, kind: &str) -> Result<Vec<(Key, T)>, StoreError> {
    let mut found = Vec::new();
    each(db, kind, |item| {
        let key = key_of(&item)?;
        let thing = decode_live(&key, item)?;
        found.push((key, thing));
        Ok::<(), StoreError>(())
    })
    .await?;
    Ok(found)
}

/// Writes items over what is under their keys. Items are made when their turn comes, so that memory does not grow with
/// their number. Keys must differ. What the database leaves unprocessed is sent again after a growing, random wait.
/// After an error, items that were written before stay, and the same call can be made again.
pub async fn write_each(
    db: &Db,
    items: impl Iterator<Item = Result<Item, StoreError>>,
    progress: OnProgress<'_>,
) -> Result<(), StoreError> {
    let put = |item| {
        let put = PutRequest::builder().set_item(Some(item)).build().map_err(refused)?;
        Ok(WriteRequest::builder().put_request(put).build())
    };
    run(db, items.map(|item| put(item?)), progress).await
}

/// Deletes items, whether they exist or not. After an error the same call can be made again.
pub async fn delete_each(db: &Db, keys: impl Iterator<Item = Key>, progress: OnProgress<'_>) -> Result<(), StoreError> {
    let delete = |key: Key| {
        let delete = DeleteRequest::builder().set_key(Some(key_attributes(&key))).build().map_err(refused)?;
        Ok(WriteRequest::builder().delete_request(delete).build())
    };
    run(db, keys.map(delete), progress).await
}

fn refused(error: BuildError) -> StoreError {
    StoreError::Refused { operation: OPERATION, source: Box::new(error) }
}

async fn run(
    db: &Db,
    requests: impl Iterator<Item = Result<WriteRequest, StoreError>>,
    progress: OnProgress<'_>,
) -> Result<(), StoreError> {
    let writes = stream::iter(batches(requests)).map(|batch| async move {
        let batch = batch?;
        let size = batch.len() as u64;
        write_batch(db, batch).await?;
        progress(size);
        Ok(())
    });
    writes.buffer_unordered(IN_FLIGHT).try_collect::<()>().await
}

/// Up to 25 things at a time, made when their turn comes.
pub fn batches<T, E>(mut things: impl Iterator<Item = Result<T, E>>) -> impl Iterator<Item = Result<Vec<T>, E>> {
    std::iter::from_fn(move || {
        let batch: Result<Vec<T>, E> = things.by_ref().take(BATCH).collect();
        Some(batch).filter(|batch| !batch.as_ref().is_ok_and(Vec::is_empty))
    })
}

async fn write_batch(db: &Db, mut requests: Vec<WriteRequest>) -> Result<(), StoreError> {
    let mut turns = Turns::of(UNPROCESSED_TURNS);
    while turns.next().await {
        let sent = requests.len();
        let answer = db.client().batch_write_item().request_items(db.table(), requests).send().await;
        let answer = answer.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
        requests = answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect();
        if requests.is_empty() {
            return Ok(());
        }
        if requests.len() < sent {
            turns = Turns::of(UNPROCESSED_TURNS);
            turns.next().await;
        }
    }
    Err(StoreError::unavailable(OPERATION))
}

pub async fn describe(db: &Db) -> Result<Option<TableDescription>, StoreError> {
    let answer = db.client().describe_table().table_name(db.table()).send().await;
    Ok(answer.map_err(|error| StoreError::from_sdk("DescribeTable", error))?.table)
}

pub async fn time_to_live(db: &Db) -> Result<Option<TimeToLiveDescription>, StoreError> {
    let answer = db.client().describe_time_to_live().table_name(db.table()).send().await;
    Ok(answer.map_err(|error| StoreError::from_sdk("DescribeTimeToLive", error))?.time_to_live_description)
}

#[derive(Debug, Clone, Default)]
struct Dated(Arc<Mutex<Option<i64>>>);

impl Intercept for Dated {
    fn name(&self) -> &'static str {
        "Dated"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").and_then(|date| rfc2822::parse(date).ok());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date.map(|date| date.timestamp().as_second());
        Ok(())
    }
}

/// The second that it is by the database's clock, since 1970 UTC: the `Date` of a response. `None` if that has none.
pub async fn seconds(db: &Db) -> Result<Option<i64>, StoreError> {
    let dated = Dated::default();
    let request = db.client().get_item().table_name(db.table());
    let request = request.set_key(Some(key_attributes(&keys::active_version()))).customize().interceptor(dated.clone());
    request.send().await.map_err(|error| StoreError::from_sdk("GetItem", error))?;
    Ok(*dated.0.lock().unwrap_or_else(PoisonError::into_inner))
}
