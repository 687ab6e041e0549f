//! An operation as a value, run by this crate or by the SDK's client, and its outcome in a form that can be compared.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use dynamodb::{BatchGetError, Item, Row, Table};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::collections::HashMap;
use std::error::Error;

/// The table of every test.
pub const TABLE: &str = "table";
/// As [`Table::batch_get`] documents.
const BATCH: usize = 100;
const ROUNDS: usize = 4;

#[derive(Debug, Clone)]
pub enum Operation {
    Get(Item),
    BatchGet(Vec<Item>),
    Query(&'static str),
    Update(Box<UpdateItemInputBuilder>),
    TransactWrite(Vec<TransactWriteItem>),
}

pub fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub fn key(pk: &str, sk: &str) -> Item {
    Item::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
}

/// Sets the attribute `n`, if the version is the expected one.
pub fn update(key: Item, version: i64, n: i64) -> Operation {
    let request = UpdateItemInput::builder()
        .set_key(Some(key))
        .update_expression("SET n = :n, version = :next")
        .condition_expression("version = :version")
        .expression_attribute_values(":n", number(n))
        .expression_attribute_values(":version", number(version))
        .expression_attribute_values(":next", number(version + 1))
        .return_values(ReturnValue::AllNew)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    Operation::Update(Box::new(request))
}

/// Writes a new item and changes another one, both under a condition.
pub fn transaction(new: Item, changed: Item, n: i64) -> Operation {
    let old = ReturnValuesOnConditionCheckFailure::AllOld;
    let put = Put::builder().table_name(TABLE).set_item(Some(new)).condition_expression("attribute_not_exists(pk)");
    let put = put.return_values_on_condition_check_failure(old.clone()).build().unwrap();
    let update = Update::builder().table_name(TABLE).set_key(Some(changed)).update_expression("ADD n :n");
    let update = update.condition_expression("attribute_exists(pk)").expression_attribute_values(":n", number(n));
    let update = update.return_values_on_condition_check_failure(old).build().unwrap();
    Operation::TransactWrite(vec![
        TransactWriteItem::builder().put(put).build(),
        TransactWriteItem::builder().update(update).build(),
    ])
}

pub fn one_of_each() -> [Operation; 5] {
    [
        Operation::Get(key("a", "1")),
        Operation::BatchGet(vec![key("a", "1"), key("b", "2")]),
        Operation::Query("a"),
        update(key("a", "1"), 1, 7),
        transaction(key("new", "1"), key("a", "1"), 7),
    ]
}

impl Operation {
    pub async fn by_crate(self, table: &Table) -> Result<Value, Failure> {
        match self {
            Self::Get(key) => {
                let item = table.get(key, true).await.map_err(|error| Failure::of(&error))?;
                Ok(json!(item.as_ref().map(typed)))
            }
            Self::BatchGet(keys) => {
                let rows = table.batch_get(keys).await.map_err(Failure::of_batch)?;
                Ok(sorted(rows.into_iter().map(thing).collect()))
            }
            Self::Query(partition) => {
                let request = QueryInput::builder().consistent_read(true).key_condition_expression("pk = :pk");
                let request = request.expression_attribute_values(":pk", text(partition));
                let rows = table.query(request).await.map_err(|error| Failure::of(&error))?;
                Ok(rows.into_iter().map(thing).collect())
            }
            Self::Update(request) => {
                let output = table.update(*request).await.map_err(|error| Failure::of(&error))?;
                Ok(json!(output.attributes().map(typed)))
            }
            Self::TransactWrite(items) => {
                table.transact_write(items, None).await.map_err(|error| Failure::of(&error))?;
                Ok(Value::Null)
            }
        }
    }

    pub async fn by_client(self, client: &Client) -> Result<Value, Failure> {
        match self {
            Self::Get(key) => {
                let request = client.get_item().table_name(TABLE).consistent_read(true).set_key(Some(key));
                let output = Box::pin(request.send()).await.map_err(|error| Failure::of(&error))?;
                Ok(json!(output.item().map(typed)))
            }
            Self::BatchGet(keys) => {
                let mut found = Vec::new();
                for chunk in keys.chunks(BATCH) {
                    found.extend(batch(client, chunk.to_vec()).await?);
                }
                Ok(sorted(found))
            }
            Self::Query(partition) => {
                let request = client.query().table_name(TABLE).consistent_read(true);
                let request = request.key_condition_expression("pk = :pk");
                let request = request.expression_attribute_values(":pk", text(partition));
                let mut items = request.into_paginator().items().send();
                let mut found = Vec::new();
                while let Some(item) = items.next().await {
                    found.push(read(item.map_err(|error| Failure::of(&error))?));
                }
                Ok(found.into())
            }
            Self::Update(request) => {
                let request = request.table_name(TABLE).send_with(client);
                let output = Box::pin(request).await.map_err(|error| Failure::of(&error))?;
                Ok(json!(output.attributes().map(typed)))
            }
            Self::TransactWrite(items) => {
                let request = client.transact_write_items().set_transact_items(Some(items));
                Box::pin(request.send()).await.map_err(|error| Failure::of(&error))?;
                Ok(Value::Null)
            }
        }
    }
}

/// The items of one batch, with its unprocessed keys requested again.
async fn batch(client: &Client, mut wanted: Vec<Item>) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let request = KeysAndAttributes::builder().set_keys(Some(wanted)).consistent_read(true).build().unwrap();
        let request = client.batch_get_item().request_items(TABLE, request);
        let output = Box::pin(request.send()).await.map_err(|error| Failure::of(&error))?;
        let items = output.responses.unwrap_or_default().remove(TABLE).unwrap_or_default();
        found.extend(items.into_iter().map(read));
        match output.unprocessed_keys.unwrap_or_default().remove(TABLE) {
            None => return Ok(found),
            Some(rest) => wanted = rest.keys,
        }
    }
    Err(Failure::unprocessed())
}

