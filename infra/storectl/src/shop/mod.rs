//! The content of a deployed shop's bucket: its own files and the store's pictures.

mod outdated;
mod upload;

use crate::console::Console;
use crate::error::Failure;
use crate::target::{Bucket, Target};
use pictures::{Made, Picture};
use publish::Fault;
use publish::files::StoreFiles;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use upload::upload_assets;

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
        target: &Target,
        console: &Console,
        dir: &Path,
        files: &mut StoreFiles,
    ) -> Result<Option<Self>, Vec<Fault>> {
        if target.bucket.is_none() && !target.is_local {
            return Ok(None);
        }
        let progress = console.progress("Reading pictures", None);
        let brings_pictures = !files.images.is_empty();
        let (by_name, refused) = pictures::by_name(dir, files);
        let (pictures, mut faults) = pictures::name_pictures(dir, files, &|count| progress.advance(count));
        faults.extend(refused);
        // The local server shows a picture that a shop refuses as it is.
        let Some(bucket) = target.bucket.clone() else { return Ok(None) };
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
    pub async fn fill(&self, console: &Console, version: &str) -> Result<u64, Failure> {
        let assets = upload_assets(&self.bucket, console).await?;
        let pictures = self.upload_pictures(console, version).await?;
        Ok(assets + pictures + self.upload_by_name().await?)
    }
}
