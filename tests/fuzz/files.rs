//! Files of owners: backups, and the YAML files of a store.

use crate::{Outcome, mutate, tries};
use archive::Content;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use tempfile::TempDir;
use tests::repository;

/// A backup that is accepted has the checksum of what is in it, and its items are written the same again.
#[test]
fn archives() {
    let dir = TempDir::new().unwrap();
    // With every type of attribute.
    let item = json!({
        "pk": { "S": "CART#1" }, "sk": { "S": "-" }, "n": { "N": "99999999999999999999.5" }, "b": { "B": "AP8=" },
        "t": { "BOOL": false }, "0": { "NULL": true }, "ss": { "SS": ["a"] }, "ns": { "NS": ["1"] }, "bs": { "BS": ["Bw=="] },
        "l": { "L": [{ "M": { "count": { "N": "2" } } }] },
    });
    let way = (0..6_u8, mutate::edits());
    let inputs = (vec(mutate::json_text(Just(item)), 0..3), mutate::rarely(), way);
    tries("archive", 1, inputs, |(items, in_text, (way, in_bytes))| {
        let head = json!({ "format": "storectl-backup 1", "taken_at": "2026-06-15T12:00:00Z" }).to_string();
        let text = std::iter::once(head).chain(items.clone()).collect::<Vec<_>>().join("\n") + "\n";
        let end = json!({ "items": items.len(), "sha256": hex::encode(Sha256::digest(&text)) });
        let text = mutate::text(&format!("{text}{end}\n"), &in_text);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let path = dir.path().join("backup");
        // One in six is not the archive of this text.
        fs::write(&path, if way == 5 { mutate::bytes(&packed, &in_bytes) } else { packed }).unwrap();
        unpacked(&path, (way != 5).then_some(&text))
    });
}

fn unpacked(path: &Path, text: Option<&String>) -> Outcome {
    let Ok(seal) = archive::verify(path, Content::Backup) else { return Ok(false) };
    if let Some(text) = text {
        let lines: Vec<&str> = text.lines().collect();
        let before = lines[..lines.len() - 1].join("\n") + "\n";
        prop_assert_eq!(&seal.sha256, &hex::encode(Sha256::digest(&before)), "accepted by another checksum");
        prop_assert_eq!(seal.items + 2, lines.len() as u64);
    }
    let items = archive::items(path, &seal).map_err(|failure| TestCaseError::fail(format!("{failure:?}")))?;
    for line in items.flatten().map(|item| archive::line(&item)) {
        let mut again: Value = serde_json::from_str(&line).map_err(|error| TestCaseError::fail(error.to_string()))?;
        again.sort_all_objects();
        prop_assert_eq!(again.to_string(), line);
    }
    Ok(true)
}

/// The files that are read together. One of them is changed.
const FILES: [&str; 4] = ["store.yaml", "staff.yaml", "categories/crates.yaml", "pages/rules.yaml"];
/// Files that are added as a further category.
const CATEGORIES: [&str; 4] =
    ["categories/ranks.yaml", "categories/boosts.yaml", "categories/support.yaml", "categories/anniversary.yaml"];

/// A change of a line of YAML.
#[derive(Debug, Clone)]
enum Line {
    Remove,
    Double,
    Indent,
    Outdent,
    Text(mutate::Edits),
    /// A change of what is after the colon.
    Value(mutate::Edits),
    Put(String),
}

fn lines() -> impl Strategy<Value = Vec<(Index, Line)>> {
    let line = prop_oneof![
        4 => select(vec![Line::Remove, Line::Double, Line::Indent, Line::Outdent]),
        1 => mutate::edits().prop_map(Line::Text),
        1 => mutate::edits().prop_map(Line::Value),
        1 => mutate::token().prop_map(Line::Put),
        1 => mutate::token().prop_map(|token| Line::Put(json!(token).to_string())),
    ];
    vec((any::<Index>(), line), 1..3)
}

fn change(text: &str, edits: &[(Index, Line)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (at, edit) in edits {
        let at = at.index(lines.len());
        let line = lines.remove(at);
        let (key, value) = line.split_once(": ").unwrap_or((&line, ""));
        let new = match edit {
            Line::Remove => Vec::new(),
            Line::Double => vec![line.clone(), line],
            Line::Indent => vec![format!("  {line}")],
            Line::Outdent => vec![line.trim_start().to_owned()],
            Line::Text(text) => vec![mutate::text(&line, text)],
            Line::Value(text) => vec![format!("{key}: {}", mutate::text(value, text))],
            Line::Put(token) => vec![format!("{key}: {token}")],
        };
        lines.splice(at..at, new);
    }
    lines.join("\n")
}

/// Every fault is reported with its file, and a store without faults is published the same again.
#[test]
fn files_of_a_store() {
    let dir = TempDir::new().unwrap();
    let sample = |file: &str| fs::read_to_string(repository().join("infra/sample-store").join(file)).unwrap();
    for folder in ["categories", "pages"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    let every: Vec<&str> = FILES.into_iter().chain(CATEGORIES).collect();
    tries("store-files", 1, (select(every), lines(), 0..20_u8, mutate::edits()), |(file, changes, way, edits)| {
        for file in CATEGORIES {
            _ = fs::remove_file(dir.path().join(file));
        }
        for file in FILES {
            fs::write(dir.path().join(file), sample(file)).unwrap();
        }
        let text = change(&sample(file), &changes).into_bytes();
        let text = if way == 19 { mutate::bytes(&text, &edits) } else { text };
        fs::write(dir.path().join(file), text).unwrap();
        let files = match publish::read(dir.path()) {
            Ok(files) => files,
            Err(faults) => return reported(&faults),
        };
        let compiled = match publish::compile(&files) {
            Ok(compiled) => compiled,
            Err(faults) => return reported(&faults),
        };
        _ = publish::warnings(&files);
        let again = TempDir::new().unwrap();
        compiled.files.write(again.path()).unwrap();
        let again = publish::read(again.path()).and_then(|files| publish::compile(&files)).map(|again| again.version);
        prop_assert_eq!(again.as_ref(), Ok(&compiled.version), "exported, it is another");
        Ok(true)
    });
}

/// At least one fault, and each names its file and says something in one line.
fn reported(faults: &[publish::Fault]) -> Outcome {
    prop_assert!(!faults.is_empty(), "refused without a fault");
    for fault in faults {
        let is_named = FILES.iter().chain(&CATEGORIES).any(|file| fault.file.ends_with(file));
        prop_assert!(is_named && !fault.problem.is_empty(), "a fault of no file: {fault:?}");
    }
    Ok(false)
}
