//! `export`: the published store back to files.

use super::common::published;
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::Export;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::LoadError;
use publish::files::StoreFiles;
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::Path;

pub(super) async fn run(target: &Target, options: &Export) -> Result<Answer, Failure> {
    let dir = &options.dir;
    let filled = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file(dir, &error)),
    };
    if filled {
        let what = format!("{} is not empty.", dir.display());
        return Err(Failure::new(Exit::Local, what, "Export to a new directory, then compare."));
    }
    let version = published(target).await?.version;
    let store = publish::load_version(&target.db, &version).await;
    let store = store.map_err(|error| match error {
        LoadError::Store(error) => error.into(),
        damaged => Failure::refused(format!("{damaged}."), "Publish your own files again, or roll back."),
    })?;
    let mut files = publish::export(&store);
    write(dir, &files).map_err(|error| Failure::file(dir, &error).done("Nothing was exported."))?;
    let count = files.categories.len();
    let mut text = format!(
        "{} Version {version} is in {}: {count} categories, {} items, {} pages.",
        paint(GOOD, "ok"),
        dir.display(),
        store.items.len(),
        files.pages.len()
    );
    let named =
        files.named_images().into_iter().filter(|image| image.url.starts_with('/') && !image.url.starts_with("//"));
    let pictures = named.map(|image| image.url.clone()).collect::<BTreeSet<String>>().len();
    if pictures > 0 {
        let note = "They are named by their published address: keep their files.";
        _ = write!(text, "\n{} Pictures left out: {pictures}. {note}", paint(WARN, "note"));
    }
    Ok(Answer::new(
        text,
        json!({ "version": version, "dir": dir, "pictures_left_out": pictures, "items": store.items.len() }),
    ))
}

/// Writes the files into a hidden folder next to `dir`, which takes its place when it is whole: half an export never
/// looks like a store.
fn write(dir: &Path, files: &StoreFiles) -> io::Result<()> {
    let whole = std::path::absolute(dir)?;
    let mut name = OsString::from(".");
    name.push(whole.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?);
    name.push(".storectl-export");
    let part = whole.with_file_name(name);
    // Left by a run that was interrupted.
    if part.exists() {
        std::fs::remove_dir_all(&part)?;
    }
    publish::write_files(&part, files)?;
    // Only an empty directory can be removed.
    if whole.exists() {
        std::fs::remove_dir(&whole)?;
    }
    std::fs::rename(&part, &whole)
}
