//! The fields of a schema as rows of a table.

use crate::endpoints::{Reference, reference};
use serde_json::{Map, Value};

/// A field of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// The field's type, as the documentation writes it.
    pub kind: String,
    /// Whether the value can be null, and whether the field can be absent.
    pub null: &'static str,
    /// The field's doc comment.
    pub meaning: String,
}

/// An object, with the paths at which it occurs.
#[derive(Debug)]
pub struct Object<'s> {
    /// The paths, such as `cart` or `items.vars`; empty for the body itself.
    pub paths: Vec<String>,
    schema: &'s Value,
}

/// The schemas of a body, with the definitions that they refer to.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'s>(pub &'s Map<String, Value>);

impl<'s> Fields<'s> {
    fn resolve(self, schema: &'s Value) -> &'s Value {
        Reference::resolve(self.0, schema)
    }

    /// The description of a schema, in one line.
    pub fn description(self, schema: &'s Value) -> String {
        let text = |schema: &Value| schema.get("description").and_then(Value::as_str).map(str::to_owned);
        // A field's own doc comment comes before that of its type.
        let text = text(schema).or_else(|| text(self.resolve(schema))).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
    }

    /// The alternatives of a body; a body without alternatives is its only one.
    pub fn alternatives(self, schema: &'s Value) -> Vec<&'s Value> {
        let schema = self.resolve(schema);
        let values = constants(schema);
        let of = |keyword| schema.get(keyword).and_then(Value::as_array).filter(|_| values.is_empty());
        match of("anyOf").or_else(|| of("oneOf")) {
            // A struct of its own has its own fields; what is said of the alternative is said of the struct.
            Some(alternatives) => alternatives.iter().collect(),
            None => vec![schema],
        }
    }

    /// The objects of a body: itself first, then those of its fields in order, each with all of its paths.
    pub fn objects(self, body: &'s Value) -> Vec<Object<'s>> {
        let mut objects: Vec<(Option<&str>, Object<'s>)> = Vec::new();
        let mut waiting = vec![(String::new(), body)];
        while !waiting.is_empty() {
            let mut next = Vec::new();
            for (path, schema) in waiting {
                let Some((name, schema)) = self.object_in(schema) else { continue };
                if let Some((_, known)) = objects.iter_mut().find(|(other, _)| name.is_some() && *other == name) {
                    known.paths.push(path);
                    continue;
                }
                for (field, schema) in properties(schema) {
                    let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
                    next.push((path, schema));
                }
                objects.push((name, Object { paths: vec![path], schema }));
            }
            waiting = next;
        }
        objects.into_iter().map(|(_, object)| object).collect()
    }

    /// The object that a schema is, or that its elements, values or alternatives are, with the name of its definition.
    fn object_in(self, schema: &'s Value) -> Option<(Option<&'s str>, &'s Value)> {
        let name = reference(schema);
        let schema = self.resolve(schema);
        if schema.get("properties").is_some() {
            return Some((name, schema));
        }
        let inner = schema.get("items").or_else(|| schema.get("additionalProperties").filter(|s| s.is_object()));
        match inner {
            Some(inner) => self.object_in(inner),
            None => schema.get("anyOf")?.as_array()?.iter().find_map(|alternative| self.object_in(alternative)),
        }
    }

    /// The fields of an object, in the order in which they are declared.
    pub fn of(self, object: &Object<'s>) -> Vec<Field> {
        let required: Vec<&str> = match object.schema.get("required").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        let field = |(name, schema): (&String, &'s Value)| {
            let null = match (self.is_nullable(schema), required.contains(&name.as_str())) {
                (false, true) => "no",
                (true, true) => "yes",
                (false, false) => "no; can be absent",
                (true, false) => "yes; can be absent",
            };
            let meaning = match (self.description(schema), schema.get("const").and_then(Value::as_str)) {
                // The tag of an enum cannot have a doc comment.
                (text, Some(value)) if text.is_empty() => format!("Always `{value}`."),
                (text, _) => text,
            };
            Field { name: name.clone(), kind: self.kind(schema), null, meaning }
        };
        properties(object.schema).map(field).collect()
    }

    fn is_nullable(self, schema: &'s Value) -> bool {
        let schema = self.resolve(schema);
        let by_type = match schema.get("type") {
            Some(Value::String(kind)) => kind == "null",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
            _ => false,
        };
        let alternatives = schema.get("anyOf").and_then(Value::as_array);
        by_type || alternatives.is_some_and(|schemas| schemas.iter().any(|schema| self.is_nullable(schema)))
    }

    /// The type of a schema, without null.
    pub fn kind(self, schema: &'s Value) -> String {
        let schema = self.resolve(schema);
        let values = constants(schema);
        if values.len() > 1 {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            return format!("string: {}", values.join(", "));
        }
        if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
            return alternatives.iter().map(|schema| self.kind(schema)).find(|kind| kind != "null").unwrap_or_default();
        }
        let kinds = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let kinds: Vec<&str> = match kinds.as_slice() {
            ["null"] => kinds,
            _ => kinds.into_iter().filter(|kind| *kind != "null").collect(),
        };
        match kinds.join(" or ").as_str() {
            "" => "any".to_owned(),
            "array" => schema.get("items").map_or("array".to_owned(), |items| self.many("array", items)),
            "object" => match schema.get("additionalProperties").filter(|values| values.is_object()) {
                Some(values) => self.many("object", values),
                None => "object".to_owned(),
            },
            "string" => match (bound(schema, "minLength"), bound(schema, "maxLength")) {
                (Some(least), Some(most)) => format!("string, {least} to {most} characters"),
                _ => "string".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    fn many(self, container: &str, inner: &'s Value) -> String {
        let kind = self.kind(inner);
        let plural = match kind.split_once(' ') {
            Some(("array", rest)) => format!("arrays {rest}"),
            _ => format!("{}s", kind.replace(" or ", "s or ")),
        };
        format!("{container} of {plural}")
    }
}

fn bound(schema: &Value, keyword: &str) -> Option<u64> {
    schema.get(keyword)?.as_u64()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// The values of a schema that allows certain strings only.
fn constants(schema: &Value) -> Vec<&str> {
    if let Some(value) = schema.get("const").and_then(Value::as_str) {
        return vec![value];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(Value::as_str).collect();
    }
    let alternatives = schema.get("oneOf").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let values: Vec<Vec<&str>> = alternatives.iter().map(constants).collect();
    if values.iter().all(|values| !values.is_empty()) { values.concat() } else { Vec::new() }
}
