//! The format of a backup: gzip over lines of JSON. The first line says what it is, then one item per line as
//! DynamoDB itself writes it, and the last line says how many there are and what everything before it hashes to.

use crate::error::{Exit, Failure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use shared::store::codec::Item;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

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

#[derive(Debug)]
pub struct Writer {
    out: GzEncoder<BufWriter<File>>,
    hash: Sha256,
    items: u64,
}

impl Writer {
    /// Begins a new file that only its owner reads: there are gift cards in it.
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

    pub fn item(&mut self, item: &Item) -> std::io::Result<()> {
        self.items += 1;
        self.line(&line(item))
    }

    /// Ends the file and returns the number of items.
    pub fn finish(self) -> std::io::Result<u64> {
        let Self { mut out, hash, items } = self;
        let tail = Tail { items, sha256: hex::encode(hash.finalize()) };
        writeln!(out, "{}", serde_json::to_string(&tail)?)?;
        let file = out.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(items)
    }
}

/// An item as a line of a backup, in DynamoDB's own JSON. Attributes are sorted by name, so that equal items
/// are equal lines.
pub fn line(item: &Item) -> String {
    let mut line = json!(serde_dynamo::Item::from(item.clone()));
    line.sort_all_objects();
    line.to_string()
}

fn item_of(line: &str) -> serde_json::Result<Item> {
    serde_json::from_str::<serde_dynamo::Item>(line).map(Item::from)
}

/// The properties of a complete backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    pub taken_at: String,
    pub items: u64,
    pub sha256: String,
}

/// Reads a backup from beginning to end and checks that it is whole. Fails if it cannot be read, is not a backup, is
/// cut off, or was altered.
pub fn verify(path: &Path) -> Result<Seal, Failure> {
    let broken = |what: &str| {
        let what = format!("{} {what}.", path.display());
        Failure::new(Exit::Local, what, "Take another copy of the file, or an older backup.")
    };
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let mut lines = BufReader::new(GzDecoder::new(file)).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    let head: Head = serde_json::from_str(&first).map_err(|_| broken("is not a backup of this tool"))?;
    if head.format != FORMAT {
        return Err(broken("is a backup of another version of this tool"));
    }
    let mut hash = Sha256::new();
    let mut previous = first;
    let mut items = 0_u64;
    for line in lines {
        let line = line.map_err(|_| broken("is damaged or cut off"))?;
        hash.update(previous.as_bytes());
        hash.update(b"\n");
        previous = line;
        items += 1;
    }
    let tail: Tail = serde_json::from_str(&previous).map_err(|_| broken("is cut off: its last line is missing"))?;
    if tail.items + 1 != items || tail.sha256 != hex::encode(hash.finalize()) {
        return Err(broken("was altered: its checksum does not match"));
    }
    Ok(Seal { taken_at: head.taken_at, items: tail.items, sha256: tail.sha256 })
}

/// The items of a backup that was verified, in the order of the file.
pub fn items(path: &Path, seal: &Seal) -> Result<impl Iterator<Item = Result<Item, Failure>>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let path = path.to_owned();
    let count = usize::try_from(seal.items).unwrap_or(usize::MAX);
    let lines = BufReader::new(GzDecoder::new(file)).lines().skip(1).take(count);
    Ok(lines.enumerate().map(move |(place, line)| {
        let line = line.map_err(|error| Failure::file(&path, &error))?;
        item_of(&line).map_err(|_| {
            let what = format!("Line {} of {} is not an item.", place + 2, path.display());
            Failure::new(Exit::Local, what, "It was not written by this tool; take another backup.")
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::primitives::Blob;
    use aws_sdk_dynamodb::types::AttributeValue;
    use std::io::Read as _;

    #[test]
    fn every_kind_of_value_is_written_with_its_type_and_read_back() {
        let item = Item::from([
            ("s".to_owned(), AttributeValue::S("\u{1f525} \"x\"\n".to_owned())),
            ("n".to_owned(), AttributeValue::N("99999999999999999999.5".to_owned())),
            ("b".to_owned(), AttributeValue::B(Blob::new([0, 255]))),
            ("t".to_owned(), AttributeValue::Bool(false)),
            ("0".to_owned(), AttributeValue::Null(true)),
            ("ss".to_owned(), AttributeValue::Ss(vec!["a".to_owned()])),
            ("ns".to_owned(), AttributeValue::Ns(vec!["1".to_owned()])),
            ("bs".to_owned(), AttributeValue::Bs(vec![Blob::new([7])])),
            ("l".to_owned(), AttributeValue::L(vec![AttributeValue::M(Item::new())])),
        ]);
        let written = concat!(
            r#"{"0":{"NULL":true},"b":{"B":"AP8="},"bs":{"BS":["Bw=="]},"l":{"L":[{"M":{}}]},"#,
            r#""n":{"N":"99999999999999999999.5"},"ns":{"NS":["1"]},"s":{"S":"🔥 \"x\"\n"},"#,
            r#""ss":{"SS":["a"]},"t":{"BOOL":false}}"#,
        );
        assert_eq!(line(&item), written);
        assert_eq!(item_of(written).unwrap(), item);
    }

    #[test]
    fn the_checksum_is_over_the_first_line_as_it_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, altered) = (dir.path().join("whole"), dir.path().join("altered"));
        Writer::create(&whole, "2026-06-15T12:00:00Z").unwrap().finish().unwrap();
        assert!(verify(&whole).is_ok());
        let mut text = String::new();
        GzDecoder::new(File::open(&whole).unwrap()).read_to_string(&mut text).unwrap();
        for (from, to) in [("\"taken_at\"", " \"taken_at\""), ("{\"format\"", "{\"more\":1,\"format\"")] {
            let mut out = GzEncoder::new(File::create(&altered).unwrap(), Compression::default());
            out.write_all(text.replacen(from, to, 1).as_bytes()).unwrap();
            out.finish().unwrap();
            assert!(verify(&altered).is_err(), "{to}");
        }
    }

    #[test]
    fn what_is_not_an_item_is_refused() {
        for text in ["", "[]", "1", r#"{"a":1}"#, r#"{"a":{"X":1}}"#, r#"{"a":{"N":1}}"#] {
            assert!(item_of(text).is_err(), "{text}");
        }
    }
}
