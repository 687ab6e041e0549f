//! The figures of the last long run in infra/docs/reliability.md.

use crate::error::TaskError;
use crate::repository;
use crate::summary::{Mode, StepResult, Summary};
use std::fmt::Write as _;
use std::fs;

const PAGE: &str = "infra/docs/reliability.md";
const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- /figures -->";

/// Writes the results of long runs into the page.
pub fn write(summary: &Summary) -> Result<(), TaskError> {
    let path = repository::root().join(PAGE);
    let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    let problem = |problem: &str| TaskError::Content { path: path.clone(), problem: problem.to_owned() };
    let results: Vec<&StepResult> = summary.steps.iter().filter(|step| step.mode == Mode::Long).collect();
    if results.is_empty() {
        return Err(problem("there is no long run to write; run `cargo xtask prove` first"));
    }
    let replaced = replace(&text, &render(&results)).ok_or_else(|| problem("no place for figures was found"))?;
    fs::write(&path, replaced).map_err(TaskError::file(&path))
}

/// The page with other figures between the marks.
fn replace(page: &str, figures: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{figures}{END}{after}"))
}

fn render(results: &[&StepResult]) -> String {
    let mut text = "| Proof | Result | Figures | Seconds | Day | Commit |\n|---|---|---|---|---|---|\n".to_owned();
    for StepResult { name, passed, figures, seconds, date, revision, .. } in results {
        let word = if *passed { "passed" } else { "**failed**" };
        let figures = figures.join("; ").replace('|', "\\|");
        // Writing to a string cannot fail.
        _ = writeln!(text, "| {name} | {word} | {figures} | {seconds} | {date} | {revision} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::result;

    #[test]
    fn only_the_figures_of_the_page_are_replaced() {
        let page = "# Page\n\n<!-- figures -->\nold\n<!-- /figures -->\n\nrest\n";
        let replaced = replace(page, &render(&[&result("tests", Mode::Long, true)])).unwrap();
        assert!(replaced.starts_with("# Page\n\n<!-- figures -->\n| Proof |"), "{replaced}");
        assert!(replaced.contains("| tests | passed | 3 tests passed | 75 | 2026-11-22 | 0123456789ab |\n"));
        assert!(replaced.ends_with("<!-- /figures -->\n\nrest\n") && !replaced.contains("old"));
        assert!(replace("# Page without a place", "").is_none());
    }

    #[test]
    fn the_page_has_a_place_for_the_figures() {
        let text = fs::read_to_string(repository::root().join(PAGE)).unwrap();
        assert!(replace(&text, "").is_some());
    }
}
