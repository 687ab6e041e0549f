//! Reads a store's directory. Knows how a file is found and parsed, not what makes it right.

use crate::fault::{Fault, Report};
use crate::files::{
    At, CategoryFile, CurrencyFile, FORMAT, LiveFiles, PageFile, ServerFile, Source, StaffFile, StoreFile, StoreFiles,
    VirtualCurrencyFile,
};
use crate::lower;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Reads everything of a store that is published.
///
/// # Errors
/// Every file that cannot be read or parsed yields its one fault; the faults of all other files come with them.
pub fn read(dir: &Path) -> Result<StoreFiles, Vec<Fault>> {
    let mut report = Report::default();
    let store_path = Path::new("store.yaml");
    let store = match file::<StoreFile>(dir, store_path, &mut report) {
        Found::Whole(store) => Some(store),
        Found::Broken => None,
        Found::Missing => {
            report.enter(store_path);
            report.fault(None, "", "is missing; every store needs one, with format, name and currency");
            None
        }
    };
    let categories = folder::<CategoryFile>(dir, "categories", &mut report);
    let pages = folder::<PageFile>(dir, "pages", &mut report);
    let staff_path = Path::new("staff.yaml");
    let staff = file::<StaffFile>(dir, staff_path, &mut report).whole();
    let store_is_broken = store.is_none();
    let mut files = StoreFiles {
        store: Source { path: store_path.to_path_buf(), content: store.unwrap_or_default() },
        categories,
        pages,
        staff: Source { path: staff_path.to_path_buf(), content: staff.unwrap_or_default() },
    };
    if report.is_empty() {
        return Ok(files);
    }
    if store_is_broken {
        files.store.content = stand_in(&files.categories);
    }
    lower::lower(&files, &mut report);
    Err(report.into_faults())
}

/// Reads what lies beside a store in `live/`; a broken file is noted and reads as `None`. The files are read side by
/// side: a store of some age has very many orders and codes.
pub(crate) fn read_live(dir: &Path, report: &mut Report) -> LiveFiles {
    fn list<T: DeserializeOwned>(dir: &Path, name: &str) -> (Option<Vec<T>>, Vec<Fault>) {
        let mut report = Report::default();
        let list = match file(dir, &Path::new("live").join(name), &mut report) {
            Found::Whole(list) => Some(list),
            Found::Missing => Some(Vec::new()),
            Found::Broken => None,
        };
        (list, report.into_faults())
    }
    let mut keep = |faults: Vec<Fault>| faults.into_iter().for_each(|fault| report.push(fault));
    std::thread::scope(|scope| {
        let orders = scope.spawn(|| list(dir, "orders.yaml"));
        let coupons = scope.spawn(|| list(dir, "coupons.yaml"));
        let gift_cards = scope.spawn(|| list(dir, "gift_cards.yaml"));
        let (users, faults) = list(dir, "users.yaml");
        keep(faults);
        let (carts, faults) = list(dir, "carts.yaml");
        keep(faults);
        let (referrals, faults) = list(dir, "referrals.yaml");
        keep(faults);
        let (coupons, faults) = joined(coupons);
        keep(faults);
        let (gift_cards, faults) = joined(gift_cards);
        keep(faults);
        let (orders, faults) = joined(orders);
        keep(faults);
        LiveFiles { users, carts, coupons, gift_cards, referrals, orders }
    })
}

/// What a thread answered; its panic is this one's.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A `store.yaml` that lets the other files' own faults through where the real one cannot be read: it knows
/// every server they name and is as permissive about amounts as the format is.
fn stand_in(categories: &[Source<CategoryFile>]) -> StoreFile {
    fn servers(category: &CategoryFile, found: &mut BTreeSet<u64>) {
        found.extend(category.items.iter().flat_map(|item| &item.servers).map(|server| server.value));
        for inner in &category.subcategories {
            servers(inner, found);
        }
    }
    let mut found = BTreeSet::new();
    for source in categories {
        servers(&source.content, &mut found);
    }
    StoreFile {
        format: FORMAT.into(),
        name: "-".to_owned(),
        currency: CurrencyFile { code: "-".to_owned().into(), digits: Some(At::from(4)), usd_value: None },
        virtual_currency: VirtualCurrencyFile { enabled: true, name: "-".to_owned() },
        servers: found.into_iter().map(|id| ServerFile { id: id.into(), name: "-".to_owned() }).collect(),
        ..StoreFile::default()
    }
}

