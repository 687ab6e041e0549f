//! JSON Schemas of the format, from the types that read it, so that editors complete and check the files.

use crate::files::{CategoryFile, PageFile, SalesFile, StaffFile, StoreFile};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// The schema of every file by the name of its own in `infra/publish/schema/`, ready to be written.
pub fn schemas() -> [(&'static str, String); 5] {
    [
        ("store.json", text::<StoreFile>("store.yaml")),
        ("category.json", text::<CategoryFile>("categories/*.yaml")),
        ("page.json", text::<PageFile>("pages/*.yaml")),
        ("sales.json", text::<SalesFile>("sales.yaml")),
        ("staff.json", text::<StaffFile>("staff.yaml")),
    ]
}

/// The schema of one type.
pub(crate) fn of<T: JsonSchema>() -> Value {
    root::<T>().to_value()
}

fn root<T: JsonSchema>() -> Schema {
    // Draft 7 is what editors' YAML plugins understand.
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
}

/// The schema of one type, in the form that is committed, with a title.
fn text<T: JsonSchema>(title: &str) -> String {
    let mut schema = root::<T>();
    schema.insert("title".to_owned(), title.into());
    let mut text = serde_json::to_string_pretty(&sorted(schema.to_value())).unwrap_or_default();
    text.push('\n');
    text
}

/// A value with its fields sorted by name, independent of the order in which the JSON library keeps them.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}

impl<T: JsonSchema> JsonSchema for crate::files::At<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl JsonSchema for crate::files::Decimal {
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A plain decimal number such as 9.99, never negative.",
            "type": ["number", "string"],
            "minimum": 0,
            "pattern": "^[0-9]+(\\.[0-9]+)?$"
        })
    }
}
