//! The one write that makes a version the published one.

use crate::digits::check_digits;
use crate::error::PublishError;
use crate::history::{Step, read_history};
use crate::version::read_record;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use shared::model::ActiveVersion;
use shared::store::published::read_active_version;
use shared::store::{Db, StoreError, backoff, codec, keys};

/// How often a switch is tried again if another transaction holds the active version.
const ROUNDS: u32 = 6;
const OPERATION: &str = "TransactWriteItems";
/// Attributes of the active version's row.
const VERSION: &str = "version";
const CONFIG: &str = "config";
const SCHEMA: &str = "schema";

/// Moves the active version by one write: only if it still points to `from` (or is not there yet), and only to a
/// version that is not being removed. The same write updates the history and the records of both versions. `first`
/// says that the version was never published before.
///
/// # Errors
/// [`PublishError::Raced`] if it points elsewhere by now, [`PublishError::BeingRemoved`] if the version is
/// going or gone, [`PublishError::Digits`] if live amounts would be read with other digits.
pub async fn switch(
    db: &Db,
    from: Option<&str>,
    to: &ActiveVersion,
    first: bool,
    step: Step,
    now: i64,
) -> Result<(), PublishError> {
    check_digits(db, to.config.digits).await?;
    let seen = read_history(db).await?;
    let history = seen.with(&to.version, step, now).put(db, &seen)?.build().map_err(refused)?;
    let retired = match from {
        Some(version) if version != to.version => read_record(db, version).await?.map(|record| record.version),
        _ => None,
    };
    let mut items = vec![
        update_active_version(db, from, to)?,
        note_switch(db, &to.version, first, now)?,
        TransactWriteItem::builder().put(history).build(),
    ];
    if let Some(version) = retired {
        items.push(note_retired(db, &version, now)?);
    }
    for round in 0..ROUNDS {
        let request = db.client().transact_write_items().set_transact_items(Some(items.clone()));
        let Err(error) = Box::pin(request.send()).await else { return Ok(()) };
        match error.as_service_error().and_then(verdict) {
            Some(Verdict::Moved) => {
                let winner = read_active_version(db).await?.map(|active| active.version).unwrap_or_default();
                return Err(PublishError::Raced { winner });
            }
            Some(Verdict::Going) => return Err(PublishError::BeingRemoved { version: to.version.clone() }),
            Some(Verdict::Busy) => tokio::time::sleep(backoff(round)).await,
            None => return Err(StoreError::from_sdk(OPERATION, error).into()),
        }
    }
    Err(StoreError::Unavailable { operation: OPERATION, source: None }.into())
}

/// Why a switch was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The active version points elsewhere, or did in the meantime.
    Moved,
    /// The version is being removed, or was.
    Going,
    /// Another write holds one of the items.
    Busy,
}

/// Reads a cancelled transaction by position: a refusal counts before contention.
fn verdict(error: &TransactWriteItemsError) -> Option<Verdict> {
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { return None };
    let reasons = cancelled.cancellation_reasons();
    let code = |place: usize| reasons.get(place).and_then(|reason| reason.code()).unwrap_or("None");
    match (code(0), code(1), code(2)) {
        ("ConditionalCheckFailed", _, _) => Some(Verdict::Moved),
        (_, "ConditionalCheckFailed", _) => Some(Verdict::Going),
        (_, _, "ConditionalCheckFailed") => Some(Verdict::Moved),
        _ if (0..reasons.len()).any(|place| code(place) == "TransactionConflict") => Some(Verdict::Busy),
        _ => None,
    }
}

fn refused(error: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    StoreError::Refused { operation: OPERATION, source: Box::new(error) }
}

/// Sets the version and its config, and in a table without a row the schema number. What else is on the row stays:
/// `storectl maintenance` and `storectl upgrade` write there.
fn update_active_version(db: &Db, from: Option<&str>, to: &ActiveVersion) -> Result<TransactWriteItem, StoreError> {
    let key = keys::active_version();
    let mut item = codec::encode_live(&key, to)?;
    let attributes = if from.is_none() { &[VERSION, CONFIG, SCHEMA][..] } else { &[VERSION, CONFIG] };
    let terms: Vec<String> = attributes.iter().map(|name| format!("#{name} = :{name}")).collect();
    let names = attributes.iter().map(|name| (format!("#{name}"), (*name).to_owned())).collect();
    let values = attributes.iter().filter_map(|name| Some((format!(":{name}"), item.remove(*name)?))).collect();
    let update = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&key)))
        .update_expression(format!("SET {}", terms.join(", ")))
        .set_expression_attribute_names(Some(names))
        .set_expression_attribute_values(Some(values));
    let update = match from {
        None => update.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", keys::PK),
        Some(version) => update
            .condition_expression("#version = :from")
            .expression_attribute_values(":from", AttributeValue::S(version.to_owned())),
    };
    Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
}

fn note_switch(db: &Db, version: &str, first: bool, now: i64) -> Result<TransactWriteItem, StoreError> {
    let published = if first { ", published_at = :now" } else { "" };
    let update = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::version(version))))
        .update_expression(format!("SET #whole = :whole, switched_at = :now{published} REMOVE retired_at"))
        .condition_expression("attribute_exists(#pk) AND attribute_not_exists(removing_since)")
        .expression_attribute_names("#pk", keys::PK)
        .expression_attribute_names("#whole", "whole")
        .expression_attribute_values(":whole", AttributeValue::Bool(true))
        .expression_attribute_values(":now", AttributeValue::N(now.to_string()));
    Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
}

fn note_retired(db: &Db, version: &str, now: i64) -> Result<TransactWriteItem, StoreError> {
    let update = Update::builder()
        .table_name(db.table())
        .set_key(Some(codec::key_attributes(&keys::version(version))))
        .update_expression("SET retired_at = :now")
        .expression_attribute_values(":now", AttributeValue::N(now.to_string()));
    Ok(TransactWriteItem::builder().update(update.build().map_err(refused)?).build())
}
