//! `check`: every fault of a store's files at once.

use crate::answer::{Answer, BAD, GOOD, STRONG, paint};
use crate::cli::Check;
use crate::error::{Exit, Failure};
use publish::files::StoreFiles;
use publish::live::{Live, parse_live};
use publish::{Compiled, Fault};
use serde_json::{Value, json};
use std::path::Path;

/// A store without faults.
pub(super) struct Sound {
    pub(super) compiled: Compiled,
    pub(super) live: Live,
}

/// Reads and checks a store, `live/` included; `now` is what relative times are counted from.
pub(super) fn read(dir: &Path, now: i64) -> Result<Sound, Vec<Fault>> {
    // Side by side: very many orders take longer than the catalog.
    let (written, catalog) = std::thread::scope(|scope| {
        let written = scope.spawn(|| parse_live(dir));
        let catalog = publish::read(dir).map(|files| (publish::compile(&files), files));
        (written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), catalog)
    });
    let (compiled, files): (_, StoreFiles) = match catalog {
        Ok(catalog) => catalog,
        Err(mut faults) => {
            faults.extend(written.into_faults());
            return Err(faults);
        }
    };
    let live = written.check(&files, now);
    match (compiled, live) {
        (Ok(compiled), Ok(live)) => Ok(Sound { compiled, live }),
        (compiled, live) => {
            let mut faults = compiled.err().unwrap_or_default();
            faults.extend(live.err().unwrap_or_default());
            Err(faults)
        }
    }
}

/// A directory that is not there is no store with a missing file.
pub(super) fn must_be_there(dir: &Path) -> Result<(), Failure> {
    match std::fs::read_dir(dir) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file(dir, &error)),
    }
}

/// Answers with every fault, or with what the store holds.
pub(super) fn run(options: &Check, now: i64) -> Result<Answer, Failure> {
    must_be_there(&options.dir)?;
    match read(&options.dir, now) {
        Ok(sound) => Ok(well(&options.dir, &sound)),
        Err(faults) => {
            let json = json!({ "ok": false, "faults": faults.iter().map(fault_json).collect::<Vec<_>>() });
            Ok(Answer::new(list(&options.dir, &faults), json).with_exit(Exit::Faults))
        }
    }
}

fn well(dir: &Path, sound: &Sound) -> Answer {
    let (compiled, live) = (&sound.compiled, &sound.live);
    let categories = compiled.categories.iter().map(|top| 1 + top.subcategories.len()).sum::<usize>();
    let counts = json!({
        "categories": categories, "items": compiled.items.len(), "pages": compiled.pages.len(),
        "users": live.users.len(), "codes": live.codes.len(), "orders": live.orders.len(),
    });
    let text = format!(
        "{} {} has no faults: {categories} categories, {} items, {} pages (version {}).",
        paint(GOOD, "ok"),
        dir.display(),
        compiled.items.len(),
        compiled.pages.len(),
        compiled.version,
    );
    Answer::new(text, json!({ "ok": true, "faults": [], "version": compiled.version, "holds": counts }))
}

/// Every fault on a line of its own.
pub(super) fn list(dir: &Path, faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = if fault.field.is_empty() { String::new() } else { format!(" {}:", fault.field) };
        format!("{}{field} {}", paint(STRONG, &format!("{}{line}:", fault.file.display())), fault.problem)
    };
    let lines: Vec<String> = faults.iter().map(line).collect();
    let count = match faults.len() {
        1 => "1 fault".to_owned(),
        count => format!("{count} faults"),
    };
    format!("{}\n{} in {}", lines.join("\n"), paint(BAD, &count), dir.display())
}

fn fault_json(fault: &Fault) -> Value {
    json!({ "file": fault.file, "line": fault.line, "field": fault.field, "problem": fault.problem })
}

/// Why a store with faults is not published.
pub(super) fn failure(dir: &Path, faults: &[Fault]) -> Failure {
    let what = format!("The store has faults.\n{}", list(dir, faults));
    Failure::new(Exit::Faults, what, "Mend the files; `storectl check` tells whether all is well.")
}
