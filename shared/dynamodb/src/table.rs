//! A table and its operations.
//!
//! The SDK's futures are large (clippy names them). Each is boxed when it is created, so that the caller's own future
//! stays small enough to move.

use crate::access::Access;
use crate::backoff::backoff;
use crate::direct::Direct;
use crate::operations::Operations;
use crate::responses::{Batch, Page};
use crate::row::{Item, Row};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItemError, BatchGetItemInput};
use aws_sdk_dynamodb::operation::get_item::{GetItemError, GetItemInput};
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsInput};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{KeysAndAttributes, TransactWriteItem};
use futures_util::future::try_join_all;
use std::pin::Pin;
use std::sync::Arc;

/// The most keys that one BatchGetItem takes.
const BATCH: usize = 100;
/// How often a batch's unprocessed keys are requested before the caller gets an error.
const ROUNDS: u32 = 4;

/// What runs around every call to the database, such as a deadline or a measurement.
pub trait Middleware: Send + Sync {
    /// Runs a call; `None` if its time was up before it ended.
    fn run<T: Send>(&self, call: impl Future<Output = T> + Send) -> impl Future<Output = Option<T>> + Send;
}

/// Nothing runs around the calls.
impl Middleware for () {
    async fn run<T: Send>(&self, call: impl Future<Output = T> + Send) -> Option<T> {
        Some(call.await)
    }
}

/// A table. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Table<M = ()> {
    backend: Backend,
    name: Arc<str>,
    middleware: M,
}

#[derive(Debug, Clone)]
enum Backend {
    /// For functions.
    Direct(Arc<Direct>),
    /// For tools, which need the other operations, and credentials from more places than the environment. A trait
    /// object, so that a program that never makes one does not contain the client's code.
    Client(Arc<dyn Operations>),
}

/// Why a batch of reads failed.
#[derive(Debug, thiserror::Error)]
pub enum BatchGetError {
    /// A call failed.
    #[error(transparent)]
    Call(Box<SdkError<BatchGetItemError>>),
    /// Keys were left unprocessed in every round: the database is throttling.
    #[error("keys are still unprocessed after {ROUNDS} requests")]
    Unprocessed,
}

impl From<SdkError<BatchGetItemError>> for BatchGetError {
    fn from(error: SdkError<BatchGetItemError>) -> Self {
        Self::Call(Box::new(error))
    }
}

/// A call that was not sent yet.
pub(crate) type Call<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, SdkError<E>>> + Send + 'a>>;

impl<M: Middleware> Table<M> {
    /// A table that is reached without the SDK's client. Opens no connection.
    #[must_use]
    pub fn direct(access: Access, name: &str, middleware: M) -> Self {
        Self { backend: Backend::Direct(Arc::new(Direct::new(access))), name: Arc::from(name), middleware }
    }

    /// A table that is reached through the SDK's client.
    #[must_use]
    pub fn with_client(client: Client, name: &str, middleware: M) -> Self {
        Self { backend: Backend::Client(Arc::new(client)), name: Arc::from(name), middleware }
    }

