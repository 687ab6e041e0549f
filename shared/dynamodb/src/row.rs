//! Rows read into structs, and structs written as items.

use crate::raw_item::{Item, RawItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;

/// An item that was read, not yet as a struct.
#[derive(Debug, Clone)]
pub struct Row(RawItem);

impl From<Item> for Row {
    fn from(item: Item) -> Self {
        Self(item.into())
    }
}

impl From<RawItem> for Row {
    fn from(item: RawItem) -> Self {
        Self(item)
    }
}

impl Row {
    /// Reads the row into a struct.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, Unreadable> {
        self.0.read().map_err(|error| Unreadable::of(&error))
    }

    /// An attribute that is text; `None` if the row has no such attribute, or if it has another type.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.text(name)
    }
}

/// Reads an item into a struct, as [`Row::read`] does: a struct has one reader, whichever operation its row came from.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, Unreadable> {
    Row::from(item).read()
}

/// Writes a struct as an item with one attribute for each field.
pub fn to_item<T: Serialize>(thing: &T) -> Result<Item, Unreadable> {
    serde_dynamo::aws_sdk_dynamodb_1::to_item(thing).map_err(|error| Unreadable::of(&error))
}

/// Reads the JSON that an attribute contains as text. The error names the attribute.
pub fn from_json<T: DeserializeOwned>(name: &str, json: &str) -> Result<T, Unreadable> {
    serde_json::from_str(json).map_err(|error| Unreadable::at(name, &error))
}

/// Used if an error's own words are only a value.
pub(crate) const UNREADABLE: &str = "it does not have the expected form";

/// The reason why an item or an attribute cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    /// The words of serde's error without the values that it quotes. Names of fields and what was expected are the
    /// program's own.
    pub(crate) fn of(error: &dyn Error) -> Self {
        Self(without_values(error))
    }

    /// The same for an attribute, which it names.
    pub(crate) fn at(name: &str, error: &dyn Error) -> Self {
        Self(format!("attribute `{name}`: {}", without_values(error)))
    }

    /// An attribute that cannot be part of a key.
    pub(crate) fn key(name: &str) -> Self {
        Self(format!("attribute `{name}`: expected text or a number in a key"))
    }
}

fn without_values(error: &dyn Error) -> String {
    let said = error.to_string();
    let names_a_field = ["missing field `", "duplicate field `", "attribute `"].iter().any(|how| said.starts_with(how));
    match said.rsplit_once(", expected ") {
        _ if names_a_field => said,
        Some((_, expected)) => format!("expected {expected}"),
        None => UNREADABLE.to_owned(),
    }
}
