//! The format of a backup: lines of JSON. The first line says what it is, then one item per line as DynamoDB itself
//! writes it, and the last line says how many there are and what everything before it hashes to. A backup is compressed;
//! the live data of a demo store have the same format and are not, so that their changes can be read.
//!
//! Beside it are what a local server leaves for the operations tool, and how files are written that only their
//! owner reads ([`running`]).

pub mod running;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use shared::table::codec::Item;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Everything in a table.
    Backup,
    /// The live data of a demo store.
    Demo,
}

impl Content {
    const fn format(self) -> &'static str {
        match self {
            Self::Backup => "storectl-backup 1",
            Self::Demo => "storectl-demo 1",
        }
    }

    /// The problem of a file with another content.
    const fn otherwise(self) -> &'static str {
        match self {
            Self::Backup => "is not a backup of this tool",
            Self::Demo => "does not have the live data of a demo store, as `storectl backup --demo` writes them",
        }
    }
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{path} cannot be used: {source}")]
    File { path: PathBuf, source: io::Error },
    /// It is not such a file, is cut off, or was altered.
    #[error("{path} {problem}")]
    Broken { path: PathBuf, problem: &'static str },
    #[error("line {line} of {path} is not an item")]
    NotAnItem { path: PathBuf, line: usize },
}

fn unusable(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::File { path: path.to_owned(), source }
}

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
enum Out {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

#[derive(Debug)]
pub struct Writer {
    out: Out,
    hash: Sha256,
    items: u64,
}

impl Writer {
    /// Begins a new file that only its owner reads: there are gift cards in it.
    pub fn create(path: &Path, content: Content, taken_at: &str) -> io::Result<Self> {
        let file = BufWriter::new(running::options().create_new(true).open(path)?);
        let out = match content {
            Content::Backup => Out::Compressed(GzEncoder::new(file, Compression::default())),
            Content::Demo => Out::Plain(file),
        };
        let mut writer = Self { out, hash: Sha256::new(), items: 0 };
        let head = Head { format: content.format().to_owned(), taken_at: taken_at.to_owned() };
        writer.line(&serde_json::to_string(&head)?)?;
        Ok(writer)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.hash.update(text.as_bytes());
        self.hash.update(b"\n");
        self.write(text)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match &mut self.out {
            Out::Plain(out) => writeln!(out, "{text}"),
            Out::Compressed(out) => writeln!(out, "{text}"),
        }
    }

    pub fn item(&mut self, item: &Item) -> io::Result<()> {
        self.items += 1;
        self.line(&line(item))
    }

    /// Ends the file and returns the number of items.
    pub fn finish(mut self) -> io::Result<u64> {
        let tail = Tail { items: self.items, sha256: hex::encode(self.hash.clone().finalize()) };
        self.write(&serde_json::to_string(&tail)?)?;
        let out = match self.out {
            Out::Plain(out) => out,
            Out::Compressed(out) => out.finish()?,
        };
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(self.items)
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

/// The properties of a complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    content: Content,
    pub taken_at: String,
    pub items: u64,
    pub sha256: String,
}

fn lines(path: &Path, content: Content) -> Result<io::Lines<Box<dyn BufRead>>, ArchiveError> {
    let file = File::open(path).map_err(|error| unusable(path, error))?;
    let read: Box<dyn BufRead> = match content {
        Content::Backup => Box::new(BufReader::new(GzDecoder::new(file))),
        Content::Demo => Box::new(BufReader::new(file)),
    };
    Ok(read.lines())
}

/// Reads a file from beginning to end and checks that it is whole. Fails if it cannot be read, has another content, is
/// cut off, or was altered.
pub fn verify(path: &Path, content: Content) -> Result<Seal, ArchiveError> {
    let broken = |problem| ArchiveError::Broken { path: path.to_owned(), problem };
    let mut lines = lines(path, content)?;
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    let head: Head = serde_json::from_str(&first).map_err(|_| broken(content.otherwise()))?;
    if head.format != content.format() {
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
    Ok(Seal { content, taken_at: head.taken_at, items: tail.items, sha256: tail.sha256 })
}

/// The items of a file that was verified, in its order.
pub fn items(path: &Path, seal: &Seal) -> Result<impl Iterator<Item = Result<Item, ArchiveError>>, ArchiveError> {
    let count = usize::try_from(seal.items).unwrap_or(usize::MAX);
    let lines = lines(path, seal.content)?.skip(1).take(count);
    let path = path.to_owned();
    Ok(lines.enumerate().map(move |(place, line)| {
        let line = line.map_err(|error| unusable(&path, error))?;
        item_of(&line).map_err(|_| ArchiveError::NotAnItem { path: path.clone(), line: place + 2 })
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
        Writer::create(&whole, Content::Backup, "2026-06-15T12:00:00Z").unwrap().finish().unwrap();
        assert!(verify(&whole, Content::Backup).is_ok());
        let mut text = String::new();
        GzDecoder::new(File::open(&whole).unwrap()).read_to_string(&mut text).unwrap();
        for (from, to) in [("\"taken_at\"", " \"taken_at\""), ("{\"format\"", "{\"more\":1,\"format\"")] {
            let mut out = GzEncoder::new(File::create(&altered).unwrap(), Compression::default());
            out.write_all(text.replacen(from, to, 1).as_bytes()).unwrap();
            out.finish().unwrap();
            assert!(verify(&altered, Content::Backup).is_err(), "{to}");
        }
    }

    #[test]
    fn the_live_data_of_a_demo_store_are_text_and_neither_is_taken_for_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let (backup, demo) = (dir.path().join("backup"), dir.path().join("demo"));
        let item = Item::from([("pk".to_owned(), AttributeValue::S("USER#1".to_owned()))]);
        for (path, content, other) in
            [(&backup, Content::Backup, Content::Demo), (&demo, Content::Demo, Content::Backup)]
        {
            let mut writer = Writer::create(path, content, "2026-06-15T12:00:00Z").unwrap();
            writer.item(&item).unwrap();
            assert_eq!(writer.finish().unwrap(), 1);
            let seal = verify(path, content).unwrap();
            assert_eq!(
                items(path, &seal).unwrap().collect::<Result<Vec<_>, _>>().unwrap(),
                std::slice::from_ref(&item)
            );
            assert!(verify(path, other).is_err());
        }
        let text = std::fs::read_to_string(&demo).unwrap();
        assert_eq!(text.lines().nth(1), Some(r#"{"pk":{"S":"USER#1"}}"#));
        std::fs::write(&demo, text.replace("USER#1", "USER#2")).unwrap();
        assert!(verify(&demo, Content::Demo).unwrap_err().to_string().ends_with("its checksum does not match"));
    }

    #[test]
    fn what_is_not_an_item_is_refused() {
        for text in ["", "[]", "1", r#"{"a":1}"#, r#"{"a":{"X":1}}"#, r#"{"a":{"N":1}}"#] {
            assert!(item_of(text).is_err(), "{text}");
        }
    }
}
