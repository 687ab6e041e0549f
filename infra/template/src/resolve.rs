//! From YAML to plain values: parameters, which are given or default and checked by their rules, conditions and
//! intrinsic functions are replaced by what they evaluate to.

use crate::{Template, TemplateError, broken, read};
use regex_lite::Regex;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Values of the pseudo parameters. Nothing runs in a region here, but a text that contains one has to be complete.
const PSEUDO_PARAMETERS: [(&str, &str); 2] = [("AWS::Region", "us-east-1"), ("AWS::StackName", "local")];

#[derive(Default)]
struct Resolver {
    parameters: BTreeMap<String, String>,
    conditions: BTreeMap<String, bool>,
    resources: BTreeSet<String>,
}

/// Reads a template and fills in the values of its parameters. The sections that are not needed here are left out.
pub(crate) fn template(text: &str, given: &BTreeMap<String, String>) -> Result<Template, TemplateError> {
    let documents = Yaml::load_from_str(text).map_err(|error| TemplateError::Syntax(error.to_string()))?;
    let [root] = documents.as_slice() else { return Err(TemplateError::Syntax("it is not one document".to_owned())) };
    let mut resolver = Resolver::default();
    let sections: BTreeMap<&str, &Yaml<'_>> = entries("template.yaml", root)?.into_iter().collect();
    let section = |resolver: &Resolver, name: &str| {
        let value = sections.get(name).map(|node| resolver.resolve(name, node)).transpose();
        value.map(|value| value.flatten().unwrap_or_default())
    };
    resolver.parameters = values(&section(&resolver, "Parameters")?, given)?;
    if let Some(node) = sections.get("Conditions") {
        for (name, node) in entries("Conditions", node)? {
            let holds = resolver.condition(&format!("Conditions.{name}"), node)?;
            resolver.conditions.insert(name.to_owned(), holds);
        }
    }
    let Some(node) = sections.get("Resources") else { return Err(TemplateError::Absent("Resources".to_owned())) };
    resolver.resources = entries("Resources", node)?.into_iter().map(|(id, _)| id.to_owned()).collect();
    let globals = section(&resolver, "Globals")?;
    if let Some(key) = globals.as_object().into_iter().flat_map(Map::keys).find(|key| *key != "Function") {
        return broken(&format!("Globals.{key}"), "is not supported here; write it in the resource");
    }
    let mut resources = Map::new();
    for (id, resource) in read::<BTreeMap<String, Value>>("Resources", &section(&resolver, "Resources")?)? {
        let condition: Option<String> = read(&format!("Resources.{id}.Condition"), &resource["Condition"])?;
        match condition {
            Some(name) if !resolver.named_condition(&id, &name)? => {}
            _ => drop(resources.insert(id, resource)),
        }
    }
    Ok(Template { globals, resources })
}

/// Keys and values of a mapping.
fn entries<'n, 'y>(place: &str, node: &'n Yaml<'y>) -> Result<Vec<(&'n str, &'n Yaml<'y>)>, TemplateError> {
    let Yaml::Mapping(entries) = node else { return broken(place, "is not a mapping") };
    let named = entries.iter().map(|(key, value)| match key {
        Yaml::Value(Scalar::String(name)) => Ok((name.as_ref(), value)),
        _ => broken(place, "has a key that is not text; quote it if YAML reads it as something else"),
    });
    named.collect()
}

