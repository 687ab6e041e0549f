//! How things are written into items and read back.
//!
//! *Published* things are opaque to the database and read far more often than written: they stand as one
//! JSON text in [`DATA`], which parses straight into structs. *Live* things have native attributes, because
//! conditions and updates name them and because an owner looks at them in the console.

use super::attributes::{RawItem, attribute, without_values};
use super::error::StoreError;
use super::keys::{Key, PK, SK};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// An item as the SDK knows it.
pub type Item = HashMap<String, AttributeValue>;

/// The attribute that holds a published thing.
pub const DATA: &str = "data";

/// A row as it was read.
#[derive(Debug, Clone)]
pub enum Row {
    /// As the SDK's client read it.
    Attributes(Item),
    /// As it came.
    Raw(RawItem),
}

impl Row {
    /// A live thing.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] where an attribute is missing or not what it should be.
    pub fn live<T: DeserializeOwned>(self, key: &Key) -> Result<T, StoreError> {
        match self {
            Self::Attributes(item) => decode_live(key, item),
            Self::Raw(item) => item.read().map_err(|error| broken(key, &error)),
        }
    }

    /// A live thing that was not asked for by its key.
    ///
    /// # Errors
    /// As [`Row::live`] and [`Row::key`].
    pub fn live_found<T: DeserializeOwned>(self) -> Result<T, StoreError> {
        let key = self.key()?;
        self.live(&key)
    }

    /// A published thing, and how many bytes of JSON it was.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] where [`DATA`] is missing or not what it should be.
    pub fn published<T: DeserializeOwned>(&self, key: &Key) -> Result<(T, usize), StoreError> {
        match self {
            Self::Attributes(item) => decode_published(key, item),
            Self::Raw(item) => parse(key, item.text(DATA).ok_or_else(|| StoreError::unreadable(key, DATA))?),
        }
    }

    /// A row's key.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] where `pk` or `sk` is no text.
    pub fn key(&self) -> Result<Key, StoreError> {
        match self {
            Self::Attributes(item) => key_of(item),
            Self::Raw(item) => {
                let text = |name| item.text(name).map(str::to_owned);
                text(PK).zip(text(SK)).map(|(pk, sk)| Key { pk, sk }).ok_or_else(keyless)
            }
        }
    }
}

/// A key as the SDK takes it.
#[must_use]
pub fn key_attributes(key: &Key) -> Item {
    Item::from([(PK.to_owned(), AttributeValue::S(key.pk.clone())), (SK.to_owned(), AttributeValue::S(key.sk.clone()))])
}

/// The key of an item that was read.
///
/// # Errors
/// [`StoreError::Unreadable`] where `pk` or `sk` is no text.
pub fn key_of(item: &Item) -> Result<Key, StoreError> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    match (text(PK), text(SK)) {
        (Some(pk), Some(sk)) => Ok(Key { pk, sk }),
        _ => Err(keyless()),
    }
}

fn keyless() -> StoreError {
    StoreError::Unreadable { kind: "keyless".to_owned(), attribute: PK.to_owned(), source: None }
}

/// Writes a published thing.
///
/// # Errors
/// Where it cannot be serialised, which no type of [`crate::model`] does.
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

/// Reads a published thing, and how many bytes of JSON it was.
///
/// # Errors
/// [`StoreError::Unreadable`] where [`DATA`] is missing or not what it should be.
pub fn decode_published<T: DeserializeOwned>(key: &Key, item: &Item) -> Result<(T, usize), StoreError> {
    let json = item.get(DATA).and_then(|value| value.as_s().ok());
    parse(key, json.ok_or_else(|| StoreError::unreadable(key, DATA))?)
}

fn parse<T: DeserializeOwned>(key: &Key, json: &str) -> Result<(T, usize), StoreError> {
    let thing = serde_json::from_str(json).map_err(|error| StoreError::unreadable(key, &attribute(DATA, &error)))?;
    Ok((thing, json.len()))
}

/// Writes a live thing with native attributes.
///
/// # Errors
/// Where it cannot be serialised, which no type of [`crate::model`] does.
pub fn encode_live<T: Serialize>(key: &Key, thing: &T) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::aws_sdk_dynamodb_1::to_item(thing).map_err(|error| broken(key, &error))?;
    item.extend(key_attributes(key));
    Ok(item)
}

/// Reads a live thing.
///
/// # Errors
/// [`StoreError::Unreadable`] where an attribute is missing or not what it should be.
pub fn decode_live<T: DeserializeOwned>(key: &Key, item: Item) -> Result<T, StoreError> {
    serde_dynamo::aws_sdk_dynamodb_1::from_item(item).map_err(|error| broken(key, &error))
}

fn broken(key: &Key, error: &dyn std::error::Error) -> StoreError {
    StoreError::unreadable(key, &without_values(error))
}
