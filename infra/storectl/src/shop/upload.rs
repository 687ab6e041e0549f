//! Uploads: only what is missing, and nothing is replaced, because a name says what is in a file; but for the few pictures
//! that are served under the name that the owner gave them.

use super::{Shop, outdated};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Bucket;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use pictures::{BY_NAME, Made, Picture, keys_of};
use std::collections::BTreeSet;

/// Files that are uploaded at once, and pictures that are made at once.
const IN_FLIGHT: usize = 4;
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// A picture that can be replaced is asked for again after five minutes.
const BRIEFLY: &str = "public, max-age=300";
/// How often pictures are looked for again that another publisher removed.
const ROUNDS: usize = 3;

/// Uploads the files of this build's shop. Returns how many were missing.
pub async fn upload_assets(bucket: &Bucket, console: &Console) -> Result<u64, Failure> {
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
    pub(super) async fn upload_pictures(&self, console: &Console, version: &str) -> Result<u64, Failure> {
        outdated::note(&self.bucket, version, &self.named).await?;
        let progress = console.progress("Uploading pictures", None);
        for _ in 0..ROUNDS {
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
    pub(super) async fn upload_by_name(&self) -> Result<u64, Failure> {
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
    fn missing(&self, there: &BTreeSet<String>) -> Result<Vec<&Picture>, Failure> {
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

    async fn make(&self, picture: &Picture) -> Result<Vec<Made>, Failure> {
        let (picture, dir) = (picture.clone(), self.dir.clone());
        let made = tokio::task::spawn_blocking(move || picture.make(&dir)).await;
        let made = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        made.map_err(|fault| crate::commands::faults(&self.dir, &[fault]))
    }
}
