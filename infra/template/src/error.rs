//! Faults of a template, in one sentence that names the place.

use std::path::PathBuf;

/// A fault of a template, or of a value given for one of its parameters.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file cannot be read; the cause says why.
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the template is not valid YAML at line {line}, column {column}: {problem}")]
    Syntax { line: usize, column: usize, problem: String },
    /// The property with the path `place`, such as `Resources.StoreTable.Properties.KeySchema`, cannot be used.
    #[error("{place} (line {line}): {problem}")]
    Broken { place: String, line: usize, problem: String },
    #[error("parameter {name} {problem}")]
    Parameter { name: String, problem: String },
    #[error("the template has no {0}")]
    Absent(String),
}
