//! Links, as the header, the announcement and the shop have them.

use super::scalar::At;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Its text.
    pub name: String,
    /// Target of the link.
    pub url: At<String>,
}
