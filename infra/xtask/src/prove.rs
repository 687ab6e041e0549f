//! Runs the proofs one after the other, with a line for each, and keeps their results.

use crate::command::{CommandLine, last_lines, read_lossy, run_logged};
use crate::error::TaskError;
use crate::steps::Step;
use crate::summary::{Mode, StepResult, Summary};
use crate::{page, repository};
use comfy_table::{ContentArrangement, Table, presets};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Lines of a failed command's output that are shown.
const SHOWN: usize = 60;
/// Columns of the table at the end.
const WIDTH: u16 = 140;
/// How a line begins that a program wants to have in the summary.
const FIGURES: &str = "figures: ";

/// Runs proofs and returns whether all of them passed.
pub fn run(steps: &[&Step], mode: Mode, writes_page: bool, output: &mut impl Write) -> Result<bool, TaskError> {
    let folder = repository::work("prove")?;
    let revision = repository::revision()?;
    let steps: Vec<&Step> = steps.iter().copied().filter(|step| !commands(step, mode).is_empty()).collect();
    let mut results = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        writeln!(output, "[{}/{}] {}: {}", index + 1, steps.len(), step.name, step.proves)?;
        let result = prove(step, mode, &folder, &revision, output)?;
        let word = if result.passed { "ok  " } else { "FAIL" };
        writeln!(output, "{word} {} ({} s): {}", step.name, result.seconds, result.figures.join("; "))?;
        // Written after each one, so that an interrupted run keeps what it has.
        let mut summary = Summary::read(&folder)?;
        summary.put(result.clone());
        summary.write(&folder)?;
        results.push(result);
    }
    writeln!(output, "\n{}", table(&results))?;
    if writes_page {
        page::write(&Summary::read(&folder)?)?;
    }
    Ok(!results.is_empty() && results.iter().all(|result| result.passed))
}

fn commands(step: &Step, mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Quick => step.quick,
        Mode::Long => step.long,
    }
}

/// Runs the commands of one proof, until one fails.
fn prove(
    step: &Step,
    mode: Mode,
    folder: &Path,
    revision: &str,
    output: &mut impl Write,
) -> Result<StepResult, TaskError> {
    let started = Instant::now();
    let commands = commands(step, mode);
    let mut text = String::new();
    let mut failure = None;
    for (index, command) in commands.iter().enumerate() {
        let line = CommandLine::parse(command)?;
        let log = folder.join(format!("{}-{}.log", step.name, index + 1));
        let ended = run_logged(&mut line.command(&repository::root()), &log);
        let said = read_lossy(&log)?;
        let status = match ended {
            // A tool that is missing fails this proof and no other.
            Err(error @ TaskError::Start { .. }) => {
                failure = Some(error.to_string());
                break;
            }
            ended => ended?,
        };
        if !status.success() {
            failure = Some(format!("{line}: {status}; all of its output is in {}", log.display()));
        } else if line.is_cargo_test() && Tests::of(&said).passed == 0 {
            failure = Some(format!("{line}: no test ran"));
        }
        text.push_str(&said);
        if failure.is_some() {
            writeln!(output, "{}", last_lines(&said, SHOWN))?;
            break;
        }
    }
    let passed = failure.is_none();
    Ok(StepResult {
        name: step.name.to_owned(),
        mode,
        proves: step.proves.to_owned(),
        commands: commands.iter().map(|&command| command.to_owned()).collect(),
        passed,
        seconds: started.elapsed().as_secs(),
        figures: figures(&text, step.figures).into_iter().chain(failure).collect(),
        revision: revision.to_owned(),
        date: today(),
    })
}

/// The figures of an output: its tests, every line that begins with `figures: `, and those that contain one of the marks.
fn figures(text: &str, marks: &[&str]) -> Vec<String> {
    let tests = Tests::of(text);
    let counted = match tests {
        Tests { passed: 0, failed: 0 } => None,
        Tests { passed, failed: 0 } => Some(format!("{passed} tests passed")),
        Tests { passed, failed } => Some(format!("{passed} tests passed, {failed} failed")),
    };
    let marked = |line: &str| marks.iter().any(|mark| line.contains(mark));
    let said = text.lines().filter_map(|line| match line.trim_start().strip_prefix(FIGURES) {
        Some(figure) => Some(figure.to_owned()),
        None => marked(line).then(|| line.split_whitespace().collect::<Vec<_>>().join(" ")),
    });
    counted.into_iter().chain(said).collect()
}

