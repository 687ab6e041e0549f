//! The table of a template, as far as creating one like it needs.

use crate::Template;
use crate::document::Node;
use crate::error::{Fault, TemplateError};

/// How to create the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The table's name in the template. What `!Ref` to it evaluates to here, too.
    pub logical_id: String,
    /// Name and type of every attribute of the key.
    pub attributes: Vec<(String, AttributeType)>,
    /// Name and role of every attribute of the key, the partition key first.
    pub key_schema: Vec<(String, KeyType)>,
    /// The attribute by which items expire, when they do.
    pub ttl_attribute: Option<String>,
}

/// What an attribute of a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeType {
    /// `S`: text.
    Text,
    /// `N`: a number.
    Number,
    /// `B`: bytes.
    Binary,
}

impl AttributeType {
    /// As DynamoDB spells it: `S`, `N` or `B`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "S",
            Self::Number => "N",
            Self::Binary => "B",
        }
    }
}

/// What an attribute does in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// `HASH`: the partition key.
    Hash,
    /// `RANGE`: the sort key.
    Range,
}

impl KeyType {
    /// As DynamoDB spells it: `HASH` or `RANGE`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "HASH",
            Self::Range => "RANGE",
        }
    }
}

/// What would be lost if a table were made without it.
const NOT_READ: [&str; 2] = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];

impl Template {
    /// The one table of the template.
    ///
    /// # Errors
    /// When there is none or more than one, when its key makes no sense, and when it has an index: nothing here would
    /// create that, and the difference would show only once deployed.
    pub fn table(&self) -> Result<TableDefinition, TemplateError> {
        let tables = self.resources("AWS::DynamoDB::Table")?;
        let (id, table) = match tables.as_slice() {
            [(id, table)] => (*id, *table),
            [] => {
                return Err(TemplateError::Absent { problem: "no table".to_owned() });
            }
            [_, (second, node), ..] => {
                let fault = Fault::new(node.line, "is a second table, and one is expected");
                return Err(fault.at(*second));
            }
        };
        let properties = table.required("Properties").map_err(|fault| fault.at(id))?;
        for key in NOT_READ {
            if let Some(index) = properties.get(key) {
                let fault = Fault::new(index.line, "is not expected: this table has no index");
                return Err(fault.at(format!("{id}.{key}")));
            }
        }
        let attributes = self.attributes(properties).map_err(|fault| fault.at(format!("{id}.AttributeDefinitions")))?;
        let key_schema =
            self.key_schema(properties, &attributes).map_err(|fault| fault.at(format!("{id}.KeySchema")))?;
        let ttl_attribute =
            self.ttl_attribute(properties).map_err(|fault| fault.at(format!("{id}.TimeToLiveSpecification")))?;
        Ok(TableDefinition { logical_id: id.to_owned(), attributes, key_schema, ttl_attribute })
    }

    fn attributes(&self, properties: &Node) -> Result<Vec<(String, AttributeType)>, Fault> {
        let mut attributes = Vec::new();
        for item in properties.required("AttributeDefinitions")?.items()? {
            let name = self.scope.text(item.required("AttributeName")?)?;
            let kind = item.required("AttributeType")?;
            let attribute_type = match self.scope.text(kind)?.as_str() {
                "S" => AttributeType::Text,
                "N" => AttributeType::Number,
                "B" => AttributeType::Binary,
                other => {
                    let problem = format!("gives {name} the type {other}, which is not S, N or B");
                    return Err(Fault::new(kind.line, problem));
                }
            };
            attributes.push((name, attribute_type));
        }
        Ok(attributes)
    }

    fn key_schema(
        &self,
        properties: &Node,
        attributes: &[(String, AttributeType)],
    ) -> Result<Vec<(String, KeyType)>, Fault> {
        let schema = properties.required("KeySchema")?;
        let mut keys = Vec::new();
        for item in schema.items()? {
            let name = self.scope.text(item.required("AttributeName")?)?;
            if !attributes.iter().any(|(known, _)| *known == name) {
                let problem = format!("names {name}, which AttributeDefinitions does not have");
                return Err(Fault::new(item.line, problem));
            }
            let key_type = match self.scope.text(item.required("KeyType")?)?.as_str() {
                "HASH" => KeyType::Hash,
                "RANGE" => KeyType::Range,
                other => {
                    let problem = format!("makes {name} a {other}, which is not HASH or RANGE");
                    return Err(Fault::new(item.line, problem));
                }
            };
            keys.push((name, key_type));
        }
        let roles: Vec<KeyType> = keys.iter().map(|(_, key_type)| *key_type).collect();
        match roles.as_slice() {
            [KeyType::Hash] | [KeyType::Hash, KeyType::Range] if keys.len() == attributes.len() => Ok(keys),
            [KeyType::Hash] | [KeyType::Hash, KeyType::Range] => {
                Err(Fault::new(schema.line, "does not use every attribute that AttributeDefinitions has"))
            }
            _ => Err(Fault::new(schema.line, "is not one HASH with at most one RANGE after it")),
        }
    }

    fn ttl_attribute(&self, properties: &Node) -> Result<Option<String>, Fault> {
        let Some(ttl) = properties.get("TimeToLiveSpecification") else {
            return Ok(None);
        };
        match self.scope.text(ttl.required("Enabled")?)?.as_str() {
            "true" => self.scope.text(ttl.required("AttributeName")?).map(Some),
            "false" => Ok(None),
            _ => Err(Fault::new(ttl.line, "is neither enabled nor disabled")),
        }
    }
}
