//! Backups: one that is accepted has the checksum of what is in it, and its items are written the same again.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::path::PathBuf;
use storectl::archive;
use tempfile::TempDir;

/// The reader of backups.
#[derive(Debug)]
pub struct Archive {
    dir: TempDir,
}

/// An item with every type of attribute.
fn item() -> Value {
    json!({
        "pk": { "S": "CART#1" }, "sk": { "S": "-" }, "n": { "N": "99999999999999999999.5" }, "b": { "B": "AP8=" },
        "t": { "BOOL": false }, "0": { "NULL": true }, "ss": { "SS": ["a"] }, "ns": { "NS": ["1"] }, "bs": { "BS": ["Bw=="] },
        "l": { "L": [{ "M": { "count": { "N": "2" } } }] },
    })
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    _ = out.write_all(text);
    out.finish().unwrap_or_default()
}

impl Target for Archive {
    const NAME: &'static str = "archive";
    /// The text of a backup, or `None` and bytes that are not one.
    type Input = (Option<String>, Vec<u8>);

    fn start() -> Result<Self, FuzzError> {
        Ok(Self { dir: TempDir::new().map_err(FuzzError::setup)? })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        let mut text = json!({ "format": "storectl-backup 1", "taken_at": "2026-06-15T12:00:00Z" }).to_string();
        text.push('\n');
        let count = random.below(3);
        for _ in 0..count {
            text.push_str(&mutate::json_text(random, &item()));
            text.push('\n');
        }
        let sha256 = hex::encode(Sha256::digest(&text));
        text.push_str(&json!({ "items": count, "sha256": sha256 }).to_string());
        text.push('\n');
        if random.one_in(4) {
            text = mutate::text(random, &text);
        }
        let bytes = packed(text.as_bytes());
        if random.one_in(6) { (None, mutate::bytes(random, &bytes)) } else { (Some(text), bytes) }
    }

    fn check(&mut self, (text, bytes): &Self::Input) -> Result<Outcome, String> {
        let path: PathBuf = self.dir.path().join("backup");
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let Ok(seal) = archive::verify(&path) else { return Ok(Outcome::Refused) };
        if let Some(text) = text {
            let lines: Vec<&str> = text.lines().collect();
            let before = lines[..lines.len() - 1].join("\n") + "\n";
            rule(seal.sha256 == hex::encode(Sha256::digest(&before)), || "accepted by another checksum".to_owned())?;
            let count = u64::try_from(lines.len()).unwrap_or_default();
            rule(seal.items + 2 == count, || format!("{} items in {count} lines", seal.items))?;
        }
        let items = archive::items(&path, &seal).map_err(|failure| format!("{failure:?}"))?;
        for item in items.flatten() {
            let line = archive::line(&item);
            let again = serde_json::from_str::<Value>(&line).map(|mut value| {
                value.sort_all_objects();
                value.to_string()
            });
            rule(again.as_ref().is_ok_and(|again| *again == line), || format!("{line} is read as {again:?}"))?;
        }
        Ok(Outcome::Accepted)
    }
}
