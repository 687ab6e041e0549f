//! The table of a template, as far as is needed to create one like it.

use crate::{Template, TemplateError, read};
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The table's name in the template. A `!Ref` to it evaluates to this, too.
    pub logical_id: String,
    /// Name of every attribute of the key, and its type: `S`, `N` or `B`.
    pub attributes: Vec<(String, String)>,
    /// Name of every attribute of the key, and its role: first `HASH`, then `RANGE`.
    pub key_schema: Vec<(String, String)>,
    /// The attribute by which items expire.
    pub ttl_attribute: Option<String>,
}

/// The properties of the table. One that is not listed, such as an index, is an error: a local table would not have it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Properties {
    attribute_definitions: Vec<Attribute>,
    key_schema: Vec<Key>,
    time_to_live_specification: Option<TimeToLive>,
    #[serde(rename = "BillingMode")]
    _billing_mode: Option<IgnoredAny>,
    #[serde(rename = "PointInTimeRecoverySpecification")]
    _point_in_time_recovery: Option<IgnoredAny>,
    #[serde(rename = "DeletionProtectionEnabled")]
    _deletion_protection: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    #[serde(rename = "AttributeName")]
    name: String,
    #[serde(rename = "AttributeType")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    #[serde(rename = "AttributeName")]
    name: String,
    #[serde(rename = "KeyType")]
    role: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct TimeToLive {
    attribute_name: String,
    enabled: bool,
}

impl Template {
    /// The one table of the template. Fails when there is none, and when it has a property that a local table would not
    /// have.
    pub fn table(&self) -> Result<TableDefinition, TemplateError> {
        let (place, properties) = self.only("AWS::DynamoDB::Table")?;
        let Properties { attribute_definitions, key_schema, time_to_live_specification, .. } =
            read(&place, properties)?;
        let ttl = time_to_live_specification.filter(|ttl| ttl.enabled);
        Ok(TableDefinition {
            logical_id: place.trim_start_matches("Resources.").to_owned(),
            attributes: attribute_definitions.into_iter().map(|one| (one.name, one.kind)).collect(),
            key_schema: key_schema.into_iter().map(|one| (one.name, one.role)).collect(),
            ttl_attribute: ttl.map(|ttl| ttl.attribute_name),
        })
    }
}
