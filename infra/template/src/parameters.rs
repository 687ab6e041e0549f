//! The `Parameters` section: which value each parameter has, and whether its rules allow that value.

use std::collections::BTreeMap;

use regex_lite::Regex;

use crate::decimal::Decimal;
use crate::document::Node;
use crate::error::{Fault, TemplateError};

/// The value of a parameter. Lists come from `CommaDelimitedList` and `List<Number>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParameterValue {
    One(String),
    Many(Vec<String>),
}

/// Gives every parameter of the template its value: the given one, or else its default.
pub(crate) fn resolve(
    document: &Node,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, ParameterValue>, TemplateError> {
    let declared = match document.get("Parameters") {
        Some(section) => section.entries().map_err(|fault| fault.at("Parameters"))?,
        None => &[],
    };
    for name in given.keys() {
        if !declared.iter().any(|(known, _)| known == name) {
            return Err(refusal(name, "is none of the template's"));
        }
    }
    declared
        .iter()
        .map(|(name, rules)| {
            let value = value_of(name, rules, given.get(name))?;
            Ok((name.clone(), value))
        })
        .collect()
}

fn value_of(name: &str, rules: &Node, given: Option<&String>) -> Result<ParameterValue, TemplateError> {
    let broken = |fault: Fault| fault.at(format!("Parameters.{name}"));
    let kind = rules.required("Type").and_then(Node::text).map_err(broken)?;
    let text = match (given, rules.get("Default")) {
        (Some(text), _) => text.clone(),
        (None, Some(default)) => default.text().map_err(broken)?.to_owned(),
        (None, None) => return Err(refusal(name, "has no default and was given no value")),
    };
    let (value, is_number) = match kind {
        "Number" => (ParameterValue::One(text), true),
        "CommaDelimitedList" => (ParameterValue::Many(split(&text)), false),
        "List<Number>" => (ParameterValue::Many(split(&text)), true),
        // Only AWS could look these up.
        kind if kind.starts_with("AWS::SSM::") => {
            return Err(refusal(name, format!("is of type {kind}, which only AWS can resolve")));
        }
        // Plain strings, and identifiers of AWS such as the id of a hosted zone.
        _ => (ParameterValue::One(text), false),
    };
    let single = match &value {
        ParameterValue::One(text) => std::slice::from_ref(text),
        ParameterValue::Many(texts) => texts.as_slice(),
    };
    for text in single {
        if let Some(rule) = broken_rule(rules, text, is_number).map_err(broken)? {
            return Err(refusal(name, complaint(rules, text, &rule)));
        }
    }
    Ok(value)
}

/// The first rule that a value breaks, in words.
fn broken_rule(rules: &Node, text: &str, is_number: bool) -> Result<Option<String>, Fault> {
    if let Some(allowed) = rules.get("AllowedValues") {
        let mut names = Vec::new();
        for item in allowed.items()? {
            names.push(item.text()?);
        }
        if !names.contains(&text) {
            return Ok(Some(format!("one of {}", names.join(", "))));
        }
    }
    if let Some(pattern) = rules.get("AllowedPattern") {
        // CloudFormation matches the whole value, whether or not the pattern is anchored.
        let regex = Regex::new(&format!("^(?:{})$", pattern.text()?))
            .map_err(|error| Fault::new(pattern.line, format!("has an AllowedPattern that is no pattern: {error}")))?;
        if !regex.is_match(text) {
            return Ok(Some("of the allowed pattern".to_owned()));
        }
    }
    if is_number {
        let Some(number) = Decimal::parse(text) else {
            return Ok(Some("a number".to_owned()));
        };
        return out_of_bounds(rules, &number, ["MinValue", "MaxValue"], "");
    }
    let length = Decimal::from(text.chars().count());
    out_of_bounds(rules, &length, ["MinLength", "MaxLength"], " characters long")
}

/// The bound that a number breaks, if any, in words.
fn out_of_bounds(
    rules: &Node,
    number: &Decimal,
    [minimum, maximum]: [&str; 2],
    unit: &str,
) -> Result<Option<String>, Fault> {
    if let Some((bound, shown)) = limit(rules, minimum)?
        && *number < bound
    {
        return Ok(Some(format!("at least {shown}{unit}")));
    }
    if let Some((bound, shown)) = limit(rules, maximum)?
        && *number > bound
    {
        return Ok(Some(format!("at most {shown}{unit}")));
    }
    Ok(None)
}

/// A numeric rule and how it is written in the template.
fn limit<'n>(rules: &'n Node, key: &str) -> Result<Option<(Decimal, &'n str)>, Fault> {
    let Some(node) = rules.get(key) else {
        return Ok(None);
    };
    let text = node.text()?;
    let number = Decimal::parse(text).ok_or_else(|| Fault::new(node.line, format!("has a {key} that is no number")))?;
    Ok(Some((number, text)))
}

/// What is said about a refused value. A secret one (`NoEcho`) is not repeated.
fn complaint(rules: &Node, text: &str, rule: &str) -> String {
    let is_secret = rules.get("NoEcho").is_some_and(|echo| echo.text().is_ok_and(|value| value == "true"));
    let shown = if is_secret { "has a value that".to_owned() } else { format!("is {text:?}, which") };
    match rules.get("ConstraintDescription").map(Node::text).and_then(Result::ok) {
        Some(description) => format!("{shown} is not allowed: it must be {description}"),
        None => format!("{shown} is not {rule}"),
    }
}

/// CloudFormation drops the spaces around the items of a list.
fn split(text: &str) -> Vec<String> {
    text.split(',').map(|item| item.trim().to_owned()).collect()
}

fn refusal(name: &str, problem: impl Into<String>) -> TemplateError {
    TemplateError::Parameter { name: name.to_owned(), problem: problem.into() }
}
