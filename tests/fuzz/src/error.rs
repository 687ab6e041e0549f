//! Why the fuzzer cannot start or go on. What it finds is no error of this kind.

use std::fmt::Display;

/// An error of the fuzzer's own.
#[derive(Debug, thiserror::Error)]
pub enum FuzzError {
    /// A file cannot be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        problem: String,
    },
    /// A target cannot be set up.
    #[error("the target cannot be set up: {0}")]
    Setup(String),
}

impl FuzzError {
    /// An error of setting up.
    pub fn setup(problem: impl Display) -> Self {
        Self::Setup(problem.to_string())
    }
}
