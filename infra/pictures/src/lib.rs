//! A store's pictures: which of them its files name, what a shop serves in their place, and what is refused.
//!
//! A picture is served under the hash of its content, as WebP in four widths, so that it can be cached for ever; an SVG stays
//! an SVG. A few are served under their own name instead ([`BY_NAME`]). Knows nothing of where pictures are stored or how they are served.

mod raster;
mod svg;

use publish::Fault;
use publish::files::StoreFiles;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Part of every name: another number gives all pictures new names. To be raised when the same file would be made into
/// something else.
const PIPELINE: &[u8] = b"pictures 2";
/// Hex digits of a picture's name: 128 bits.
const DIGITS: usize = 32;
/// The folder of pictures, in a store as well as in a URL.
const FOLDER: &str = "img/";
/// The pictures that storefronts ask for by name, besides those that the store's files name: they are served unchanged.
pub const BY_NAME: [&str; 4] = ["img/logo.png", "img/favicon.png", "img/banner.png", "img/index-banner.png"];
/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 10_000_000;

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("must be a file that can be read: {0}")]
    NotRead(#[from] io::Error),
    #[error("must be a file: a pipe, a device or a folder is not read")]
    NoFile,
    #[error("is larger than {} MB, the most that is read", LARGEST_FILE / 1_000_000)]
    TooLarge,
    #[error("is not a picture: PNG, JPEG, WebP, GIF and SVG are read")]
    NoPicture,
    #[error("has {0} × {1} pixels; at most {most} million are read", most = raster::MOST_PIXELS / 1_000_000)]
    TooManyPixels(u32, u32),
    #[error(
        "is animated, and only still pictures are served: save one picture of it, or name it by an https:// address"
    )]
    Animated,
    #[error("is broken: {0}")]
    Broken(#[from] image::ImageError),
    #[error("is cut off: its end is missing")]
    CutOff,
    #[error("cannot be written as WebP: {0}")]
    NotEncoded(String),
    #[error("is an SVG with {0}, which is refused")]
    Unsafe(String),
    #[error("is not an SVG: {0}")]
    NoSvg(String),
    #[error("was changed while it was read; run it again")]
    Changed,
}

/// A picture of the store that its files name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file in the store's directory.
    path: PathBuf,
    /// The place that names it first; the problem is empty.
    place: Fault,
    digest: String,
    is_svg: bool,
}

/// A file that is served in place of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its path without the leading slash, such as `img/<hash>-320.webp`.
    pub key: String,
    pub bytes: Vec<u8>,
    pub media_type: &'static str,
}

impl Picture {
    /// The address by which responses name it.
    pub fn url(&self) -> String {
        format!("/{FOLDER}{}.{}", self.digest, if self.is_svg { "svg" } else { "webp" })
    }

    /// Makes what is served in its place. Fails with a fault at the place that names it.
    pub fn make(&self, store: &Path) -> Result<Vec<Made>, Fault> {
        self.made(store).map_err(|problem| at(&self.place, &self.path, &problem))
    }

    fn made(&self, store: &Path) -> Result<Vec<Made>, Problem> {
        let bytes = bytes_of(&store.join(&self.path))?;
        if digest(&bytes) != self.digest {
            return Err(Problem::Changed);
        }
        let (files, media_type) =
            if self.is_svg { (vec![bytes], "image/svg+xml") } else { (raster::make(&bytes)?, "image/webp") };
        let keys = keys_of(&self.url()).unwrap_or_default();
        Ok(keys.into_iter().zip(files).map(|(key, bytes)| Made { key, bytes, media_type }).collect())
    }
}

/// The files of a picture by its address, the picture itself first; `None` for an address of another form.
pub fn keys_of(url: &str) -> Option<Vec<String>> {
    let (digest, extension) = url.strip_prefix('/')?.strip_prefix(FOLDER)?.split_once('.')?;
    let is_hash = digest.len() == DIGITS && digest.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let key = |suffix: &str| format!("{FOLDER}{digest}{suffix}.{extension}");
    match extension {
        "svg" if is_hash => Some(vec![key("")]),
        "webp" if is_hash => {
            let widths = shop::WIDTHS.map(|width| key(&format!("-{width}")));
            Some([key("")].into_iter().chain(widths).collect())
        }
        _ => None,
    }
}

