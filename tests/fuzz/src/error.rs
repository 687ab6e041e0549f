//! Errors that prevent the fuzzer from starting or continuing. A finding is not such an error.

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
