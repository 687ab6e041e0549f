//! The committed figures and the document made of them, in `infra/docs`.

use crate::error::BenchError;
use crate::figures::{Figures, Kind};
use crate::report;
use std::fs;
use std::path::PathBuf;

const FIGURES: &str = "performance.json";

fn place(name: &str) -> PathBuf {
    harness::repository().join("infra/docs").join(name)
}

/// The figures of the last run that was committed; `None` before the first.
pub fn committed() -> Result<Option<Figures>, BenchError> {
    let Ok(text) = fs::read_to_string(place(FIGURES)) else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| BenchError::setup(FIGURES)(&error))
}

/// Adds the peers that this run left out, as an earlier one measured them.
pub fn complete(figures: &mut Figures, earlier: Figures) {
    let is_missing = |name: &str| figures.program(name).is_none();
    let peers = earlier.programs.into_iter();
    let peers: Vec<_> = peers.filter(|peer| peer.kind != Kind::Function && is_missing(&peer.name)).collect();
    let is_peer = |name: &str| peers.iter().any(|peer| peer.name == name);
    figures.endpoints.extend(earlier.endpoints.into_iter().filter(|row| is_peer(&row.program)));
    for interpreter in ["Node", "Python"] {
        if let Some(version) = earlier.versions.get(interpreter) {
            figures.versions.entry(interpreter.to_owned()).or_insert_with(|| version.clone());
        }
    }
    figures.programs.extend(peers);
}

/// The figures as JSON.
pub fn json(figures: &Figures) -> Result<String, BenchError> {
    let text = serde_json::to_string_pretty(figures).map_err(|error| BenchError::setup(FIGURES)(&error))?;
    Ok(text + "\n")
}

/// Writes the document, its plots and its figures.
pub fn write(figures: &Figures) -> Result<(), BenchError> {
    let mut files = Vec::from(report::files(figures)?);
    files.push((FIGURES, json(figures)?));
    for (name, text) in files {
        let path = place(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(BenchError::file(dir))?;
        }
        fs::write(&path, text).map_err(BenchError::file(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_document_is_made_of_the_committed_figures() {
        let figures = committed().unwrap().expect("figures are committed");
        for (name, text) in report::files(&figures).unwrap() {
            let committed = fs::read_to_string(place(name)).unwrap();
            assert!(committed == text, "{name} differs from performance.json: run the benchmark with --render");
        }
        assert_eq!(fs::read_to_string(place(FIGURES)).unwrap(), json(&figures).unwrap());
    }

    #[test]
    fn peers_that_were_left_out_are_kept_with_their_own_day() {
        let whole = committed().unwrap().unwrap();
        let (mut earlier, mut run) = (whole.clone(), whole.clone());
        for program in &mut earlier.programs {
            program.date = "2020-01-01".to_owned();
        }
        run.programs.retain(|program| matches!(program.kind, Kind::Function | Kind::HelloWorld));
        let names: Vec<String> = run.programs.iter().map(|program| program.name.clone()).collect();
        run.endpoints.retain(|row| names.contains(&row.program));
        complete(&mut run, earlier);
        assert_eq!((run.programs.len(), run.endpoints.len()), (whole.programs.len(), whole.endpoints.len()));
        assert_eq!(run.program("node").unwrap().date, "2020-01-01");
        assert_ne!(run.program("hello").unwrap().date, "2020-01-01");
    }
}
