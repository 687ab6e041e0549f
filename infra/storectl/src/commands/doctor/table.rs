//! Whether the table is there and shaped as the template says.

use super::finding::Finding;
use crate::error::Failure;
use crate::target::{Target, definition};
use aws_sdk_dynamodb::types::{TableDescription, TableStatus, TimeToLiveStatus};
use shared::table::shape;

pub(super) async fn shape(target: &Target) -> Finding {
    const CHECK: &str = "table";
    let described = match shape::describe(&target.db).await {
        Ok(described) => described,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    let Some(table) = described else { return Finding::bad(CHECK, "it is not described", "look in the console") };
    match table.table_status() {
        None | Some(TableStatus::Active | TableStatus::Updating) => {}
        Some(other) => return Finding::bad(CHECK, format!("it is {other}"), "wait until it is ACTIVE"),
    }
    match differs(&table) {
        Err(failure) => Finding::failed(CHECK, failure),
        Ok(Some(said)) => Finding::bad(CHECK, said, "this is another table, or one of another template"),
        Ok(None) => Finding::ok(CHECK, format!("{} is there, shaped as the template says", target.name)),
    }
}

fn differs(table: &TableDescription) -> Result<Option<String>, Failure> {
    let definition = definition()?;
    let keys = |pairs: &mut dyn Iterator<Item = (String, String)>| {
        let mut pairs: Vec<(String, String)> = pairs.collect();
        pairs.sort();
        pairs
    };
    let found =
        keys(&mut table.key_schema().iter().map(|key| (key.attribute_name().to_owned(), key.key_type().to_string())));
    let wanted = keys(&mut definition.key_schema.iter().map(|(name, kind)| (name.clone(), kind.as_str().to_owned())));
    let types = table.attribute_definitions().iter();
    let types = keys(&mut types.map(|it| (it.attribute_name().to_owned(), it.attribute_type().to_string())));
    let meant = keys(&mut definition.attributes.iter().map(|(name, kind)| (name.clone(), kind.as_str().to_owned())));
    let said = |what: &str, found: &[(String, String)], wanted: &[(String, String)]| {
        let list = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>().join(", ")
        };
        Some(format!("its {what} are {}, not {}", list(found), list(wanted)))
    };
    if found != wanted {
        return Ok(said("keys", &found, &wanted));
    }
    Ok(if types == meant { None } else { said("key types", &types, &meant) })
}

/// Whether expired items go by themselves.
pub(super) async fn ttl(target: &Target) -> Finding {
    const CHECK: &str = "time to live";
    let fix = "deploy the stack again, or switch it on for the attribute expires_at";
    let wanted = match definition() {
        Ok(definition) => definition.ttl_attribute,
        Err(failure) => return Finding::failed(CHECK, failure),
    };
    let found = match shape::time_to_live(&target.db).await {
        Ok(found) => found,
        Err(error) => return Finding::failed(CHECK, error.into()),
    };
    let status = found.as_ref().and_then(|found| found.time_to_live_status());
    let on = matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    let attribute = found.as_ref().and_then(|found| found.attribute_name()).map(str::to_owned);
    match (on, attribute == wanted) {
        (true, true) => Finding::ok(CHECK, format!("on for {}", wanted.unwrap_or_default())),
        (true, false) => Finding::bad(CHECK, "on for another attribute", fix),
        (false, _) => Finding::bad(CHECK, "off, so that counters of addresses stay for ever", fix),
    }
}
