//! The format of a backup: gzip over lines of JSON. The first line says what it is, then one item per line as
//! DynamoDB itself writes it, and the last line says how many there are and what everything before it hashes to.

mod attribute;

use crate::error::{Exit, Failure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shared::hex;
use shared::store::codec::Item;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// The format's name and version.
const FORMAT: &str = "storectl-backup 1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: String,
    taken_at: String,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tail {
    items: u64,
    sha256: String,
}

/// Writes a backup.
#[derive(Debug)]
pub struct Writer {
    out: GzEncoder<BufWriter<File>>,
    hash: Sha256,
    items: u64,
}

impl Writer {
    /// Begins a new file that only its owner reads: there are gift cards in it.
    ///
    /// # Errors
    /// Where it cannot be made, or is there already.
    pub fn create(path: &Path, taken_at: &str) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let out = GzEncoder::new(BufWriter::new(options.open(path)?), Compression::default());
        let mut writer = Self { out, hash: Sha256::new(), items: 0 };
        let head = Head { format: FORMAT.to_owned(), taken_at: taken_at.to_owned() };
        writer.line(&serde_json::to_string(&head)?)?;
        Ok(writer)
    }

    fn line(&mut self, text: &str) -> std::io::Result<()> {
        self.hash.update(text.as_bytes());
        self.hash.update(b"\n");
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")
    }

    /// Adds an item.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn item(&mut self, item: &Item) -> std::io::Result<()> {
        self.items += 1;
        self.line(&line(item))
    }

    /// Ends the file and answers with the number of items.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(self) -> std::io::Result<u64> {
        let Self { mut out, hash, items } = self;
        let tail = Tail { items, sha256: hex::encode(&hash.finalize()) };
        writeln!(out, "{}", serde_json::to_string(&tail)?)?;
        let file = out.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(items)
    }
}

/// An item as it stands in a backup: equal items are equal lines.
#[must_use]
pub fn line(item: &Item) -> String {
    attribute::item_to_json(item).to_string()
}

/// What a whole, unharmed backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// When it was taken.
    pub taken_at: String,
    /// How many items are in it.
    pub items: u64,
    /// Its checksum.
    pub sha256: String,
}

/// Reads a backup from beginning to end and makes sure that it is whole.
///
/// # Errors
/// [`Failure`] where it cannot be read, is no backup, is cut off, or was altered.
pub fn verify(path: &Path) -> Result<Seal, Failure> {
    let broken = |what: &str| {
        let what = format!("{} {what}.", path.display());
        Failure::new(Exit::Local, what, "Take another copy of the file, or an older backup.")
    };
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let mut lines = BufReader::new(GzDecoder::new(file)).lines();
    let head = lines.next().and_then(Result::ok).unwrap_or_default();
    let head: Head = serde_json::from_str(&head).map_err(|_| broken("is no backup of this tool"))?;
    if head.format != FORMAT {
        return Err(broken("is a backup of another version of this tool"));
    }
    let mut hash = Sha256::new();
    let mut previous = serde_json::to_string(&head).map_err(|_| broken("is no backup of this tool"))?;
    let mut items = 0_u64;
    for line in lines {
        let line = line.map_err(|_| broken("is damaged or cut off"))?;
        hash.update(previous.as_bytes());
        hash.update(b"\n");
        previous = line;
        items += 1;
    }
    let tail: Tail = serde_json::from_str(&previous).map_err(|_| broken("is cut off: its last line is missing"))?;
    if tail.items + 1 != items || tail.sha256 != hex::encode(&hash.finalize()) {
        return Err(broken("was altered: its checksum does not match"));
    }
    Ok(Seal { taken_at: head.taken_at, items: tail.items, sha256: tail.sha256 })
}

/// The items of a backup that was verified, in the order of the file.
///
/// # Errors
/// [`Failure`] where it cannot be opened.
pub fn items(path: &Path, seal: &Seal) -> Result<impl Iterator<Item = Result<Item, Failure>>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let path = path.to_owned();
    let count = usize::try_from(seal.items).unwrap_or(usize::MAX);
    let lines = BufReader::new(GzDecoder::new(file)).lines().skip(1).take(count);
    Ok(lines.enumerate().map(move |(place, line)| {
        let line = line.map_err(|error| Failure::file(&path, &error))?;
        attribute::item_from_json(&line).ok_or_else(|| {
            let what = format!("Line {} of {} is no item.", place + 2, path.display());
            Failure::new(Exit::Local, what, "It was not written by this tool; take another backup.")
        })
    }))
}
