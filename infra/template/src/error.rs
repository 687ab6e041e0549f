//! What can be wrong with a template, in one sentence that names the place.

use std::path::PathBuf;

/// Why a template, or a value given for one of its parameters, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file cannot be read; the cause says why.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The text is no YAML, or YAML that CloudFormation does not take.
    #[error("the template is no valid YAML at line {line}, column {column}: {problem}")]
    Syntax {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// One place in the template is not what it has to be.
    #[error("{place} (line {line}) {problem}")]
    Broken {
        /// Logical id and property, joined by dots.
        place: String,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong there, as the rest of a sentence.
        problem: String,
    },
    /// The value of a parameter is missing, unknown or against the parameter's rules.
    #[error("parameter {name} {problem}")]
    Parameter {
        /// The parameter.
        name: String,
        /// What is wrong with it, as the rest of a sentence.
        problem: String,
    },
    /// The template has not what was asked for.
    #[error("the template has {problem}")]
    Absent {
        /// What it has instead, as the rest of a sentence.
        problem: String,
    },
}

/// A fault at a line, found by code that does not know which property it is looking at.
#[derive(Debug)]
pub(crate) struct Fault {
    line: usize,
    problem: String,
}

impl Fault {
    /// `problem` is the rest of a sentence that begins with the place: "is no list".
    pub(crate) fn new(line: usize, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }

    /// Names the place, given as logical id and property joined by dots.
    pub(crate) fn at(self, place: impl Into<String>) -> TemplateError {
        TemplateError::Broken { place: place.into(), line: self.line, problem: self.problem }
    }
}
