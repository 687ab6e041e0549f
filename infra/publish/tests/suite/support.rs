//! Stores that are written on the spot.

use publish::{Compiled, Fault, check, compile, read, warnings};
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;

/// 2031-03-15T12:00:00Z.
pub const NOW: i64 = 1_931_342_400;

pub const STORE: &str = "format: 1\nname: Test\ncurrency: {code: EUR}\n";

/// A directory with these files, by their paths.
pub fn store(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path.as_ref(), text.as_ref());
    }
    dir
}

pub fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The files of a store whose only item, which begins in line 5, has these fields from line 8 on.
pub fn files_of_item(of_store: &str, item: &str) -> [(&'static str, String); 2] {
    let item = item.replace('\n', "\n    ");
    let category = format!("id: 1\nslug: a\nname: A\nitems:\n  - id: 7\n    name: I\n    price: 4\n    {item}\n");
    [("store.yaml", format!("{STORE}{of_store}")), ("categories/a.yaml", category)]
}

/// Faults, one per line.
pub fn lines(faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        writeln!(text, "{fault}").unwrap();
        text
    })
}

/// Faults and warnings.
pub fn found(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> (String, String) {
    match read(store(files).path()) {
        Ok(files) => (lines(&check(&files)), lines(&warnings(&files))),
        Err(faults) => (lines(&faults), String::new()),
    }
}

/// A store without faults.
pub fn compiled(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> Compiled {
    compiled_in(store(files).path())
}

/// The store in a directory, without faults.
pub fn compiled_in(dir: &Path) -> Compiled {
    let compiled = read(dir).and_then(|files| compile(&files));
    compiled.unwrap_or_else(|faults| panic!("{}", lines(&faults)))
}