impl Resolver {
    /// The value of a node; `None` for `AWS::NoValue`, which leaves the property out.
    fn resolve(&self, place: &str, node: &Yaml<'_>) -> Result<Option<Value>, TemplateError> {
        let value = match node {
            Yaml::Value(Scalar::Null) => return broken(place, "is empty"),
            Yaml::Value(Scalar::Boolean(value)) => Value::from(*value),
            Yaml::Value(Scalar::Integer(value)) => Value::from(*value),
            Yaml::Value(Scalar::FloatingPoint(value)) => Value::from(value.to_string()),
            Yaml::Value(Scalar::String(value)) => Value::from(value.as_ref()),
            Yaml::Sequence(items) => {
                let values = items.iter().enumerate().map(|(at, item)| self.resolve(&format!("{place}[{at}]"), item));
                values.filter_map(Result::transpose).collect::<Result<Vec<Value>, _>>()?.into()
            }
            Yaml::Mapping(_) => {
                let mut map = Map::new();
                for (key, value) in entries(place, node)? {
                    if key == "Ref" || key.starts_with("Fn::") {
                        return broken(place, format!("write {key} in its short form"));
                    }
                    if let Some(value) = self.resolve(&format!("{place}.{key}"), value)? {
                        map.insert(key.to_owned(), value);
                    }
                }
                Value::from(map)
            }
            Yaml::Tagged(tag, argument) => return self.call(place, &tag.suffix, argument),
            _ => return broken(place, "cannot be read"),
        };
        Ok(Some(value))
    }

    fn call(&self, place: &str, name: &str, argument: &Yaml<'_>) -> Result<Option<Value>, TemplateError> {
        match name {
            "Ref" => {
                let target = self.text(place, argument)?;
                if target == "AWS::NoValue" { Ok(None) } else { self.reference(place, &target).map(Some) }
            }
            "GetAtt" => {
                let path = self.text(place, argument)?;
                match path.split_once('.') {
                    Some((resource, _)) if self.resources.contains(resource) => Ok(Some(Value::from(path))),
                    _ => broken(place, format!("{path} is not an attribute of a resource of the template")),
                }
            }
            "Sub" => self.substitute(place, &literal(place, argument)?).map(Some),
            "If" => {
                let [condition, yes, no] = arguments(place, name, argument)?;
                let holds = self.named_condition(place, &literal(place, condition)?)?;
                // Both, so that a mistake is found with any parameters.
                let [chosen, other] = if holds { [yes, no] } else { [no, yes] };
                self.resolve(place, other)?;
                self.resolve(place, chosen)
            }
            "Select" => {
                let [index, items] = arguments(place, name, argument)?;
                let index = self.text(place, index)?;
                let Some(Value::Array(items)) = self.resolve(place, items)? else {
                    return broken(place, "!Select needs a list");
                };
                match index.parse().ok().and_then(|at: usize| items.get(at)) {
                    Some(item) => Ok(Some(item.clone())),
                    None => broken(place, format!("there is no item {index} to select")),
                }
            }
            "Split" => {
                let [separator, text] = arguments(place, name, argument)?;
                let (separator, text) = (self.text(place, separator)?, self.text(place, text)?);
                Ok(Some(text.split(&separator).collect()))
            }
            _ => broken(place, format!("!{name} is not supported here")),
        }
    }

    fn reference(&self, place: &str, name: &str) -> Result<Value, TemplateError> {
        let pseudo = PSEUDO_PARAMETERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        match pseudo.or_else(|| self.parameters.get(name).map(String::as_str)) {
            Some(text) => Ok(Value::from(text)),
            None if self.resources.contains(name) => Ok(Value::from(name)),
            None => broken(place, format!("refers to {name}, which is neither a parameter nor a resource")),
        }
    }

