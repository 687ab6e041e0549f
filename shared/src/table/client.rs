//! The table, by the keys and errors of this store. Every call keeps to the request's deadline and is measured.

use super::StoreError;
use super::codec::{Item, Row, key_attributes};
use super::keys::{Key, PK, SK};
use crate::{deadline, telemetry};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use dynamodb::{Access, BatchGetError, Middleware, Table};
use serde::de::DeserializeOwned;
use std::collections::HashMap;

#[derive(Debug, Clone)]
pub struct Db(Table<RequestLimits>);

impl Db {
    /// The table named `table`. Opens no connection.
    pub fn new(access: Access, table: &str) -> Self {
        Self(Table::new(access, table, RequestLimits))
    }

    /// The SDK's client, for the operations that no function needs.
    pub fn client(&self) -> &Client {
        self.0.client()
    }

    pub fn table(&self) -> &str {
        self.0.name()
    }

    /// Reads an item, strongly consistent if asked for; `None` if the table does not have it.
    pub async fn get(&self, key: &Key, consistent: bool) -> Result<Option<Item>, StoreError> {
        let item = self.0.get(key_attributes(key), consistent).await;
        item.map_err(|error| StoreError::from_sdk("GetItem", error))
    }

    /// Reads items by key, strongly consistent, in as many concurrent batches as they need. [`Rows`] leaves out what
    /// the table does not have. Fails with [`StoreError::Unavailable`] if keys stay unprocessed after some rounds.
    pub async fn batch_get(&self, keys: Vec<Key>) -> Result<Rows, StoreError> {
        const OPERATION: &str = "BatchGetItem";
        let rows = self.0.batch_get(keys.iter().map(key_attributes).collect()).await;
        let rows = rows.map_err(|error| match error {
            BatchGetError::Call(error) => StoreError::from_sdk(OPERATION, *error),
            BatchGetError::Unprocessed => StoreError::Unavailable { operation: OPERATION, source: Some(error.into()) },
        })?;
        let rows = rows.into_iter().map(Row::from).map(|row| Ok((row.key()?, row)));
        rows.collect::<Result<_, _>>().map(Rows)
    }

    /// Reads a whole partition in the order of its sort keys, strongly consistent.
    pub async fn query(&self, partition: &str) -> Result<Vec<Row>, StoreError> {
        self.query_all(partition_request(partition)).await
    }

    /// Reads the items of a partition whose sort key is not above `last`, strongly consistent and in order.
    pub async fn query_until(&self, partition: &str, last: &str) -> Result<Vec<Row>, StoreError> {
        let request = partition_request(partition).key_condition_expression("#pk = :pk AND #sk <= :last");
        let request = request.expression_attribute_names("#sk", SK);
        let request = request.expression_attribute_values(":last", AttributeValue::S(last.to_owned()));
        self.query_all(request).await
    }

    /// Reads the first items of a partition whose sort keys are within `first` and `last`, strongly consistent and in order, until
    /// `read` has taken `most` of them.
    pub async fn query_first<T>(
        &self,
        partition: &str,
        (first, last): (&str, &str),
        most: usize,
        mut read: impl FnMut(Row) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let request = partition_request(partition)
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :first AND :last")
            .expression_attribute_names("#sk", SK)
            .expression_attribute_values(":first", text(first))
            .expression_attribute_values(":last", text(last));
        let (mut found, mut start, mut seen) = (Vec::new(), None, 0_usize);
        loop {
            // The more were not taken, the more are read at once.
            let limit = i32::try_from((most + seen).saturating_sub(2 * found.len()).max(1)).unwrap_or(i32::MAX);
            let page = self.0.query_page(request.clone().limit(limit).set_exclusive_start_key(start)).await;
            let (rows, next) = page.map_err(|error| StoreError::from_sdk("Query", error))?;
            seen += rows.len();
            found.extend(rows.into_iter().map(Row::from).filter_map(&mut read));
            start = next;
            if start.is_none() || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
    }

    async fn query_all(&self, request: QueryInputBuilder) -> Result<Vec<Row>, StoreError> {
        let rows = self.0.query(request).await.map_err(|error| StoreError::from_sdk("Query", error))?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// Reads one page of a partition in descending order of its sort keys, strongly consistent. `start` is the key
    /// after which the page begins; the result has that of the next page.
    pub async fn query_descending(
        &self,
        partition: &str,
        most: i32,
        start: Option<Item>,
    ) -> Result<(Vec<Row>, Option<Item>), StoreError> {
        let request = partition_request(partition).scan_index_forward(false).limit(most).set_exclusive_start_key(start);
        let page = self.0.query_page(request).await;
        let (rows, next) = page.map_err(|error| StoreError::from_sdk("Query", error))?;
        Ok((rows.into_iter().map(Row::from).collect(), next))
    }

    /// Writes to an item. What a failed condition means is for the caller to decide.
    pub async fn update_item(
        &self,
        request: UpdateItemInputBuilder,
    ) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
        self.0.update(request).await
    }

    /// Writes all items or none. What a cancelled transaction means is for the caller to decide. Without a token it has
    /// a random one.
    pub async fn transact_write(
        &self,
        items: Vec<TransactWriteItem>,
        token: Option<&str>,
    ) -> Result<(), SdkError<TransactWriteItemsError>> {
        self.0.transact_write(items, token).await
    }
}

/// A strongly consistent read of a whole partition.
fn partition_request(partition: &str) -> QueryInputBuilder {
    let request = QueryInput::builder().consistent_read(true).key_condition_expression("#pk = :pk");
    let request = request.expression_attribute_names("#pk", PK);
    request.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()))
}

/// The context of a request's calls to the database have in common: its deadline, and the measurement in its log line.
#[derive(Debug, Clone, Copy)]
struct RequestLimits;

impl Middleware for RequestLimits {
    async fn run<T: Send>(&self, call: impl Future<Output = T> + Send) -> Option<T> {
        telemetry::database_call(deadline::within(call)).await
    }
}

/// Items that were read together, taken out by key.
#[derive(Debug, Default)]
pub struct Rows(HashMap<Key, Row>);

impl Rows {
    /// Takes an item out; `None` if the table does not have it.
    pub fn take(&mut self, key: &Key) -> Option<Row> {
        self.0.remove(key)
    }

    /// Takes a live thing out; `None` if the table does not have it.
    pub fn take_live<T: DeserializeOwned>(&mut self, key: &Key) -> Result<Option<T>, StoreError> {
        self.take(key).map(|row| row.live(key)).transpose()
    }
}
