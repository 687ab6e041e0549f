//! `check`: every fault of a store's files at once, and what looks like a mistake in a store without any.

use super::coupon_doubts;
use crate::answer::{Answer, BAD, GOOD, STRONG, WARN, paint};
use crate::cli::Check;
use crate::console::Console;
use crate::error::{Exit, Failure};
use anstyle::Style;
use local::live::{Live, Written};
use publish::files::StoreFiles;
use publish::{Compiled, Fault};
use serde_json::{Value, json};
use shared::model::{Code, Coupon};
use std::path::Path;

/// The folder of what only the local server loads.
pub(super) const LIVE: &str = "live";

pub(super) struct Sound {
    pub(super) compiled: Compiled,
    /// `None` if it was not asked for.
    live: Option<Live>,
    /// Likely mistakes, which the owner may have meant.
    pub(super) warnings: Vec<Fault>,
}

fn read(dir: &Path, console: &Console) -> Result<Sound, Vec<Fault>> {
    let files = publish::read(dir)?;
    let compiled = publish::compile(&files)?;
    Ok(Sound { compiled, live: None, warnings: warnings(dir, files, console) })
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

/// Reads and checks a store, `live/` included; `now` is what relative times are counted from.
fn read_with_live(dir: &Path, console: &Console, now: i64) -> Result<Sound, Vec<Fault>> {
    // Side by side: very many orders take longer than the catalog.
    let (written, catalog) = std::thread::scope(|scope| {
        let written = scope.spawn(|| Written::parse(dir));
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
        (Ok(compiled), Ok(live)) => {
            let mut warnings = warnings(dir, files, console);
            warnings.extend(doubtful_coupons(&compiled, &live, now));
            Ok(Sound { compiled, live: Some(live), warnings })
        }
        (compiled, live) => {
            let mut faults = compiled.err().unwrap_or_default();
            faults.extend(live.err().unwrap_or_default());
            Err(faults)
        }
    }
}

/// What looks like a mistake in the coupons of `live/`.
fn doubtful_coupons(compiled: &Compiled, live: &Live, now: i64) -> Vec<Fault> {
    let coupons = live.codes.iter().filter_map(|code| match code {
        Code::Coupon(coupon) => Some(coupon),
        Code::Gift(_) => None,
    });
    let about = |coupon: &Coupon| {
        let (file, field) = (Path::new(LIVE).join("coupons.yaml"), format!("[{}]", coupon.id));
        let doubts = coupon_doubts::about(coupon, &compiled.items, compiled.config.digits, now).into_iter();
        doubts.map(move |problem| Fault { file: file.clone(), line: None, field: field.clone(), problem })
    };
    coupons.flat_map(about).collect()
}

/// Refuses a directory that is not there: that is not a store with a missing file.
pub(super) fn must_be_there(dir: &Path) -> Result<(), Failure> {
    match std::fs::read_dir(dir) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::file(dir, &error)),
    }
}

/// Returns every fault, or what the store has.
pub(super) fn run(options: &Check, console: &Console, now: i64) -> Result<Answer, Failure> {
    must_be_there(&options.dir)?;
    let read = if options.live { read_with_live(&options.dir, console, now) } else { read(&options.dir, console) };
    match read {
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
    let mut counts = json!({
        "categories": categories, "items": compiled.items.len(), "pages": compiled.pages.len(),
    });
    let note = match &sound.live {
        Some(live) => {
            counts["users"] = live.users.len().into();
            counts["codes"] = live.codes.len().into();
            counts["orders"] = live.orders.len().into();
            String::new()
        }
        None if dir.join(LIVE).is_dir() => format!("\n{LIVE}/ was not checked; add --live."),
        None => String::new(),
    };
    let warnings = match sound.warnings.len() {
        0 => String::new(),
        count => format!("{}\n{}\n", lines(&sound.warnings), counted(WARN, count, "warning")),
    };
    let text = format!(
        "{warnings}{} {} has no faults: {categories} categories, {} items, {} pages (version {}).{note}",
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
