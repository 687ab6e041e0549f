//! Stores that are written on the spot.

use publish::Fault;
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
