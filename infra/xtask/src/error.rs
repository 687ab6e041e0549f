//! Errors of a task, as opposed to a proof that fails.

use std::io;
use std::path::{Path, PathBuf};

/// A task that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The operating system refused a file.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// A program could not be started.
    #[error("{program} cannot be started: {error}")]
    Start { program: String, error: io::Error },
    /// A program that has to succeed did not.
    #[error("{command} failed:\n{output}")]
    Failed { command: String, output: String },
    /// A command line of a step or of a patch that cannot be run.
    #[error("{text:?} is not a command line: {problem}")]
    CommandLine { text: String, problem: &'static str },
    /// A patch that does not say what it needs to.
    #[error("{}: {problem}", path.display())]
    Patch { path: PathBuf, problem: String },
    /// A name on the command line that nothing has.
    #[error("{kind} {name:?} does not exist; there are: {known}")]
    Unknown { kind: &'static str, name: String, known: String },
    /// A file with content that the task cannot use.
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: String },
    /// Standard output is closed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl TaskError {
    /// Makes an error of the operating system one that names the file.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File { path: path.to_owned(), error }
    }
}
