//! Builds the functions twice, in two folders and from two homes of cargo, and compares the programs byte by byte.
//!
//! Messages of panics name source files. Those of this workspace are relative paths; those of crates.io are below cargo's
//! home, which differs between machines, so the builds give it one name, as the deploy workflow does.

use crate::command::{capture, cargo};
use crate::error::TaskError;
use crate::repository;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The packages that are deployed.
pub const FUNCTIONS: [&str; 5] = ["catalog", "cart", "payments", "content", "auth"];
/// The folders of the two builds. Names of different lengths show what depends on a path.
const FOLDERS: [&str; 2] = ["first", "the-second/of-two"];
/// The name of cargo's home in programs.
const HOME: &str = "/cargo";
/// The shortest printable text that is shown of a difference.
const SHORTEST: usize = 8;
/// Differences that are shown.
const SHOWN: usize = 10;

/// Builds the named functions, or all, twice, and returns whether the programs are the same.
pub fn run(names: &[String], output: &mut impl Write) -> Result<bool, TaskError> {
    let names = chosen(names)?;
    let folder = repository::work("reproducible")?;
    let real = home()?;
    let mut places = Vec::new();
    for (name, home) in FOLDERS.into_iter().zip([real.clone(), other_home(&folder, &real)?]) {
        let tree = folder.join(name);
        if tree.exists() {
            fs::remove_dir_all(&tree).map_err(TaskError::file(&tree))?;
        }
        repository::export(&tree)?;
        places.push(Place { tree, home });
    }
    let mut same = 0;
    for name in &names {
        let mut programs = Vec::new();
        for place in &places {
            programs.push(place.build(name)?);
        }
        let hashes = programs.iter().map(|program| hex::encode(Sha256::digest(program))).collect::<Vec<_>>();
        if programs[0] == programs[1] {
            same += 1;
            writeln!(output, "ok   {name}: {} bytes, SHA-256 {}", programs[0].len(), hashes[0])?;
        } else {
            writeln!(output, "FAIL {name}: SHA-256 {} and {}", hashes[0], hashes[1])?;
            for line in differences(&programs[0], &programs[1]) {
                writeln!(output, "     {line}")?;
            }
        }
    }
    writeln!(output, "figures: {same} of {} functions are the same in two builds", names.len())?;
    Ok(same == names.len())
}

fn chosen(names: &[String]) -> Result<Vec<&str>, TaskError> {
    if let Some(name) = names.iter().find(|name| !FUNCTIONS.contains(&name.as_str())) {
        let known = FUNCTIONS.join(", ");
        return Err(TaskError::Unknown { kind: "function", name: name.clone(), known });
    }
    Ok(FUNCTIONS.into_iter().filter(|name| names.is_empty() || names.iter().any(|given| given == name)).collect())
}

/// The folders of a build.
struct Place {
    /// A copy of the commit that is checked out.
    tree: PathBuf,
    /// Cargo's home.
    home: PathBuf,
}

impl Place {
    /// Builds a function in its own folder, as SAM does, and returns the program.
    fn build(&self, name: &str) -> Result<Vec<u8>, TaskError> {
        let target = self.tree.join("target");
        let mut command = cargo();
        command.args(["build", "--release", "--locked", "--quiet"]).current_dir(self.tree.join("functions").join(name));
        command.env("CARGO_HOME", &self.home).env("CARGO_TARGET_DIR", &target);
        command.env("RUSTFLAGS", format!("--remap-path-prefix={}={HOME}", self.home.display()));
        capture(&mut command)?;
        let program = target.join("release").join(name);
        fs::read(&program).map_err(TaskError::file(&program))
    }
}

/// Cargo's home: the one that is set, or `.cargo` in the user's.
fn home() -> Result<PathBuf, TaskError> {
    let users = || std::env::home_dir().map(|home| home.join(".cargo"));
    let found = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(users);
    found.ok_or_else(|| TaskError::Content { path: PathBuf::from("CARGO_HOME"), problem: "is not set".to_owned() })
}

/// Another home of cargo with the same packages.
fn other_home(folder: &Path, real: &Path) -> Result<PathBuf, TaskError> {
    let home = folder.join("another-home-of-cargo");
    fs::create_dir_all(&home).map_err(TaskError::file(&home))?;
    let registry = home.join("registry");
    if !registry.exists() {
        std::os::unix::fs::symlink(real.join("registry"), &registry).map_err(TaskError::file(&registry))?;
    }
    Ok(home)
}

/// The differences of two programs: their lengths, the first offset, and the texts that only one of them has.
fn differences(first: &[u8], second: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    if first.len() != second.len() {
        lines.push(format!("{} bytes and {} bytes", first.len(), second.len()));
    }
    let count = first.iter().zip(second).filter(|(one, other)| one != other).count();
    if let Some(offset) = first.iter().zip(second).position(|(one, other)| one != other) {
        lines.push(format!("{count} bytes differ in place, the first at offset {offset:#x}"));
    }
    let (ours, theirs) = (texts(first), texts(second));
    for (mark, these, those) in [("only in the first", &ours, &theirs), ("only in the second", &theirs, &ours)] {
        let only = these.iter().filter(|text| those.binary_search(text).is_err()).take(SHOWN);
        lines.extend(only.map(|text| format!("{mark}: {}", text.chars().take(200).collect::<String>())));
    }
    lines
}

/// The printable texts of a program, sorted.
fn texts(program: &[u8]) -> Vec<String> {
    let printable = program.split(|byte| !(byte.is_ascii_graphic() || *byte == b' '));
    let long = printable.filter(|text| text.len() >= SHORTEST);
    let mut texts: Vec<String> = long.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_located_and_shown() {
        let first = b"\x7fELF\0common text\0/build/one/src/lib.rs\0\x01";
        let second = b"\x7fELF\0common text\0/build/two/src/lib.rs\0\x01";
        let lines = differences(first, second).join("\n");
        assert!(lines.contains("3 bytes differ in place, the first at offset 0x18"), "{lines}");
        assert!(lines.contains("only in the first: /build/one/src/lib.rs"), "{lines}");
        assert!(lines.contains("only in the second: /build/two/src/lib.rs"), "{lines}");
        assert!(!lines.contains("common text"), "{lines}");
        assert_eq!(differences(b"abc", b"abcd"), ["3 bytes and 4 bytes"]);
    }

    #[test]
    fn functions_are_chosen_by_name() {
        assert_eq!(chosen(&["cart".to_owned()]).unwrap(), ["cart"]);
        assert_eq!(chosen(&[]).unwrap(), FUNCTIONS);
        assert!(chosen(&["kart".to_owned()]).unwrap_err().to_string().contains("kart"));
    }

    #[test]
    fn the_functions_are_all_that_there_are() {
        let folder = repository::root().join("functions");
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        let mut known = FUNCTIONS;
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
