//! The journal: a folder with a lock, and a file to which the agent adds a line before it does something. A line has a checksum
//! and the records that were written together, so that a write that was cut off damages only the last line.

use crate::book::{Book, Outcome, Record, Source};
use crate::config::Config;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::{Path, PathBuf};

const FILE: &str = "journal.log";
const LOCK: &str = "lock";
/// The bytes that a journal must have room for after it was full.
const ROOM: usize = 64 * 1024;
/// After how many seconds old ids are looked for again.
const COMPACT_EVERY: i64 = 24 * 60 * 60;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("the journal {} is in use by another agent", .0.display())]
    Locked(PathBuf),
    #[error("the journal {} is damaged at byte {at}, before lines that are not. Keep a copy, remove the file, and see in \
             `storectl delivery list` what may have run", .path.display())]
    Damaged { path: PathBuf, at: u64 },
    #[error("the journal {} has the commands of server {} of {}. If the store has another address now, write \
             `moved_from: {}` in agent.yaml; if it is another store or server, name another folder at journal:",
            .path.display(), .found.server, .found.store, .found.store)]
    Foreign { path: PathBuf, found: Source },
    #[error("the journal {} cannot be used: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// Seconds since 1970 UTC.
    at: i64,
    records: Vec<Record>,
}

/// The end of what could be read of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    /// The bytes of whole lines.
    pub good: u64,
    /// The bytes after them.
    pub damaged: u64,
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    good: u64,
    /// Whether the last write failed: there may be a part of it in the file.
    is_failing: bool,
    /// Records of what happened that could not be written yet.
    unwritten: Vec<Record>,
    /// When old ids were last looked for.
    compacted: Option<i64>,
    _lock: File,
    pub book: Book,
}

impl Journal {
    /// Opens the journal in a folder, or begins one. What was begun and not ended becomes unknown. The file stays the same one:
    /// root may only check an agent that runs as another user.
    pub fn open(folder: &Path, now: i64) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Io { path: folder.to_owned(), source };
        make(folder, &folder.join(".."), || fs::create_dir_all(folder)).map_err(failed)?;
        let (path, lock) = (folder.join(FILE), folder.join(LOCK));
        let open = |path: &Path| File::options().create(true).append(true).open(path);
        let lock = make(&lock, folder, || open(&lock)).map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Locked(folder.to_owned()),
            TryLockError::Error(source) => failed(source),
        })?;
        let file = make(&path, folder, || open(&path)).map_err(failed)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let mut book = Book::default();
        let End { good, damaged } = read(&path, |record, at| book.apply(&record, at))?;
        if damaged > 0 {
            tracing::warn!(
                bytes = damaged,
                "the end of the journal was damaged and is cut off: a write was interrupted"
            );
            file.set_len(good).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        let (is_failing, unwritten) = (false, Vec::new());
        let mut journal = Self { path, file, good, is_failing, unwritten, compacted: None, _lock: lock, book };
        if journal.book.agent().is_none() {
            let mut id = [0; 8];
            getrandom::fill(&mut id).map_err(|error| failed(io::Error::other(error)))?;
            journal.append(&[Record::Agent(hex::encode(id))], now)?;
        }
        let begun = journal.book.begun();
        let output = "the agent ended while this ran";
        let ended = |id| Record::ended(id, Outcome::Unknown, output.to_owned());
        if !begun.is_empty() {
            tracing::warn!(ids = ?begun, "commands were begun when the agent ended: it is not known whether they ran");
            journal.append(&begun.into_iter().map(ended).collect::<Vec<_>>(), now)?;
        }
        Ok(journal)
    }

    /// Notes whose commands it has. Refuses those of another store or server, before anything runs or is reported: their ids mean
    /// other commands there.
    pub fn belong_to(&mut self, config: &Config, now: i64) -> Result<(), JournalError> {
        allow(config, &self.book, &self.path)?;
        if self.book.source() == Some(&config.source) {
            return Ok(());
        }
        self.append(&[Record::Source(config.source.clone())], now)
    }

    /// Writes records, and returns when they are on the disk. If that fails, they did not happen.
    pub fn append(&mut self, records: &[Record], now: i64) -> Result<(), JournalError> {
        self.write(records, now)?;
        for record in records {
            self.book.apply(record, now);
        }
        Ok(())
    }

    /// Writes what has happened already. If that fails, it is written with the next records.
    pub fn note(&mut self, record: Record, now: i64) {
        self.book.apply(&record, now);
        if let Err(error) = self.write(std::slice::from_ref(&record), now) {
            tracing::error!(%error, "the journal could not be written");
            self.unwritten.push(record);
        }
    }

    /// Whether the journal can be written, which is tried if it failed the last time: what the store serves and the agent cannot
    /// write down is served three times at most.
    pub fn probe(&mut self, now: i64) -> Result<(), JournalError> {
        let probed = self.in_place().and_then(|()| if self.is_failing { self.make_room() } else { Ok(()) });
        probed.map_err(|source| JournalError::Io { path: self.path.clone(), source })?;
        if self.is_failing || !self.unwritten.is_empty() { self.write(&[], now) } else { Ok(()) }
    }

    fn make_room(&mut self) -> io::Result<()> {
        self.file.set_len(self.good)?;
        self.file.write_all(&vec![0; ROOM])?;
        self.file.sync_data()?;
        self.file.set_len(self.good)
    }

    /// Refuses a file that a restart would not find: one that another program moved, removed, replaced or made shorter.
    fn in_place(&self) -> io::Result<()> {
        let (open, found) = (self.file.metadata()?, fs::metadata(&self.path));
        let is_same = |found: fs::Metadata| (found.dev(), found.ino()) == (open.dev(), open.ino());
        let problem = "another program moved, replaced or shortened it: put it back, or start the agent again";
        let is_in_place = found.is_ok_and(|found| found.len() >= self.good && is_same(found));
        is_in_place.then_some(()).ok_or_else(|| io::Error::other(problem))
    }

    fn write(&mut self, records: &[Record], now: i64) -> Result<(), JournalError> {
        let line = Line { at: now, records: self.unwritten.iter().chain(records).cloned().collect() };
        let written = encode(&line).and_then(|bytes| {
            self.in_place()?;
            if self.is_failing {
                // A part of a line must not be followed by others.
                self.file.set_len(self.good)?;
            }
            self.is_failing = true;
            self.file.write_all(&bytes)?;
            self.file.sync_data()?;
            self.in_place()?;
            Ok(bytes.len() as u64)
        });
        self.good += written.map_err(|source| JournalError::Io { path: self.path.clone(), source })?;
        self.is_failing = false;
        self.unwritten.clear();
        Ok(())
    }

    /// Removes ids that are over for 30 days, at the first call and then once a day.
    pub fn compact_daily(&mut self, now: i64) -> Result<(), JournalError> {
        let is_done = self.compacted.is_some_and(|at| (at..at + COMPACT_EVERY).contains(&now));
        if is_done { Ok(()) } else { self.compact(now) }
    }

    fn compact(&mut self, now: i64) -> Result<(), JournalError> {
        self.compacted = Some(now);
        let old = self.book.old(now);
        if old.is_empty() || self.is_failing {
            return Ok(());
        }
        let path = self.path.with_extension("new");
        let failed = |source| JournalError::Io { path: path.clone(), source };
        let length = copy_without(&self.path, &path, &old)?;
        let file = File::options().append(true).open(&path).map_err(failed)?;
        fs::rename(&path, &self.path).map_err(failed)?;
        (self.file, self.good) = (file, length);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        self.book.forget(&old);
        tracing::info!(ids = old.len(), "ids of 30 days ago were removed from the journal");
        Ok(())
    }
}

