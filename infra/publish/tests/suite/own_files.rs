//! A version comes back out of the table, and its owner's files with it, as they were published.

use crate::support::{NOW, STORE, compiled, compiled_in, store, write};
use publish::{Compiled, FilesError, OwnFiles, Published, load, own_files, publish, remove_outdated};
use shared::shop::publishing::read_version;
use shared::table::bulk::delete_each;
use shared::table::codec::{key_attributes, key_of};
use shared::table::keys;
use shared::table::published::read_active_version;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tests::{Faults, TestTable};

const CATEGORY: &str = "id: 1\nslug: a\nname: A\nenabled: false # not yet\n";

/// A store with this comment.
fn commented(comment: &str) -> (TempDir, Compiled) {
    let dir = store(&[("store.yaml", &*format!("# {comment}\n{STORE}")), ("categories/a.yaml", CATEGORY)]);
    let compiled = compiled_in(dir.path());
    (dir, compiled)
}

async fn kept(table: &TestTable, version: &str) -> OwnFiles {
    own_files(&table.db, version).await.unwrap()
}

async fn parts(table: &TestTable, version: &str) -> usize {
    table.items(&keys::version_files(version)).await.len()
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store")
}

/// The files of a store's directory that are published, with their bytes.
fn files_in(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec!["store.yaml".into(), "staff.yaml".into()];
    for folder in ["categories", "pages"] {
        let names = std::fs::read_dir(dir.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        found.extend(names.map(|name| Path::new(folder).join(name)));
    }
    found.sort();
    let read = |path: PathBuf| Some((path.clone(), std::fs::read(dir.join(path)).ok()?));
    found.into_iter().filter_map(read).collect()
}

#[tokio::test]
async fn the_sample_store_comes_back_as_the_same_version_and_byte_for_byte() {
    let (table, store) = (TestTable::empty().await, compiled_in(&sample()));
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let loaded = load(&table.db, &record).await.unwrap();
    assert_eq!(Compiled { files: store.files.clone(), ..loaded }, store);
    let dir = tempfile::tempdir().unwrap();
    kept(&table, &store.version).await.write(dir.path()).unwrap();
    let (written, own) = (files_in(dir.path()), files_in(&sample()));
    assert!(own.len() > 10 && written == own, "{written:?}");
    assert!(!dir.path().join("live.jsonl").exists() && !dir.path().join("img").exists());
    assert_eq!(publish(&table.db, &compiled_in(dir.path()), NOW + 1).await.unwrap(), Published::Unchanged);
}

#[tokio::test]
async fn line_ends_marks_and_a_style_sheet_come_back_as_they_were_written() {
    let files = [
        ("store.yaml", &*format!("\u{feff}{}shop: {{css: own.css}}\r\n", STORE.replace('\n', "\r\n"))),
        ("own.css", "/* ü */\r\np { color: red }\r\n\n"),
        ("pages/a.yaml", "id: 1\ntitle: A\nurl: a # no line end"),
    ];
    let (table, dir) = (TestTable::empty().await, store(&files));
    let compiled = compiled_in(dir.path());
    publish(&table.db, &compiled, NOW).await.unwrap();
    let out = tempfile::tempdir().unwrap();
    kept(&table, &compiled.version).await.write(out.path()).unwrap();
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(out.path().join(path)).unwrap(), text, "{path}");
    }
}

#[tokio::test]
async fn files_of_which_only_a_comment_changes_are_replaced_and_the_version_stays() {
    let table = TestTable::empty().await;
    let ((_, one), (_, other)) = (commented("one"), commented("other"));
    assert_eq!(one.version, other.version);
    publish(&table.db, &one, NOW).await.unwrap();
    assert_eq!(publish(&table.db, &other, NOW + 1).await.unwrap(), Published::FilesReplaced);
    assert_eq!(kept(&table, &one.version).await, other.files);
    assert_eq!(parts(&table, &one.version).await, 1, "those of before are removed");
    assert_eq!(publish(&table.db, &other, NOW + 2).await.unwrap(), Published::Unchanged);
    // Also those of a version that is switched to again.
    publish(&table.db, &compiled_in(&sample()), NOW + 3).await.unwrap();
    publish(&table.db, &one, NOW + 4).await.unwrap();
    assert_eq!(kept(&table, &one.version).await, one.files);
}

/// Text that does not get smaller.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(text, "# {state:016x}").unwrap();
    }
    text
}