fn thing(row: Row) -> Value {
    json!(row.read::<Thing>().unwrap())
}

fn sorted(mut values: Vec<Value>) -> Value {
    values.sort_by_key(|value| (value["pk"].to_string(), value["sk"].to_string()));
    values.into()
}

#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub result: Result<Value, Failure>,
    pub attempts: usize,
}

#[derive(Debug, PartialEq)]
pub struct Failure {
    /// The variant of `SdkError`, and what the SDK says of a connector's error.
    pub kind: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    pub variant: Option<String>,
    pub code: Option<String>,
    pub message: Option<String>,
    pub request_id: Option<String>,
    pub fields: Value,
}

impl Failure {
    pub fn of<E>(error: &SdkError<E>) -> Self
    where
        E: ProvideErrorMetadata + RequestId + Error + 'static,
    {
        let service = error.as_service_error();
        let debug = service.map(|service| format!("{service:?}"));
        Self {
            kind: kind(error),
            status: error.raw_response().map(|response| response.status().as_u16()),
            variant: debug.map(|debug| debug.split(['(', ' ']).next().unwrap_or_default().to_owned()),
            code: error.code().map(str::to_owned),
            message: error.message().map(str::to_owned),
            request_id: service.and_then(RequestId::request_id).map(str::to_owned),
            fields: service.map_or(Value::Null, |service| fields(service)),
        }
    }

    pub fn of_batch(error: BatchGetError) -> Self {
        match error {
            BatchGetError::Call(error) => Self::of(&error),
            BatchGetError::Unprocessed => Self::unprocessed(),
        }
    }

    pub fn unprocessed() -> Self {
        Self {
            kind: "unprocessed".to_owned(),
            status: None,
            variant: None,
            code: None,
            message: None,
            request_id: None,
            fields: Value::Null,
        }
    }
}

fn kind<E>(error: &SdkError<E>) -> String {
    match error {
        SdkError::ConstructionFailure(_) => "construction".to_owned(),
        SdkError::TimeoutError(_) => "timeout".to_owned(),
        SdkError::DispatchFailure(failure) => format!(
            "dispatch: io {}, timeout {}, user {}, other {:?}",
            failure.is_io(),
            failure.is_timeout(),
            failure.is_user(),
            failure.as_other(),
        ),
        SdkError::ResponseError(_) => "response".to_owned(),
        SdkError::ServiceError(_) => "service".to_owned(),
        _ => "another kind".to_owned(),
    }
}

/// The fields that callers read of an operation's error.
fn fields(error: &dyn Any) -> Value {
    if let Some(UpdateItemError::ConditionalCheckFailedException(failed)) = error.downcast_ref() {
        return json!(failed.item().map(typed));
    }
    if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.downcast_ref() {
        let reasons = cancelled.cancellation_reasons().iter();
        return reasons.map(|reason| json!([reason.code(), reason.message(), reason.item().map(typed)])).collect();
    }
    Value::Null
}

/// An item with the types of its attributes.
pub fn typed(item: &Item) -> Value {
    let value = |value: &AttributeValue| match value {
        AttributeValue::L(elements) => elements.iter().map(|element| json!(format!("{element:?}"))).collect(),
        AttributeValue::M(map) => typed(map),
        other => json!(format!("{other:?}")),
    };
    item.iter().map(|(name, attribute)| (name.clone(), value(attribute))).collect::<Map<_, _>>().into()
}

/// The attributes that a struct reads of a row. It ignores all other attributes, such as bytes, sets and fractions.
#[derive(Debug, Serialize, Deserialize)]
pub struct Thing {
    pk: String,
    sk: String,
    n: Option<i64>,
    version: Option<u32>,
    text: Option<String>,
    open: Option<bool>,
    none: Option<i64>,
    map: Option<HashMap<String, Vec<Option<i64>>>>,
    plain: Option<Kind>,
    amount: Option<Kind>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Plain,
    Amount(i64),
}

/// An item as a struct reads it, by the library that reads the SDK's maps.
pub fn read(item: Item) -> Value {
    json!(serde_dynamo::aws_sdk_dynamodb_1::from_item::<Thing>(item).unwrap())
}
