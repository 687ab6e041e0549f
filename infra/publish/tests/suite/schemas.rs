//! The JSON Schemas beside the crate are those of its types, and the sample store's files point to them.

use publish::schema::schemas;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema")
}

#[test]
fn the_committed_schemas_are_fresh() {
    fs::create_dir_all(folder()).unwrap();
    let mut stale = Vec::new();
    for (name, text) in schemas() {
        let path = folder().join(name);
        // As values: the order of members depends on which packages are built together.
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        if fs::read_to_string(&path).ok().and_then(|text| parse(&text)) != parse(&text) {
            // It is written again here: commit it, and the next run passes.
            fs::write(&path, text).unwrap();
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "these schemas were stale and have been written again, commit them: {stale:?}");
    let known: Vec<&str> = schemas().iter().map(|(name, _)| *name).collect();
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "{name} is not the schema of a type");
    }
}

#[test]
fn every_file_of_the_sample_store_points_to_its_schema() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-store");
    let mut files = vec![store.join("store.yaml"), store.join("staff.yaml")];
    for folder in ["categories", "pages"] {
        files.extend(fs::read_dir(store.join(folder)).unwrap().map(|file| file.unwrap().path()));
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        let target = first.strip_prefix("# yaml-language-server: $schema=").unwrap_or_else(|| panic!("{first}"));
        let schema = file.parent().unwrap().join(target);
        assert!(schema.is_file(), "{} points to {target}, which is not there", file.display());
    }
}
