//! The YAML of a template as a tree that remembers lines, with both spellings of an intrinsic function (`!Ref X` and
//! `Ref: X`) made one. It must not know what any section means.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::error::{Fault, TemplateError};

/// One node of the template.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    pub(crate) content: Content,
}

/// What a node holds. Scalars are text: CloudFormation, too, turns `true` and `"true"` into whatever a property wants.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Null,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    /// An intrinsic function by its full name (`Ref`, `Fn::Sub`), and its argument.
    Call(String, Box<Node>),
}

/// Tags of intrinsic functions whose full name begins with `Fn::`. `Ref` and `Condition` have no such prefix.
const SHORT_FORMS: [&str; 18] = [
    "And",
    "Base64",
    "Cidr",
    "Equals",
    "FindInMap",
    "ForEach",
    "GetAZs",
    "GetAtt",
    "If",
    "ImportValue",
    "Join",
    "Length",
    "Not",
    "Or",
    "Select",
    "Split",
    "Sub",
    "ToJsonString",
];

impl Node {
    /// Parses the text of a template.
    pub(crate) fn load(text: &str) -> Result<Self, TemplateError> {
        let documents = MarkedYaml::load_from_str(text).map_err(|error| TemplateError::Syntax {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            problem: error.info().to_owned(),
        })?;
        match documents.as_slice() {
            [document] => Self::convert(document),
            [] => Err(syntax(1, "it is empty")),
            [_, second, ..] => Err(syntax(second.span.start.line(), "a second document begins here")),
        }
    }

    fn convert(yaml: &MarkedYaml<'_>) -> Result<Self, TemplateError> {
        let line = yaml.span.start.line();
        let content = match &yaml.data {
            YamlData::Value(Scalar::Null) => Content::Null,
            YamlData::Value(scalar) => Content::Text(text_of(scalar)),
            YamlData::Sequence(items) => Content::List(items.iter().map(Self::convert).collect::<Result<_, _>>()?),
            YamlData::Mapping(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    map.push((key_of(key)?, Self::convert(value)?));
                }
                long_form(map)
            }
            YamlData::Tagged(tag, inner) => {
                let function = match tag.suffix.as_str() {
                    name @ ("Ref" | "Condition") => name.to_owned(),
                    name if SHORT_FORMS.contains(&name) => format!("Fn::{name}"),
                    _ => {
                        return Err(syntax(line, format!("{tag} is no function of CloudFormation")));
                    }
                };
                let mut argument = Self::convert(inner)?;
                // The parser gives a scalar behind a tag no place of its own.
                argument.line = argument.line.max(line);
                Content::Call(function, Box::new(argument))
            }
            YamlData::Representation(..) | YamlData::Alias(_) | YamlData::BadValue => {
                return Err(syntax(line, "this value cannot be read"));
            }
        };
        Ok(Self { line, content })
    }

    /// The value of a key, when this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|(name, _)| name == key),
            _ => None,
        }
        .map(|(_, value)| value)
    }

    /// The value at the end of a chain of keys, when all of them are there.
    pub(crate) fn find(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The value of a key that has to be there.
    pub(crate) fn required(&self, key: &str) -> Result<&Self, Fault> {
        self.get(key).ok_or_else(|| Fault::new(self.line, format!("has no {key}")))
    }

    /// Keys and values of a mapping, in the order of the file.
    pub(crate) fn entries(&self) -> Result<&[(String, Self)], Fault> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            _ => Err(Fault::new(self.line, "is no mapping")),
        }
    }

    /// The items of a list as they stand.
    pub(crate) fn items(&self) -> Result<&[Self], Fault> {
        match &self.content {
            Content::List(items) => Ok(items),
            _ => Err(Fault::new(self.line, "is no list")),
        }
    }

    /// The text of a scalar as it stands.
    pub(crate) fn text(&self) -> Result<&str, Fault> {
        match &self.content {
            Content::Text(text) => Ok(text),
            _ => Err(Fault::new(self.line, "is no plain value")),
        }
    }
}

/// A mapping with the one key of a function is that function.
fn long_form(mut map: Vec<(String, Node)>) -> Content {
    let is_function = |key: &str| key == "Ref" || key.starts_with("Fn::");
    match map.pop() {
        Some((key, argument)) if map.is_empty() && is_function(&key) => Content::Call(key, Box::new(argument)),
        last => {
            map.extend(last);
            Content::Map(map)
        }
    }
}

fn key_of(key: &MarkedYaml<'_>) -> Result<String, TemplateError> {
    match &key.data {
        YamlData::Value(scalar) if *scalar != Scalar::Null => Ok(text_of(scalar)),
        _ => Err(syntax(key.span.start.line(), "a key has to be plain text; quote it when YAML reads it otherwise")),
    }
}

fn text_of(scalar: &Scalar<'_>) -> String {
    match scalar {
        Scalar::Null => String::new(),
        Scalar::Boolean(value) => value.to_string(),
        Scalar::Integer(value) => value.to_string(),
        Scalar::FloatingPoint(value) => value.to_string(),
        Scalar::String(value) => value.to_string(),
    }
}

fn syntax(line: usize, problem: impl Into<String>) -> TemplateError {
    TemplateError::Syntax { line, column: 1, problem: problem.into() }
}