/// Gives every picture of the store its address in the store's files, and returns the pictures and what is wrong with those
/// that are refused, which keep the name that they have. If the store has an `assets_url`, its pictures are there under the names
/// that the files give them, and nothing is changed. Calls `progress` for every picture that was read.
pub fn name_pictures(
    dir: &Path,
    files: &mut StoreFiles,
    progress: &(dyn Fn(u64) + Sync),
) -> (Vec<Picture>, Vec<Fault>) {
    let named: Vec<(String, Fault)> = own_pictures(files).into_iter().collect();
    let mut found = BTreeMap::new();
    let mut faults = Vec::new();
    for ((name, place), picture) in named.iter().zip(on_every_core(&named, |(name, place)| {
        let picture = find(dir, name, place);
        progress(1);
        picture
    })) {
        match picture {
            Ok(picture) => _ = found.insert(name.clone(), picture),
            Err((path, problem)) => faults.push(at(place, &path, &problem)),
        }
    }
    for image in files.named_images() {
        if let Some(picture) = plain(image.url).and_then(|name| found.get(&name)) {
            *image.url = picture.url();
        }
    }
    files.images.extend(found.values().map(Picture::url));
    let mut pictures: Vec<Picture> = found.into_values().collect();
    pictures.sort_by(|a, b| a.digest.cmp(&b.digest));
    pictures.dedup_by(|a, b| a.digest == b.digest);
    (pictures, faults)
}

/// The store's pictures that are served under their own name, and what is wrong with those that are refused.
pub fn by_name(dir: &Path, files: &StoreFiles) -> (Vec<Made>, Vec<Fault>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for key in BY_NAME.into_iter().filter(|key| files.images.contains(&format!("/{key}"))) {
        let read = bytes_of(&dir.join(key)).and_then(|bytes| Ok((raster::media_type(&bytes)?, bytes)));
        match read {
            Ok((media_type, bytes)) => found.push(Made { key: key.to_owned(), bytes, media_type }),
            Err(problem) => faults.push(Fault {
                file: PathBuf::from(key),
                line: None,
                field: String::new(),
                problem: problem.to_string(),
            }),
        }
    }
    (found, faults)
}

/// The pictures that a deployed shop shows only once they are uploaded, by name, with the first place that names each; none if
/// the store has an `assets_url`.
pub fn own_pictures(files: &mut StoreFiles) -> BTreeMap<String, Fault> {
    let (known, mut named) = (files.images.clone(), BTreeMap::new());
    if files.store.content.assets_url.is_empty() {
        for image in files.named_images() {
            if let Some(name) = plain(image.url).filter(|name| known.contains(name)) {
                named.entry(name).or_insert(image.place);
            }
        }
    }
    named
}

/// The name of one of the store's own pictures as [`StoreFiles::images`] has it.
fn plain(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next()?;
    Some(percent_encoding::percent_decode_str(path).decode_utf8().ok()?.into_owned())
}

fn find(dir: &Path, name: &str, place: &Fault) -> Result<Picture, (PathBuf, Problem)> {
    let path = PathBuf::from(name.trim_start_matches('/'));
    let look = || {
        let bytes = bytes_of(&dir.join(&path))?;
        let is_svg = svg::is_svg(&bytes);
        if is_svg {
            svg::check(&bytes)?;
        } else {
            raster::inspect(&bytes)?;
        }
        Ok((digest(&bytes), is_svg))
    };
    match look() {
        Ok((digest, is_svg)) => Ok(Picture { path, place: place.clone(), digest, is_svg }),
        Err(problem) => Err((path, problem)),
    }
}

fn at(place: &Fault, path: &Path, problem: &Problem) -> Fault {
    Fault { problem: format!("{} {problem}", path.display()), ..place.clone() }
}

fn digest(bytes: &[u8]) -> String {
    let mut digest = hex::encode(Sha256::new().chain_update(PIPELINE).chain_update(bytes).finalize());
    digest.truncate(DIGITS);
    digest
}

/// The bytes of a file. Anything else is not opened: a pipe would wait for a writer, and a device has no end.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Problem> {
    if !fs::metadata(path)?.is_file() {
        return Err(Problem::NoFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE { Err(Problem::TooLarge) } else { Ok(bytes) }
}

/// The results of `work` for each of these, in their order.
fn on_every_core<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(place) else { return done };
            done.push((place, work(one)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(all.len());
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