/// The results of all test binaries in an output.
#[derive(Debug, PartialEq, Eq)]
struct Tests {
    passed: u64,
    failed: u64,
}

impl Tests {
    fn of(text: &str) -> Self {
        let mut tests = Self { passed: 0, failed: 0 };
        for line in text.lines().filter(|line| line.starts_with("test result: ")) {
            let words: Vec<&str> = line.split([' ', ';']).collect();
            let before = |word: &str| {
                let place = words.iter().position(|candidate| *candidate == word)?;
                words.get(place.checked_sub(1)?)?.parse::<u64>().ok()
            };
            tests.passed += before("passed").unwrap_or(0);
            tests.failed += before("failed").unwrap_or(0);
        }
        tests
    }
}

/// The results as a table for a terminal.
fn table(results: &[StepResult]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(["proof", "result", "seconds", "what was proven", "figures"]);
    for result in results {
        let word = if result.passed { "ok" } else { "FAIL" };
        let seconds = result.seconds.to_string();
        table.add_row([&result.name, word, &seconds, &result.proves, &result.figures.join("; ")]);
    }
    table
}

/// Today's date in UTC.
#[expect(clippy::disallowed_methods, reason = "the date is for a page of results and decides nothing")]
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Prints the proofs and their commands.
pub fn list(output: &mut impl Write) -> Result<(), TaskError> {
    for step in crate::steps::STEPS {
        writeln!(output, "{}: {}", step.name, step.proves)?;
        for (mode, commands) in [("quick", step.quick), ("long", step.long)] {
            for command in commands {
                writeln!(output, "    {mode:<5} {command}")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 2 tests\n..\n\
        test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s\n\
        figures: 1,000 operations in 12 histories\n\
        test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

    #[test]
    fn figures_are_the_tests_and_what_a_program_says() {
        assert_eq!(figures(OUTPUT, &[]), ["42 tests passed", "1,000 operations in 12 histories"]);
        let failed = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(figures(failed, &[]), ["1 tests passed, 3 failed"]);
        assert_eq!(figures("kept   no  errors: 0\nother\n", &["kept   "]), ["kept no errors: 0"]);
        assert!(figures("figures of speech", &[]).is_empty());
    }

    fn step(quick: &'static [&'static str]) -> Step {
        Step { name: "self-test", proves: "that a proof is run", quick, long: &[], figures: &[] }
    }

    fn prove_quickly(step: &Step) -> StepResult {
        let folder = tempfile::tempdir().unwrap();
        prove(step, Mode::Quick, folder.path(), "0123", &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_proof_passes_if_all_of_its_commands_do() {
        let result = prove_quickly(&step(&["true", "echo figures: 3 things"]));
        assert!(result.passed);
        assert_eq!(result.figures, ["3 things"]);
    }

    #[test]
    fn a_proof_ends_with_its_first_failure() {
        let result = prove_quickly(&step(&["false", "echo figures: never"]));
        assert!(!result.passed);
        assert_eq!(result.figures.len(), 1);
        assert!(result.figures[0].starts_with("false: "), "{:?}", result.figures);
    }

    #[test]
    fn a_tool_that_is_missing_fails_its_proof() {
        let result = prove_quickly(&step(&["/no/such/tool --quick"]));
        assert!(!result.passed && result.figures[0].contains("/no/such/tool"), "{:?}", result.figures);
    }

    #[test]
    fn a_run_without_a_proof_does_not_pass() {
        let only_long = step(&[]);
        assert!(!run(&[&only_long], Mode::Quick, false, &mut Vec::new()).unwrap());
    }

    #[test]
    fn the_table_names_what_failed() {
        let text = table(&[crate::summary::tests::result("histories", Mode::Long, false)]).to_string();
        assert!(text.contains("histories") && text.contains("FAIL") && text.contains("3 tests passed"), "{text}");
    }
}
