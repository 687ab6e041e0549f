//! How things are written into items and read back.
//!
//! *Published* things are opaque to the database and read far more often than written: they are one JSON text in
//! [`DATA`], which is parsed directly into structs. *Live* things have native attributes, because conditions and
//! updates name them and because owners look at them in the console.

use super::StoreError;
use super::keys::{Key, PK, SK};
use crate::telemetry;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;

pub use dynamodb::Item;

/// The attribute that contains a published thing.
pub const DATA: &str = "data";

#[derive(Debug, Clone)]
pub struct Row(dynamodb::Row);

impl From<dynamodb::Row> for Row {
    fn from(row: dynamodb::Row) -> Self {
        Self(row)
    }
}

impl From<Item> for Row {
    fn from(item: Item) -> Self {
        Self(item.into())
    }
}

impl Row {
    /// Reads a live thing.
    pub fn live<T: DeserializeOwned>(self, key: &Key) -> Result<T, StoreError> {
        self.0.read().map_err(|error| StoreError::unreadable(key, &error.to_string()))
    }

    /// Reads a live thing that was not requested by its key.
    pub fn live_found<T: DeserializeOwned>(self) -> Result<T, StoreError> {
        let key = self.key()?;
        self.live(&key)
    }

    /// Reads a published thing, and how many bytes of JSON it was. Fails with [`StoreError::Unreadable`] if [`DATA`] is
    /// missing or does not read as a `T`.
    pub fn published<T: DeserializeOwned>(&self, key: &Key) -> Result<(T, usize), StoreError> {
        parse(key, self.0.text(DATA))
    }

    pub fn key(&self) -> Result<Key, StoreError> {
        key(|name| self.0.text(name))
    }
}

/// Reads live things of a list one by one. One that cannot be read keeps no other one from being used: it is left out, logged and
/// counted ([`telemetry::unreadable_row`]), and `storectl doctor` names it.
pub fn readable<T: DeserializeOwned>(rows: impl IntoIterator<Item = Row>) -> impl Iterator<Item = T> {
    rows.into_iter().filter_map(|row| noted(row.live_found()))
}

/// What was read; `None`, logged and counted, if it cannot be read.
pub fn noted<T>(read: Result<T, StoreError>) -> Option<T> {
    read.inspect_err(telemetry::unreadable_row).ok()
}

pub fn key_attributes(key: &Key) -> Item {
    Item::from([(PK.to_owned(), AttributeValue::S(key.pk.clone())), (SK.to_owned(), AttributeValue::S(key.sk.clone()))])
}

/// An attribute with a number.
pub fn number(name: impl Into<String>, number: impl Display) -> (String, AttributeValue) {
    (name.into(), AttributeValue::N(number.to_string()))
}

/// An item with one number.
pub fn numbered(key: &Key, name: &str, value: u64) -> Item {
    let mut item = key_attributes(key);
    item.extend([number(name, value)]);
    item
}

/// The key of an item that was read.
pub fn key_of(item: &Item) -> Result<Key, StoreError> {
    key(|name| text(item, name))
}

fn key<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Key, StoreError> {
    match (text(PK), text(SK)) {
        (Some(pk), Some(sk)) => Ok(Key { pk: pk.to_owned(), sk: sk.to_owned() }),
        _ => Err(StoreError::Unreadable { kind: "keyless".to_owned(), attribute: PK.to_owned(), source: None }),
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

pub fn encode_published<T: Serialize>(key: &Key, thing: &T) -> Result<Item, StoreError> {
    let json = serde_json::to_string(thing).map_err(|error| StoreError::Unreadable {
        kind: key.to_string(),
        attribute: DATA.to_owned(),
        source: Some(Box::new(error)),
    })?;
    let mut item = key_attributes(key);
    item.insert(DATA.to_owned(), AttributeValue::S(json));
    Ok(item)
}

/// Reads a published thing, and how many bytes of JSON it was. Fails with [`StoreError::Unreadable`] if [`DATA`] is
/// missing or does not read as a `T`.
pub fn decode_published<T: DeserializeOwned>(key: &Key, item: &Item) -> Result<(T, usize), StoreError> {
    parse(key, text(item, DATA))
}

fn parse<T: DeserializeOwned>(key: &Key, json: Option<&str>) -> Result<(T, usize), StoreError> {
    let json = json.ok_or_else(|| StoreError::unreadable(key, DATA))?;
    let thing = dynamodb::from_json(DATA, json).map_err(|error| StoreError::unreadable(key, &error.to_string()))?;
    Ok((thing, json.len()))
}

pub fn encode_live<T: Serialize>(key: &Key, thing: &T) -> Result<Item, StoreError> {
    let item = dynamodb::to_item(thing);
    let mut item = item.map_err(|error| StoreError::unreadable(key, &error.to_string()))?;
    item.extend(key_attributes(key));
    Ok(item)
}

/// The value of an attribute of the item with this key.
pub fn encode_value<T: Serialize>(key: &Key, thing: &T) -> Result<AttributeValue, StoreError> {
    dynamodb::to_value(thing).map_err(|error| StoreError::unreadable(key, &error.to_string()))
}

/// Reads a live thing.
pub fn decode_live<T: DeserializeOwned>(key: &Key, item: Item) -> Result<T, StoreError> {
    Row::from(item).live(key)
}
