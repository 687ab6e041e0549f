//! `maintenance`: closes the storefront and opens it again; overrides store.yaml.

use super::codes::unknown_switch;
use super::common::{nothing_published, published};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{Maintenance, MaintenanceMode};
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::store::versions::set_maintenance;

pub(super) async fn set(target: &Target, options: &Maintenance) -> Result<Answer, Failure> {
    let is_closed = match options.mode {
        MaintenanceMode::On => Some(true),
        MaintenanceMode::Off => Some(false),
        MaintenanceMode::Default => None,
    };
    if !set_maintenance(&target.db, is_closed).await.map_err(unknown_switch)? {
        return Err(nothing_published(target));
    }
    let closed = published(target).await?.closed().map(str::to_owned);
    let state = match &closed {
        Some(message) => format!("The storefront is closed. Visitors read: {message}"),
        None => "The storefront is open.".to_owned(),
    };
    let text = format!("{} {state}", paint(GOOD, "ok"));
    Ok(Answer::new(text, json!({ "closed": closed.is_some(), "message": closed })))
}
