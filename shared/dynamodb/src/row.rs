//! Rows read into structs, and structs written as items.

use crate::raw_item::RawItem;
use crate::unreadable::Unreadable;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// An item as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

/// An item that was read, not yet as a struct.
#[derive(Debug, Clone)]
pub struct Row(Form);

#[derive(Debug, Clone)]
enum Form {
    /// By the SDK.
    Item(Item),
    /// By this crate.
    Raw(RawItem),
}

impl From<Item> for Row {
    fn from(item: Item) -> Self {
        Self(Form::Item(item))
    }
}

impl From<RawItem> for Row {
    fn from(item: RawItem) -> Self {
        Self(Form::Raw(item))
    }
}

impl Row {
    /// Reads the row into a struct.
    ///
    /// # Errors
    /// [`Unreadable`] if an attribute is missing or has another type.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, Unreadable> {
        match self.0 {
            Form::Item(item) => from_item(item),
            Form::Raw(item) => item.read().map_err(|error| Unreadable::of(&error)),
        }
    }

    /// An attribute that is text; `None` if the row has no such attribute, or if it has another type.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.0 {
            Form::Item(item) => item.get(name)?.as_s().ok().map(String::as_str),
            Form::Raw(item) => item.text(name),
        }
    }
}

/// Reads an item into a struct.
///
/// # Errors
/// [`Unreadable`] if an attribute is missing or has another type.
pub fn from_item<T: DeserializeOwned>(item: Item) -> Result<T, Unreadable> {
    // serde_dynamo panics at a type that the SDK does not know.
    if let Some((name, _)) = item.iter().find(|(_, value)| has_unknown_type(value)) {
        return Err(Unreadable::unknown_type(name));
    }
    serde_dynamo::aws_sdk_dynamodb_1::from_item(item).map_err(|error| Unreadable::of(&error))
}

/// Whether a value, or one within it, has a type that this SDK does not know.
fn has_unknown_type(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::L(values) => values.iter().any(has_unknown_type),
        AttributeValue::M(attributes) => attributes.values().any(has_unknown_type),
        other => other.is_unknown(),
    }
}

/// Writes a struct as an item with one attribute for each field.
///
/// # Errors
/// [`Unreadable`] if a field cannot be an attribute.
pub fn to_item<T: Serialize>(thing: &T) -> Result<Item, Unreadable> {
    serde_dynamo::aws_sdk_dynamodb_1::to_item(thing).map_err(|error| Unreadable::of(&error))
}

/// Reads the JSON that an attribute contains as text.
///
/// # Errors
/// [`Unreadable`], with the attribute's name, if it does not read as a `T`.
pub fn from_json<T: DeserializeOwned>(name: &str, json: &str) -> Result<T, Unreadable> {
    serde_json::from_str(json).map_err(|error| Unreadable::at(name, &error))
}
