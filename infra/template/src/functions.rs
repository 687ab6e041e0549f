//! The functions of a template. A function is named by its package, which is also the name of its binary.

use crate::{Template, TemplateError, broken, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

impl Template {
    /// The packages of all functions.
    pub fn functions(&self) -> Result<Vec<String>, TemplateError> {
        Ok(self.binaries()?.into_keys().collect())
    }

    /// The environment variables of a function: its own and those of all functions (`Globals`). Fails when there is no
    /// such function, or a variable is not text.
    pub fn environment(&self, function: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        let own = self.function(function)?;
        let mut variables = BTreeMap::new();
        for of in [&self.globals["Function"], &own["Properties"]] {
            let found: Option<BTreeMap<String, String>> = read(function, &of["Environment"]["Variables"])?;
            variables.extend(found.unwrap_or_default());
        }
        Ok(variables)
    }

    /// The statements of a function's policies.
    pub fn statements(&self, function: &str) -> Result<impl Iterator<Item = &Value>, TemplateError> {
        let policies = self.function(function)?["Properties"]["Policies"].as_array().into_iter().flatten();
        Ok(policies.filter_map(|policy| policy["Statement"].as_array()).flatten())
    }

    /// The actions that a function's own statements allow, such as `dynamodb:GetItem`. Fails when there is no such
    /// function, or a statement has no list of actions.
    pub fn actions(&self, function: &str) -> Result<BTreeSet<String>, TemplateError> {
        let lists: Result<Vec<Vec<String>>, TemplateError> =
            self.statements(function)?.map(|statement| read(function, &statement["Action"])).collect();
        Ok(lists?.into_iter().flatten().collect())
    }

    fn function(&self, binary: &str) -> Result<&Value, TemplateError> {
        let found = self.binaries()?.remove(binary);
        found.ok_or_else(|| TemplateError::Absent(format!("function with the binary {binary}")))
    }

    /// Every function's resource, by its binary.
    pub(crate) fn binaries(&self) -> Result<BTreeMap<String, &Value>, TemplateError> {
        let functions = self.resources.iter().filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function");
        let named = functions.map(|(id, resource)| match resource["Metadata"]["BuildProperties"]["Binary"].as_str() {
            Some(binary) => Ok((binary.to_owned(), resource)),
            None => broken(&format!("Resources.{id}"), "names no binary"),
        });
        named.collect()
    }
}
