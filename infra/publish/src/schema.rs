//! JSON Schemas of the format, from the types that read it, so that editors complete and check the files. And parses one file by
//! them: every problem has its line, its field and what would be right.

use crate::fault::Problem;
use crate::files::{CategoryFile, PageFile, SalesFile, StaffFile, StoreFile};
use crate::shape::Node;
use crate::syntax;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Error;
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

const SECOND_DOCUMENT: &str = "a second document begins at ---; a file holds one: move the rest into a file of its own";

const NOT_TEXT: &str = "must be text";

/// Parses a file; one that cannot be parsed yields its problems, at least one.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, Vec<Problem>> {
    let text = std::str::from_utf8(bytes).map_err(|error| vec![not_utf8(bytes, error.valid_up_to())])?;
    // Files are their owner's own: they may be as large as they are let in. The limits on aliases stay.
    let options = serde_saphyr::options! { budget: None, with_snippet: false };
    let parsed: Result<T, Error> = serde_saphyr::from_str_with_options(text, options);
    let dropped = syntax::dropped(text);
    match parsed {
        Ok(_) if !dropped.is_empty() => Err(dropped),
        // Only an escape can bring a control character past the parser.
        Ok(content) if text.contains('\\') => match node(text).map(|node| node.unprintable()).unwrap_or_default() {
            found if found.is_empty() => Ok(content),
            found => Err(found),
        },
        Ok(content) => Ok(content),
        Err(error) => Err(broken::<T>(text, &error)),
    }
}

fn broken<T: JsonSchema>(text: &str, error: &Error) -> Vec<Problem> {
    // The text after such a mark is not read, so its fields only seem to be missing.
    if let Some(line) = syntax::second_document(text) {
        return vec![(Some(line), String::new(), SECOND_DOCUMENT.to_owned())];
    }
    let mut found = node(text).map(|node| node.misfits(&of::<T>())).unwrap_or_default();
    let is_misfit =
        matches!(error.without_snippet(), Error::SerdeUnknownField { .. } | Error::SerdeMissingField { .. });
    let first = first(text, error);
    if found.is_empty() || !is_misfit && found.iter().all(|(line, ..)| *line != first.0) {
        found.insert(0, first);
    }
    found
}

/// The text as a tree, unless its syntax is wrong. Nothing of a store is nested as deep as the parser's own limit.
fn node(text: &str) -> Option<Node> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: usize::MAX, max_nodes: usize::MAX, max_total_scalar_bytes: usize::MAX, max_merge_keys: usize::MAX,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}

/// The problem that the parser stopped at.
fn first(text: &str, error: &Error) -> Problem {
    let place = error.location().filter(|location| location.line() > 0);
    let (field, problem) = explain(error);
    let line = place.map(|place| place.line());
    let at_place = || place.and_then(|place| field_at(text, place.line(), place.column())).unwrap_or_default();
    // A command that begins with a brace is one of YAML's to the parser.
    let written = place.and_then(|place| syntax::line_of(text, place.line())).unwrap_or_default();
    let command = syntax::unquoted_command(written);
    let Some(problem) = problem.filter(|problem| problem != NOT_TEXT || command.is_none()) else {
        let (began, problem) = syntax::explain(text, line, &error.to_string());
        let field = match command {
            Some(_) => "run".to_owned(),
            None if began == line => at_place(),
            None => String::new(),
        };
        return (began, field, problem);
    };
    (line, field.unwrap_or_else(at_place), problem)
}

/// A file of another encoding, and the first line that shows it.
fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Problem {
    let before = bytes.get(..valid_up_to).unwrap_or_default();
    let line = 1 + before.split(|byte| *byte == b'\n').count().saturating_sub(1) as u64;
    let start = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let field = String::from_utf8_lossy(start)
        .split_once(':')
        .map(|(key, _)| key.trim_start_matches([' ', '-', '{']).to_owned());
    (Some(line), field.unwrap_or_default(), "is not UTF-8; save the file in that encoding".to_owned())
}

/// The key that is before a value: `price` of `price: abc`, where line and column (from 1) are `abc`'s, or the
/// colon's if there is no value.
fn field_at(text: &str, line: u64, column: u64) -> Option<String> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let line = text.lines().nth(line.checked_sub(1)?)?;
    let upto: String = line.chars().take(column).collect();
    let before: String = line.chars().take(column.checked_sub(1)?).collect();
    let key = before.trim_end().strip_suffix(':').or_else(|| upto.strip_suffix(':'))?;
    let key = key.rsplit([' ', '\t', '{', ',', '[']).next()?;
    Some(key.to_owned()).filter(|key| !key.is_empty())
}

/// A parser's error in an owner's words: the field if the error names it, and the problem; no problem if the fault is one
/// of syntax.
fn explain(error: &Error) -> (Option<String>, Option<String>) {
    let (field, problem) = match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => {
            (Some(field.clone()), format!("is not a field here; there are {}", expected.join(", ")))
        }
        Error::SerdeMissingField { field, .. } => (Some((*field).to_owned()), "is missing".to_owned()),
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            (None, format!("`{variant}` is not one of {}", expected.join(", ")))
        }
        Error::DuplicateMappingKey { key, .. } => (key.clone(), "is written twice".to_owned()),
        Error::NullIntoString { .. } => (None, "has no value; write one or leave the field out".to_owned()),
        Error::InvalidScalar { ty, .. } => (None, format!("must be {}", scalar(ty))),
        Error::Unexpected { expected, .. } => (None, expected_shape(expected).to_owned()),
        Error::Eof { .. } => (None, "the file is empty; write its fields or remove the file".to_owned()),
        Error::MultipleDocuments { .. } => (None, SECOND_DOCUMENT.to_owned()),
        _ => return (None, None),
    };
    (field, Some(problem))
}

/// A Rust type in an owner's words.
fn scalar(ty: &str) -> &'static str {
    match ty {
        "u8" | "u16" | "u32" | "u64" => "a whole number, not below 0 and not too large",
        "i64" => "a whole number, not too large",
        "bool" | "boolean" => "true or false",
        _ => "a value of another kind",
    }
}

fn expected_shape(expected: &str) -> &'static str {
    match expected {
        "string scalar" => NOT_TEXT,
        "sequence start" => "must be a list",
        "mapping start" => "must be fields with values, or left out",
        _ => "is not what belongs here",
    }
}
