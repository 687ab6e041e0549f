//! The content of a deployed shop's bucket: its own files and the store's pictures; and `shop upload`.
//!
//! Only what is missing is uploaded, and nothing is replaced, because a name says what is in a file; but for the few pictures
//! that are served under the name that the owner gave them.
//!
//! Which pictures are needed no more: for every version the bucket has a list of the pictures that it names. When the version is
//! removed from the table, the list's key gets the time; 30 days later the list is deleted, and before it the pictures that no
//! other list has.

use crate::check::failure;
use crate::deployment::Bucket;
use crate::prelude::*;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use pictures::{BY_NAME, Made, Picture, keys_of};
use publish::files::StoreFiles;
use publish::{Fault, store_of};
use shared::shop::publishing::list_versions;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Subcommand)]
pub enum ShopCommand {
    /// Upload the scripts and styles of this build's shop, before the functions that name them are deployed.
    #[command(after_help = "Examples:\n  storectl shop upload --stack storefront\n\n\
                            `storectl publish` uploads them too. Those of earlier builds stay.")]
    Upload,
}

pub async fn upload(at: &Deployment, console: &Console) -> Outcome {
    let Some(bucket) = &at.bucket else {
        let next = "Name a stack that was deployed with Shop=true.";
        return Err(Failure::new(Exit::Denied, format!("{} has no shop.", at.name), next));
    };
    let uploaded = upload_assets(bucket, console).await;
    let uploaded = uploaded.after("Files that were uploaded stay; run again, it uploads the rest.")?;
    let text = ok!("The shop's files are uploaded ({uploaded} were missing).");
    Ok(Printed::new(text, &facts! { uploaded, hash: shop::hash() }))
}

/// The files of a store that a shop needs before it is published.
#[derive(Debug)]
pub struct Shop {
    bucket: Bucket,
    dir: PathBuf,
    pictures: Vec<Picture>,
    /// The key of every picture that the store names; some may be in the bucket only, if the store was exported from there.
    named: BTreeSet<String>,
    /// The pictures that are served under their own name; `None` if the store brings no pictures.
    by_name: Option<Vec<Made>>,
}

impl Shop {
    /// Gives the store's pictures the names under which they are served, if the target serves them, and the store the address of
    /// its shop; `None` if the target has no bucket.
    pub fn prepare(
        at: &Deployment,
        console: &Console,
        dir: &Path,
        files: &mut StoreFiles,
    ) -> Result<Option<Self>, Vec<Fault>> {
        if at.bucket.is_none() && !at.is_local {
            return Ok(None);
        }
        let progress = console.progress("Reading pictures", None);
        let brings_pictures = !files.images.is_empty();
        let (by_name, refused) = pictures::by_name(dir, files);
        let (pictures, mut faults) = pictures::name_pictures(dir, files, &|count| progress.advance(count));
        faults.extend(refused);
        // The local server shows a picture that a shop refuses as it is.
        let Some(bucket) = at.bucket.clone() else { return Ok(None) };
        if !faults.is_empty() {
            return Err(faults);
        }
        let urls =
            files.named_images().into_iter().filter_map(|image| pictures::keys_of(image.url)?.into_iter().next());
        let named = urls.collect();
        files.shop_url.clone_from(&bucket.shop_url);
        let by_name = brings_pictures.then_some(by_name);
        Ok(Some(Self { bucket, dir: dir.to_path_buf(), pictures, named, by_name }))
    }

    /// Uploads what the store of this version needs and the bucket lacks: the shop's own files, then the pictures. Interrupted, the
    /// next call uploads the rest. Returns the number of files.
    pub async fn fill(&self, console: &Console, version: &str) -> Result<u64> {
        let assets = upload_assets(&self.bucket, console).await?;
        let pictures = self.upload_pictures(console, version).await?;
        Ok(assets + pictures + self.upload_by_name().await?)
    }
}

