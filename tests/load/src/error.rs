//! Errors that prevent a run.

use local::error::StartError;
use shared::store::StoreError;

/// An error that prevents a run. A broken promise is not an error but part of the summary.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A part of the local server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The template cannot be read.
    #[error(transparent)]
    Template(#[from] template::TemplateError),
    /// A process cannot be started, or its numbers cannot be read.
    #[error("{what}: {source}")]
    Process {
        /// The failed action.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
    /// A process ended before it was ready.
    #[error("the process of the {0} ended before it was ready")]
    Ended(&'static str),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The table does not have what the run needs.
    #[error("{0}")]
    Table(String),
    /// A summary that is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// An error of a process.
pub fn process(what: &'static str) -> impl FnOnce(std::io::Error) -> LoadError {
    move |source| LoadError::Process { what, source }
}
