//! The input of a call.

use super::parameters::{Parameter, Shape};
use serde_json::{Map, Value};

/// A call with the id in its path, empty if it has none.
pub(super) struct Input<'a> {
    pub(super) id: &'a str,
    /// The same id, empty if the object belongs to another account.
    pub(super) seen: &'a str,
    pub(super) tree: &'a Map<String, Value>,
    pub(super) now: i64,
}

pub(super) const EXPAND: Parameter = ("expand", false, Shape::List(&Shape::Text(100)));
