//! The operations, run by the SDK's orchestrator without its client.

use crate::access::Access;
use crate::responses::{Batch, Page};
use crate::runtime::{common, for_operation, for_operation_read_by, invoke};
use crate::table::Call;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_get_item::builders::BatchGetItemInputBuilder;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItem, BatchGetItemError};
use aws_sdk_dynamodb::operation::get_item::builders::GetItemInputBuilder;
use aws_sdk_dynamodb::operation::get_item::{GetItem, GetItemError, GetItemOutput};
use aws_sdk_dynamodb::operation::query::builders::QueryInputBuilder;
use aws_sdk_dynamodb::operation::query::{Query, QueryError};
use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsInputBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::{
    TransactWriteItems, TransactWriteItemsError, TransactWriteItemsOutput,
};
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItem, UpdateItemError, UpdateItemOutput};
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugins;
use std::sync::OnceLock;

/// The operations by one access. The plugins of an operation are made when it is first called.
#[derive(Debug)]
pub(crate) struct Direct {
    access: Access,
    common: RuntimePlugins,
    get_item: OnceLock<RuntimePlugins>,
    batch_get_item: OnceLock<RuntimePlugins>,
    query: OnceLock<RuntimePlugins>,
    update_item: OnceLock<RuntimePlugins>,
    transact_write_items: OnceLock<RuntimePlugins>,
    client: OnceLock<Client>,
}

impl Direct {
    /// Opens no connection.
    pub(crate) fn new(access: Access) -> Self {
        Self {
            common: common(&access),
            access,
            get_item: OnceLock::new(),
            batch_get_item: OnceLock::new(),
            query: OnceLock::new(),
            update_item: OnceLock::new(),
            transact_write_items: OnceLock::new(),
            client: OnceLock::new(),
        }
    }

    /// The SDK's own client by the same access, made when it is first asked for.
    pub(crate) fn client(&self) -> &Client {
        self.client.get_or_init(|| Client::from_conf(self.access.sdk_config().build()))
    }

    pub(crate) fn get_item(&self, input: GetItemInputBuilder) -> Call<'_, GetItemOutput, GetItemError> {
        let plugins = self.get_item.get_or_init(|| for_operation(&self.common, &GetItem::new()));
        Box::pin(invoke("GetItem", plugins, input.build()))
    }

    pub(crate) fn batch_get_item(&self, input: BatchGetItemInputBuilder) -> Call<'_, Batch, BatchGetItemError> {
        let plugins = self.batch_get_item.get_or_init(|| {
            for_operation_read_by::<_, _, BatchGetItemError>(&self.common, &BatchGetItem::new(), Batch::read)
        });
        Box::pin(invoke("BatchGetItem", plugins, input.build()))
    }

    pub(crate) fn query(&self, input: QueryInputBuilder) -> Call<'_, Page, QueryError> {
        let plugins = self
            .query
            .get_or_init(|| for_operation_read_by::<_, _, QueryError>(&self.common, &Query::new(), Page::read));
        Box::pin(invoke("Query", plugins, input.build()))
    }

    pub(crate) fn update_item(&self, input: UpdateItemInputBuilder) -> Call<'_, UpdateItemOutput, UpdateItemError> {
        let plugins = self.update_item.get_or_init(|| for_operation(&self.common, &UpdateItem::new()));
        Box::pin(invoke("UpdateItem", plugins, input.build()))
    }

    pub(crate) fn transact_write_items(
        &self,
        input: TransactWriteItemsInputBuilder,
    ) -> Call<'_, TransactWriteItemsOutput, TransactWriteItemsError> {
        let plugins = self.transact_write_items.get_or_init(|| for_operation(&self.common, &TransactWriteItems::new()));
        // One for all attempts of this call, as the SDK's client sets it: a retry whose first attempt was carried out
        // changes nothing.
        Box::pin(async {
            let token = match input.get_client_request_token() {
                Some(token) => token.clone(),
                None => random_token().map_err(SdkError::construction_failure)?,
            };
            invoke("TransactWriteItems", plugins, input.client_request_token(token).build()).await
        })
    }
}

/// A random idempotency token. DynamoDB takes 1 to 36 characters.
fn random_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}
