//! The result of the last run of every proof, in target/prove/summary.json.

use crate::error::TaskError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Quick,
    Long,
}

/// The result of one proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    pub name: String,
    pub mode: Mode,
    pub proves: String,
    pub commands: Vec<String>,
    pub passed: bool,
    pub seconds: u64,
    /// Figures, such as `812 tests passed`.
    pub figures: Vec<String>,
    /// The commit, with `+` if files differed from it.
    pub revision: String,
    /// The day, in UTC.
    pub date: String,
}

/// The last result of every proof in either mode. A run replaces the results of the proofs that it ran.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub steps: Vec<StepResult>,
}

impl Summary {
    /// The summary's path in a work folder.
    #[must_use]
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("summary.json")
    }

    /// Reads the summary of a work folder; an absent one is empty.
    pub fn read(folder: &Path) -> Result<Self, TaskError> {
        let path = Self::path(folder);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
        serde_json::from_str(&text).map_err(|error| TaskError::Content { path, problem: error.to_string() })
    }

    /// Replaces the result of a proof.
    pub fn put(&mut self, result: StepResult) {
        self.steps.retain(|step| (step.name.as_str(), step.mode) != (result.name.as_str(), result.mode));
        self.steps.push(result);
    }

    /// Writes the summary into a work folder.
    pub fn write(&self, folder: &Path) -> Result<(), TaskError> {
        let path = Self::path(folder);
        let problem = |error: serde_json::Error| TaskError::Content { path: path.clone(), problem: error.to_string() };
        let text = serde_json::to_string_pretty(self).map_err(problem)?;
        fs::write(&path, text + "\n").map_err(TaskError::file(&path))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn result(name: &str, mode: Mode, passed: bool) -> StepResult {
        StepResult {
            name: name.to_owned(),
            mode,
            proves: "something".to_owned(),
            commands: vec!["cargo test".to_owned()],
            passed,
            seconds: 75,
            figures: vec!["3 tests passed".to_owned()],
            revision: "0123456789ab".to_owned(),
            date: "2026-11-22".to_owned(),
        }
    }

    #[test]
    fn a_result_replaces_the_last_one_of_the_same_proof_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let mut summary = Summary::read(folder.path()).unwrap();
        assert!(summary.steps.is_empty());
        for (mode, passed) in [(Mode::Long, false), (Mode::Quick, true), (Mode::Long, true)] {
            summary.put(result("tests", mode, passed));
        }
        summary.write(folder.path()).unwrap();
        let read = Summary::read(folder.path()).unwrap();
        assert_eq!(read.steps, [result("tests", Mode::Quick, true), result("tests", Mode::Long, true)]);
    }

    #[test]
    fn a_summary_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(Summary::path(folder.path()), "{").unwrap();
        assert!(Summary::read(folder.path()).unwrap_err().to_string().contains("summary.json"));
    }
}
