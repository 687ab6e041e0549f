//! The table, by the keys and errors of this store. Every call keeps to the request's deadline and is measured.

use super::codec::{Item, Row, key_attributes};
use super::error::StoreError;
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
use futures_util::TryFutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::HashMap;

/// A call that was not sent yet. It is boxed here, so that its code is compiled once and not in everything that waits for
/// it.
pub type Call<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The table. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Db(Table<RequestLimits>);

impl Db {
    /// The table named `table`. Opens no connection.
    #[must_use]
    pub fn new(access: Access, table: &str) -> Self {
        Self(Table::new(access, table, RequestLimits))
    }

    /// The SDK's client, for the operations that no function needs.
    #[must_use]
    pub fn client(&self) -> &Client {
        self.0.client()
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        self.0.name()
    }

    /// Reads an item, strongly consistent if asked for; `None` if the table does not have it.
    ///
    /// # Errors
    /// [`StoreError`] if the database returns neither the item nor its absence.
    #[must_use]
    pub fn get(&self, key: &Key, consistent: bool) -> Call<'_, Option<Item>> {
        let item = self.0.get(key_attributes(key), consistent);
        Box::pin(item.map_err(|error| StoreError::from_sdk("GetItem", error)))
    }

    /// Reads items by key, strongly consistent, in as many concurrent batches as they need. [`Rows`] leaves out what the
    /// table does not have.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if keys stay unprocessed after some rounds.
    #[must_use]
    pub fn batch_get(&self, keys: Vec<Key>) -> Call<'_, Rows> {
        const OPERATION: &str = "BatchGetItem";
        Box::pin(async move {
            let rows = self.0.batch_get(keys.iter().map(key_attributes).collect()).await;
            let rows = rows.map_err(|error| match error {
                BatchGetError::Call(error) => StoreError::from_sdk(OPERATION, *error),
                BatchGetError::Unprocessed => {
                    StoreError::Unavailable { operation: OPERATION, source: Some(error.into()) }
                }
            })?;
            let mut by_key = HashMap::with_capacity(rows.len());
            for row in rows {
                let row = Row::from(row);
                by_key.insert(row.key()?, row);
            }
            Ok(Rows(by_key))
        })
    }

    /// Reads a whole partition in the order of its sort keys, strongly consistent.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not return every page.
    #[must_use]
    pub fn query(&self, partition: &str) -> Call<'_, Vec<Row>> {
        self.query_all(partition_request(partition))
    }

    /// Reads the items of a partition whose sort key is not above `last`, strongly consistent and in order.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not return every page.
    #[must_use]
    pub fn query_until(&self, partition: &str, last: &str) -> Call<'_, Vec<Row>> {
        let request = partition_request(partition).key_condition_expression("#pk = :pk AND #sk <= :last");
        let request = request.expression_attribute_names("#sk", SK);
        let request = request.expression_attribute_values(":last", AttributeValue::S(last.to_owned()));
        self.query_all(request)
    }

    fn query_all(&self, request: QueryInputBuilder) -> Call<'_, Vec<Row>> {
        let rows = self.0.query(request).map_ok(|rows| rows.into_iter().map(Row::from).collect());
        Box::pin(rows.map_err(|error| StoreError::from_sdk("Query", error)))
    }

    /// Reads one page of a partition in descending order of its sort keys, strongly consistent. `start` is the key after
    /// which the page begins; the result has that of the next page.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not return the page.
    #[must_use]
    pub fn query_descending(
        &self,
        partition: &str,
        most: i32,
        start: Option<Item>,
    ) -> Call<'_, (Vec<Row>, Option<Item>)> {
        let request = partition_request(partition).scan_index_forward(false).limit(most).set_exclusive_start_key(start);
        let page = self.0.query_page(request);
        let page = page.map_ok(|(rows, next)| (rows.into_iter().map(Row::from).collect(), next));
        Box::pin(page.map_err(|error| StoreError::from_sdk("Query", error)))
    }

    /// Writes to an item. What a failed condition means is for the caller to decide.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    #[must_use]
    pub fn update_item(
        &self,
        request: UpdateItemInputBuilder,
    ) -> BoxFuture<'_, Result<UpdateItemOutput, SdkError<UpdateItemError>>> {
        Box::pin(self.0.update(request))
    }

    /// Writes all items or none. What a cancelled transaction means is for the caller to decide. Without a token it has a
    /// random one.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    #[must_use]
    pub fn transact_write<'a>(
        &'a self,
        items: Vec<TransactWriteItem>,
        token: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), SdkError<TransactWriteItemsError>>> {
        Box::pin(self.0.transact_write(items, token))
    }
}

/// A strongly consistent read of a whole partition.
fn partition_request(partition: &str) -> QueryInputBuilder {
    let request = QueryInput::builder().consistent_read(true).key_condition_expression("#pk = :pk");
    let request = request.expression_attribute_names("#pk", PK);
    request.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()))
}

/// What a request's calls to the database have in common: its deadline, and the measurement in its log line.
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
}
