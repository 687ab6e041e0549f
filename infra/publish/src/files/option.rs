//! An option of a variable: a value, or a value with a surcharge.

use super::scalar::Decimal;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A value that a buyer can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionFile {
    /// The value, as buyers see it.
    pub value: String,
    /// Surcharge of one unit, in major units.
    pub add: Option<Decimal>,
}

/// A value with its surcharge.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WithSurcharge {
    /// The value, as buyers see it.
    value: String,
    /// Surcharge of one unit, in major units.
    #[serde(default)]
    add: Option<Decimal>,
}

struct OptionVisitor;

impl<'de> Visitor<'de> for OptionVisitor {
    type Value = OptionFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, in quotes if it looks like something else, or {value, add}")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<OptionFile, E> {
        Ok(OptionFile { value: value.to_owned(), add: None })
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<OptionFile, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<OptionFile, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<OptionFile, A::Error> {
        let WithSurcharge { value, add } = WithSurcharge::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(OptionFile { value, add })
    }
}

impl<'de> Deserialize<'de> for OptionFile {
    fn deserialize<D: Deserializer<'de>>(option: D) -> Result<Self, D::Error> {
        option.deserialize_any(OptionVisitor)
    }
}

impl JsonSchema for OptionFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OptionFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = WithSurcharge::json_schema(generator);
        schema.insert("type".to_owned(), vec!["string", "integer", "object"].into());
        schema
    }
}
