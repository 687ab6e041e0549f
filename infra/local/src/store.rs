//! The served store: read from its files, published and loaded if the table is empty.

use crate::live::{self, Live};
use crate::options::StartError;
use pictures::Picture;
use publish::files::StoreFiles;
use publish::{Compiled, Fault};
use serde::de::DeserializeOwned;
use shared::model::{User, UserId};
use shared::table::Db;
use shared::table::keys::{self, Key};
use shared::table::published::read_active_version;
use std::collections::BTreeSet;
use std::path::Path;

/// The most items of a kind to look up in a table.
const LOOKED_FOR: usize = 200;
/// Ids of users to look up, in addition to those in the files: ids are counted up from 1.
const FIRST_IDS: u64 = 100;

#[derive(Debug)]
pub struct Store {
    pub compiled: Compiled,
    pub live: Live,
}

impl Store {
    /// Reads the files in `dir`, and its live data for `now`, in seconds since 1970 UTC.
    pub fn read(dir: &Path, now: i64) -> Result<Self, StartError> {
        let files = publish::read(dir).map_err(|faults| StartError::Store { dir: dir.to_owned(), faults })?;
        Self::of(dir, &files, now)
    }

    /// As [`Store::read`], with the pictures under the names that they have in a shop. A picture that a shop refuses keeps its
    /// own, and is among the faults.
    pub fn read_with_pictures(dir: &Path, now: i64) -> Result<(Self, Vec<Picture>, Vec<Fault>), StartError> {
        let mut files = publish::read(dir).map_err(|faults| StartError::Store { dir: dir.to_owned(), faults })?;
        let (pictures, refused) = pictures::name_pictures(dir, &mut files, &|_| {});
        Ok((Self::of(dir, &files, now)?, pictures, refused))
    }

    fn of(dir: &Path, files: &StoreFiles, now: i64) -> Result<Self, StartError> {
        let faulty = |faults: Vec<Fault>| StartError::Store { dir: dir.to_owned(), faults };
        let compiled = publish::compile(files).map_err(faulty)?;
        let live = live::read(dir, &compiled.settings.goals, now);
        let live = live.map_err(|source| StartError::Live { dir: dir.to_owned(), source })?;
        Ok(Self { compiled, live })
    }

    /// Publishes and loads the store if the table has no published store; returns whether it did.
    pub async fn load_into_empty(&self, db: &Db, now: i64) -> Result<bool, StartError> {
        if read_active_version(db).await.map_err(publish::PublishError::Store)?.is_some() {
            return Ok(false);
        }
        // The active version is written last: if the first start is interrupted, the next one starts over.
        live::seed(db, &self.live).await.map_err(publish::PublishError::Store)?;
        // A shop that begins here shows what its reductions are from.
        publish::assume_regular_prices(db, &self.compiled, now).await.map_err(publish::PublishError::Store)?;
        publish::publish(db, &self.compiled, now).await?;
        Ok(true)
    }

    /// Publishes the store if another version is published; the rows of that version are kept.
    pub async fn republish(&self, db: &Db, now: i64) -> Result<(), StartError> {
        publish::publish(db, &self.compiled, now).await?;
        Ok(())
    }

    /// The live part of the store in the table: users, codes, referral codes and orders change while a store
    /// runs, and the table may have been filled from other files. In a table that was just filled, this is the store
    /// itself. Looks up at most `LOOKED_FOR` of a kind.
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
        let carts = read(db, users.iter().map(|user: &User| keys::cart(user.id))).await?;
        Ok(Live { users, carts, codes, referrals, orders, ..Live::default() })
    }
}

/// Reads the first of these items that exist.
async fn read<T: DeserializeOwned>(db: &Db, keys: impl Iterator<Item = Key>) -> Result<Vec<T>, StartError> {
    let keys: Vec<Key> = keys.take(LOOKED_FOR).collect();
    let refused = |error| StartError::Publish(publish::PublishError::Store(error));
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = db.batch_get(keys.clone()).await.map_err(refused)?;
    keys.iter().filter_map(|key| rows.take_live(key).map_err(refused).transpose()).collect()
}
