//! Brings the data of an earlier version to today's format: it writes the rows that later code needs, and raises the schema
//! number last. What is there stays, so that functions of the earlier version go on. Every step looks at the table and not
//! at the number: interrupted, it continues, and on data of today's format it does nothing.

use crate::clock::Clock;
use crate::model::{ActiveVersion, InternalId, Order, SCHEMA};
use crate::store::bulk::OnProgress;
use crate::store::history::{begin_history, read_history};
use crate::store::published::{raise_schema, read_active_version};
use crate::store::versions::read_record;
use crate::store::{Db, StoreError, keys};
use crate::usecases::delivery;
use crate::usecases::name_index;
use crate::usecases::orders::{self, Audit, audit, behind, finish_statistics, list_orders, repair_table, unlisted};
use serde::Serialize;

/// How often the table is looked at, if others are writing to it.
const ROUNDS: usize = 3;

/// The reason why a table is not upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error("a restore by an earlier version was begun in this table and is not done")]
    EarlierRestore,
    #[error("the data have the schema number {0}, and this version knows {SCHEMA}")]
    Later(u32),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The rows that a table lacks of today's format.
#[derive(Debug, Clone, Default)]
pub struct Lacking {
    /// The schema number of the data; `None` if nothing is published.
    pub schema: Option<u32>,
    /// Rows by which users are found.
    pub names: name_index::Lacking,
    /// Counters, ledgers and patrons' sums that the orders do not add up to.
    pub sums: Audit,
    /// How many orders goals and donators do not show.
    pub uncounted: usize,
    pub patrons: bool,
    /// Orders that are not in the list of their owner.
    pub unlisted: Vec<Order>,
    /// Paid orders that do not hold what takes them back.
    pub unheld: Vec<InternalId>,
    /// Whether the list of what was published when is not begun.
    pub history: bool,
}

/// How many rows an upgrade writes, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Rows {
    /// Rows by which users are found.
    pub names: usize,
    /// Sums that are set to what the orders add up to.
    pub sums: usize,
    /// Orders that goals and donators show now.
    pub uncounted: usize,
    pub patrons: usize,
    /// Orders that are in the list of their owner now.
    pub listed: usize,
    /// Paid orders that hold now what takes them back.
    pub held: usize,
    /// The list of what was published when.
    pub history: usize,
}

impl Rows {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, more: &Self) {
        self.names += more.names;
        self.sums += more.sums;
        self.uncounted += more.uncounted;
        self.patrons += more.patrons;
        self.listed += more.listed;
        self.held += more.held;
        self.history += more.history;
    }
}

#[derive(Debug, Clone, Default)]
pub struct Upgraded {
    /// The schema number that the data had; `None` if nothing is published.
    pub from: Option<u32>,
    pub rows: Rows,
    /// Users who cannot be found by name, each with the reason.
    pub without: Vec<String>,
}

impl Lacking {
    /// Looks at every item of the table. Calls `progress` for what it reads. Fails with [`UpgradeError`] if the table
    /// cannot be read, an earlier version left a restore half done, or the data are of a later version.
    pub async fn find(db: &Db, progress: OnProgress<'_>) -> Result<Self, UpgradeError> {
        if db.get(&keys::earlier_restore(), true).await?.is_some() {
            return Err(UpgradeError::EarlierRestore);
        }
        let active = read_active_version(db).await?;
        if let Some(ActiveVersion { schema, .. }) = active.as_ref().filter(|active| active.schema > SCHEMA) {
            return Err(UpgradeError::Later(*schema));
        }
        let begun = active.is_none() || !read_history(db).await?.entries().is_empty();
        Ok(Self {
            schema: active.map(|active| active.schema),
            names: name_index::lacking(db, progress).await?,
            sums: audit(db, progress).await?,
            uncounted: behind(db, progress).await?.len(),
            patrons: orders::patrons_differ(db).await?,
            unlisted: unlisted(db, progress).await?,
            unheld: delivery::unheld(db, progress).await?,
            history: !begun,
        })
    }

    /// How many rows are to be written.
    pub fn rows(&self) -> Rows {
        Rows {
            names: self.names.claims.len(),
            sums: self.sums.differences.len() + usize::from(self.sums.no_donations),
            uncounted: self.uncounted,
            patrons: usize::from(self.patrons),
            listed: self.unlisted.len(),
            held: self.unheld.len(),
            history: usize::from(self.history),
        }
    }
}

/// Upgrades a table. Calls `progress` for what it reads and writes. Fails with [`UpgradeError`] if the database does
/// not respond, or if others keep writing what an upgrade writes. What was written stays, and the next upgrade
/// continues.
pub async fn upgrade(db: &Db, clock: &dyn Clock, progress: OnProgress<'_>) -> Result<Upgraded, UpgradeError> {
    let mut upgraded = Upgraded::default();
    for round in 0..ROUNDS {
        let lacking = Lacking::find(db, progress).await?;
        if round == 0 {
            upgraded.from = lacking.schema;
        }
        let rows = lacking.rows();
        if rows.is_empty() {
            upgraded.without = lacking.names.without;
            if upgraded.from.is_some_and(|from| from < SCHEMA) {
                raise_schema(db).await?;
            }
            return Ok(upgraded);
        }
        write(db, clock, &lacking, progress).await?;
        upgraded.rows.add(&rows);
    }
    Err(StoreError::Contended.into())
}

/// Writes what a table lacks. Rows that others change in the meantime are left to the next round.
async fn write(db: &Db, clock: &dyn Clock, lacking: &Lacking, progress: OnProgress<'_>) -> Result<(), StoreError> {
    name_index::write(db, &lacking.names.claims, progress).await?;
    if !lacking.sums.is_clean() {
        repair_table(db, &lacking.sums).await?;
        progress(1);
    }
    // After the sums of patrons, from which their list is compiled.
    if lacking.uncounted > 0 || lacking.patrons || !lacking.sums.is_clean() {
        finish_statistics(db).await?;
        progress(1);
    }
    list_orders(db, &lacking.unlisted, progress).await?;
    for order in &lacking.unheld {
        delivery::hold_earlier(db, clock.seconds(), order).await?;
        progress(1);
    }
    if lacking.history
        && let Some(ActiveVersion { version, .. }) = read_active_version(db).await?
    {
        let record = read_record(db, &version).await?;
        let since = record.map_or(0, |record| record.switched_at.unwrap_or(record.published_at));
        begin_history(db, &version, since).await?;
        progress(1);
    }
    Ok(())
}

/// Whether the data in a table are of an earlier format; `false` if nothing is published.
pub async fn is_needed(db: &Db) -> Result<bool, StoreError> {
    Ok(read_active_version(db).await?.is_some_and(|active| !active.is_current()))
}
