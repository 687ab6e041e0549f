//! Pictures as a shop serves them: under their hash, in several widths. They are made when they are first asked for, so that
//! the server starts at once.

use bytes::Bytes;
use pictures::{Picture, keys_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// The most bytes of made pictures that are kept; then all are made again when they are asked for.
const MOST_KEPT: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Pictures {
    store: PathBuf,
    /// Every file that can be made, by its path without the leading slash.
    by_key: BTreeMap<String, Picture>,
    made: Mutex<BTreeMap<String, (Bytes, &'static str)>>,
}

impl Pictures {
    /// The pictures of the store in a directory.
    pub fn of(store: &Path, pictures: &[Picture]) -> Self {
        let keys = |picture: &Picture| keys_of(&picture.url()).unwrap_or_default();
        let by_key = pictures.iter().flat_map(|picture| keys(picture).into_iter().map(|key| (key, picture.clone())));
        Self { store: store.to_path_buf(), by_key: by_key.collect(), made: Mutex::default() }
    }

    /// A file and its media type; `None` if there is no such file, or it cannot be made, which is logged.
    pub async fn get(&self, key: &str) -> Option<(Bytes, &'static str)> {
        let picture = self.by_key.get(key)?.clone();
        // Held while one is made: a page asks for several widths at once.
        let mut made = self.made.lock().await;
        if let Some(found) = made.get(key) {
            return Some(found.clone());
        }
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || picture.make(&store)).await.ok()? {
            Ok(files) => {
                if made.values().map(|(bytes, _)| bytes.len()).sum::<usize>() > MOST_KEPT {
                    made.clear();
                }
                made.extend(files.into_iter().map(|file| (file.key, (file.bytes.into(), file.media_type))));
                made.get(key).cloned()
            }
            Err(fault) => {
                tracing::error!("{fault}");
                None
            }
        }
    }
}
