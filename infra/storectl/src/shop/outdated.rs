//! Which pictures are needed no more. For every version the bucket has a list of the pictures that it names. When the version is
//! removed from the table, the list's key gets the time; 30 days later the list is deleted, and before it the pictures that no
//! other list has.

use super::Shop;
use crate::error::Failure;
use crate::target::{Bucket, Target};
use pictures::keys_of;
use publish::store_of;
use shared::shop::publishing::list_versions;
use std::collections::BTreeSet;

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

    async fn read(&self, bucket: &Bucket) -> Result<BTreeSet<String>, Failure> {
        let bytes = bucket.get(&self.key()).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let what = format!("{} in the shop's bucket cannot be read: {error}.", self.key());
            Failure::refused(what, "Publish the store of this version again.")
        })
    }
}

async fn lists(bucket: &Bucket) -> Result<BTreeSet<List>, Failure> {
    Ok(bucket.keys(FOLDER).await?.iter().filter_map(|key| List::of(key)).collect())
}

/// Says in the bucket which pictures a version names.
pub(super) async fn note(bucket: &Bucket, version: &str, named: &BTreeSet<String>) -> Result<(), Failure> {
    let list = List { store: store_of(version).to_owned(), gone: None };
    put(bucket, &list, serde_json::to_vec(named).unwrap_or_default()).await
}

async fn put(bucket: &Bucket, list: &List, content: Vec<u8>) -> Result<(), Failure> {
    bucket.put(&list.key(), content, "application/json", "no-store").await
}

impl Shop {
    /// Deletes pictures that no version named for 30 days. Returns how many.
    pub async fn tidy(&self, target: &Target) -> Result<usize, Failure> {
        let (bucket, now) = (&self.bucket, target.clock.seconds());
        let versions = list_versions(&target.db).await?;
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
