//! The served store: read from its files, published and loaded if the table is empty. And its pictures as a shop serves them: those that
//! its files name, under their hash and in several widths, and all files in the directory `img`. They are made when they are first
//! asked for, so that the server starts at once.

use crate::live::{self, Live};
use crate::options::StartError;
use crate::site::{self, Page, file, is_read, not_allowed, text};
use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use http::{HeaderValue, Method, StatusCode};
use pictures::{Picture, keys_of};
use publish::files::StoreFiles;
use publish::{Compiled, Fault};
use serde::de::DeserializeOwned;
use shared::model::{User, UserId};
use shared::table::Db;
use shared::table::keys::{self, Key};
use shared::table::published::read_active_version;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// The most items of a kind to look up in a table.
const LOOKED_FOR: usize = 200;
/// Ids of users to look up, in addition to those in the files: ids are counted up from 1.
const FIRST_IDS: u64 = 100;

#[derive(Debug)]
pub struct Store {
    pub compiled: Compiled,
    pub live: Live,
}

impl Store {
    /// Reads the files in `dir`, and its live data for `now`, in seconds since 1970 UTC.
    pub fn read(dir: &Path, now: i64) -> Result<Self, StartError> {
        let files = publish::read(dir).map_err(|faults| StartError::Store { dir: dir.to_owned(), faults })?;
        Self::of(dir, &files, now)
    }

    /// As [`Store::read`], with the pictures under the names that they have in a shop. A picture that a shop refuses keeps its
    /// own, and is among the faults.
    pub fn read_with_pictures(dir: &Path, now: i64) -> Result<(Self, Vec<Picture>, Vec<Fault>), StartError> {
        let mut files = publish::read(dir).map_err(|faults| StartError::Store { dir: dir.to_owned(), faults })?;
        let (pictures, refused) = pictures::name_pictures(dir, &mut files, &|_| {});
        Ok((Self::of(dir, &files, now)?, pictures, refused))
    }

    fn of(dir: &Path, files: &StoreFiles, now: i64) -> Result<Self, StartError> {
        let faulty = |faults: Vec<Fault>| StartError::Store { dir: dir.to_owned(), faults };
        let compiled = publish::compile(files).map_err(faulty)?;
        let live = live::read(dir, &compiled.settings.goals, now);
        let live = live.map_err(|source| StartError::Live { dir: dir.to_owned(), source })?;
        Ok(Self { compiled, live })
    }

    /// Publishes and loads the store if the table has no published store; returns whether it did.
    pub async fn load_into_empty(&self, db: &Db, now: i64) -> Result<bool, StartError> {
        if read_active_version(db).await.map_err(publish::PublishError::Store)?.is_some() {
            return Ok(false);
        }
        // The active version is written last: if the first start is interrupted, the next one starts over.
        live::seed(db, &self.live).await.map_err(publish::PublishError::Store)?;
        // A shop that begins here shows what its reductions are from.
        publish::assume_regular_prices(db, &self.compiled, now).await.map_err(publish::PublishError::Store)?;
        publish::publish(db, &self.compiled, now).await?;
        Ok(true)
    }

    /// Publishes the store if another version is published; the rows of that version are kept.
    pub async fn republish(&self, db: &Db, now: i64) -> Result<(), StartError> {
        publish::publish(db, &self.compiled, now).await?;
        Ok(())
    }

    /// The live part of the store in the table: users, codes, referral codes and orders change while a store
    /// runs, and the table may have been filled from other files. In a table that was just filled, this is the store
    /// itself. Looks up at most `LOOKED_FOR` of a kind.
    pub async fn in_table(&self, db: &Db) -> Result<Live, StartError> {
        let live = &self.live;
        let ids: BTreeSet<UserId> = live
            .users
            .iter()
            .map(|user| user.id)
            .take(LOOKED_FOR / 2)
            .chain((1..=FIRST_IDS).map(UserId::new))
            .collect();
        let users = read(db, ids.into_iter().map(keys::user)).await?;
        let codes = read(db, live.codes.iter().map(|code| keys::code(code.text()))).await?;
        let referrals = read(db, live.referrals.iter().map(|found| keys::referral(&found.code))).await?;
        let orders = read(db, live.orders.iter().map(|order| keys::order(&order.internal_id))).await?;
        let carts = read(db, users.iter().map(|user: &User| keys::cart(user.id))).await?;
        Ok(Live { users, carts, codes, referrals, orders, ..Live::default() })
    }
}

/// Reads the first of these items that exist.
async fn read<T: DeserializeOwned>(db: &Db, keys: impl Iterator<Item = Key>) -> Result<Vec<T>, StartError> {
    let keys: Vec<Key> = keys.take(LOOKED_FOR).collect();
    let refused = |error| StartError::Publish(publish::PublishError::Store(error));
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(keys.clone()).await.map_err(refused)?;
    keys.iter().filter_map(|key| rows.take_live(key).map_err(refused).transpose()).collect()
}

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
            None => site::read(&folder, name).await,
        };
        if found.is_none() && name.starts_with("avatars/") {
            found = site::read(&folder, ANY_AVATAR).await;
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
