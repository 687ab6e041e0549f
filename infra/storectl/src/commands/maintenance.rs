//! `maintenance`: closes the storefront and opens it again; overrides store.yaml.

use crate::answer::{Answer, GOOD, paint};
use crate::cli::{Maintenance, MaintenanceMode};
use crate::error::Failure;
use crate::target::Target;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemInput};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use shared::store::codec::key_attributes;
use shared::store::{StoreError, keys};

pub(super) async fn set(target: &Target, options: &Maintenance) -> Result<Answer, Failure> {
    let request = UpdateItemInput::builder()
        .table_name(target.db.table())
        .set_key(Some(key_attributes(&keys::active_version())))
        .condition_expression("attribute_exists(#version)")
        .expression_attribute_names("#version", "version");
    let request = match options.mode {
        MaintenanceMode::Default => request.update_expression("REMOVE maintenance"),
        mode => request
            .update_expression("SET maintenance = :closed")
            .expression_attribute_values(":closed", AttributeValue::Bool(mode == MaintenanceMode::On)),
    };
    target.db.update_item(request).await.map_err(|error| match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(_)) => {
            let what = format!("Nothing was published to {} yet.", target.name);
            Failure::refused(what, "Publish a store first: `storectl publish DIR`.")
        }
        _ => Failure::from(StoreError::from_sdk("UpdateItem", error))
            .done("It is not known whether it was switched.")
            .next("Run the same command again."),
    })?;
    let closed = super::common::published(target).await?.closed().map(str::to_owned);
    let state = match &closed {
        Some(message) => format!("The storefront is closed. Visitors read: {message}"),
        None => "The storefront is open.".to_owned(),
    };
    let text = format!("{} {state}", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "closed": closed.is_some(), "message": closed })))
}
