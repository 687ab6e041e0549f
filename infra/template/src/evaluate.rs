//! Conditions and intrinsic functions, evaluated as CloudFormation would. A reference to a resource becomes its logical
//! id, because nothing is deployed. It must not know which properties exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Content, Node};
use crate::error::{Fault, TemplateError};
use crate::parameters::{self, ParameterValue};

/// What a node amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// `AWS::NoValue`: the property is left out.
    Absent,
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// All that an expression may refer to.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    parameters: BTreeMap<String, ParameterValue>,
    conditions: BTreeMap<String, Node>,
    resources: BTreeSet<String>,
}

/// Values of the pseudo parameters. Nothing runs in a region here, but a text that contains one has to become some
/// text.
const PSEUDO_PARAMETERS: [(&str, &str); 5] = [
    ("AWS::AccountId", "000000000000"),
    ("AWS::Partition", "aws"),
    ("AWS::Region", "us-east-1"),
    ("AWS::StackName", "local"),
    ("AWS::URLSuffix", "amazonaws.com"),
];

impl Scope {
    /// Resolves the parameters and evaluates every condition once, so that a broken one is found at the start.
    pub(crate) fn new(document: &Node, given: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let section = |name: &str| match document.get(name) {
            Some(section) => section.entries().map_err(|fault| fault.at(name)),
            None => Ok(&[][..]),
        };
        let scope = Self {
            parameters: parameters::resolve(document, given)?,
            conditions: section("Conditions")?.iter().cloned().collect(),
            resources: section("Resources")?.iter().map(|(id, _)| id.clone()).collect(),
        };
        for (name, node) in &scope.conditions {
            scope.condition(node, &[name]).map_err(|fault| fault.at(format!("Conditions.{name}")))?;
        }
        Ok(scope)
    }

    /// Whether a resource exists: it has no condition, or one that holds.
    pub(crate) fn lets_exist(&self, resource: &Node) -> Result<bool, Fault> {
        match resource.get("Condition") {
            Some(name) => self.named_condition(name, &[]),
            None => Ok(true),
        }
    }