/// Files that are uploaded at once, and pictures that are made at once.
const IN_FLIGHT: usize = 4;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// A picture that can be replaced is asked for again after five minutes.
const BRIEFLY: &str = "public, max-age=300";

/// How often pictures are looked for again that another publisher removed.
const PICTURE_ROUNDS: usize = 3;

/// Uploads the files of this build's shop. Returns how many were missing.
async fn upload_assets(bucket: &Bucket, console: &Console) -> Result<u64> {
    let prefix = format!("assets/{}/", shop::hash());
    let there = bucket.keys(&prefix).await?;
    let assets = shop::ASSETS.iter().map(|(path, bytes)| (format!("{prefix}{path}"), *bytes));
    let missing: Vec<(String, &[u8])> = assets.filter(|(key, _)| !there.contains(key)).collect();
    let progress = console.progress("Uploading the shop", Some(missing.len() as u64));
    let uploads = stream::iter(missing).map(|(key, bytes)| {
        let progress = &progress;
        async move {
            let media_type = shop::media_type(&key).unwrap_or("application/octet-stream");
            bucket.put(&key, bytes.to_vec(), media_type, IMMUTABLE).await?;
            progress.advance(1);
            Ok::<_, Failure>(())
        }
    });
    uploads.buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
    Ok(progress.position())
}

impl Shop {
    /// Uploads the pictures that are missing. First it says in the bucket which ones the version names, so that no other
    /// publisher removes them; then it looks until all are there.
    async fn upload_pictures(&self, console: &Console, version: &str) -> Result<u64> {
        note(&self.bucket, version, &self.named).await?;
        let progress = console.progress("Uploading pictures", None);
        for _ in 0..PICTURE_ROUNDS {
            let there = self.bucket.keys("img/").await?;
            let missing = self.missing(&there)?;
            if missing.is_empty() {
                return Ok(progress.position());
            }
            let uploads = stream::iter(missing).map(|picture| {
                let (there, progress) = (&there, &progress);
                async move {
                    for made in self.make(picture).await?.into_iter().filter(|made| !there.contains(&made.key)) {
                        self.bucket.put(&made.key, made.bytes, made.media_type, IMMUTABLE).await?;
                        progress.advance(1);
                    }
                    Ok::<_, Failure>(())
                }
            });
            uploads.buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
        }
        Ok(progress.position())
    }

    /// Uploads the pictures that are served under their own name, if they are not there or others, and deletes those that the
    /// store has no more. Returns how many were uploaded.
    async fn upload_by_name(&self) -> Result<u64> {
        let Some(wanted) = &self.by_name else { return Ok(0) };
        let there = self.bucket.keys("img/").await?;
        let mut uploaded = 0;
        for key in BY_NAME {
            match wanted.iter().find(|made| made.key == key) {
                Some(made) if !there.contains(key) || self.bucket.get(key).await? != made.bytes => {
                    self.bucket.put(key, made.bytes.clone(), made.media_type, BRIEFLY).await?;
                    uploaded += 1;
                }
                None if there.contains(key) => self.bucket.delete(key).await?,
                _ => {}
            }
        }
        Ok(uploaded)
    }

    /// The pictures of which a file is missing.
    fn missing(&self, there: &BTreeSet<String>) -> Result<Vec<&Picture>> {
        let own: BTreeSet<String> =
            self.pictures.iter().filter_map(|picture| keys_of(&picture.url())).flatten().collect();
        let mut named = self.named.iter().filter_map(|key| keys_of(&format!("/{key}"))).flatten();
        if let Some(lost) = named.find(|key| !own.contains(key) && !there.contains(key)) {
            let what = format!("The store names /{lost}, which is neither in its img/ nor in the shop's bucket.");
            return Err(Failure::refused(what, "Name a picture in img/ again, then publish."));
        }
        let lacks = |picture: &&Picture| keys_of(&picture.url()).into_iter().flatten().any(|key| !there.contains(&key));
        Ok(self.pictures.iter().filter(lacks).collect())
    }

