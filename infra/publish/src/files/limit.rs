//! Limits of an item in time and place: one, or a list of them.

use super::scalar::At;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

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

pub(super) fn deserialize<'de, D: Deserializer<'de>>(field: D) -> Result<Vec<LimitFile>, D::Error> {
    field.deserialize_any(OneOrMore)
}

pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let limit = generator.subschema_for::<LimitFile>();
    json_schema!({ "anyOf": [limit, { "type": "array", "items": limit }] })
}