/// Creates a file or folder that is missing. If root creates it, it belongs to the owner of the folder around it, as whom the
/// agent runs.
fn make<T>(path: &Path, folder: &Path, open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let is_new = !path.exists();
    let opened = open()?;
    if is_new {
        let (made, owner) = (fs::symlink_metadata(path)?, fs::metadata(folder)?);
        if made.uid() == 0 && owner.uid() != 0 {
            // Root of a container may not be allowed to.
            _ = lchown(path, Some(owner.uid()), Some(owner.gid()));
        }
    }
    Ok(opened)
}

/// Writes the lines of a file to another one, without these ids. Returns its length.
fn copy_without(from: &Path, to: &Path, old: &BTreeSet<u32>) -> Result<u64, JournalError> {
    let failed = |source| JournalError::Io { path: to.to_owned(), source };
    let mut file = BufWriter::new(File::create(to).map_err(failed)?);
    let (mut length, mut result) = (0, Ok(()));
    read(from, |record, at| {
        let Some(record) = record.without(old) else { return };
        let written = encode(&Line { at, records: vec![record] }).and_then(|bytes| {
            length += bytes.len() as u64;
            file.write_all(&bytes)
        });
        if let Err(error) = written {
            result = Err(error);
        }
    })?;
    let file = result.and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error));
    file.and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(length)
}

/// The journal's file in a folder.
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

fn allow(config: &Config, book: &Book, path: &Path) -> Result<(), JournalError> {
    let foreign = |found: &Source| JournalError::Foreign { path: path.to_owned(), found: found.clone() };
    config.foreign(book).map_or(Ok(()), |found| Err(foreign(found)))
}

/// Refuses a journal, which an agent may be using, if its commands are of another store or server.
pub fn check(config: &Config) -> Result<(), JournalError> {
    let (path, mut book) = (file_in(&config.journal), Book::default());
    read(&path, |record, at| book.apply(&record, at))?;
    allow(config, &book, &path)
}

/// Whether an agent uses the journal in a folder.
pub fn is_locked(folder: &Path) -> bool {
    let lock = File::options().write(true).open(folder.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Reads the records of a file, which need not exist, with the second of each. Fails with [`JournalError::Damaged`] if
/// there are whole lines after a damaged one.
pub fn read(path: &Path, mut each: impl FnMut(Record, i64)) -> Result<End, JournalError> {
    let failed = |source| JournalError::Io { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(End { good: 0, damaged: 0 }),
        Err(error) => return Err(failed(error)),
    };
    let (mut end, mut bytes) = (End { good: 0, damaged: 0 }, Vec::new());
    loop {
        bytes.clear();
        let length = file.read_until(b'\n', &mut bytes).map_err(failed)? as u64;
        match decode(&bytes) {
            _ if length == 0 => return Ok(end),
            Some(_) if end.damaged > 0 => return Err(JournalError::Damaged { path: path.to_owned(), at: end.good }),
            Some(Line { at, records }) => {
                end.good += length;
                for record in records {
                    each(record, at);
                }
            }
            None => end.damaged += length,
        }
    }
}

fn encode(line: &Line) -> io::Result<Vec<u8>> {
    let text = serde_json::to_string(line)?;
    Ok(format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes())).into_bytes())
}

fn decode(bytes: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (sum, text) = text.split_at_checked(8).and_then(|(sum, text)| Some((sum, text.strip_prefix(' ')?)))?;
    let is_whole = u32::from_str_radix(sum, 16).ok()? == crc32fast::hash(text.as_bytes());
    is_whole.then(|| serde_json::from_str(text).ok()).flatten()
}