#[tokio::test]
async fn large_and_many_files_are_kept_in_parts_and_a_lost_part_is_found() {
    let (table, (dir, _)) = (TestTable::empty().await, commented("large"));
    for page in 1..50 {
        let text = format!("id: {page}\ntitle: T\nurl: p{page}\n{}", noise(40_000));
        write(dir.path(), &format!("pages/{page}.yaml"), &text.replace("# ", &format!("# {page} ")));
    }
    write(dir.path(), "pages/large.yaml", &format!("id: 99\ntitle: T\nurl: large\n{}", noise(2_000_000)));
    let compiled = compiled_in(dir.path());
    publish(&table.db, &compiled, NOW).await.unwrap();
    let version = &compiled.version;
    assert!(parts(&table, version).await > 2);
    assert_eq!(kept(&table, version).await, compiled.files);
    let lost = key_of(&table.items(&keys::version_files(version)).await[1]).unwrap();
    delete_each(&table.db, std::iter::once(lost), &|_| {}).await.unwrap();
    assert!(matches!(own_files(&table.db, version).await, Err(FilesError::Damaged { .. })));
    assert_eq!(publish(&table.db, &compiled, NOW + 1).await.unwrap(), Published::FilesReplaced);
    assert_eq!(kept(&table, version).await, compiled.files, "the next publish brings it back");
}

#[tokio::test]
async fn a_publish_that_is_cut_off_at_any_write_leaves_no_active_version_without_whole_files_and_goes_on() {
    let ((_, one), (_, other)) = (commented("one"), commented("other"));
    for let_through in 0.. {
        let table = TestTable::empty().await;
        let first = publish(&table.through(Faults::cut_after(let_through)), &one, NOW).await;
        if let Some(active) = read_active_version(&table.db).await.unwrap() {
            assert_eq!(kept(&table, &active.version).await, one.files, "write {let_through}");
        }
        publish(&table.db, &one, NOW + 1).await.unwrap();
        assert_eq!(kept(&table, &one.version).await, one.files, "write {let_through}");
        let second = publish(&table.through(Faults::cut_after(let_through)), &other, NOW + 2).await;
        let found = kept(&table, &one.version).await;
        assert!(found == one.files || found == other.files, "write {let_through}");
        publish(&table.db, &other, NOW + 3).await.unwrap();
        assert_eq!(kept(&table, &one.version).await, other.files, "write {let_through}");
        // What was left behind is removed with the version.
        for hour in 1..=5 {
            let other = compiled(&[("store.yaml", STORE.replace("Test", &format!("S{hour}")))]);
            publish(&table.db, &other, NOW + hour * 7_200).await.unwrap();
        }
        remove_outdated(&table.db, NOW + 90_000, 3_600, &|_| {}).await.unwrap();
        assert_eq!(parts(&table, &one.version).await, 0, "write {let_through}");
        if first.is_ok() && second.is_ok() {
            assert!(let_through > 3, "record, rows, files, note, switch");
            return;
        }
    }
}

#[tokio::test]
async fn of_two_publishers_with_other_comments_both_end_and_the_files_are_those_of_one() {
    let table = TestTable::empty().await;
    let ((_, one), (_, other)) = (commented("one"), commented("other"));
    for _ in 0..5 {
        let both = tokio::join!(publish(&table.db, &one, NOW), publish(&table.db, &other, NOW));
        assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
        let found = kept(&table, &one.version).await;
        assert!(found == one.files || found == other.files);
        assert_eq!(parts(&table, &one.version).await, 1);
    }
}

#[tokio::test]
async fn a_version_of_before_files_were_kept_says_so_and_has_them_after_the_next_publish() {
    let (table, (_, store)) = (TestTable::empty().await, commented("one"));
    publish(&table.db, &store, NOW).await.unwrap();
    let record = key_attributes(&keys::version(&store.version));
    let update = table.db.client().update_item().table_name(table.db.table()).set_key(Some(record));
    update.update_expression("REMOVE #files").expression_attribute_names("#files", "files").send().await.unwrap();
    assert!(matches!(own_files(&table.db, &store.version).await, Err(FilesError::None { .. })));
    assert_eq!(publish(&table.db, &store, NOW + 1).await.unwrap(), Published::FilesReplaced);
    assert_eq!(kept(&table, &store.version).await, store.files);
}

#[tokio::test]
async fn a_damaged_version_is_not_taken_for_what_was_published() {
    let (table, store) = (TestTable::empty().await, compiled_in(&sample()));
    publish(&table.db, &store, NOW).await.unwrap();
    let record = read_version(&table.db, &store.version).await.unwrap().unwrap();
    let key = keys::staff(&store.version);
    let item = shared::table::codec::encode_published(&key, &shared::model::Staff::default()).unwrap();
    table.write_item(item).await;
    assert!(load(&table.db, &record).await.unwrap_err().to_string().contains("damaged"));
    assert_eq!(publish::damage(&table.db, &store).await.unwrap(), 1);
}
