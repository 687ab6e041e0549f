//! The data directory: the table's file, the token keys, the clock and the payment provider's state, kept across
//! restarts. One process at a time has it open.

use crate::options::StartError;
use archive::running::{self, clock_file, keys_file, lock_file, running_file, write_whole};
use shared::model::ServerId;
use shared::token::TokenKeys;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stripe_stand_in::MovableClock;

/// Bytes of a generated secret.
const SECRET: usize = 32;

/// A data directory that no other process can open until this is dropped.
#[derive(Debug)]
pub struct DataLock(File);

impl Drop for DataLock {
    /// Unlocks: until a process that was just started closes its copy of the file, closing this one would not.
    fn drop(&mut self) {
        // A file that cannot be unlocked is unlocked when it is closed.
        let _ = self.0.unlock();
    }
}

/// Creates the directory if it does not exist, and keeps other processes out of it. Addresses of an earlier server are
/// removed. Fails with [`StartError::DataInUse`] if another process has it open, [`StartError::Data`] if it cannot be
/// created or locked.
pub fn lock(dir: &Path) -> Result<DataLock, StartError> {
    prepare(dir)?;
    let path = lock_file(dir);
    let failed = |source| StartError::Data { path: path.clone(), source };
    let file = running::options().create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => match fs::remove_file(running_file(dir)) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(failed(source)),
            _ => Ok(DataLock(file)),
        },
        Err(TryLockError::WouldBlock) => Err(StartError::DataInUse(dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Creates the directory if it does not exist; only its owner can read it.
fn prepare(dir: &Path) -> Result<(), StartError> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| StartError::Data { path: dir.to_owned(), source })
}

pub fn table_file(dir: &Path) -> PathBuf {
    dir.join("table.db")
}

/// The file of what the stand-in for Stripe remembers.
pub fn payments_file(dir: &Path) -> PathBuf {
    dir.join("stripe.json")
}

/// The clock, as far ahead as at the end of an earlier start with the same data directory.
pub fn clock(dir: Option<&Path>) -> Result<MovableClock, StartError> {
    let file = dir.map(clock_file);
    MovableClock::of(file.clone()).map_err(|source| StartError::Data { path: file.unwrap_or_default(), source })
}

/// The token keys of a data directory. The first start creates them in a file that only its owner can read (mode 0600).
pub fn token_keys(dir: &Path) -> Result<String, StartError> {
    let path = keys_file(dir);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = new_token_keys()?;
            write_whole(&path, text.as_bytes()).map_err(|source| StartError::Data { path: path.clone(), source })?;
            text
        }
        Err(source) => return Err(StartError::Data { path, source }),
    };
    TokenKeys::parse(&text).map_err(|source| StartError::Keys { path, source })?;
    Ok(text)
}

/// The keys of the demo's game servers by the servers' ids, as the last start left them.
pub fn game_server_keys(dir: &Path) -> Result<BTreeMap<u64, String>, StartError> {
    let path = game_servers_file(dir);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| StartError::Data { path, source: error.into() }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(source) => Err(StartError::Data { path, source }),
    }
}

/// Leaves the keys of the demo's game servers in a file that only its owner can read.
pub fn keep_game_server_keys(dir: &Path, keys: &BTreeMap<u64, String>) -> Result<(), StartError> {
    let path = game_servers_file(dir);
    let written = serde_json::to_vec(keys).map_err(std::io::Error::other).and_then(|text| write_whole(&path, &text));
    written.map_err(|source| StartError::Data { path, source })
}

fn game_servers_file(dir: &Path) -> PathBuf {
    dir.join("game-servers.json")
}

/// The file of what a game server of the demo keeps for players who are away.
pub fn game_server_disk(dir: &Path, server: ServerId) -> PathBuf {
    dir.join(format!("game-server-{server}.json"))
}

/// New token keys: one random secret.
pub fn new_token_keys() -> Result<String, StartError> {
    let mut secret = [0_u8; SECRET];
    getrandom::fill(&mut secret).map_err(|error| StartError::Entropy(error.to_string()))?;
    Ok(serde_json::json!({ "local": hex::encode(secret) }).to_string())
}

#[cfg(test)]
mod lock_tests {
    use super::lock;
    use std::process::{Command, Stdio};
    use std::thread;

    #[test]
    fn a_directory_is_free_once_its_lock_is_dropped_also_while_processes_are_started() {
        let dir = tempfile::tempdir().unwrap();
        let others = thread::spawn(|| {
            for _ in 0..200 {
                Command::new("true").stdout(Stdio::null()).status().unwrap();
            }
        });
        while !others.is_finished() {
            drop(lock(dir.path()).unwrap());
        }
        others.join().unwrap();
    }
}
