//! The functions of a template. A function is named by its package, which is also the name of its binary.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{Template, TemplateError};

/// The parts of a policy that are read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Policy {
    statement: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    action: Vec<String>,
}

impl Template {
    /// The packages of all functions.
    ///
    /// # Errors
    /// When a function does not say which binary it is built from, or two say the same.
    pub fn functions(&self) -> Result<Vec<String>, TemplateError> {
        Ok(self.binaries()?.into_keys().collect())
    }

    /// The environment variables of a function: its own and those of all functions (`Globals`).
    ///
    /// # Errors
    /// When there is no such function, or a variable is not text.
    pub fn environment(&self, function: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        let own = format!("{}.Properties", self.function(function)?);
        let mut variables = BTreeMap::new();
        for place in ["Globals.Function", own.as_str()] {
            let place = format!("{place}.Environment.Variables");
            variables.extend(self.document.read::<Option<BTreeMap<String, String>>>(&place)?.unwrap_or_default());
        }
        Ok(variables)
    }

    /// The actions that a function's own statements allow, such as `dynamodb:GetItem`.
    ///
    /// # Errors
    /// When there is no such function, or its policies are not statements with lists of actions.
    pub fn actions(&self, function: &str) -> Result<BTreeSet<String>, TemplateError> {
        let place = format!("{}.Properties.Policies", self.function(function)?);
        let statements = self.document.read::<Vec<Policy>>(&place)?.into_iter().flat_map(|policy| policy.statement);
        Ok(statements.flat_map(|statement| statement.action).collect())
    }

    fn function(&self, binary: &str) -> Result<String, TemplateError> {
        let found = self.binaries()?.remove(binary);
        found.ok_or_else(|| TemplateError::Absent(format!("function with the binary {binary}")))
    }

    /// Every function's path, by its binary.
    pub(crate) fn binaries(&self) -> Result<BTreeMap<String, String>, TemplateError> {
        let mut binaries = BTreeMap::new();
        for (place, _) in self.resources("AWS::Serverless::Function") {
            let named = format!("{place}.Metadata.BuildProperties.Binary");
            let binary = self.document.read(&named)?;
            if let Some(other) = binaries.insert(binary, place) {
                return Err(self.document.broken(&named, format!("is also the binary of {other}")));
            }
        }
        Ok(binaries)
    }
}
