//! From YAML to plain values: parameters, conditions and intrinsic functions are replaced by what they evaluate to.

use std::collections::{BTreeMap, BTreeSet};

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Value};

use crate::document::Document;
use crate::{TemplateError, parameters};

/// Values of the pseudo parameters. Nothing runs in a region here, but a text that contains one has to be complete.
const PSEUDO_PARAMETERS: [(&str, &str); 2] = [("AWS::Region", "us-east-1"), ("AWS::StackName", "local")];

#[derive(Default)]
struct Resolver {
    document: Document,
    parameters: BTreeMap<String, String>,
    conditions: BTreeMap<String, bool>,
    resources: BTreeSet<String>,
}

/// Reads a template and fills in the values of its parameters. The sections that are not needed here are left out.
pub(crate) fn document(text: &str, given: &BTreeMap<String, String>) -> Result<Document, TemplateError> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| TemplateError::Syntax {
        line: error.marker().line(),
        column: error.marker().col() + 1,
        problem: error.info().to_owned(),
    })?;
    let syntax = |line, problem: &str| Err(TemplateError::Syntax { line, column: 1, problem: problem.to_owned() });
    let root = match documents.as_slice() {
        [root] => root,
        [] => return syntax(1, "it is empty"),
        [_, second, ..] => return syntax(second.span.start.line(), "a second document begins here"),
    };
    let mut resolver = Resolver::default();
    let sections: BTreeMap<&str, &MarkedYaml<'_>> = resolver.entries("", root)?.into_iter().collect();
    resolver.section("Parameters", sections.get("Parameters"))?;
    resolver.parameters = parameters::values(&resolver.document, given)?;
    if let Some(node) = sections.get("Conditions") {
        for (name, node) in resolver.entries("Conditions", node)? {
            let holds = resolver.condition(&format!("Conditions.{name}"), node)?;
            resolver.conditions.insert(name.to_owned(), holds);
        }
    }
    let Some(node) = sections.get("Resources") else { return Err(TemplateError::Absent("Resources".to_owned())) };
    resolver.resources = resolver.entries("Resources", node)?.into_iter().map(|(id, _)| id.to_owned()).collect();
    resolver.section("Globals", sections.get("Globals"))?;
    let globals: Option<BTreeMap<String, Value>> = resolver.document.read("Globals")?;
    if let Some(key) = globals.unwrap_or_default().keys().find(|key| *key != "Function") {
        return resolver.broken(&format!("Globals.{key}"), "is not supported here; write it in the resource");
    }
    resolver.section("Resources", Some(node))?;
    let mut existing: BTreeMap<String, Value> = resolver.document.read("Resources")?;
    for id in existing.keys().cloned().collect::<Vec<_>>() {
        let place = format!("Resources.{id}");
        resolver.document.read::<String>(&format!("{place}.Type"))?;
        let condition: Option<String> = resolver.document.read(&format!("{place}.Condition"))?;
        if let Some(name) = condition
            && !resolver.named_condition(&place, &name)?
        {
            existing.remove(&id);
        }
    }
    resolver.document.sections.insert("Resources".to_owned(), existing.into_iter().collect());
    Ok(resolver.document)
}

impl Resolver {
    fn broken<T>(&self, place: &str, problem: impl Into<String>) -> Result<T, TemplateError> {
        Err(self.document.broken(place, problem))
    }

    fn section(&mut self, name: &str, node: Option<&&MarkedYaml<'_>>) -> Result<(), TemplateError> {
        if let Some(node) = node
            && let Some(section) = self.resolve(name, node)?
        {
            self.document.sections.insert(name.to_owned(), section);
        }
        Ok(())
    }