    async fn make(&self, picture: &Picture) -> Result<Vec<Made>> {
        let (picture, dir) = (picture.clone(), self.dir.clone());
        let made = tokio::task::spawn_blocking(move || picture.make(&dir)).await;
        let made = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        made.map_err(|fault| failure(&self.dir, &[fault]))
    }
}

/// How long pictures stay after the last version that names them was removed, in seconds.
const KEPT_SECONDS: i64 = 30 * 86_400;

const FOLDER: &str = "versions/";

/// A list: of which store, and since when its version is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct List {
    store: String,
    gone: Option<i64>,
}

impl List {
    fn key(&self) -> String {
        let gone = self.gone.map(|gone| format!(".{gone}")).unwrap_or_default();
        format!("{FOLDER}{}{gone}.json", self.store)
    }

    fn of(key: &str) -> Option<Self> {
        let name = key.strip_prefix(FOLDER)?.strip_suffix(".json")?;
        let (store, gone) = name.split_once('.').map_or((name, None), |(store, gone)| (store, Some(gone)));
        Some(Self { store: store.to_owned(), gone: gone.map(str::parse).transpose().ok()? })
    }

    async fn read(&self, bucket: &Bucket) -> Result<BTreeSet<String>> {
        let bytes = bucket.get(&self.key()).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let what = format!("{} in the shop's bucket cannot be read: {error}.", self.key());
            Failure::refused(what, "Publish the store of this version again.")
        })
    }
}

async fn lists(bucket: &Bucket) -> Result<BTreeSet<List>> {
    Ok(bucket.keys(FOLDER).await?.iter().filter_map(|key| List::of(key)).collect())
}

/// Says in the bucket which pictures a version names.
pub async fn note(bucket: &Bucket, version: &str, named: &BTreeSet<String>) -> Result<()> {
    let list = List { store: store_of(version).to_owned(), gone: None };
    put(bucket, &list, serde_json::to_vec(named).unwrap_or_default()).await
}

async fn put(bucket: &Bucket, list: &List, content: Vec<u8>) -> Result<()> {
    bucket.put(&list.key(), content, "application/json", "no-store").await
}

impl Shop {
    /// Deletes pictures that no version named for 30 days. Returns how many.
    pub async fn tidy(&self, at: &Deployment) -> Result<usize> {
        let (bucket, now) = (&self.bucket, at.clock.seconds());
        let versions = list_versions(&at.db).await?;
        let kept: BTreeSet<&str> = versions.iter().map(|record| store_of(&record.version)).collect();
        let mut expired = Vec::new();
        let mut read = BTreeSet::new();
        for list in lists(bucket).await? {
            let to = match list.gone {
                _ if kept.contains(list.store.as_str()) => None,
                None => Some(now),
                Some(since) if now - since >= KEPT_SECONDS => {
                    expired.push(list);
                    continue;
                }
                since => since,
            };
            if to != list.gone {
                put(bucket, &List { gone: to, ..list.clone() }, bucket.get(&list.key()).await?).await?;
                bucket.delete(&list.key()).await?;
            }
        }
        let mut doomed = BTreeSet::new();
        for list in &expired {
            doomed.extend(list.read(bucket).await?);
        }
        // Looked at again until it is the same: another publisher says what it needs before it looks what is there.
        loop {
            let others = lists(bucket).await?.into_iter().filter(|list| !expired.contains(list));
            let unread: Vec<List> = others.filter(|list| !doomed.is_empty() && !read.contains(list)).collect();
            if unread.is_empty() {
                break;
            }
            for list in unread {
                let named = list.read(bucket).await?;
                doomed.retain(|key| !named.contains(key));
                read.insert(list);
            }
        }
        for key in doomed.iter().filter_map(|key| keys_of(&format!("/{key}"))).flatten() {
            bucket.delete(&key).await?;
        }
        for list in expired {
            bucket.delete(&list.key()).await?;
        }
        Ok(doomed.len())
    }
}
