//! A patch with a header.

use crate::command::CommandLine;
use crate::error::TaskError;
use std::fs;
use std::path::{Path, PathBuf};

const CAUGHT_BY: &str = "Caught-by:";

/// A fault as a patch.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    /// The file's name without its ending.
    pub name: String,
    pub path: PathBuf,
    /// The text before the diff: what it breaks.
    pub breaks: String,
    /// The tests that must find it.
    pub caught_by: CommandLine,
}

impl Patch {
    /// The patches of a folder, by name. A folder that does not exist has none.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>, TaskError> {
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(TaskError::file(folder))? {
            let path = entry.map_err(TaskError::file(folder))?.path();
            if path.extension().is_some_and(|ending| ending == "patch") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Result<Self, TaskError> {
        let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
        Self::parse(path, &text)
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, TaskError> {
        let refuse =
            |path: &Path, problem: &str| TaskError::Patch { path: path.to_owned(), problem: problem.to_owned() };
        let is_diff = |line: &&str| line.starts_with("diff --git ") || line.starts_with("--- ");
        let header: Vec<&str> = text.lines().take_while(|line| !is_diff(line)).collect();
        if header.len() == text.lines().count() {
            return Err(refuse(&path, "it has no diff"));
        }
        let Some(command) = header.iter().find_map(|line| line.strip_prefix(CAUGHT_BY)) else {
            return Err(refuse(&path, "it has no line `Caught-by: cargo test …` before the diff"));
        };
        let caught_by = CommandLine::parse(command.trim())?;
        if !caught_by.is_cargo_test() {
            return Err(refuse(&path, "`Caught-by` is not a `cargo test`"));
        }
        let about = header.iter().filter(|line| !line.starts_with(CAUGHT_BY) && !line.trim().is_empty());
        let breaks = about.map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        if breaks.is_empty() {
            return Err(refuse(&path, "it does not say what it breaks"));
        }
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, path, breaks, caught_by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

    fn parse(text: &str) -> Result<Patch, TaskError> {
        Patch::parse(PathBuf::from("tests/planted/lost-retry.patch"), text)
    }

    #[test]
    fn a_patch_says_what_it_breaks_and_what_catches_it() {
        let header = "A lost response is\nnot tried again.\n\nCaught-by: SEED=1 cargo test -p tests faults::\n\n";
        let patch = parse(&format!("{header}{DIFF}")).unwrap();
        assert_eq!(patch.name, "lost-retry");
        assert_eq!(patch.breaks, "A lost response is not tried again.");
        assert_eq!(patch.caught_by.to_string(), "SEED=1 cargo test -p tests faults::");
    }

    #[test]
    fn a_patch_without_a_part_is_refused() {
        for (text, named) in [
            ("About.\nCaught-by: cargo test\n".to_owned(), "no diff"),
            (format!("About.\n{DIFF}"), "Caught-by"),
            (format!("Caught-by: cargo test\n{DIFF}"), "what it breaks"),
            (format!("About.\nCaught-by: cargo run\n{DIFF}"), "cargo test"),
        ] {
            let refusal = parse(&text).unwrap_err().to_string();
            assert!(refusal.contains(named) && refusal.contains("lost-retry.patch"), "{refusal}");
        }
    }

    #[test]
    fn patches_are_read_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.patch", "a.patch", "README.md"] {
            fs::write(folder.path().join(name), format!("About.\nCaught-by: cargo test\n{DIFF}")).unwrap();
        }
        let names: Vec<String> = Patch::all(folder.path()).unwrap().into_iter().map(|patch| patch.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(Patch::all(&folder.path().join("absent")).unwrap().is_empty());
    }
}
