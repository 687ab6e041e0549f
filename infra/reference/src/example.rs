//! Example bodies, as a page shows them.

use serde_json::{Map, Value, json};

/// The most characters of a body that is shown within a table.
pub const LONGEST_IN_A_TABLE: usize = 160;
/// The most characters of a text in an example.
const LONGEST_TEXT: usize = 40;
/// The width of the lines of an example.
const WIDTH: usize = 116;

/// Whether a body can be one of this schema: its fields and its constants say so.
pub fn fits(schema: &Value, body: &Value) -> bool {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return true };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let has = |name: &str| body.get(name).is_some();
    let is_right =
        |(name, field): (&String, &Value)| field.get("const").is_none_or(|value| body.get(name) == Some(value));
    let known = body.as_object().is_some_and(|body| body.keys().all(|name| fields.contains_key(name)));
    known && required.into_iter().all(has) && fields.iter().all(is_right)
}

/// The names of an object's fields, with the values of those that are constant; of another schema, its type.
pub fn fields(schema: &Value) -> String {
    let field = |(name, field): (&String, &Value)| match field.get("const") {
        Some(value) => format!("`{}: {value}`", json!(name)),
        None => format!("`{name}`"),
    };
    match schema.get("properties").and_then(Value::as_object) {
        Some(fields) => fields.iter().map(field).collect::<Vec<_>>().join(", "),
        None => schema["type"].as_str().unwrap_or("any").to_owned(),
    }
}

/// A body whose lists have only their first entry.
pub fn shortened(body: &Value) -> Value {
    match body {
        Value::Array(entries) => entries.iter().take(1).map(shortened).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

/// A body whose long texts are cut.
pub fn cut(body: &Value) -> Value {
    match body {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            json!(format!("{}…", text.chars().take(LONGEST_TEXT).collect::<String>().trim_end()))
        }
        Value::Array(entries) => entries.iter().map(cut).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), cut(value))).collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

/// A body as JSON in lines that are indented by the level, with as many fields in each as fit.
pub fn lines(body: &Value, indent: usize) -> String {
    let flat = body.to_string();
    let (open, close, parts): (char, char, Vec<String>) = match body {
        _ if indent + flat.len() <= WIDTH => return flat,
        Value::Array(entries) => ('[', ']', entries.iter().map(|entry| lines(entry, indent + 1)).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}:{}", json!(name), lines(value, indent + 2));
            ('{', '}', fields.iter().map(field).collect())
        }
        _ => return flat,
    };
    let mut packed: Vec<String> = Vec::new();
    for part in parts {
        match packed.last_mut() {
            Some(line) if !format!("{line}{part}").contains('\n') && indent + line.len() + part.len() + 3 <= WIDTH => {
                line.push_str(", ");
                line.push_str(&part);
            }
            _ => packed.push(part),
        }
    }
    let margin = " ".repeat(indent + 1);
    format!("{open}{}{close}", packed.join(&format!(",\n{margin}")))
}
