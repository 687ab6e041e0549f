//! `export`: the published store back to files.

use super::published;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::Export;
use crate::error::{Exit, Failure};
use crate::target::Target;
use publish::LoadError;
use serde_json::json;
use std::io::ErrorKind;

pub(super) async fn run(target: &Target, options: &Export) -> Result<Answer, Failure> {
    let dir = &options.dir;
    let filled = match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file(dir, &error)),
    };
    if filled {
        let what = format!("{} is not empty.", dir.display());
        return Err(Failure::new(Exit::Local, what, "Export to a new directory, then compare."));
    }
    let version = published(target).await?.version;
    let missing = || LoadError::Missing { version: version.clone(), kind: "VERSIONS".to_owned() };
    let record = publish::read_version(&target.db, &version).await?;
    let store = match record {
        Some(record) => publish::load(&target.db, &record).await,
        None => Err(missing()),
    };
    let store = store.map_err(|error| match error {
        LoadError::Store(error) => error.into(),
        damaged => Failure::refused(format!("{damaged}."), "Publish your own files again, or roll back."),
    })?;
    let files = publish::export(&store);
    publish::write_files(dir, &files).map_err(|error| {
        Failure::file(dir, &error).done("Some files may have been written; the table was not touched.")
    })?;
    let count = files.categories.len();
    let text = format!(
        "{} Version {version} is in {}: {count} categories, {} items, {} pages.",
        paint(GOOD, "ok"),
        dir.display(),
        store.items.len(),
        files.pages.len()
    );
    Ok(Answer::new(text, json!({ "version": version, "dir": dir, "items": store.items.len() })))
}
