//! Reads a store's directory. Knows which files there are and how one is found, not what makes it right.

use crate::fault::{Fault, Report, nearest};
use crate::files::{
    At, CategoryFile, CurrencyFile, FORMAT, PageFile, SalesFile, ServerFile, Source, StaffFile, StoreFile, StoreFiles,
    VirtualCurrencyFile,
};
use crate::lower;
use crate::own_files::OwnFiles;
use crate::schema::parse;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The live data of a demo store, which are not published. A store without the file has none.
pub const LIVE: &str = "live.jsonl";
const STORE: [&str; 7] = ["store.yaml", "sales.yaml", "staff.yaml", "categories", "pages", LIVE, "img"];
/// The largest file, in bytes: several times what may be published of it.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Reads everything of a store that is published.
pub fn read(dir: &Path) -> Result<StoreFiles, Vec<Fault>> {
    let (mut report, mut own) = (Report::default(), OwnFiles::default());
    let store_path = Path::new("store.yaml");
    let store = match file::<StoreFile>(dir, store_path, &mut own, &mut report) {
        Found::Whole(store) => Some(store),
        Found::Broken => None,
        Found::Missing => {
            report.enter(store_path);
            report.fault(None, "", "is missing; every store needs one, with format, name and currency");
            None
        }
    };
    let css =
        store.as_ref().and_then(|store| store.shop.as_ref()).map(|shop| &shop.css).filter(|name| !name.is_empty());
    let known = STORE.into_iter().chain(css.map(|name| name.value.as_str()));
    check_names(dir, &known.collect::<Vec<_>>(), &mut report);
    let css = css.map(|name| style_sheet(dir, name, &mut own, &mut report)).unwrap_or_default();
    let categories = folder::<CategoryFile>(dir, "categories", &mut own, &mut report);
    if categories.is_empty() && report.is_empty() && dir.join("categories").is_dir() {
        report.enter(Path::new("categories"));
        report.fault(None, "", "is empty: add a file for each category, such as categories/ranks.yaml");
    }
    let pages = folder::<PageFile>(dir, "pages", &mut own, &mut report);
    let sales_path = Path::new("sales.yaml");
    let sales = file::<SalesFile>(dir, sales_path, &mut own, &mut report).whole();
    let staff_path = Path::new("staff.yaml");
    let staff = file::<StaffFile>(dir, staff_path, &mut own, &mut report).whole();
    if let Some(problem) = own.problem() {
        report.enter(Path::new("."));
        report.fault(None, "", problem);
    }
    let store_is_broken = store.is_none();
    let mut files = StoreFiles {
        store: Source { path: store_path.to_path_buf(), content: store.unwrap_or_default() },
        categories,
        pages,
        sales: Source { path: sales_path.to_path_buf(), content: sales.unwrap_or_default() },
        staff: Source { path: staff_path.to_path_buf(), content: staff.unwrap_or_default() },
        images: images(dir, &mut report),
        shop_url: String::new(),
        css,
        own,
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

/// A `store.yaml` that lets the other files' own faults through if the real one cannot be read: it knows
/// every server they name and is as permissive about amounts as the format is.
fn stand_in(categories: &[Source<CategoryFile>]) -> StoreFile {
    fn servers(category: &CategoryFile, found: &mut BTreeSet<u64>) {
        let commands = category.items.iter().flat_map(|item| &item.commands).flat_map(|command| &command.servers);
        let items = category.items.iter().flat_map(|item| &item.servers);
        found.extend(items.chain(commands).map(|server| server.value));
        for inner in &category.subcategories {
            servers(inner, found);
        }
    }
    let mut found = BTreeSet::new();
    for source in categories {
        servers(&source.content, &mut found);
    }
    // Commands of items that name no server run on every one there is.
    if found.is_empty() {
        found.insert(1);
    }
    StoreFile {
        format: FORMAT.into(),
        name: "-".to_owned(),
        currency: CurrencyFile { code: "USD".to_owned().into(), digits: Some(At::from(4)), per_usd: None },
        virtual_currency: VirtualCurrencyFile { enabled: true, name: "-".to_owned() },
        servers: found
            .into_iter()
            .map(|id| ServerFile { id: id.into(), name: "-".to_owned(), ..ServerFile::default() })
            .collect(),
        ..StoreFile::default()
    }
}

/// Reads every YAML file of a folder by name; a folder that is not there is empty.
fn folder<T: DeserializeOwned + JsonSchema>(
    dir: &Path,
    name: &str,
    own: &mut OwnFiles,
    report: &mut Report,
) -> Vec<Source<T>> {
    let mut sources = Vec::new();
    for file_name in names(dir, Path::new(name), report) {
        let path = Path::new(name).join(&file_name);
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let content = file::<T>(dir, &path, own, report).whole();
            sources.extend(content.map(|content| Source { path, content }));
        } else if !is_words(&file_name) {
            report.enter(&path);
            report.fault(None, "", "is not read: its name must end in .yaml");
        }
    }
    sources
}

/// The owner's style sheet, with line ends as in every other file.
fn style_sheet(dir: &Path, name: &At<String>, own: &mut OwnFiles, report: &mut Report) -> String {
    let is_beside = name.ends_with(".css") && !name.contains(['/', '\\']) && !name.starts_with('.');
    let path = dir.join(&name.value);
    let read = || {
        if !is_listed(&path) {
            return Err("is not beside store.yaml".to_owned());
        }
        bytes(&path).map_err(|error| error.to_string())
    };
    let text = match is_beside.then(read) {
        None => Err("must be the name of a file beside store.yaml that ends in .css, such as shop.css".to_owned()),
        Some(Ok(bytes)) => String::from_utf8(bytes).map_err(|_| format!("{} is not text in UTF-8", name.value)),
        Some(Err(error)) => Err(format!("{} {error}", name.value)),
    };
    report.enter(Path::new("store.yaml"));
    let text = text.unwrap_or_else(|problem| {
        report.fault(name.line, "shop.css", problem);
        String::new()
    });
    own.add(Path::new(&name.value), text.as_bytes());
    text.replace("\r\n", "\n")
}

/// The pictures in `img/` and its folders, as items name them.
fn images(dir: &Path, report: &mut Report) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::from("img")];
    while let Some(folder) = folders.pop() {
        for name in names(dir, &folder, report) {
            let path = folder.join(name);
            if dir.join(&path).is_dir() {
                folders.push(path);
            } else {
                found.insert(format!("/{}", path.display()));
            }
        }
    }
    found
}

