//! How often a subscription is paid: `true` for every month, or how many of which unit.

use super::scalar::At;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use shared::model::PeriodUnit;
use std::fmt;

/// The interval at which a subscription is paid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntervalFile {
    /// Units of a period, 1 if it is left out. A period is at most three years.
    #[serde(default = "one")]
    pub every: At<u32>,
    /// `day`, `week`, `month` or `year`.
    pub unit: PeriodUnit,
}

fn one() -> At<u32> {
    1.into()
}

impl Default for IntervalFile {
    fn default() -> Self {
        Self { every: one(), unit: PeriodUnit::default() }
    }
}

struct IntervalVisitor;

impl<'de> Visitor<'de> for IntervalVisitor {
    type Value = Option<IntervalFile>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or {every, unit}")
    }

    fn visit_bool<E: Error>(self, is_subscription: bool) -> Result<Self::Value, E> {
        Ok(is_subscription.then(IntervalFile::default))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        IntervalFile::deserialize(MapAccessDeserializer::new(fields)).map(Some)
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(field: D) -> Result<Option<IntervalFile>, D::Error> {
    field.deserialize_any(IntervalVisitor)
}

pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = IntervalFile::json_schema(generator);
    schema.insert("type".to_owned(), vec!["boolean", "object"].into());
    schema
}
