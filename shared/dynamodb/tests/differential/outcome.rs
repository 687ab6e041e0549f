//! The outcome of an operation, in a form that can be compared.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use dynamodb::{BatchGetError, Item};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::collections::HashMap;
use std::error::Error;

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
