//! Stores that are written on the spot.

use publish::{Compiled, Fault, check, compile, read, warnings};
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

pub fn store(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub const STORE: &str = "format: 1\nname: Test\ncurrency: {code: EUR}\n";

/// Faults, one per line.
pub fn lines(faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        writeln!(text, "{fault}").unwrap();
        text
    })
}

/// The path and the text of a file.
pub type File = (String, String);

/// A directory with these files.
pub fn dir(files: &[File]) -> TempDir {
    store(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

/// Faults and warnings.
pub fn found(files: &[File]) -> (String, String) {
    match read(dir(files).path()) {
        Ok(files) => (lines(&check(&files)), lines(&warnings(&files))),
        Err(faults) => (lines(&faults), String::new()),
    }
}

/// A store without faults.
pub fn compiled(files: &[File]) -> Compiled {
    let compiled = read(dir(files).path()).and_then(|files| compile(&files));
    compiled.unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}