    /// `!Sub` with a text. `${Name}` and `${Name.Attribute}` are replaced, `${!Name}` becomes `${Name}`.
    fn substitute(&self, place: &str, text: &str) -> Result<Value, TemplateError> {
        let mut parts = text.split("${");
        let mut result = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let Some((name, rest)) = part.split_once('}') else {
                return broken(place, "opens ${ without closing it");
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

    fn condition(&self, place: &str, node: &Yaml<'_>) -> Result<bool, TemplateError> {
        match node {
            Yaml::Tagged(tag, argument) if tag.suffix == "Equals" => {
                let [left, right] = arguments(place, "Equals", argument)?;
                Ok(self.text(place, left)? == self.text(place, right)?)
            }
            Yaml::Tagged(tag, argument) if tag.suffix == "Not" => {
                let [inner] = arguments(place, "Not", argument)?;
                Ok(!self.condition(place, inner)?)
            }
            _ => broken(place, "has to be !Equals or !Not; other conditions are not supported here"),
        }
    }

    fn named_condition(&self, place: &str, name: &str) -> Result<bool, TemplateError> {
        let holds = self.conditions.get(name).copied();
        holds.map_or_else(|| broken(place, format!("there is no condition {name}")), Ok)
    }

    /// The value of a node as text: CloudFormation makes no difference between `1` and `"1"` either.
    fn text(&self, place: &str, node: &Yaml<'_>) -> Result<String, TemplateError> {
        match self.resolve(place, node)? {
            Some(value) if !value.is_array() && !value.is_object() => Ok(text(&value)),
            _ => broken(place, "does not evaluate to text"),
        }
    }
}

fn literal(place: &str, node: &Yaml<'_>) -> Result<String, TemplateError> {
    match node {
        Yaml::Value(Scalar::String(text)) => Ok(text.to_string()),
        _ => broken(place, "needs plain text"),
    }
}

fn arguments<'n, 'y, const N: usize>(
    place: &str,
    name: &str,
    argument: &'n Yaml<'y>,
) -> Result<&'n [Yaml<'y>; N], TemplateError> {
    match argument {
        Yaml::Sequence(items) => items.as_slice().try_into().ok(),
        _ => None,
    }
    .map_or_else(|| broken(place, format!("!{name} needs a list of {N}")), Ok)
}

/// A parameter. A rule that is not listed here is an error.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Parameter {
    #[serde(rename = "Type")]
    kind: Kind,
    default: Option<Value>,
    allowed_values: Option<Vec<Value>>,
    allowed_pattern: Option<String>,
    min_value: Option<i64>,
    max_value: Option<i64>,
    constraint_description: Option<String>,
    #[serde(rename = "Description")]
    _description: Option<IgnoredAny>,
}

#[derive(Deserialize, PartialEq, Eq)]
enum Kind {
    String,
    Number,
}

/// Gives every declared parameter its value.
pub(crate) fn values(
    declared: &Value,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, TemplateError> {
    let declared: Option<BTreeMap<String, Parameter>> = crate::read("Parameters", declared)?;
    let declared = declared.unwrap_or_default();
    let refused = |name: &str, problem: &str| {
        Err(TemplateError::Parameter { name: name.to_owned(), problem: problem.to_owned() })
    };
    if let Some(name) = given.keys().find(|name| !declared.contains_key(*name)) {
        return refused(name, "is not a parameter of the template");
    }
    let mut values = BTreeMap::new();
    for (name, parameter) in declared {
        let Some(value) = given.get(&name).cloned().or_else(|| parameter.default.as_ref().map(text)) else {
            return refused(&name, "has no default and was given no value");
        };
        if !parameter.allows(&value).or_else(|problem| broken(&format!("Parameters.{name}"), problem))? {
            let wanted = parameter.constraint_description.map(|text| format!(": it must be {text}"));
            return refused(&name, &format!("is {value:?}, which is not allowed{}", wanted.unwrap_or_default()));
        }
        values.insert(name, value);
    }
    Ok(values)
}

impl Parameter {
    /// Whether a value keeps every rule; an error if a rule cannot be used.
    fn allows(&self, value: &str) -> Result<bool, String> {
        if self.allowed_values.as_ref().is_some_and(|allowed| !allowed.iter().any(|one| text(one) == value)) {
            return Ok(false);
        }
        if let Some(pattern) = &self.allowed_pattern {
            // CloudFormation matches the whole value, whether or not the pattern is anchored.
            let pattern = Regex::new(&format!("^(?:{pattern})$"));
            if !pattern.map_err(|error| format!("AllowedPattern is not a pattern: {error}"))?.is_match(value) {
                return Ok(false);
            }
        }
        if self.kind == Kind::String {
            return Ok(true);
        }
        let number: Option<i64> = value.parse().ok();
        Ok(number.is_some_and(|number| {
            self.min_value.is_none_or(|least| number >= least) && self.max_value.is_none_or(|most| number <= most)
        }))
    }
}

/// A scalar as CloudFormation passes it on.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
