//! `check`: every fault of a store's files at once, and what looks like a mistake in a store without any.

use crate::prelude::*;
use anstyle::Style;
use publish::files::StoreFiles;
use publish::{Compiled, Fault};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Check {
    /// Directory of the store's files (see infra/docs/store-format.md).
    pub dir: PathBuf,
}

/// A fault, as it is printed.
#[derive(Serialize)]
pub struct FaultFacts {
    file: PathBuf,
    line: Option<u64>,
    field: String,
    problem: String,
}

pub fn facts_of(faults: &[Fault]) -> Vec<FaultFacts> {
    let facts = |Fault { file, line, field, problem }: Fault| FaultFacts { file, line, field, problem };
    faults.iter().cloned().map(facts).collect()
}

pub struct Sound {
    pub compiled: Compiled,
    /// Likely mistakes, which the owner may have meant.
    pub warnings: Vec<Fault>,
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
pub fn must_be_there(dir: &Path) -> Result<()> {
    match std::fs::read_dir(dir) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file(dir, &error)),
    }
}

/// Returns every fault, or what the store has.
pub fn run(options: &Check, console: &Console) -> Outcome {
    must_be_there(&options.dir)?;
    Ok(match read(&options.dir, console) {
        Ok(sound) => well(&options.dir, &sound),
        Err(faults) => {
            let facts = facts! { ok: false, faults: facts_of(&faults) };
            Printed::new(list(&options.dir, &faults), &facts).with_exit(Exit::Faults)
        }
    })
}

fn well(dir: &Path, sound: &Sound) -> Printed {
    let Compiled { version, categories, items, pages, .. } = &sound.compiled;
    let categories = categories.iter().map(|top| 1 + top.subcategories.len()).sum::<usize>();
    let (items, pages) = (items.len(), pages.len());
    let warnings = match sound.warnings.len() {
        0 => String::new(),
        count => format!("{}\n{}\n", lines(&sound.warnings), counted(WARN, count, "warning")),
    };
    let text = ok!(
        "{} has no faults: {categories} categories, {items} items, {pages} pages (version {version}).",
        dir.display()
    );
    let holds = facts! { categories, items, pages };
    let faults: [FaultFacts; 0] = [];
    Printed::new(warnings + &text, &facts! { ok: true, faults, warnings: facts_of(&sound.warnings), version, holds })
}

/// Every fault on a line of its own, and how many there are.
pub fn list(dir: &Path, faults: &[Fault]) -> String {
    format!("{}\n{} in {}", lines(faults), counted(BAD, faults.len(), "fault"), dir.display())
}

pub fn lines(faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = if fault.field.is_empty() { String::new() } else { format!(" {}:", fault.field) };
        format!("{}{field} {}", paint(STRONG, &format!("{}{line}:", fault.file.display())), fault.problem)
    };
    let lines: Vec<String> = faults.iter().map(line).collect();
    lines.join("\n")
}

pub fn counted(style: Style, count: usize, what: &str) -> String {
    paint(style, &if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") })
}

/// The failure of publishing a store with faults.
pub fn failure(dir: &Path, faults: &[Fault]) -> Failure {
    let what = format!("The store has faults.\n{}", list(dir, faults));
    Failure::new(Exit::Faults, what, "Fix the files; `storectl check` reports what is left.")
}
