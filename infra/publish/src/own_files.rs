//! The owner's own files of a version, comments included, which `export` writes back. Pictures and live data are not among
//! them.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use shared::shop::publishing::{self, read_record};
use shared::table::{Db, StoreError, in_turns};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path};

/// The most bytes of a store's files together: several times what may be published of them.
const LARGEST_STORE: usize = 32 * 1024 * 1024;
/// How often files are replaced again that another publisher of the same store replaces too.
const REPLACE_TURNS: u32 = 4;

/// The text of every file of a store by its path in the store's directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnFiles(BTreeMap<String, String>);

/// The reason for which a version's files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("version {version} has no files")]
    None { version: String },
    #[error("the files of version {version} are damaged")]
    Damaged { version: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OwnFiles {
    pub(crate) fn add(&mut self, path: &Path, bytes: &[u8]) {
        self.0.insert(path.to_string_lossy().into_owned(), String::from_utf8_lossy(bytes).into_owned());
    }

    /// The reason for which they are not kept; `None` if they are.
    pub(crate) fn problem(&self) -> Option<String> {
        let size: usize = self.0.iter().map(|(path, text)| path.len() + text.len()).sum();
        let most = LARGEST_STORE / 1024 / 1024;
        (size > LARGEST_STORE)
            .then(|| format!("the files have more than {most} MiB together, the most that is published"))
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Writes them into a directory. If a file cannot be written, those before it are.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        for (path, text) in &self.0 {
            let path = dir.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }

    fn pack(&self) -> io::Result<Vec<u8>> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(&serde_json::to_vec(&self.0)?)?;
        out.finish()
    }

    /// Reads packed files; `None` if they are not whole, or one would be written elsewhere than below a directory.
    fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut text = Vec::new();
        // In JSON a character takes at most six times as many bytes.
        GzDecoder::new(bytes).take(8 * LARGEST_STORE as u64).read_to_end(&mut text).ok()?;
        let files = Self(serde_json::from_slice(&text).ok()?);
        let is_below = |path: &String| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        files.0.keys().all(is_below).then_some(files)
    }
}

/// The files of a version in the table, as they were published.
pub async fn own_files(db: &Db, version: &str) -> Result<OwnFiles, FilesError> {
    let set = read_record(db, version).await?.and_then(|record| record.files);
    let set = set.ok_or_else(|| FilesError::None { version: version.to_owned() })?;
    let bytes = publishing::read(db, version, &set).await?;
    let files = bytes.and_then(|bytes| OwnFiles::unpack(&bytes));
    files.ok_or_else(|| FilesError::Damaged { version: version.to_owned() })
}

/// Whether a version in the table has other files than these, or none.
pub async fn files_differ(db: &Db, version: &str, files: &OwnFiles) -> Result<bool, StoreError> {
    match own_files(db, version).await {
        Ok(found) => Ok(found != *files),
        Err(FilesError::None { .. } | FilesError::Damaged { .. }) => Ok(true),
        Err(FilesError::Store(error)) => Err(error),
    }
}

/// Keeps these files with a version that is in the table. Returns whether it had others, or none. After an error it has these
/// files or those of before.
pub async fn keep_files(db: &Db, version: &str, files: &OwnFiles) -> Result<bool, StoreError> {
    let packed = files.pack().map_err(|error| StoreError::Internal(error.into()))?;
    in_turns(REPLACE_TURNS, || async {
        let differ = files_differ(db, version, files).await?;
        if differ {
            publishing::replace(db, version, &packed).await?;
        }
        Ok(differ)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_text_are_packed_and_more_than_is_kept_is_refused() {
        let mut files = OwnFiles::default();
        for (path, text) in [("store.yaml", "\u{feff}a: 1 # ü\r\n"), ("pages/a.yaml", ""), ("shop.css", "\"\\\t")] {
            files.add(Path::new(path), text.as_bytes());
        }
        assert_eq!(OwnFiles::unpack(&files.pack().unwrap()), Some(files.clone()));
        assert_eq!(files.problem(), None);
        files.add(Path::new("staff.yaml"), &vec![b'\n'; LARGEST_STORE - 100]);
        assert_eq!(files.problem(), None);
        assert_eq!(OwnFiles::unpack(&files.pack().unwrap()), Some(files.clone()));
        files.add(Path::new("categories/a.yaml"), &[b'#'; 100]);
        assert!(files.problem().unwrap().contains("32 MiB"));
    }

    #[test]
    fn what_would_be_written_elsewhere_or_is_not_whole_is_not_unpacked() {
        for path in ["../store.yaml", "/store.yaml", "pages/../../a"] {
            let files = OwnFiles(BTreeMap::from([(path.to_owned(), String::new())]));
            assert_eq!(OwnFiles::unpack(&files.pack().unwrap()), None, "{path}");
        }
        let packed = OwnFiles::default().pack().unwrap();
        assert_eq!(OwnFiles::unpack(&packed[..packed.len() - 4]), None);
    }
}
