//! The items that an item requires: all of some, or one of them.

use super::scalar::At;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Items that must be owned: all of them, or one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiresFile {
    All(Vec<At<u64>>),
    Any(Vec<At<u64>>),
}

impl RequiresFile {
    pub(crate) fn items(&self) -> &[At<u64>] {
        match self {
            Self::All(items) | Self::Any(items) => items,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnyFile {
    /// Ids of items of which one is enough.
    any: Vec<At<u64>>,
}

struct RequiresVisitor;

impl<'de> Visitor<'de> for RequiresVisitor {
    type Value = Option<RequiresFile>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items such as [101, 102], or {any: [101, 102]}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(|items| Some(RequiresFile::All(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        AnyFile::deserialize(MapAccessDeserializer::new(fields)).map(|of| Some(RequiresFile::Any(of.any)))
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(field: D) -> Result<Option<RequiresFile>, D::Error> {
    field.deserialize_any(RequiresVisitor)
}

pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = AnyFile::json_schema(generator);
    schema.insert("type".to_owned(), vec!["array", "object"].into());
    schema.insert("items".to_owned(), json_schema!({ "type": "integer", "minimum": 0 }).into());
    schema
}
