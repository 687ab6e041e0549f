//! The store that is served: read from its files, published and seeded where the table is empty.

use crate::error::StartError;
use publish::files::StoreFiles;
use publish::live::{self, Live};
use publish::{Compiled, Fault};
use serde::de::DeserializeOwned;
use shared::model::UserId;
use shared::store::Db;
use shared::store::keys::{self, Key};
use shared::store::published::read_active_version;
use std::collections::BTreeSet;
use std::path::Path;

/// How many items of a kind are looked for in a table.
const LOOKED_FOR: usize = 200;
/// Ids of users that are looked for, besides those in the files: ids are counted up from 1.
const FIRST_IDS: u64 = 100;

/// A store as its files have it.
#[derive(Debug)]
pub struct Store {
    /// What is published.
    pub compiled: Compiled,
    /// What lives beside it.
    pub live: Live,
}

impl Store {
    /// Reads the files in `dir`; `now`, in seconds since 1970 UTC, is what relative times are counted from.
    ///
    /// # Errors
    /// [`StartError::Store`] with everything that is wrong.
    pub fn read(dir: &Path, now: i64) -> Result<Self, StartError> {
        let faulty = |faults: Vec<Fault>| StartError::Store { dir: dir.to_owned(), faults };
        let files: StoreFiles = publish::read(dir).map_err(faulty)?;
        let compiled = publish::compile(&files).map_err(faulty)?;
        let live = live::read_live(dir, &files, now).map_err(faulty)?;
        Ok(Self { compiled, live })
    }

    /// Publishes and seeds the store where nothing was published yet; says whether it did.
    ///
    /// # Errors
    /// [`StartError::Publish`] where the database refuses.
    pub async fn load_into_empty(&self, db: &Db, now: i64) -> Result<bool, StartError> {
        if read_active_version(db).await.map_err(publish::PublishError::Store)?.is_some() {
            return Ok(false);
        }
        // The active version comes last: an interrupted first start is started over by the next.
        live::seed(db, &self.live).await.map_err(publish::PublishError::Store)?;
        publish::publish(db, &self.compiled, now).await?;
        Ok(true)
    }

    /// Publishes the store if another version is published; the rows of that version stay.
    ///
    /// # Errors
    /// [`StartError::Publish`] where the database refuses.
    pub async fn republish(&self, db: &Db, now: i64) -> Result<(), StartError> {
        publish::publish(db, &self.compiled, now).await?;
        Ok(())
    }

    /// What the table has of the store: users, codes, referral codes and orders change while a store is open, and a
    /// table may have been filled with others. Of a table that was just filled this is the store itself. At most
    /// `LOOKED_FOR` of a kind are looked for.
    ///
    /// # Errors
    /// [`StartError::Publish`] if the database does not respond.
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
        Ok(Live { users, codes, referrals, orders, ..Live::default() })
    }
}

/// Reads the first of these items that are there.
async fn read<T: DeserializeOwned>(db: &Db, keys: impl Iterator<Item = Key>) -> Result<Vec<T>, StartError> {
    let keys: Vec<Key> = keys.take(LOOKED_FOR).collect();
    let refused = |error| StartError::Publish(publish::PublishError::Store(error));
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(keys.clone()).await.map_err(refused)?;
    keys.iter().filter_map(|key| Some(rows.take(key)?.live(key).map_err(refused))).collect()
}
