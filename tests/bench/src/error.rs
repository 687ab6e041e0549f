//! Everything that keeps a run from its figures.

use crate::peers::PeerError;
use crate::report::PlotError;
use std::path::{Path, PathBuf};

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A program could not be built.
    #[error("{what} could not be built: {problem}")]
    Build {
        /// What was to be built.
        what: String,
        /// What went wrong.
        problem: String,
    },
    /// A peer could not be built.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The plots could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A process could not be started or looked at.
    #[error("{program}: {problem}")]
    Process {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// A process did not do what Lambda expects of it.
    #[error("{program} {problem}\n{said}")]
    Runtime {
        /// The program.
        program: String,
        /// What it did instead.
        problem: String,
        /// The last lines of its log.
        said: String,
    },
    /// An answer was not the one that was to be measured.
    #[error("{what} was answered with {answer}")]
    Answer {
        /// The request.
        what: String,
        /// The answer, cut short.
        answer: String,
    },
    /// A part of the bench itself could not be set up.
    #[error("{what}: {problem}")]
    Setup {
        /// The part.
        what: &'static str,
        /// What went wrong.
        problem: String,
    },
    /// A share of a processor could not be entered.
    #[error("the share of a processor cannot be entered")]
    Slice(#[source] std::io::Error),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
}

impl BenchError {
    /// A process could not be started or looked at.
    pub fn process(program: &Path, problem: &dyn std::fmt::Display) -> Self {
        Self::Process { program: program.to_owned(), problem: problem.to_string() }
    }

    /// A part of the bench could not be set up.
    pub fn setup(what: &'static str) -> impl Fn(&dyn std::fmt::Display) -> Self {
        move |problem| Self::Setup { what, problem: problem.to_string() }
    }

    /// A file could not be read or written.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
