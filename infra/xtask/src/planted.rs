//! Faults that are planted in a copy of the code, to show that a test finds each of them.
//!
//! A patch in tests/planted begins with lines that say what it breaks, and with `Caught-by: cargo test …`. The commit that
//! is checked out passes that command; with the patch, the build succeeds and a test fails.

mod patch;

use crate::command::{CommandLine, last_lines, read_lossy, run_logged};
use crate::error::TaskError;
use crate::repository::{self, git};
use patch::Patch;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The folder of the patches.
const PATCHES: &str = "tests/planted";
/// Lines of evidence that are printed for a fault.
const SHOWN: usize = 12;

/// Plants the faults with these names, or all, and returns whether each of them was caught.
pub fn run(names: &[String], output: &mut impl Write) -> Result<bool, TaskError> {
    let patches = chosen(Patch::all(&repository::root().join(PATCHES))?, names)?;
    let bench = Bench::prepare()?;
    let commands: BTreeSet<String> = patches.iter().map(|patch| patch.caught_by.to_string()).collect();
    for (index, text) in commands.iter().enumerate() {
        let started = Instant::now();
        let line = CommandLine::parse(text)?;
        let log = bench.log(&format!("unpatched-{}", index + 1));
        bench.build(&line, &log)?;
        if !bench.test(&line, &log)? {
            let output = last_lines(&read_lossy(&log)?, 40);
            return Err(TaskError::Failed { command: format!("without a fault, {line}"), output });
        }
        writeln!(output, "ok   without a fault ({} s): {line}", started.elapsed().as_secs())?;
    }
    let mut caught = 0;
    for patch in &patches {
        caught += usize::from(bench.plant(patch, output)?);
    }
    writeln!(output, "figures: {caught} of {} planted faults caught", patches.len())?;
    Ok(caught == patches.len() && caught > 0)
}

/// Prints what each patch breaks.
pub fn list(output: &mut impl Write) -> Result<(), TaskError> {
    for patch in Patch::all(&repository::root().join(PATCHES))? {
        writeln!(output, "{}: {}\n    {}", patch.name, patch.breaks, patch.caught_by)?;
    }
    Ok(())
}

fn chosen(patches: Vec<Patch>, names: &[String]) -> Result<Vec<Patch>, TaskError> {
    if let Some(name) = names.iter().find(|name| patches.iter().all(|patch| patch.name != **name)) {
        let known = patches.iter().map(|patch| patch.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(TaskError::Unknown { kind: "fault", name: name.clone(), known });
    }
    Ok(patches.into_iter().filter(|patch| names.is_empty() || names.contains(&patch.name)).collect())
}

/// A copy of the commit that is checked out, with a target directory that all patches share.
struct Bench {
    folder: PathBuf,
    tree: PathBuf,
}

impl Bench {
    /// Makes the copy, or brings that of the last run to this commit: files that are the same are not built again.
    fn prepare() -> Result<Self, TaskError> {
        let folder = repository::work("planted")?;
        let tree = folder.join("tree");
        let commit = git(&repository::root(), &["rev-parse", "HEAD"])?.trim().to_owned();
        if tree.join(".git").exists() && git(&tree, &["rev-parse", "--show-toplevel"]).is_ok() {
            let bench = Self { folder, tree };
            bench.restore()?;
            git(&bench.tree, &["checkout", "--quiet", "--detach", &commit])?;
            return Ok(bench);
        }
        // Forced: the folder of a removed target directory may still be registered.
        let place = tree.to_string_lossy().into_owned();
        git(&repository::root(), &["worktree", "add", "--force", "--quiet", "--detach", &place, &commit])?;
        Ok(Self { folder, tree })
    }

    /// Takes a patch back.
    fn restore(&self) -> Result<(), TaskError> {
        git(&self.tree, &["reset", "--quiet", "--hard"])?;
        git(&self.tree, &["clean", "-fdq"]).map(drop)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Runs a command in the copy, and returns whether it succeeded.
    fn succeeds(&self, line: &CommandLine, log: &Path) -> Result<bool, TaskError> {
        let mut command = line.command(&self.tree);
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).env("CARGO_INCREMENTAL", "0");
        // Snapshots that a fault changes must fail the test and not be rewritten.
        command.env("INSTA_UPDATE", "no").env("RUST_BACKTRACE", "0");
        Ok(run_logged(&mut command, log)?.success())
    }

    /// Builds the tests of a command. A build that fails proves nothing, so it ends the run.
    fn build(&self, line: &CommandLine, log: &Path) -> Result<(), TaskError> {
        if self.succeeds(&line.without_running(), log)? {
            return Ok(());
        }
        let output = last_lines(&read_lossy(log)?, 40);
        Err(TaskError::Failed { command: format!("the build of {line}"), output })
    }

    /// Runs a command's tests, and returns whether all passed. An end without a test's result is an error.
    fn test(&self, line: &CommandLine, log: &Path) -> Result<bool, TaskError> {
        let succeeded = self.succeeds(line, log)?;
        let said = read_lossy(log)?;
        match outcome(&said) {
            Outcome::Passed if succeeded => Ok(true),
            Outcome::Failed if !succeeded => Ok(false),
            _ => Err(TaskError::Failed { command: format!("{line} ran no test or"), output: last_lines(&said, 40) }),
        }
    }

    /// Plants one fault and returns whether it was caught.
    fn plant(&self, patch: &Patch, output: &mut impl Write) -> Result<bool, TaskError> {
        let started = Instant::now();
        self.restore()?;
        git(&self.tree, &["apply", &patch.path.to_string_lossy()])?;
        let log = self.log(&patch.name);
        let result = self.build(&patch.caught_by, &log).and_then(|()| self.test(&patch.caught_by, &log));
        self.restore()?;
        let seconds = started.elapsed().as_secs();
        if result? {
            writeln!(
                output,
                "FAIL {} ({seconds} s): {}\n     not caught by {}",
                patch.name, patch.breaks, patch.caught_by
            )?;
            return Ok(false);
        }
        writeln!(output, "ok   {} ({seconds} s): {}", patch.name, patch.breaks)?;
        for line in evidence(&read_lossy(&log)?) {
            writeln!(output, "     {line}")?;
        }
        Ok(true)
    }
}

/// The result of a run of test binaries.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// No test ran.
    Nothing,
}

