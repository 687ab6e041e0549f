//! One transaction: writes with their conditions and their roles, sent together.

use super::verdict::{Cancelled, Role, judge};
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use shared::store::codec::{Item, key_attributes};
use shared::store::keys::Key;
use shared::store::{Db, StoreError};
use std::collections::HashMap;

const OPERATION: &str = "TransactWriteItems";

/// What a write does to its item.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Writes it whole.
    Put(Item),
    /// Changes attributes by an update expression.
    Update(String),
    /// Removes it.
    Delete,
    /// Leaves it as it is; the condition is all.
    Check,
}

/// One write of a transaction.
#[derive(Debug, Clone)]
pub(super) struct Write {
    role: Role,
    key: Key,
    change: Change,
    condition: Option<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Write {
    /// A write without a condition.
    pub(super) fn new(role: Role, key: Key, change: Change) -> Self {
        Self { role, key, change, condition: None, names: HashMap::new(), values: HashMap::new() }
    }

    /// Only if this holds.
    pub(super) fn only_if(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// With an attribute's name in its expressions.
    pub(super) fn name(mut self, placeholder: impl Into<String>, name: impl Into<String>) -> Self {
        self.names.insert(placeholder.into(), name.into());
        self
    }

    /// With a value in its expressions.
    pub(super) fn value(mut self, placeholder: impl Into<String>, value: AttributeValue) -> Self {
        self.values.insert(placeholder.into(), value);
        self
    }

    /// With a number in its expressions.
    pub(super) fn number(self, placeholder: impl Into<String>, number: impl std::fmt::Display) -> Self {
        self.value(placeholder, AttributeValue::N(number.to_string()))
    }

    fn into_item(self, table: &str) -> Result<TransactWriteItem, BuildError> {
        // An empty map is no map to the database.
        let names = (!self.names.is_empty()).then_some(self.names);
        let values = (!self.values.is_empty()).then_some(self.values);
        let old = ReturnValuesOnConditionCheckFailure::AllOld;
        let key = Some(key_attributes(&self.key));
        let item = TransactWriteItem::builder();
        macro_rules! finish {
            ($builder:expr) => {
                $builder
                    .table_name(table)
                    .set_condition_expression(self.condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(old)
                    .build()?
            };
        }
        Ok(match self.change {
            Change::Put(attributes) => item.put(finish!(Put::builder().set_item(Some(attributes)))),
            Change::Update(text) => item.update(finish!(Update::builder().set_key(key).update_expression(text))),
            Change::Delete => item.delete(finish!(Delete::builder().set_key(key))),
            Change::Check => item.condition_check(finish!(ConditionCheck::builder().set_key(key))),
        }
        .build())
    }
}

/// What became of a transaction that the database answered.
#[derive(Debug)]
pub(super) enum Sent {
    /// All of it is in the table.
    Written,
    /// Nothing is: it was cancelled.
    Cancelled(Cancelled),
}

/// Sends writes as one transaction. The SDK gives it a token, so that its own retries have no second effect.
///
/// # Errors
/// Where the database is away, throttles or finds the transaction faulty; nothing half written either way, but
/// without an answer nobody knows whether it is written whole.
pub(super) async fn send(db: &Db, writes: Vec<Write>) -> Result<Sent, StoreError> {
    let roles: Vec<Role> = writes.iter().map(|write| write.role.clone()).collect();
    let items: Result<Vec<TransactWriteItem>, BuildError> =
        writes.into_iter().map(|write| write.into_item(db.table())).collect();
    let items = items.map_err(|error| StoreError::Refused { operation: OPERATION, source: Box::new(error) })?;
    let answer = Box::pin(db.client().transact_write_items().set_transact_items(Some(items)).send()).await;
    let Err(error) = answer else { return Ok(Sent::Written) };
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
        return Err(StoreError::from_sdk(OPERATION, error));
    };
    match judge(&roles, cancelled.cancellation_reasons()) {
        Cancelled::Throttled => Err(StoreError::Unavailable { operation: OPERATION, source: Some(Box::new(error)) }),
        Cancelled::Broken => Err(StoreError::Refused { operation: OPERATION, source: Box::new(error) }),
        cancelled => Ok(Sent::Cancelled(cancelled)),
    }
}
