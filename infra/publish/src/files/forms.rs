//! Fields of an item that can be written in more than one form: how often a subscription is paid (`true` for every month, or how
//! many of which unit), limits in time and place (one, or a list of them), the items that it requires (all of some, or one of
//! them), and an option of a variable (a value, or a value with a surcharge).

use super::{At, Decimal};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
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

pub(super) fn deserialize_interval<'de, D: Deserializer<'de>>(field: D) -> Result<Option<IntervalFile>, D::Error> {
    field.deserialize_any(IntervalVisitor)
}

pub(super) fn interval_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = IntervalFile::json_schema(generator);
    schema.insert("type".to_owned(), vec!["boolean", "object"].into());
    schema
}

/// A limit: `per_user` or `total`, in a time, of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitFile {
    /// Units that one user may buy.
    #[serde(default)]
    pub per_user: Option<At<u32>>,
    /// Units that may be sold in total.
    #[serde(default)]
    pub total: Option<At<u32>>,
    /// The time in which they count: one that ends now, such as `7 days`, or `hour`, `day`, `monday` (a week from Monday) or
    /// `month` of the calendar, in the store's time zone. For ever if it is left out.
    #[serde(default)]
    pub every: Option<At<String>>,
    /// The id of the server whose units count, of those that the buyer selects from.
    #[serde(default)]
    pub server: Option<At<u64>>,
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<LimitFile>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a limit such as {per_user: 1, every: 7 days}, or a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        LimitFile::deserialize(MapAccessDeserializer::new(fields)).map(|limit| vec![limit])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, limits: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(limits))
    }
}

pub(super) fn deserialize_limits<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<LimitFile>, D::Error> {
    field.deserialize_any(OneOrMore)
}

pub(super) fn limits_schema(generator: &mut SchemaGenerator) -> Schema {
    let limit = generator.subschema_for::<LimitFile>();
    json_schema!({ "anyOf": [limit, { "type": "array", "items": limit }] })
}

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

pub(super) fn deserialize_requires<'de, D: Deserializer<'de>>(field: D) -> Result<Option<RequiresFile>, D::Error> {
    field.deserialize_any(RequiresVisitor)
}

pub(super) fn requires_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = AnyFile::json_schema(generator);
    schema.insert("type".to_owned(), vec!["array", "object"].into());
    schema.insert("items".to_owned(), json_schema!({ "type": "integer", "minimum": 0 }).into());
    schema
}

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
