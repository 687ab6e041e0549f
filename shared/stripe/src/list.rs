//! What several objects have in common.

use serde::Deserialize;

/// What was sent with an object, for us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Metadata {
    pub order: Option<String>,
    /// The number of a refund's attempt.
    pub attempt: Option<String>,
}

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
    /// Whether more follow after the last one.
    pub has_more: bool,
}
