//! `backup`: everything in the table, in one compressed file; or what a demo store is loaded with.

use super::common::shown_time;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::Backup;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use archive::{Content, Writer};
use local::live::is_demo;
use serde_json::json;
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::keys;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) async fn run(target: &Target, console: &Console, options: &Backup) -> Result<Answer, Failure> {
    let path = &options.file;
    if path.exists() {
        let what = format!("{} is there already.", path.display());
        return Err(Failure::new(Exit::Local, what, "Choose another name: a backup never replaces one."));
    }
    // Written under another name and renamed when it is whole, so that half a backup never looks like one.
    let part = beside(path);
    let outcome = write(target, console, &part, options.demo).await;
    let items = match outcome {
        Ok(items) => items,
        Err(failure) => {
            _ = std::fs::remove_file(&part);
            return Err(failure.done("No backup was written; the table was only read."));
        }
    };
    std::fs::rename(&part, path).map_err(|error| Failure::file(path, &error))?;
    let text = format!("{} {items} items of {} are in {}.", paint(GOOD, "ok"), target.name, path.display());
    Ok(Answer::new(text, json!({ "items": items, "file": path })))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

async fn write(target: &Target, console: &Console, part: &Path, demo: bool) -> Result<u64, Failure> {
    let local = |error: std::io::Error| Failure::file(part, &error);
    // Left by a run that was cut off.
    if part.exists() {
        std::fs::remove_file(part).map_err(local)?;
    }
    let content = if demo { Content::Demo } else { Content::Backup };
    let mut writer = Writer::create(part, content, &shown_time(target.clock.seconds())).map_err(local)?;
    let progress = console.progress("Reading", None);
    let mut sorted = BTreeMap::new();
    each(&target.db, "", |item| {
        progress.advance(1);
        let key = key_of(&item)?;
        if demo {
            sorted.extend(is_demo(&key).then_some((key, item)));
            return Ok(());
        }
        if keys::is_brief(&key) { Ok(()) } else { writer.item(&item).map_err(local) }
    })
    .await?;
    // In an order that does not change, so that a change of the file can be read.
    sorted.values().try_for_each(|item| writer.item(item)).map_err(local)?;
    writer.finish().map_err(local)
}
