//! `export`: the files of the published store, as they were published.

use crate::prelude::*;
use publish::{FilesError, OwnFiles, own_files};
use shared::fault::capital;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Directory to write; it must be empty or not exist.
    pub dir: PathBuf,
}

pub async fn run(at: &Deployment, options: &Export) -> Outcome {
    let dir = &options.dir;
    must_not_be_here(dir)?;
    let filled = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file(dir, &error)),
    };
    let version = at.published().await?.version;
    let files = own_files(&at.db, &version).await.map_err(|error| match error {
        FilesError::Store(error) => error.into(),
        missing => Failure::refused(format!("{}.", capital(&missing.to_string())), "Publish your own files again."),
    })?;
    let (part, whole) = places(dir).map_err(|error| Failure::file(dir, &error))?;
    let local = |error: io::Error| Failure::file(dir, &error).done("Nothing was exported.");
    write(&part, &files).map_err(local)?;
    if filled {
        // A run that was interrupted at its end has written just this.
        let is_same = is_same(&part, &whole).map_err(local)?;
        std::fs::remove_dir_all(&part).map_err(local)?;
        if !is_same {
            let what = format!("The folder {} is not empty.", dir.display());
            return Err(Failure::new(Exit::Local, what, "Export to a new directory, then compare."));
        }
    } else {
        take_place(&part, &whole).map_err(local)?;
    }
    let count = files.count();
    let mut text = ok!("Version {version} is in {}: {count} files.", dir.display());
    let pictures_left_out = pictures_named(&whole);
    if pictures_left_out > 0 {
        _ = write!(text, "\n{}", note!("Pictures left out: {pictures_left_out}. Keep the files in img/."));
    }
    Ok(Printed::new(text, &facts! { version, dir, files: count, pictures_left_out }))
}

/// Refuses the current folder, and those that it is in: they cannot be replaced.
fn must_not_be_here(dir: &Path) -> Result<()> {
    let Ok(whole) = std::fs::canonicalize(dir) else { return Ok(()) };
    if !std::env::current_dir().is_ok_and(|here| here.starts_with(&whole)) {
        return Ok(());
    }
    let what = format!("{} is the folder that you are in, or one above it.", dir.display());
    Err(Failure::new(Exit::Local, what, "Name a new folder, such as `storectl export published`."))
}

/// How many pictures the files in a directory name that are in the owner's `img/`, or in a shop.
fn pictures_named(dir: &Path) -> usize {
    let Ok(mut files) = publish::read(dir) else { return 0 };
    let named = files.named_images().into_iter().map(|image| image.url.clone());
    named.filter(|url| url.starts_with('/') && !url.starts_with("//")).collect::<BTreeSet<String>>().len()
}

/// A hidden folder next to `dir`, which takes its place when it is whole: half an export never looks like a store.
fn places(dir: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let whole = std::path::absolute(dir)?;
    let mut name = OsString::from(".");
    name.push(whole.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?);
    name.push(".storectl-export");
    Ok((whole.with_file_name(name), whole))
}

fn write(part: &Path, files: &OwnFiles) -> io::Result<()> {
    // Left by a run that was interrupted.
    if part.exists() {
        std::fs::remove_dir_all(part)?;
    }
    files.write(part)
}

fn take_place(part: &Path, whole: &Path) -> io::Result<()> {
    // Only an empty directory can be removed.
    if whole.exists() {
        std::fs::remove_dir(whole)?;
    }
    std::fs::rename(part, whole)
}

/// Whether two directories have the same files.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let files = files_in(one)?;
    if files != files_in(other)? {
        return Ok(false);
    }
    for file in files {
        if std::fs::read(one.join(&file))? != std::fs::read(other.join(&file))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The path of every file in a directory.
fn files_in(dir: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let (mut files, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path);
            }
        }
    }
    Ok(files)
}
