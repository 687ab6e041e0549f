//! Errors that keep a run from its figures.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The reason for which there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{what} could not be built: {problem}")]
    Build { what: String, problem: String },
    /// A process did not do what Lambda expects of it. `log` is the end of its log.
    #[error("{program} {problem}\n{log}")]
    Runtime { program: String, problem: String, log: String },
    #[error("the response to {what} was {response}")]
    Response { what: String, response: String },
    #[error("{what}: {problem}")]
    Setup { what: &'static str, problem: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
}

impl BenchError {
    pub fn setup(what: &'static str) -> impl Fn(&dyn Display) -> Self {
        move |problem| Self::Setup { what, problem: problem.to_string() }
    }

    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
