//! What a local server leaves in its data directory for the operations tool, and files that only their owner can read.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// The addresses of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub endpoint: String,
    pub table: String,
    /// The stand-in for Stripe; `None` if payments go elsewhere.
    pub payments: Option<Payments>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payments {
    pub url: String,
    /// Its keys, as in `PAYMENT_KEYS`.
    pub keys: String,
}

impl Running {
    /// Leaves the addresses in a data directory that this process has locked.
    pub fn leave(&self, dir: &Path) -> io::Result<()> {
        write_whole(&running_file(dir), &serde_json::to_vec(self)?)
    }

    /// The addresses of the server that has a data directory open; `None` if none has, or it is not ready.
    pub fn find(dir: &Path) -> Option<Self> {
        let lock = File::open(lock_file(dir)).ok()?;
        // A server that was killed leaves its addresses behind, and no lock.
        if lock.try_lock_shared().is_ok() {
            _ = lock.unlock();
            return None;
        }
        serde_json::from_slice(&fs::read(running_file(dir)).ok()?).ok()
    }
}

pub fn running_file(dir: &Path) -> PathBuf {
    dir.join("running.json")
}

/// The file that a server keeps locked.
pub fn lock_file(dir: &Path) -> PathBuf {
    dir.join("lock")
}

/// The file of the token keys: a JSON object of key ids and secrets, as in `TOKEN_KEYS`.
pub fn keys_file(dir: &Path) -> PathBuf {
    dir.join("token-keys.json")
}

/// The file of the notices' targets: a JSON object of names, addresses and keys, as in `NOTICE_KEYS`.
pub fn notices_file(dir: &Path) -> PathBuf {
    dir.join("notices.json")
}

/// The file of how many seconds the clock is ahead.
pub fn clock_file(dir: &Path) -> PathBuf {
    dir.join("clock.json")
}

/// How many seconds the clock with this file is ahead.
pub fn ahead(clock_file: &Path) -> io::Result<u64> {
    match fs::read(clock_file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        text => Ok(serde_json::from_slice(&text?)?),
    }
}

/// How such a file is opened to be written.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes a file. If the process is killed, the file is as before or as wanted.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = unfinished(path);
    let mut file = options().create(true).truncate(true).open(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// The name of a file until it is complete.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}
