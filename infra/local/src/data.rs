//! The data directory: the table's file and the token keys, kept across restarts.

use crate::error::StartError;
use shared::token::TokenKeys;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of a generated secret.
const SECRET: usize = 32;

/// Creates the directory if it does not exist; only its owner can read it.
///
/// # Errors
/// [`StartError::Data`] if it cannot be created.
pub fn prepare(dir: &Path) -> Result<(), StartError> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|source| StartError::Data { path: dir.to_owned(), source })
}

/// The file of the table.
#[must_use]
pub fn table_file(dir: &Path) -> PathBuf {
    dir.join("table.db")
}

/// The file of the token keys: a JSON object of key ids and secrets, as in `TOKEN_KEYS`.
#[must_use]
pub fn keys_file(dir: &Path) -> PathBuf {
    dir.join("token-keys.json")
}

/// The token keys of a data directory. The first start creates them in a file that only its owner can read (mode 0600).
///
/// # Errors
/// [`StartError`] if they can be neither read nor created.
pub fn token_keys(dir: &Path) -> Result<String, StartError> {
    let path = keys_file(dir);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = new_token_keys()?;
            write_private(&path, &text).map_err(|source| StartError::Data { path: path.clone(), source })?;
            text
        }
        Err(source) => return Err(StartError::Data { path, source }),
    };
    TokenKeys::parse(&text).map_err(|source| StartError::Keys { path, source })?;
    Ok(text)
}

/// New token keys: one random secret.
///
/// # Errors
/// [`StartError::Entropy`] if the system has no random numbers.
pub fn new_token_keys() -> Result<String, StartError> {
    let mut secret = [0_u8; SECRET];
    getrandom::fill(&mut secret).map_err(|error| StartError::Entropy(error.to_string()))?;
    Ok(serde_json::json!({ "local": hex::encode(secret) }).to_string())
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
