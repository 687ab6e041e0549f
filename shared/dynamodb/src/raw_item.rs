//! Items as DynamoDB's JSON has them, read into structs: `{"id":{"N":"7"},"lines":{"L":[…]}}`.
//!
//! Two steps: serde_json parses a response into [`RawItem`]s, and a struct reads one of those by serde. The SDK builds
//! a map of its own values instead, which a second library then reads: five times the work for a row of a cart (see
//! "Rows straight into structs" in `infra/docs/performance-notes.md`). An item that the SDK has read becomes a
//! [`RawItem`] too, so that every struct has one reader.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, IntoDeserializer, MapAccess,
    Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Error;
use std::collections::HashMap;
use std::{fmt, slice};

pub type Item = HashMap<String, AttributeValue>;

/// An item: its attributes by name, in the order of the response.
#[derive(Debug, Clone)]
pub struct RawItem(Vec<(String, Attribute)>);

#[derive(Debug, Clone, serde::Deserialize)]
pub enum Attribute {
    /// Text.
    S(String),
    /// A number, as text.
    N(String),
    #[serde(rename = "BOOL")]
    Bool(bool),
    #[serde(rename = "NULL")]
    Null(IgnoredAny),
    L(Vec<Attribute>),
    M(RawItem),
    /// A set of texts, read as a sequence.
    #[serde(rename = "SS")]
    Ss(Vec<String>),
    /// Bytes or another set: no struct reads one, but owners may add any attribute to a row.
    #[serde(alias = "NS", alias = "BS")]
    B(IgnoredAny),
}

impl RawItem {
    /// Reads the item into a struct. The error names the attribute that is missing or has another type.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Error> {
        T::deserialize(self)
    }

    /// An attribute that is text; `None` if the item has no such attribute, or if it has another type.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).and_then(|(_, value)| match value {
            Attribute::S(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn into_attributes(self) -> impl Iterator<Item = (String, Attribute)> {
        self.0.into_iter()
    }
}

impl From<Item> for RawItem {
    fn from(item: Item) -> Self {
        Self(item.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

impl From<AttributeValue> for Attribute {
    fn from(value: AttributeValue) -> Self {
        match value {
            AttributeValue::S(text) => Self::S(text),
            AttributeValue::N(digits) => Self::N(digits),
            AttributeValue::Bool(value) => Self::Bool(value),
            AttributeValue::Null(_) => Self::Null(IgnoredAny),
            AttributeValue::L(elements) => Self::L(elements.into_iter().map(Self::from).collect()),
            AttributeValue::M(members) => Self::M(members.into()),
            AttributeValue::Ss(texts) => Self::Ss(texts),
            _ => Self::B(IgnoredAny),
        }
    }
}

impl<'de> Deserialize<'de> for RawItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawItemVisitor)
    }
}

struct RawItemVisitor;

impl<'de> Visitor<'de> for RawItemVisitor {
    type Value = RawItem;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut item: A) -> Result<RawItem, A::Error> {
        let mut attributes = Vec::new();
        while let Some(attribute) = item.next_entry()? {
            attributes.push(attribute);
        }
        Ok(RawItem(attributes))
    }
}

impl<'de> Deserializer<'de> for &'de RawItem {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(Attributes { rest: self.0.iter(), value: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// An item's attributes, each of which is named in its own errors.
struct Attributes<'de> {
    rest: slice::Iter<'de, (String, Attribute)>,
    value: Option<(&'de str, &'de Attribute)>,
}

impl<'de> MapAccess<'de> for Attributes<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((name, value));
        seed.deserialize(name.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (name, value) = self.value.take().ok_or_else(|| Error::custom("an attribute without a name"))?;
        let read: Result<_, Error> = seed.deserialize(value);
        read.map_err(|error| Error::custom(Unreadable::at(name, &error)))
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Attribute {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Attribute {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Attribute::S(text) => visitor.visit_borrowed_str(text),
            // Every number that a struct reads is whole; another stays text.
            Attribute::N(digits) => match digits.parse() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_borrowed_str(digits),
            },
            Attribute::Bool(value) => visitor.visit_bool(*value),
            Attribute::Null(_) | Attribute::B(_) => visitor.visit_unit(),
            Attribute::L(elements) => SeqDeserializer::new(elements.iter()).deserialize_any(visitor),
            Attribute::M(item) => item.members().deserialize_any(visitor),
            Attribute::Ss(texts) => SeqDeserializer::new(texts.iter().map(String::as_str)).deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Attribute::Null(_) | Attribute::B(_) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant without content is text. One with content is a map with one member, named as the variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Attribute::S(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Attribute::M(item) if item.0.len() == 1 => visitor.visit_enum(MapAccessDeserializer::new(item.members())),
            Attribute::M(_) => Err(Error::custom("a variant that is not a map with one member")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

impl RawItem {
    fn members(&self) -> MapDeserializer<'_, impl Iterator<Item = (&str, &Attribute)>, Error> {
        MapDeserializer::new(self.0.iter().map(|(name, value)| (name.as_str(), value)))
    }
}

#[cfg(test)]
mod tests;

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

/// Writes a thing as the value of an attribute.
pub fn to_value<T: Serialize>(thing: &T) -> Result<AttributeValue, Unreadable> {
    serde_dynamo::aws_sdk_dynamodb_1::to_attribute_value(thing).map_err(|error| Unreadable::of(&error))
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
    pub(crate) fn of(error: &dyn std::error::Error) -> Self {
        Self(without_values(error))
    }

    /// The same for an attribute, which it names.
    pub(crate) fn at(name: &str, error: &dyn std::error::Error) -> Self {
        Self(format!("attribute `{name}`: {}", without_values(error)))
    }

    /// An attribute that cannot be part of a key.
    pub(crate) fn key(name: &str) -> Self {
        Self(format!("attribute `{name}`: expected text or a number in a key"))
    }
}

fn without_values(error: &dyn std::error::Error) -> String {
    let said = error.to_string();
    let names_a_field = ["missing field `", "duplicate field `", "attribute `"].iter().any(|how| said.starts_with(how));
    match said.rsplit_once(", expected ") {
        _ if names_a_field => said,
        Some((_, expected)) => format!("expected {expected}"),
        None => UNREADABLE.to_owned(),
    }
}
