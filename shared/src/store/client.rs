//! The table, and the few operations that everything else is made of.
//!
//! The SDK's futures are large (clippy names them); every one is boxed where it is made, so that an endpoint's own
//! future stays small enough to move.

use super::access::Access;
use super::codec::{Item, Row, key_attributes};
use super::direct::{Answer, Batch, Direct, Page};
use super::error::StoreError;
use super::keys::{Key, PK};
use crate::{deadline, telemetry};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItemError, BatchGetItemInput};
use aws_sdk_dynamodb::operation::get_item::builders::GetItemInputBuilder;
use aws_sdk_dynamodb::operation::get_item::{GetItemError, GetItemInput, GetItemOutput};
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::query::{QueryError, QueryInput};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, TransactWriteItem};
use futures_util::TryFutureExt as _;
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

/// The most keys that one BatchGetItem takes.
const BATCH: usize = 100;
/// How often unprocessed keys are asked for again before the caller is told to come back.
const ROUNDS: u32 = 4;

/// The table, by a way that is shared by everything in the process.
#[derive(Debug, Clone)]
pub struct Db {
    way: Backend,
    table: Arc<str>,
}

/// An operation on its way.
type Call<'a, T, E> = Pin<Box<dyn Future<Output = Answer<T, E>> + Send + 'a>>;

/// How an operation gets to the table.
#[derive(Debug, Clone)]
enum Backend {
    /// The functions' way.
    Direct(Arc<Direct>),
    /// The tools' way, with all that the SDK's client can find and do.
    Client(Client),
}

impl Db {
    /// The table named `table` as functions reach it.
    #[must_use]
    pub fn direct(access: Access, table: &str) -> Self {
        Self { way: Backend::Direct(Arc::new(Direct::new(access))), table: Arc::from(table) }
    }

    /// The table named `table`, reached through the SDK's client.
    #[must_use]
    pub fn new(client: Client, table: &str) -> Self {
        Self { way: Backend::Client(client), table: Arc::from(table) }
    }

    /// The SDK's client, for the operations that no function needs.
    #[must_use]
    pub fn client(&self) -> &Client {
        match &self.way {
            Backend::Direct(direct) => direct.client(),
            Backend::Client(client) => client,
        }
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Reads one item, strongly consistent where asked.
    ///
    /// # Errors
    /// [`StoreError`] where the database does not answer with the item or its absence.
    pub async fn get(&self, key: &Key, consistent: bool) -> Result<Option<Item>, StoreError> {
        let request = GetItemInput::builder().table_name(self.table()).consistent_read(consistent);
        let answer = run(self.get_item(request.set_key(Some(key_attributes(key))))).await;
        Ok(answer.map_err(|error| StoreError::from_sdk("GetItem", error))?.item)
    }

    /// Reads items by key, strongly consistent, in as many batches side by side as they need. What is missing
    /// in the table is missing in the answer.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] where keys stay unprocessed after some rounds of asking again.
    pub async fn batch_get(&self, keys: Vec<Key>) -> Result<Rows, StoreError> {
        let batches = keys.chunks(BATCH).map(|chunk| self.batch_get_chunk(chunk));
        let rows = try_join_all(batches).await?;
        Ok(Rows(rows.into_iter().flatten().collect()))
    }

    async fn batch_get_chunk(&self, keys: &[Key]) -> Result<HashMap<Key, Row>, StoreError> {
        const OPERATION: &str = "BatchGetItem";
        let mut rows = HashMap::with_capacity(keys.len());
        let mut wanted: Vec<Item> = keys.iter().map(key_attributes).collect();
        for round in 0..ROUNDS {
            let request = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build();
            let request =
                request.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
            let request = BatchGetItemInput::builder().request_items(self.table(), request);
            let answer = run(self.batch_get_item(request)).await;
            let Batch { rows: found, unprocessed } = answer.map_err(|error| StoreError::from_sdk(OPERATION, error))?;
            for row in found {
                rows.insert(row.key()?, row);
            }
            if unprocessed.is_empty() {
                return Ok(rows);
            }
            wanted = unprocessed;
            tokio::time::sleep(super::backoff(round)).await;
        }
        Err(StoreError::unavailable(OPERATION))
    }

    /// Reads a whole partition in the order of its sort keys, strongly consistent, page by page.
    ///
    /// # Errors
    /// [`StoreError`] where the database does not answer with a page.
    pub async fn query(&self, partition: &str) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let request = QueryInput::builder().table_name(self.table()).consistent_read(true);
            let request = request.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", PK);
            let request = request.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()));
            let page = run(self.query_page(request.set_exclusive_start_key(start))).await;
            let Page { rows, next } = page.map_err(|error| StoreError::from_sdk("Query", error))?;
            found.extend(rows);
            start = next;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    fn get_item(&self, request: GetItemInputBuilder) -> Call<'_, GetItemOutput, GetItemError> {
        match &self.way {
            Backend::Direct(direct) => Box::pin(direct.get_item(request)),
            Backend::Client(client) => Box::pin(request.send_with(client)),
        }
    }

    fn batch_get_item(&self, request: BatchGetItemInputBuilder) -> Call<'_, Batch, BatchGetItemError> {
        match &self.way {
            Backend::Direct(direct) => Box::pin(direct.batch_get_item(request)),
            Backend::Client(client) => Box::pin(request.send_with(client).map_ok(Batch::from)),
        }
    }

    fn query_page(&self, request: QueryInputBuilder) -> Call<'_, Page, QueryError> {
        match &self.way {
            Backend::Direct(direct) => Box::pin(direct.query(request)),
            Backend::Client(client) => Box::pin(request.send_with(client).map_ok(Page::from)),
        }
    }

    /// Writes to an item; what a failed condition means is the caller's to say.
    ///
    /// # Errors
    /// What the SDK answers.
    pub async fn update_item(&self, request: UpdateItemInputBuilder) -> Answer<UpdateItemOutput, UpdateItemError> {
        let call: Call<'_, _, _> = match &self.way {
            Backend::Direct(direct) => Box::pin(direct.update_item(request)),
            Backend::Client(client) => Box::pin(request.send_with(client)),
        };
        run(call).await
    }

    /// Writes items in one transaction. The SDK adds a token, so that its own retries have no second effect.
    ///
    /// # Errors
    /// The SDK's error; a cancelled transaction has its reasons by position.
    pub async fn transact_write(&self, items: Vec<TransactWriteItem>) -> Answer<(), TransactWriteItemsError> {
        let request = self.client().transact_write_items().set_transact_items(Some(items));
        run(Box::pin(request.send().map_ok(|_| ()))).await
    }
}

/// Runs a call within the request's deadline, and notes how long it took.
async fn run<T, E>(call: Call<'_, T, E>) -> Answer<T, E> {
    match telemetry::database_call(deadline::within(call)).await {
        Some(answer) => answer,
        None => Err(SdkError::timeout_error("the request's deadline has passed")),
    }
}

/// Items that were read together, taken out by key.
#[derive(Debug, Default)]
pub struct Rows(HashMap<Key, Row>);

impl Rows {
    /// Takes an item out; `None` where the table has none.
    pub fn take(&mut self, key: &Key) -> Option<Row> {
        self.0.remove(key)
    }
}
