//! Folders of the repository, and its state in git.

use crate::command::capture;
use crate::error::TaskError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    // Two folders above this crate.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// A folder for a task's own files, which is created.
pub fn work(name: &str) -> Result<PathBuf, TaskError> {
    let path = root().join("target").join(name);
    fs::create_dir_all(&path).map_err(TaskError::file(&path))?;
    Ok(path)
}

/// `git` in a folder, with its output.
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String, TaskError> {
    capture(Command::new("git").args(arguments).current_dir(folder))
}

/// The commit that is checked out, and `+` if files differ from it.
pub fn revision() -> Result<String, TaskError> {
    let root = root();
    let commit = git(&root, &["rev-parse", "--short=12", "HEAD"])?.trim().to_owned();
    let is_clean = git(&root, &["status", "--porcelain"])?.trim().is_empty();
    Ok(if is_clean { commit } else { commit + "+" })
}

/// Copies the files of the commit that is checked out into an empty folder.
pub fn export(folder: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(folder).map_err(TaskError::file(folder))?;
    let archive = folder.join(".archive.tar");
    let path = archive.to_string_lossy();
    git(&root(), &["archive", "--format=tar", "--output", &path, "HEAD"])?;
    capture(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(folder))?;
    fs::remove_file(&archive).map_err(TaskError::file(&archive))
}
