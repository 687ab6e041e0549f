//! Faults of a store's files, with file, line and field.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to the store's directory.
    pub file: PathBuf,
    /// The line, counted from 1; `None` if the fault belongs to the file as a whole.
    pub line: Option<u64>,
    /// The field as a path such as `items[12].price`: the number in brackets is the entry's id. Empty if the
    /// fault is the file's syntax.
    pub field: String,
    /// The problem, and what would be right.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ", {}", self.field)?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Line, field and problem in one file.
pub(crate) type Problem = (Option<u64>, String, String);

/// Collects faults and warnings; knows which file is being looked at.
#[derive(Debug, Default)]
pub struct Report {
    file: PathBuf,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl Report {
    /// From here on faults belong to this file.
    pub fn enter(&mut self, file: &Path) {
        file.clone_into(&mut self.file);
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Notes a fault of the file being looked at.
    pub fn fault(&mut self, line: Option<u64>, field: impl Into<String>, problem: impl Into<String>) {
        self.faults.push(self.here(line, field.into(), problem.into()));
    }

    /// Notes what looks like a mistake in the file being looked at, though its owner may mean it.
    pub fn warn(&mut self, line: Option<u64>, field: impl Into<String>, problem: impl Into<String>) {
        self.warnings.push(self.here(line, field.into(), problem.into()));
    }

    fn here(&self, line: Option<u64>, field: String, problem: String) -> Fault {
        Fault { file: self.file.clone(), line, field, problem }
    }

    pub fn push(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub const fn len(&self) -> usize {
        self.faults.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Every fault by file and line; within a line in the order in which they were found.
    pub fn into_faults(self) -> Vec<Fault> {
        in_order(self.faults)
    }

    /// Every warning, in the order of [`Self::into_faults`].
    pub fn into_warnings(self) -> Vec<Fault> {
        in_order(self.warnings)
    }
}

fn in_order(mut faults: Vec<Fault>) -> Vec<Fault> {
    // What is wrong in store.yaml may be why other files seem to have faults.
    let key = |fault: &Fault| (fault.file != Path::new("store.yaml"), fault.file.clone(), fault.line);
    faults.sort_by_key(key);
    faults
}

/// The name among `known` that a misspelt one most likely means.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    // One letter in three may be wrong: `settings` is not `sorting`.
    let distance = |known: &&str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let near = known.into_iter().filter(|known| 3 * distance(known) <= name.chars().count().max(known.len()));
    near.min_by_key(distance)
}

/// Finds what is named twice, in one file or in two.
#[derive(Debug)]
pub struct Unique<K> {
    what: &'static str,
    seen: BTreeMap<K, (PathBuf, Option<u64>)>,
}

impl<K: Ord + fmt::Display> Unique<K> {
    /// Looks for `what` ("item id") named twice.
    pub const fn new(what: &'static str) -> Self {
        Self { what, seen: BTreeMap::new() }
    }

    /// Takes a name; notes a fault if it was taken before.
    pub fn take(&mut self, report: &mut Report, key: K, line: Option<u64>, field: &str) {
        if let Some((file, first)) = self.seen.get(&key) {
            let place = match first {
                Some(first) => format!("{}, line {first}", file.display()),
                None => file.display().to_string(),
            };
            report.fault(line, field, format!("{} {key} is already used in {place}", self.what));
            return;
        }
        self.seen.insert(key, (report.file().to_path_buf(), line));
    }
}
