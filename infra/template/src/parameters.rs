//! The values of the parameters: given or default, and checked by their rules.

use crate::{TemplateError, broken};
use regex_lite::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

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
