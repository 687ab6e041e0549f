//! `notify` of `store.yaml`: where the owner is told of what.

use super::scalar::At;
use schemars::JsonSchema;
use serde::Deserialize;
use shared::model::TargetKind;
use std::collections::BTreeMap;

/// A place that is told of events. Its address is a secret that `storectl notify connect` takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyFile {
    /// Its name, unique, of `[a-z0-9-]`.
    pub name: At<String>,
    /// `discord` for a channel of Discord, `webhook` for an HTTPS address of the owner's own.
    pub to: TargetKind,
    /// The words of the events that it is told of.
    pub events: Vec<At<String>>,
    /// By the word of an event, the text of its message.
    #[serde(default)]
    pub texts: BTreeMap<String, At<String>>,
}