    /// The SDK's client, for operations that this crate does not have.
    #[must_use]
    pub fn client(&self) -> &Client {
        match &self.backend {
            Backend::Direct(direct) => direct.client(),
            Backend::Client(client) => client.client(),
        }
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads an item; `None` if the table does not have it.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    pub async fn get(&self, key: Item, consistent: bool) -> Result<Option<Item>, SdkError<GetItemError>> {
        let request = GetItemInput::builder().table_name(self.name()).consistent_read(consistent).set_key(Some(key));
        let call = match &self.backend {
            Backend::Direct(direct) => direct.get_item(request),
            Backend::Client(client) => client.get_item(request),
        };
        Ok(self.run(call).await?.item)
    }

    /// Reads items by key, strongly consistent, in no order. A batch has at most 100 keys; several batches are
    /// requested concurrently. Unprocessed keys are requested again. The result leaves out what the table does not have.
    ///
    /// # Errors
    /// [`BatchGetError`] if a call fails, or if keys stay unprocessed after four rounds.
    pub async fn batch_get(&self, keys: Vec<Item>) -> Result<Vec<Row>, BatchGetError> {
        let batches = keys.len().div_ceil(BATCH);
        let mut rest = keys.into_iter();
        let batches = (0..batches).map(|_| self.batch_get_chunk(rest.by_ref().take(BATCH).collect()));
        Ok(try_join_all(batches).await?.into_iter().flatten().collect())
    }

    async fn batch_get_chunk(&self, mut wanted: Vec<Item>) -> Result<Vec<Row>, BatchGetError> {
        let mut found = Vec::with_capacity(wanted.len());
        for round in 0..ROUNDS {
            if let Some(earlier) = round.checked_sub(1) {
                tokio::time::sleep(backoff(earlier)).await;
            }
            let request = self.batch_request(wanted).map_err(SdkError::construction_failure)?;
            let call = match &self.backend {
                Backend::Direct(direct) => direct.batch_get_item(request),
                Backend::Client(client) => client.batch_get_item(request),
            };
            let Batch { rows, unprocessed } = self.run(call).await?;
            found.extend(rows);
            if unprocessed.is_empty() {
                return Ok(found);
            }
            wanted = unprocessed;
        }
        Err(BatchGetError::Unprocessed)
    }

    /// Reads all pages of a query, in order.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    pub async fn query(&self, request: QueryInputBuilder) -> Result<Vec<Row>, SdkError<QueryError>> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let (rows, next) = self.query_page(request.clone().set_exclusive_start_key(start)).await?;
            found.extend(rows);
            start = next;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    /// Reads one page of a query, and the key after which the next page begins; `None` on the last page.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    pub async fn query_page(
        &self,
        request: QueryInputBuilder,
    ) -> Result<(Vec<Row>, Option<Item>), SdkError<QueryError>> {
        let request = request.table_name(self.name());
        let call = match &self.backend {
            Backend::Direct(direct) => direct.query(request),
            Backend::Client(client) => client.query(request),
        };
        let Page { rows, next } = self.run(call).await?;
        Ok((rows, next))
    }

    /// Writes to an item.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    pub async fn update(&self, request: UpdateItemInputBuilder) -> Result<UpdateItemOutput, SdkError<UpdateItemError>> {
        let request = request.table_name(self.name());
        let call = match &self.backend {
            Backend::Direct(direct) => direct.update_item(request),
            Backend::Client(client) => client.update_item(request),
        };
        self.run(call).await
    }

    /// Writes all items or none. A call has an idempotency token, which its retries repeat: `token`, or a random one.
    ///
    /// # Errors
    /// As the SDK's client returns them.
    pub async fn transact_write(
        &self,
        items: Vec<TransactWriteItem>,
        token: Option<&str>,
    ) -> Result<(), SdkError<TransactWriteItemsError>> {
        let request = TransactWriteItemsInput::builder().set_transact_items(Some(items));
        let request = request.set_client_request_token(token.map(str::to_owned));
        let call = match &self.backend {
            Backend::Direct(direct) => direct.transact_write_items(request),
            Backend::Client(client) => client.transact_write_items(request),
        };
        self.run(call).await.map(drop)
    }

    fn batch_request(&self, keys: Vec<Item>) -> Result<BatchGetItemInputBuilder, BuildError> {
        let request = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build()?;
        Ok(BatchGetItemInput::builder().request_items(self.name(), request))
    }

    async fn run<T: Send, E: Send>(&self, call: Call<'_, T, E>) -> Result<T, SdkError<E>> {
        match self.middleware.run(call).await {
            Some(result) => result,
            None => Err(SdkError::timeout_error("the deadline has passed")),
        }
    }
}
