//! `check`: every fault of a store's files at once, and what looks like a mistake in a store without any.

use crate::answer::{Answer, BAD, GOOD, STRONG, WARN, paint};
use crate::cli::Check;
use crate::console::Console;
use crate::error::{Exit, Failure};
use anstyle::Style;
use publish::files::StoreFiles;
use publish::{Compiled, Fault};
use serde_json::{Value, json};
use std::path::Path;

pub(super) struct Sound {
    pub(super) compiled: Compiled,
    /// Likely mistakes, which the owner may have meant.
    pub(super) warnings: Vec<Fault>,
}

fn read(dir: &Path, console: &Console) -> Result<Sound, Vec<Fault>> {
    let files = publish::read(dir)?;
    let compiled = publish::compile(&files)?;
    Ok(Sound { compiled, warnings: warnings(dir, files, console) })
}

/// Likely mistakes, and pictures that a shop refuses.
fn warnings(dir: &Path, mut files: StoreFiles, console: &Console) -> Vec<Fault> {
    let mut warnings = publish::warnings(&files);
    let progress = console.progress("Reading pictures", None);
    let (_, by_name) = pictures::by_name(dir, &files);
    let (_, mut refused) = pictures::name_pictures(dir, &mut files, &|count| progress.advance(count));
    refused.extend(by_name);
    for fault in &mut refused {
        fault.problem.push_str("; a deployed shop refuses it");
    }
    warnings.extend(refused);
    warnings
}

/// Refuses a directory that is not there: that is not a store with a missing file.
pub(super) fn must_be_there(dir: &Path) -> Result<(), Failure> {
    match std::fs::read_dir(dir) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file(dir, &error)),
    }
}

/// Returns every fault, or what the store has.
pub(super) fn run(options: &Check, console: &Console) -> Result<Answer, Failure> {
    must_be_there(&options.dir)?;
    match read(&options.dir, console) {
        Ok(sound) => Ok(well(&options.dir, &sound)),
        Err(faults) => {
            let json = json!({ "ok": false, "faults": faults.iter().map(fault_json).collect::<Vec<_>>() });
            Ok(Answer::new(list(&options.dir, &faults), json).with_exit(Exit::Faults))
        }
    }
}

fn well(dir: &Path, sound: &Sound) -> Answer {
    let compiled = &sound.compiled;
    let categories = compiled.categories.iter().map(|top| 1 + top.subcategories.len()).sum::<usize>();
    let counts = json!({
        "categories": categories, "items": compiled.items.len(), "pages": compiled.pages.len(),
    });
    let warnings = match sound.warnings.len() {
        0 => String::new(),
        count => format!("{}\n{}\n", lines(&sound.warnings), counted(WARN, count, "warning")),
    };
    let text = format!(
        "{warnings}{} {} has no faults: {categories} categories, {} items, {} pages (version {}).",
        paint(GOOD, "ok"),
        dir.display(),
        compiled.items.len(),
        compiled.pages.len(),
        compiled.version,
    );
    let warnings: Vec<Value> = sound.warnings.iter().map(fault_json).collect();
    let json = json!({ "ok": true, "faults": [], "warnings": warnings, "version": compiled.version, "holds": counts });
    Answer::new(text, json)
}

/// Every fault on a line of its own, and how many there are.
pub(super) fn list(dir: &Path, faults: &[Fault]) -> String {
    format!("{}\n{} in {}", lines(faults), counted(BAD, faults.len(), "fault"), dir.display())
}

pub(super) fn lines(faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = if fault.field.is_empty() { String::new() } else { format!(" {}:", fault.field) };
        format!("{}{field} {}", paint(STRONG, &format!("{}{line}:", fault.file.display())), fault.problem)
    };
    let lines: Vec<String> = faults.iter().map(line).collect();
    lines.join("\n")
}

pub(super) fn counted(style: Style, count: usize, what: &str) -> String {
    paint(style, &if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") })
}

pub(super) fn fault_json(fault: &Fault) -> Value {
    json!({ "file": fault.file, "line": fault.line, "field": fault.field, "problem": fault.problem })
}

/// The failure of publishing a store with faults.
pub(crate) fn failure(dir: &Path, faults: &[Fault]) -> Failure {
    let what = format!("The store has faults.\n{}", list(dir, faults));
    Failure::new(Exit::Faults, what, "Fix the files; `storectl check` reports what is left.")
}
