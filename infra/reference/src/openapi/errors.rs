//! The schemas of the bodies of refusals and errors. They follow from the bodies that the service's code makes.

use serde_json::{Map, Value, json};

/// The schema of a body that consists of flags and texts.
pub fn schema(body: &Value) -> Value {
    let fields = body.as_object().into_iter().flatten();
    let properties: Map<String, Value> = fields.map(|(name, value)| (name.clone(), property(name, value))).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties})
}

fn property(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("message" | "error", Value::String(_)) => {
            json!({"type": "string", "description": "The reason, as a text for people. Texts can change."})
        }
        (_, Value::String(text)) => json!({"const": text, "description": format!("Always `{text}`.")}),
        (_, value) => json!({"const": value, "description": format!("Always {value}.")}),
    }
}

/// Whether a body of one of these schemas can be `body`: it has the same fields.
pub fn is_among(alternatives: &[&Value], body: &Value) -> bool {
    let names = |value: Option<&Value>| -> Vec<String> {
        let mut names: Vec<String> =
            value.and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect();
        names.sort();
        names
    };
    alternatives.iter().any(|schema| names(schema.get("properties")) == names(Some(body)))
}