/// Notes what is beside store.yaml and would be overlooked.
fn check_names(dir: &Path, known: &[&str], report: &mut Report) {
    for name in names(dir, Path::new(""), report) {
        let text = name.to_string_lossy();
        if known.contains(&text.as_ref()) || is_words(&name) {
            continue;
        }
        let folder_of_pictures = matches!(text.as_ref(), "images" | "image" | "pictures").then_some("img");
        let near = folder_of_pictures.filter(|img| known.contains(img));
        let problem = match near.or_else(|| nearest(&text, known.iter().copied())) {
            Some(near) => format!("is not read; did you mean {near}?"),
            None => format!("is not part of a store: move it elsewhere; a store has {}", known.join(", ")),
        };
        report.enter(&name);
        report.fault(None, "", problem);
    }
}

/// Whether a file is for people: a README, or any other text in Markdown.
fn is_words(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "md") || name.file_stem().is_some_and(|stem| stem == "README")
}

/// The names in a folder but hidden ones, sorted; a folder that is not there is empty, one that cannot be read is
/// noted.
fn names(dir: &Path, folder: &Path, report: &mut Report) -> Vec<PathBuf> {
    let visible = |name: &PathBuf| !name.as_os_str().as_encoded_bytes().starts_with(b".");
    let read = || -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(dir.join(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound && !is_listed(&dir.join(folder)) => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(PathBuf::from(entry?.file_name()))).collect()
    };
    let mut names = read().unwrap_or_else(|error| {
        report.enter(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        report.fault(None, "", unreadable(&error));
        Vec::new()
    });
    names.retain(visible);
    names.sort();
    names
}

/// Whether there is an entry of this name, be it a symbolic link to nowhere.
fn is_listed(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "is a symbolic link to something that is not there".to_owned(),
        ErrorKind::NotADirectory => "must be a folder".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

enum Found<T> {
    Missing,
    /// It cannot be read or parsed, which was noted.
    Broken,
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
fn file<T: DeserializeOwned + JsonSchema>(
    dir: &Path,
    path: &Path,
    own: &mut OwnFiles,
    report: &mut Report,
) -> Found<T> {
    let whole = dir.join(path);
    let bytes = match bytes(&whole) {
        Err(NotRead::Failed(error)) if error.kind() == ErrorKind::NotFound && !is_listed(&whole) => {
            return Found::Missing;
        }
        Err(error) => {
            report.enter(path);
            report.fault(None, "", error.to_string());
            return Found::Broken;
        }
        Ok(bytes) => bytes,
    };
    own.add(path, &bytes);
    match parse(&bytes) {
        Ok(content) => Found::Whole(content),
        Err(problems) => {
            report.enter(path);
            for (line, field, problem) in problems {
                report.fault(line, field, problem);
            }
            Found::Broken
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum NotRead {
    #[error("{}", unreadable(.0))]
    Failed(io::Error),
    #[error("must be a file: a pipe, a device or a folder is not read")]
    NoFile,
    #[error("has more than {} MiB, the most that is read", LARGEST_FILE / 1024 / 1024)]
    TooLarge,
}

/// The bytes of a file. What is not a file is not opened: a pipe would wait for a writer, and a device has no end.
fn bytes(path: &Path) -> Result<Vec<u8>, NotRead> {
    if !fs::metadata(path).map_err(NotRead::Failed)?.is_file() {
        return Err(NotRead::NoFile);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(NotRead::Failed)?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(NotRead::Failed)?;
    if bytes.len() as u64 > LARGEST_FILE { Err(NotRead::TooLarge) } else { Ok(bytes) }
}
