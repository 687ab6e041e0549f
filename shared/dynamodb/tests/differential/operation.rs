//! An operation as a value, run by this crate or by the SDK's client.

use crate::outcome::{Failure, Thing, read, typed};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::QueryInput;
use aws_sdk_dynamodb::operation::update_item::UpdateItemInput;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemInputBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use dynamodb::{Item, Row, Table};
use serde_json::{Value, json};

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
