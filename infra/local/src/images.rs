//! The pictures of a store as a shop serves them: those that its files name, under their hash and in several widths, and all
//! files in the directory `img`. They are made when they are first asked for, so that the server starts at once.

use crate::site::{Page, file, is_read, not_allowed, read, text};
use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use http::{HeaderValue, Method, StatusCode};
use pictures::{Picture, keys_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// The folder of the pictures, both in the store's directory and in a URL.
const FOLDER: &str = "img";
/// The picture of a player who has none of their own.
const ANY_AVATAR: &str = "avatars/player.svg";
/// Pictures can hold neither scripts nor links to other sites, also if one is opened as a page.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
/// A file whose name says what is in it.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// The most bytes of made pictures that are kept; then all are made again when they are asked for.
const MOST_KEPT: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub struct Images {
    store: PathBuf,
    /// Every file that can be made, by its path without the leading slash.
    by_key: BTreeMap<String, Picture>,
    made: Mutex<BTreeMap<String, (Bytes, &'static str)>>,
}

impl Images {
    /// The pictures of the store in a directory.
    pub fn of(store: &Path, pictures: &[Picture]) -> Self {
        let keys = |picture: &Picture| keys_of(&picture.url()).unwrap_or_default();
        let by_key = pictures.iter().flat_map(|picture| keys(picture).into_iter().map(|key| (key, picture.clone())));
        Self { store: store.to_path_buf(), by_key: by_key.collect(), made: Mutex::default() }
    }

    #[must_use]
    pub fn is_there(&self) -> bool {
        self.store.join(FOLDER).is_dir()
    }

    /// The response to GET of a path below `/img/`; `None` for any other path.
    pub async fn respond(&self, method: &Method, path: &str) -> Option<Page> {
        let name = path.strip_prefix("/img/")?;
        if !is_read(method) {
            return Some(not_allowed());
        }
        let folder = self.store.join(FOLDER);
        let mut found = match self.make(path.trim_start_matches('/')).await {
            Some((bytes, media_type)) => {
                let mut page = file(bytes, media_type);
                page.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
                Some(page)
            }
            None => read(&folder, name).await,
        };
        if found.is_none() && name.starts_with("avatars/") {
            found = read(&folder, ANY_AVATAR).await;
        }
        let Some(mut page) = found else { return Some(text(StatusCode::NOT_FOUND, "There is no such picture.")) };
        page.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY);
        page.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(page)
    }

    /// A file and its media type; `None` if there is no such file, or it cannot be made, which is logged.
    async fn make(&self, key: &str) -> Option<(Bytes, &'static str)> {
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