/// Reads every YAML file of a folder by name; a folder that is not there is empty.
fn folder<T: DeserializeOwned>(dir: &Path, name: &str, report: &mut Report) -> Vec<Source<T>> {
    let names = match names(&dir.join(name)) {
        Ok(names) => names,
        Err(error) => {
            report.enter(Path::new(name));
            report.fault(None, "", format!("cannot be read: {error}"));
            return Vec::new();
        }
    };
    let mut sources = Vec::with_capacity(names.len());
    for file_name in names {
        let path = Path::new(name).join(&file_name);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml") => {}
            Some("md") => continue,
            _ => {
                report.enter(&path);
                report.fault(None, "", "is not read: its name must end in .yaml");
                continue;
            }
        }
        let content = file::<T>(dir, &path, report).whole();
        sources.extend(content.map(|content| Source { path, content }));
    }
    sources
}

/// The names in a folder but hidden ones, sorted.
fn names(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(PathBuf::from(name));
        }
    }
    names.sort();
    Ok(names)
}

/// What became of a file.
enum Found<T> {
    /// It is not there.
    Missing,
    /// It cannot be read or parsed, which was noted.
    Broken,
    /// What stands in it.
    Whole(T),
}

impl<T> Found<T> {
    fn whole(self) -> Option<T> {
        match self {
            Self::Whole(content) => Some(content),
            Self::Missing | Self::Broken => None,
        }
    }
}

/// Reads one file.
fn file<T: DeserializeOwned>(dir: &Path, path: &Path, report: &mut Report) -> Found<T> {
    let text = match std::fs::read_to_string(dir.join(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Found::Missing,
        Err(error) => {
            report.enter(path);
            report.fault(None, "", format!("cannot be read: {error}"));
            return Found::Broken;
        }
        Ok(text) => text,
    };
    match parse(&text) {
        Ok(content) => Found::Whole(content),
        Err((line, field, problem)) => {
            report.enter(path);
            report.fault(line, field, problem);
            Found::Broken
        }
    }
}

/// Line, field and problem of a text that does not parse.
type Broken = (Option<u64>, String, String);

/// Parses a file. Files are their owner's own, so there is no limit on size; the limits on aliases stay.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Broken> {
    let options = serde_saphyr::options! { budget: None, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().filter(|location| location.line() > 0);
        let (field, problem) = explain(&error);
        let field = field.or_else(|| place.and_then(|place| field_at(text, place.line(), place.column())));
        (place.map(|place| place.line()), field.unwrap_or_default(), problem)
    })
}

/// The key that stands before a value: `price` of `price: abc`, where line and column (from 1) are `abc`'s, or the
/// colon's where there is no value.
fn field_at(text: &str, line: u64, column: u64) -> Option<String> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let line = text.lines().nth(line.checked_sub(1)?)?;
    let upto: String = line.chars().take(column).collect();
    let before: String = line.chars().take(column.checked_sub(1)?).collect();
    let key = before.trim_end().strip_suffix(':').or_else(|| upto.strip_suffix(':'))?;
    let key = key.rsplit([' ', '\t', '{', ',', '[']).next()?;
    Some(key.to_owned()).filter(|key| !key.is_empty())
}

/// A parser's error in an owner's words: the field where the error names it, and the problem.
fn explain(error: &serde_saphyr::Error) -> (Option<String>, String) {
    use serde_saphyr::Error;
    match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => {
            (Some(field.clone()), format!("is no field here; there are {}", expected.join(", ")))
        }
        Error::SerdeMissingField { field, .. } => (Some((*field).to_owned()), "is missing".to_owned()),
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            (None, format!("`{variant}` is not one of {}", expected.join(", ")))
        }
        Error::DuplicateMappingKey { key, .. } => (key.clone(), "is written twice".to_owned()),
        Error::NullIntoString { .. } => (None, "has no value; write one or leave the field out".to_owned()),
        Error::InvalidScalar { ty, .. } => (None, format!("must be {}", scalar(ty))),
        Error::Unexpected { expected, .. } => (None, expected_shape(expected).to_owned()),
        other => {
            let text = other.to_string();
            // The fault has its line already.
            let end = text.rfind(" at line ").unwrap_or(text.len());
            (None, text[..end].to_owned())
        }
    }
}

/// A Rust type in an owner's words.
fn scalar(ty: &str) -> &'static str {
    match ty {
        "u8" | "u16" | "u32" | "u64" => "a whole number, not below 0 and not too large",
        "i64" => "a whole number, not too large",
        "bool" | "boolean" => "true or false",
        _ => "a value of another kind",
    }
}

fn expected_shape(expected: &str) -> &'static str {
    match expected {
        "string scalar" => "must be text",
        "sequence start" => "must be a list",
        "mapping start" => "must be fields with values",
        _ => "is not what belongs here",
    }
}
