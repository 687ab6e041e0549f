//! Other files in a store's directory, and files that are not what they should be.

use crate::support::{STORE, lines, store, write};
use local::live::read_live;
use publish::read;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CATEGORY: &str = "id: 1\nslug: a\nname: A\n";

/// The faults of a directory, `live/` included.
fn faults(dir: &Path) -> String {
    match read(dir) {
        Ok(files) => lines(&read_live(dir, &files, 1_931_342_400).err().unwrap_or_default()),
        Err(faults) => lines(&faults),
    }
}

/// The faults of a store with one category whose file holds these bytes.
fn faults_of_bytes(bytes: &[u8]) -> String {
    let dir = store(&[("store.yaml", STORE)]);
    fs::create_dir(dir.path().join("categories")).unwrap();
    fs::write(dir.path().join("categories/a.yaml"), bytes).unwrap();
    faults(dir.path())
}

#[test]
fn what_would_be_overlooked_in_a_store_is_named_with_what_was_likely_meant() {
    let words = [("store.yaml", STORE), ("README", "x"), ("notes.md", "x"), (".git/HEAD", "x"), ("pages/.x", "")];
    let dir = store(&words);
    assert_eq!(faults(dir.path()), "");
    for (path, text) in [
        ("category/a.yaml", CATEGORY),
        ("staff.yml", ""),
        ("Pages/a.yaml", ""),
        ("settings.yaml", ""),
        ("categories/a.ymal", CATEGORY),
        ("categories/README.md", "x"),
    ] {
        write(dir.path(), path, text);
    }
    let none =
        "is not part of a store: move it elsewhere; a store has store.yaml, staff.yaml, categories, pages, live, img";
    assert_eq!(
        faults(dir.path()),
        format!(
            "Pages: is not read; did you mean pages?\n\
             categories/a.ymal: is not read: its name must end in .yaml\n\
             category: is not read; did you mean categories?\n\
             settings.yaml: {none}\n\
             staff.yml: is not read; did you mean staff.yaml?\n"
        )
    );
}

#[test]
fn what_would_be_overlooked_in_live_is_named() {
    let dir = store(&[("store.yaml", STORE), ("live/order.yaml", ""), ("live/README.md", "x")]);
    assert_eq!(faults(dir.path()), "live/order.yaml: is not read; did you mean orders.yaml?\n");
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
    let dir = store(&[("store.yaml", STORE), ("categories/b.yaml", CATEGORY), ("live/users.yaml", "[]")]);
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
fn syntax_that_owners_get_wrong_is_told_with_line_field_and_remedy() {
    let broken: [(&[u8], &str); 13] = [
        (
            b"id: 1\nslug: a\nname: A\nitems:\n\t- id: 1\n",
            "line 5: tabs disallowed within this context (block indentation); indent with spaces, not with tabs",
        ),
        (
            b"id: 1\nslug: a\nname: A: b\n",
            "line 3, A: mapping values are not allowed in this context; put a text that contains a colon in quotes",
        ),
        (
            b"id: 1\nslug: a\nname: @A\n",
            "line 3, name: unexpected character: `@'; put a text that begins with a special character in quotes",
        ),
        (
            b"id: 1\nslug: a\nname: A\nitems: [{id: 7, name: I, price: 9,99}]\n",
            "line 4, items[7].price: write a point, not a comma, before 99: inside {…} a comma begins the next field",
        ),
        (
            b"id: 1\nslug: a\nname: A\n---\nid: 2\n",
            "line 4: a second document begins at ---; a file holds one: move the rest into a file of its own",
        ),
        (
            b"id: 1\nslug: a\nname: A\ncomparison: [{id: 1, name: Homes}, {id: 2, name: Claims\nitems:\n  - id: 7\n",
            "line 4: `[` is not closed: write `]` after its last value",
        ),
        (
            b"id: 1\nslug: a\nname: A\nitems:\n  - {id: 7, name: I, price: 1\n  - {id: 8, name: J, price: 2}\n",
            "line 5: `{` is not closed: write `}` after its last value",
        ),
        (b"id: 1\nslug: a\nname:A\n", "line 3: write a space after the colon: `name: A`"),
        (
            b"id: 1\n---\nslug: a\nname: A\n",
            "line 2: a second document begins at ---; a file holds one: move the rest into a file of its own",
        ),
        (b"id: 1\nslug: a\nname: caf\xe9\n", "line 3, name: is not UTF-8; save the file in that encoding"),
        (b"", "line 1: the file is empty; write its fields or remove the file"),
        (b"# nothing\n", "line 2: the file is empty; write its fields or remove the file"),
        (b"id: 1\nslug: a\nname: \"A\\0\"\n", "line 3, name: must not contain the control character U+0000"),
    ];
    for (bytes, told) in broken {
        assert_eq!(
            faults_of_bytes(bytes),
            format!("categories/a.yaml, {told}\n"),
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
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