    /// Keys and values of a mapping, with their lines recorded.
    fn entries<'n, 'y>(
        &mut self,
        place: &str,
        node: &'n MarkedYaml<'y>,
    ) -> Result<Vec<(&'n str, &'n MarkedYaml<'y>)>, TemplateError> {
        let YamlData::Mapping(entries) = &node.data else { return self.broken(place, "is not a mapping") };
        let mut found = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let line = key.span.start.line();
            let YamlData::Value(Scalar::String(name)) = &key.data else {
                let problem = "a key has to be text; quote it if YAML reads it as something else".to_owned();
                return Err(TemplateError::Syntax { line, column: 1, problem });
            };
            self.document.lines.insert(join(place, name), line);
            found.push((name.as_ref(), value));
        }
        Ok(found)
    }

    /// The value of a node; `None` for `AWS::NoValue`, which leaves the property out.
    fn resolve(&mut self, place: &str, node: &MarkedYaml<'_>) -> Result<Option<Value>, TemplateError> {
        let value = match &node.data {
            YamlData::Value(Scalar::Null) => return self.broken(place, "is empty"),
            YamlData::Value(Scalar::Boolean(value)) => Value::from(*value),
            YamlData::Value(Scalar::Integer(value)) => Value::from(*value),
            YamlData::Value(Scalar::FloatingPoint(value)) => Value::from(value.to_string()),
            YamlData::Value(Scalar::String(value)) => Value::from(value.as_ref()),
            YamlData::Sequence(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let place = format!("{place}[{index}]");
                    self.document.lines.insert(place.clone(), item.span.start.line());
                    values.extend(self.resolve(&place, item)?);
                }
                Value::from(values)
            }
            YamlData::Mapping(_) => {
                let mut map = Map::new();
                for (key, value) in self.entries(place, node)? {
                    if key == "Ref" || key.starts_with("Fn::") {
                        return self.broken(place, format!("write {key} in its short form"));
                    }
                    if let Some(value) = self.resolve(&join(place, key), value)? {
                        map.insert(key.to_owned(), value);
                    }
                }
                Value::from(map)
            }
            YamlData::Tagged(tag, argument) => return self.call(place, &tag.suffix, argument),
            _ => return self.broken(place, "cannot be read"),
        };
        Ok(Some(value))
    }

    fn call(&mut self, place: &str, name: &str, argument: &MarkedYaml<'_>) -> Result<Option<Value>, TemplateError> {
        match name {
            "Ref" => {
                let target = self.text(place, argument)?;
                if target == "AWS::NoValue" { Ok(None) } else { self.reference(place, &target).map(Some) }
            }
            "GetAtt" => {
                let path = self.text(place, argument)?;
                match path.split_once('.') {
                    Some((resource, _)) if self.resources.contains(resource) => Ok(Some(Value::from(path))),
                    _ => self.broken(place, format!("{path} is not an attribute of a resource of the template")),
                }
            }
            "Sub" => self.substitute(place, &self.literal(place, argument)?).map(Some),
            "If" => {
                let [condition, yes, no] = self.arguments(place, name, argument)?;
                let holds = self.named_condition(place, &self.literal(place, condition)?)?;
                // Both, so that a mistake is found with any parameters.
                let [chosen, other] = if holds { [yes, no] } else { [no, yes] };
                self.resolve(place, other)?;
                self.resolve(place, chosen)
            }
            "Select" => {
                let [index, items] = self.arguments(place, name, argument)?;
                let index = self.text(place, index)?;
                let Some(Value::Array(items)) = self.resolve(place, items)? else {
                    return self.broken(place, "!Select needs a list");
                };
                match index.parse().ok().and_then(|at: usize| items.get(at)) {
                    Some(item) => Ok(Some(item.clone())),
                    None => self.broken(place, format!("there is no item {index} to select")),
                }
            }
            "Split" => {
                let [separator, text] = self.arguments(place, name, argument)?;
                let (separator, text) = (self.text(place, separator)?, self.text(place, text)?);
                Ok(Some(text.split(&separator).collect()))
            }
            _ => self.broken(place, format!("!{name} is not supported here")),
        }
    }

    fn reference(&self, place: &str, name: &str) -> Result<Value, TemplateError> {
        let pseudo = PSEUDO_PARAMETERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        match pseudo.or_else(|| self.parameters.get(name).map(String::as_str)) {
            Some(text) => Ok(Value::from(text)),
            None if self.resources.contains(name) => Ok(Value::from(name)),
            None => self.broken(place, format!("refers to {name}, which is neither a parameter nor a resource")),
        }
    }

    /// `!Sub` with a text. `${Name}` and `${Name.Attribute}` are replaced, `${!Name}` becomes `${Name}`.
    fn substitute(&self, place: &str, text: &str) -> Result<Value, TemplateError> {
        let mut parts = text.split("${");
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let Some((name, rest)) = part.split_once('}') else {
                return self.broken(place, "opens ${ without closing it");
            };
            if let Some(literal) = name.strip_prefix('!') {
                result.extend(["${", literal, "}"]);
            } else if name.split_once('.').is_some_and(|(resource, _)| self.resources.contains(resource)) {
                result.push_str(name);
            } else {
                result.push_str(self.reference(place, name)?.as_str().unwrap_or_default());
            }
            result.push_str(rest);
        }
        Ok(Value::from(result))
    }

    fn condition(&mut self, place: &str, node: &MarkedYaml<'_>) -> Result<bool, TemplateError> {
        match &node.data {
            YamlData::Tagged(tag, argument) if tag.suffix == "Equals" => {
                let [left, right] = self.arguments(place, "Equals", argument)?;
                Ok(self.text(place, left)? == self.text(place, right)?)
            }
            YamlData::Tagged(tag, argument) if tag.suffix == "Not" => {
                let [inner] = self.arguments(place, "Not", argument)?;
                Ok(!self.condition(place, inner)?)
            }
            _ => self.broken(place, "has to be !Equals or !Not; other conditions are not supported here"),
        }
    }

    fn named_condition(&self, place: &str, name: &str) -> Result<bool, TemplateError> {
        let holds = self.conditions.get(name).copied();
        holds.map_or_else(|| self.broken(place, format!("there is no condition {name}")), Ok)
    }

    /// The value of a node as text: CloudFormation makes no difference between `1` and `"1"` either.
    fn text(&mut self, place: &str, node: &MarkedYaml<'_>) -> Result<String, TemplateError> {
        match self.resolve(place, node)? {
            Some(value) if !value.is_array() && !value.is_object() => Ok(parameters::text(&value)),
            _ => self.broken(place, "does not evaluate to text"),
        }
    }

    fn literal(&self, place: &str, node: &MarkedYaml<'_>) -> Result<String, TemplateError> {
        match &node.data {
            YamlData::Value(Scalar::String(text)) => Ok(text.to_string()),
            _ => self.broken(place, "needs plain text"),
        }
    }

    fn arguments<'n, 'y, const N: usize>(
        &self,
        place: &str,
        name: &str,
        argument: &'n MarkedYaml<'y>,
    ) -> Result<&'n [MarkedYaml<'y>; N], TemplateError> {
        match &argument.data {
            YamlData::Sequence(items) => items.as_slice().try_into().ok(),
            _ => None,
        }
        .map_or_else(|| self.broken(place, format!("!{name} needs a list of {N}")), Ok)
    }
}

fn join(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}
