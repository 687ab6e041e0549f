//! `pages/*.yaml` and `staff.yaml`.

use super::scalar::{At, is_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page: one file each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFile {
    /// Its id, unique among the pages.
    pub id: At<u64>,
    /// Its title.
    pub title: String,
    /// Its url, with or without a leading slash.
    pub url: At<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "is_default")]
    pub content: String,
}

/// `staff.yaml`: player group to members.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StaffFile(pub BTreeMap<String, Vec<StaffEntry>>);

/// A member of the staff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaffEntry {
    /// The member's name.
    pub username: At<String>,
    /// Text before the name in the game.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prefix: String,
    /// Order inside the group, then by name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sorting: i64,
}