fn outcome(output: &str) -> Outcome {
    let results: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("test result: ")).collect();
    if results.iter().any(|result| result.starts_with("FAILED")) {
        Outcome::Failed
    } else if results.iter().any(|result| !result.starts_with("ok. 0 passed")) {
        Outcome::Passed
    } else {
        Outcome::Nothing
    }
}

/// The lines of an output that show which tests failed, and why.
fn evidence(output: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_inside = false;
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            lines.push(format!("failed: {name}"));
            is_inside = true;
        } else if line.starts_with("test result: ") {
            is_inside = false;
        } else if is_inside && !(line.trim().is_empty() || line == "failures:" || line.starts_with("note: ")) {
            lines.push(line.chars().take(160).collect());
        }
    }
    lines.truncate(SHOWN);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "running 2 tests\n.F\nfailures:\n\n---- races::a_code_is_used_once stdout ----\n\n\
        thread 'races::a_code_is_used_once' panicked at tests/races/codes.rs:9:5:\nleft: 2, right: 1\n\
        note: run with `RUST_BACKTRACE=1`\n\nfailures:\n    races::a_code_is_used_once\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 1.2s\n";

    #[test]
    fn only_a_failed_test_catches_a_fault() {
        assert_eq!(outcome(FAILED), Outcome::Failed);
        assert_eq!(outcome("error[E0308]: mismatched types\n"), Outcome::Nothing);
        let nothing = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.0s\n";
        assert_eq!(outcome(nothing), Outcome::Nothing);
        let passed = "test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.0s\n";
        assert_eq!(outcome(&format!("{nothing}{passed}")), Outcome::Passed);
    }

    #[test]
    fn the_evidence_is_the_test_and_its_message() {
        let lines = evidence(FAILED);
        assert_eq!(lines[0], "failed: races::a_code_is_used_once");
        assert!(lines[1].contains("panicked at tests/races/codes.rs:9:5"), "{lines:?}");
        assert_eq!(lines[2], "left: 2, right: 1");
        assert!(!lines.iter().any(|line| line.contains("note:") || line.contains("test result")), "{lines:?}");
    }

    #[test]
    fn every_patch_says_what_it_breaks_and_what_catches_it() {
        for patch in Patch::all(&repository::root().join(PATCHES)).unwrap() {
            assert!(!patch.breaks.is_empty(), "{}", patch.name);
        }
    }

    /// A patch of code that has changed since would end a run of all of them.
    #[test]
    fn every_patch_applies() {
        let root = repository::root();
        for patch in Patch::all(&root.join(PATCHES)).unwrap() {
            let applied = git(&root, &["apply", "--check", &patch.path.to_string_lossy()]);
            assert!(applied.is_ok(), "{}: {}", patch.name, applied.unwrap_err());
        }
    }
}
