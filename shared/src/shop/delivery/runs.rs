//! Runs of the owner's, by their names.

use crate::model::{OwnerRun, RunName};
use crate::table::client::Db;
use crate::table::codec::encode_live;
use crate::table::transaction::{Write, sent};
use crate::table::{StoreError, keys, read_live};

/// Reads a run, strongly consistent; `None` if none was begun under this name.
pub async fn get(db: &Db, name: &RunName) -> Result<Option<OwnerRun>, StoreError> {
    read_live(db, &keys::run(name)).await
}

/// Stores a run under its name, and returns the one that is stored: the first that had it.
pub async fn begin(db: &Db, name: &RunName, run: &OwnerRun) -> Result<OwnerRun, StoreError> {
    let key = keys::run(name);
    let write: Write = Write::put(key.clone(), encode_live(&key, run)?).only_if_absent();
    let before = if sent(db, vec![write]).await? { None } else { get(db, name).await? };
    Ok(before.unwrap_or_else(|| run.clone()))
}

/// Notes that nothing is left to do of an extension.
pub async fn finish(db: &Db, name: &RunName) -> Result<(), StoreError> {
    let write: Write = Write::update(keys::run(name), "SET done = :yes").only_if_present().flag(":yes", true);
    // One that was removed meanwhile has nothing to note.
    sent(db, vec![write]).await.map(drop)
}
