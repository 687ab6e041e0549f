//! Links of the header, the footer and the announcement.

use serde::{Deserialize, Serialize};

/// A link of the header or the footer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Link {
    /// The link's text.
    pub name: String,
    /// The link's URL.
    pub url: String,
}
