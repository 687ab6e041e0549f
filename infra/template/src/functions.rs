//! The functions of a template and their environment. A function goes by its package, which is also the name of its
//! binary: `Metadata.BuildProperties.Binary`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Template;
use crate::document::Node;
use crate::error::{Fault, TemplateError};
use crate::evaluate::Value;

/// One `AWS::Serverless::Function`.
pub(crate) struct Function<'t> {
    pub(crate) id: &'t str,
    pub(crate) binary: &'t str,
    pub(crate) definition: &'t Node,
}

impl Template {
    /// The packages of all functions, in the order of the file.
    ///
    /// # Errors
    /// When a function does not say which binary it is built from, or two say the same.
    pub fn functions(&self) -> Result<Vec<String>, TemplateError> {
        let all = self.function_definitions()?;
        Ok(all.iter().map(|function| function.binary.to_owned()).collect())
    }

    /// The environment variables of one function, given by its package: its own ones over those of all functions
    /// (`Globals`). A dynamic reference such as `{{resolve:secretsmanager:…}}` stays the text it is.
    ///
    /// # Errors
    /// When there is no such function, or a variable cannot be evaluated to plain text.
    pub fn environment(&self, function: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        let all = self.function_definitions()?;
        let found = find(&all, function)?;
        let mut variables = BTreeMap::new();
        let common = self.document.find(&["Globals", "Function", "Environment", "Variables"]);
        let own = found.definition.find(&["Properties", "Environment", "Variables"]);
        self.add_variables(&mut variables, "Globals.Function", common)?;
        self.add_variables(&mut variables, found.id, own)?;
        Ok(variables)
    }

    /// What a function's own statements allow it to do, given by its package, such as `dynamodb:GetItem`.
    ///
    /// # Errors
    /// When there is no such function, or its policies are not written out as statements with lists of actions.
    pub fn actions(&self, function: &str) -> Result<BTreeSet<String>, TemplateError> {
        let all = self.function_definitions()?;
        let found = find(&all, function)?;
        actions(found.definition).map_err(|fault| fault.at(format!("{}.Policies", found.id)))
    }

    fn add_variables(
        &self,
        variables: &mut BTreeMap<String, String>,
        owner: &str,
        section: Option<&Node>,
    ) -> Result<(), TemplateError> {
        let Some(section) = section else {
            return Ok(());
        };
        let place = |name: &str| format!("{owner}.Environment.Variables{name}");
        for (name, node) in section.entries().map_err(|fault| fault.at(place("")))? {
            let value = self.scope.evaluate(node);
            match value.map_err(|fault| fault.at(place(&format!(".{name}"))))? {
                Value::Text(text) => {
                    variables.insert(name.clone(), text);
                }
                Value::Absent => {
                    variables.remove(name);
                }
                Value::List(_) | Value::Map(_) => {
                    let fault = Fault::new(node.line, "does not amount to plain text");
                    return Err(fault.at(place(&format!(".{name}"))));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn function_definitions(&self) -> Result<Vec<Function<'_>>, TemplateError> {
        let mut functions: Vec<Function<'_>> = Vec::new();
        for (id, definition) in self.resources("AWS::Serverless::Function")? {
            let binary = binary(definition).map_err(|fault| fault.at(format!("{id}.Metadata.BuildProperties")))?;
            if let Some(other) = functions.iter().find(|other| other.binary == binary) {
                let problem = format!("names the binary {binary}, as {} does", other.id);
                let fault = Fault::new(definition.line, problem);
                return Err(fault.at(format!("{id}.Metadata.BuildProperties")));
            }
            functions.push(Function { id, binary, definition });
        }
        Ok(functions)
    }
}

fn find<'a, 't>(all: &'a [Function<'t>], function: &str) -> Result<&'a Function<'t>, TemplateError> {
    let found = all.iter().find(|candidate| candidate.binary == function);
    found.ok_or_else(|| TemplateError::Absent { problem: format!("no function that is built from {function}") })
}

fn actions(definition: &Node) -> Result<BTreeSet<String>, Fault> {
    let mut actions = BTreeSet::new();
    for policy in definition.required("Properties")?.required("Policies")?.items()? {
        for statement in policy.required("Statement")?.items()? {
            for action in statement.required("Action")?.items()? {
                actions.insert(action.text()?.to_owned());
            }
        }
    }
    Ok(actions)
}

fn binary(definition: &Node) -> Result<&str, Fault> {
    match definition.find(&["Metadata", "BuildProperties", "Binary"]) {
        Some(binary) => binary.text(),
        None => Err(Fault::new(definition.line, "has no Binary, so that the function's package is not known")),
    }
}
