//! The operations, sent by the SDK's client.

use crate::responses::{Batch, Page};
use crate::table::Call;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::get_item::builders::GetItemInputBuilder;
use aws_sdk_dynamodb::operation::get_item::{GetItemError, GetItemOutput};
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use futures_util::TryFutureExt as _;
use std::fmt::Debug;

/// The operations on a table.
pub(crate) trait Operations: Debug + Send + Sync {
    /// The client itself.
    fn client(&self) -> &Client;
    fn get_item(&self, input: GetItemInputBuilder) -> Call<'_, GetItemOutput, GetItemError>;
    fn batch_get_item(&self, input: BatchGetItemInputBuilder) -> Call<'_, Batch, BatchGetItemError>;
    fn query(&self, input: QueryInputBuilder) -> Call<'_, Page, QueryError>;
    fn update_item(&self, input: UpdateItemInputBuilder) -> Call<'_, UpdateItemOutput, UpdateItemError>;
    fn transact_write_items(
        &self,
        input: TransactWriteItemsInputBuilder,
    ) -> Call<'_, TransactWriteItemsOutput, TransactWriteItemsError>;
}

impl Operations for Client {
    fn client(&self) -> &Client {
        self
    }

    fn get_item(&self, input: GetItemInputBuilder) -> Call<'_, GetItemOutput, GetItemError> {
        Box::pin(input.send_with(self))
    }

    fn batch_get_item(&self, input: BatchGetItemInputBuilder) -> Call<'_, Batch, BatchGetItemError> {
        Box::pin(input.send_with(self).map_ok(Batch::from))
    }

    fn query(&self, input: QueryInputBuilder) -> Call<'_, Page, QueryError> {
        Box::pin(input.send_with(self).map_ok(Page::from))
    }

    fn update_item(&self, input: UpdateItemInputBuilder) -> Call<'_, UpdateItemOutput, UpdateItemError> {
        Box::pin(input.send_with(self))
    }

    fn transact_write_items(
        &self,
        input: TransactWriteItemsInputBuilder,
    ) -> Call<'_, TransactWriteItemsOutput, TransactWriteItemsError> {
        Box::pin(input.send_with(self))
    }
}
