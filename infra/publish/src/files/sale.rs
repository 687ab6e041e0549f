//! `sales.yaml`: what is reduced for a time.

use super::{At, Decimal, yes};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// `sales.yaml`: the sales.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SalesFile(pub Vec<SaleFile>);

/// A sale.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaleFile {
    /// Its id, unique among the sales.
    pub id: At<u64>,
    /// Its name, as buyers see it.
    pub name: String,
    /// Percentage that it takes off one unit. A sale has this or `amount`.
    #[serde(default)]
    #[schemars(schema_with = "percentage_schema")]
    pub percentage: Option<Decimal>,
    /// Amount that it takes off one unit, in major units.
    #[serde(default)]
    pub amount: Option<Decimal>,
    /// `everything`, or the categories (each with its subcategories) and items that it is for.
    #[serde(rename = "for")]
    #[schemars(schema_with = "choice_schema::<ScopeFile>")]
    pub covers: Choice<ScopeFile>,
    /// What it is not for.
    #[serde(default)]
    pub except: ScopeFile,
    /// When it begins; as soon as it is published if it is left out.
    #[serde(default)]
    pub from: Option<At<String>>,
    /// When it ends; it has no end if it is left out.
    #[serde(default)]
    pub until: Option<At<String>>,
    /// `everyone`, or who owns one of some items.
    #[serde(default)]
    #[schemars(schema_with = "choice_schema::<WhoFile>")]
    pub who: Choice<WhoFile>,
    /// Whether codes take something off its prices. With `false`, each line of a cart has the better of sale and code.
    #[serde(default = "yes")]
    pub with_codes: bool,
}

/// A part of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeFile {
    /// Ids of categories, each with its subcategories.
    #[serde(default)]
    pub categories: Vec<At<u64>>,
    /// Ids of items.
    #[serde(default)]
    pub items: Vec<At<u64>>,
}

/// The buyers who get a sale.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoFile {
    /// Ids of the items of which they own one.
    pub owners_of: Vec<At<u64>>,
}

/// One word for all, or fields that say which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice<T> {
    /// The word as it is written; empty if the field is left out.
    Word(String),
    Fields(T),
}

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Self::Word(String::new())
    }
}

struct ChoiceVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ChoiceVisitor<T> {
    type Value = Choice<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or fields")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        Ok(Choice::Word(word.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Choice::Fields)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor(PhantomData))
    }
}

fn choice_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    schema.insert("type".to_owned(), vec!["string", "object"].into());
    schema
}

/// The schema of a percentage, with or without its sign.
fn percentage_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Decimal::json_schema(generator);
    schema.insert("description".to_owned(), "A percentage such as 20 or 12.5 %.".into());
    schema.insert("pattern".to_owned(), "^[0-9]+(\\.[0-9]+)?( ?%)?$".into());
    schema
}

/// The schema of an amount or of a percentage with its sign.
pub(super) fn discount_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = percentage_schema(generator);
    schema.insert("description".to_owned(), "An amount such as 2.00, or a percentage such as 20 %.".into());
    schema
}
