//! Other files in a store's directory, and files that are not what they should be.

use crate::support::{STORE, lines, store};
use publish::read;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CATEGORY: &str = "id: 1\nslug: a\nname: A\n";

fn faults(dir: &Path) -> String {
    lines(&read(dir).err().unwrap_or_default())
}

/// The faults of a store with one category whose file holds these bytes.
fn faults_of_bytes(bytes: &[u8]) -> String {
    let dir = store(&[("store.yaml", STORE)]);
    fs::create_dir(dir.path().join("categories")).unwrap();
    fs::write(dir.path().join("categories/a.yaml"), bytes).unwrap();
    faults(dir.path())
}

#[test]
fn a_link_to_nowhere_is_not_a_file_that_was_left_out() {
    let dir = store(&[("store.yaml", STORE), ("categories/b.yaml", CATEGORY)]);
    for name in ["categories/a.yaml", "staff.yaml", "pages"] {
        symlink("nowhere", dir.path().join(name)).unwrap();
    }
    let problem = "is a symbolic link to something that is not there";
    assert_eq!(faults(dir.path()), format!("categories/a.yaml: {problem}\npages: {problem}\nstaff.yaml: {problem}\n"));
}

#[test]
fn what_is_not_a_file_is_not_opened() {
    let dir = store(&[("store.yaml", STORE), ("categories/b.yaml", CATEGORY)]);
    assert!(Command::new("mkfifo").arg(dir.path().join("categories/a.yaml")).status().unwrap().success());
    symlink("/dev/zero", dir.path().join("staff.yaml")).unwrap();
    fs::create_dir(dir.path().join("categories/c.yaml")).unwrap();
    fs::write(dir.path().join("pages"), "").unwrap();
    let problem = "must be a file: a pipe, a device or a folder is not read";
    assert_eq!(
        faults(dir.path()),
        format!(
            "categories/a.yaml: {problem}\ncategories/c.yaml: {problem}\npages: must be a folder\n\
             staff.yaml: {problem}\n"
        )
    );
}

#[test]
fn a_file_of_any_size_is_not_read_into_memory() {
    let dir = store(&[("store.yaml", STORE), ("staff.yaml", "")]);
    fs::File::options().write(true).open(dir.path().join("staff.yaml")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(faults(dir.path()), "staff.yaml: has more than 16 MiB, the most that is read\n");
}

#[test]
fn very_deep_nesting_is_a_fault_and_no_crash() {
    for nested in ["[".repeat(100_000), "{a: ".repeat(100_000), format!("{}x", "- ".repeat(100_000))] {
        let found = faults_of_bytes(format!("{CATEGORY}colour: {nested}\n").as_bytes());
        assert!(found.starts_with("categories/a.yaml, line 4"), "{found}");
        let found = faults_of_bytes(nested.as_bytes());
        assert!(found.starts_with("categories/a.yaml, line 1"), "{found}");
    }
}

#[test]
fn a_file_in_another_encoding_is_told() {
    let found = faults_of_bytes(b"id: 1\nslug: a\nname: caf\xe9\n");
    assert_eq!(found, "categories/a.yaml, line 3, name: is not UTF-8; save the file in that encoding\n");
}
