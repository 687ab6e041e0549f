//! `backup`: everything in the table, in one compressed file; or what a demo store is loaded with.

use crate::prelude::*;
use archive::{Content, Writer};
use shared::table::bulk::each;
use shared::table::codec::key_of;
use shared::table::keys::{self, Key, prefix};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args)]
pub struct Backup {
    /// File to write; it must not exist.
    pub file: PathBuf,
    /// Write what a demo store is loaded with (live.jsonl in its folder), as text: accounts, bans, carts, codes and orders.
    #[arg(long)]
    pub demo: bool,
}

pub async fn run(at: &Deployment, console: &Console, options: &Backup) -> Outcome {
    let path = &options.file;
    if path.exists() {
        let what = format!("{} is there already.", path.display());
        return Err(Failure::new(Exit::Local, what, "Choose another name: a backup never replaces one."));
    }
    // Written under another name and renamed when it is whole, so that half a backup never looks like one.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let items = write_all(at, console, &part, options.demo).await.map_err(|failure| {
        _ = std::fs::remove_file(&part);
        failure.done("No backup was written; the table was only read.")
    })?;
    std::fs::rename(&part, path).map_err(|error| Failure::file(path, &error))?;
    let text = ok!("{items} items of {} are in {}.", at.name, path.display());
    Ok(Printed::new(text, &facts! { items, file: path }))
}

async fn write_all(at: &Deployment, console: &Console, part: &Path, demo: bool) -> Result<u64> {
    let local = |error: std::io::Error| Failure::file(part, &error);
    // Left by a run that was cut off.
    if part.exists() {
        std::fs::remove_file(part).map_err(local)?;
    }
    let content = if demo { Content::Demo } else { Content::Backup };
    let mut writer = Writer::create(part, content, &Time(at.clock.seconds()).to_string()).map_err(local)?;
    let progress = console.progress("Reading", None);
    let mut sorted = BTreeMap::new();
    each(&at.db, "", |item| {
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

/// Whether a row is live data of a demo store. What belongs to a payment provider or to game servers is not, because a
/// demo has others, nor is what follows from other rows.
fn is_demo(key: &Key) -> bool {
    const KINDS: [&str; 6] = [prefix::USER, prefix::BAN, prefix::CART, prefix::CODE, prefix::USE, prefix::REFERRAL];
    KINDS.iter().any(|kind| key.pk.starts_with(kind)) || keys::is_order(key)
}