    /// What a node amounts to.
    pub(crate) fn evaluate(&self, node: &Node) -> Result<Value, Fault> {
        match &node.content {
            Content::Null => Err(Fault::new(node.line, "is empty")),
            Content::Text(text) => Ok(Value::Text(text.clone())),
            Content::List(items) => self.all(items).map(Value::List),
            Content::Map(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, entry) in entries {
                    match self.evaluate(entry)? {
                        Value::Absent => {}
                        value => map.push((key.clone(), value)),
                    }
                }
                Ok(Value::Map(map))
            }
            Content::Call(function, _) if function == "Fn::If" => self.evaluate(self.chosen(node)?),
            Content::Call(function, argument) => self.call(node.line, function, argument),
        }
    }

    /// What a node amounts to, which has to be text.
    pub(crate) fn text(&self, node: &Node) -> Result<String, Fault> {
        match self.evaluate(node)? {
            Value::Text(text) => Ok(text),
            _ => Err(Fault::new(node.line, "does not amount to plain text")),
        }
    }

    /// What a node amounts to, which has to be a list of texts.
    pub(crate) fn texts(&self, node: &Node) -> Result<Vec<String>, Fault> {
        let wrong = || Fault::new(node.line, "does not amount to a list of plain texts");
        match self.evaluate(node)? {
            Value::List(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::Text(text) => Ok(text),
                    _ => Err(wrong()),
                })
                .collect(),
            _ => Err(wrong()),
        }
    }

    /// The node that the outermost conditions (`Fn::If`) choose, itself not evaluated: errors below it keep their
    /// lines.
    pub(crate) fn chosen<'n>(&self, node: &'n Node) -> Result<&'n Node, Fault> {
        match &node.content {
            Content::Call(function, argument) if function == "Fn::If" => {
                let [condition, yes, no] = arguments(function, argument)?;
                let holds = self.named_condition(condition, &[])?;
                self.chosen(if holds { yes } else { no })
            }
            _ => Ok(node),
        }
    }

    fn all(&self, items: &[Node]) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match self.evaluate(item)? {
                Value::Absent => {}
                value => values.push(value),
            }
        }
        Ok(values)
    }

    fn call(&self, line: usize, function: &str, argument: &Node) -> Result<Value, Fault> {
        match function {
            "Ref" => self.reference(line, argument.text()?),
            "Fn::GetAtt" => self.attribute(argument).map(Value::Text),
            "Fn::Sub" => self.substitute(argument).map(Value::Text),
            "Fn::Join" => {
                let [separator, items] = arguments(function, argument)?;
                let separator = self.text(separator)?;
                Ok(Value::Text(self.texts(items)?.join(&separator)))
            }
            "Fn::Split" => {
                let [separator, text] = arguments(function, argument)?;
                let (separator, text) = (self.text(separator)?, self.text(text)?);
                let parts = text.split(&separator);
                Ok(Value::List(parts.map(|part| Value::Text(part.to_owned())).collect()))
            }
            "Fn::Select" => {
                let [index, items] = arguments(function, argument)?;
                let index = self.text(index)?;
                let items = self.texts(items)?;
                let item = index.parse().ok().and_then(|at: usize| items.get(at));
                item.cloned().map(Value::Text).ok_or_else(|| {
                    let known = items.len();
                    Fault::new(line, format!("selects item {index} of a list of {known}, counted from 0"))
                })
            }
            _ => Err(Fault::new(line, format!("uses {function}, which is not evaluated outside AWS"))),
        }
    }

    fn reference(&self, line: usize, name: &str) -> Result<Value, Fault> {
        if name == "AWS::NoValue" {
            return Ok(Value::Absent);
        }
        if let Some((_, text)) = PSEUDO_PARAMETERS.iter().find(|(known, _)| *known == name) {
            return Ok(Value::Text((*text).to_owned()));
        }
        match self.parameters.get(name) {
            Some(ParameterValue::One(text)) => Ok(Value::Text(text.clone())),
            Some(ParameterValue::Many(texts)) => Ok(Value::List(texts.iter().cloned().map(Value::Text).collect())),
            None if self.resources.contains(name) => Ok(Value::Text(name.to_owned())),
            None => Err(Fault::new(line, format!("refers to {name}, which is neither a parameter nor a resource"))),
        }
    }

    fn attribute(&self, argument: &Node) -> Result<String, Fault> {
        let path = match &argument.content {
            Content::List(_) => self.texts(argument)?.join("."),
            _ => argument.text()?.to_owned(),
        };
        match path.split_once('.') {
            Some((resource, _)) if self.resources.contains(resource) => Ok(path),
            _ => Err(Fault::new(
                argument.line,
                format!("gets {path}, which is no attribute of a resource of the template"),
            )),
        }
    }

    /// `Fn::Sub`: a text, or a text and a mapping of further names.
    fn substitute(&self, argument: &Node) -> Result<String, Fault> {
        let (text, names) = match &argument.content {
            Content::List(_) => {
                let [text, names] = arguments("Fn::Sub", argument)?;
                names.entries()?;
                (text.text()?, Some(names))
            }
            _ => (argument.text()?, None),
        };
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) =
                after.split_once('}').ok_or_else(|| Fault::new(argument.line, "opens ${ without closing it"))?;
            result.push_str(before);
            if let Some(literal) = name.strip_prefix('!') {
                result.push_str("${");
                result.push_str(literal);
                result.push('}');
            } else {
                result.push_str(&self.substitution(argument.line, name, names)?);
            }
            rest = after;
        }
        result.push_str(rest);
        Ok(result)
    }

    fn substitution(&self, line: usize, name: &str, names: Option<&Node>) -> Result<String, Fault> {
        if let Some(node) = names.and_then(|names| names.get(name)) {
            return self.text(node);
        }
        if let Some((resource, _)) = name.split_once('.')
            && self.resources.contains(resource)
        {
            return Ok(name.to_owned());
        }
        match self.reference(line, name)? {
            Value::Text(text) => Ok(text),
            _ => Err(Fault::new(line, format!("puts {name}, which is no plain text, into a text"))),
        }
    }

    /// Whether a condition holds. `trail` has the names of the conditions that are being evaluated.
    fn condition(&self, node: &Node, trail: &[&str]) -> Result<bool, Fault> {
        // The long form, `Condition: Name`, is not told from a property by its key alone.
        if let Some(name) = node.get("Condition") {
            return self.named_condition(name, trail);
        }
        let Content::Call(function, argument) = &node.content else {
            return Err(Fault::new(node.line, "is no condition"));
        };
        match function.as_str() {
            "Condition" => self.named_condition(argument, trail),
            "Fn::Equals" => {
                let [left, right] = arguments(function, argument)?;
                Ok(self.evaluate(left)? == self.evaluate(right)?)
            }
            "Fn::Not" => {
                let [inner] = arguments(function, argument)?;
                Ok(!self.condition(inner, trail)?)
            }
            // Every part is evaluated, so that a mistake in the last one is not found only on some days.
            "Fn::And" | "Fn::Or" => {
                let parts = argument.items()?.iter();
                let parts: Vec<bool> = parts.map(|part| self.condition(part, trail)).collect::<Result<_, _>>()?;
                Ok(match function.as_str() {
                    "Fn::And" => parts.iter().all(|part| *part),
                    _ => parts.iter().any(|part| *part),
                })
            }
            _ => Err(Fault::new(node.line, format!("uses {function}, which makes no condition"))),
        }
    }

    fn named_condition(&self, name: &Node, trail: &[&str]) -> Result<bool, Fault> {
        let line = name.line;
        let name = name.text()?;
        if trail.contains(&name) {
            return Err(Fault::new(line, format!("depends on itself through {name}")));
        }
        let node = self
            .conditions
            .get(name)
            .ok_or_else(|| Fault::new(line, format!("names the condition {name}, which is not there")))?;
        let mut trail = trail.to_vec();
        trail.push(name);
        self.condition(node, &trail)
    }
}

/// The arguments of a function that takes exactly `N`.
fn arguments<'n, const N: usize>(function: &str, argument: &'n Node) -> Result<&'n [Node; N], Fault> {
    argument.items()?.try_into().map_err(|_| {
        let plural = if N == 1 { "" } else { "s" };
        Fault::new(argument.line, format!("uses {function} without exactly {N} argument{plural}"))
    })
}
