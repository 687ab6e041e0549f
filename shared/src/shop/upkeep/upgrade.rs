//! Brings the data of an earlier version to today's format, in [`STEPS`]: each finds the rows that later code needs and the table lacks.
//! The schema number is raised last. What is there stays, so that functions of the earlier version go on. A step looks at the table and
//! not at the number: interrupted, an upgrade continues, and on data of today's format it does nothing.

use crate::model::ActiveVersion;
use crate::table::bulk::OnProgress;
use crate::table::published::{raise_schema, read_active_version};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, Turns};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;

/// The schema number of the first release, 0.1.0.
pub const FIRST: u32 = 4;
/// The last commit whose `storectl upgrade` reads data of before the first release.
pub const READS_EARLIER: &str = "5ca4657418fcd1bcd3399d0e5267a76e5289b956";
/// How often the table is looked at, if others are writing to it.
const UPGRADE_TURNS: u32 = 3;

/// The steps since the first release, oldest first.
pub const STEPS: &[Step] = &[];

/// The writes that a step has found.
pub type Found<'a> = BoxFuture<'a, Result<Vec<Write>, StoreError>>;

/// A step to a format. `find` makes the writes of the rows that a table lacks, each on the condition that it is still missing, and calls
/// `progress` for what it reads.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The schema number of the data after it.
    pub to: u32,
    /// The rows that it writes, in words for people.
    pub rows: &'static str,
    pub find: for<'a> fn(&'a Db, OnProgress<'a>) -> Found<'a>,
}

/// The reason why a table is not upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    #[error(
        "the data have the schema number {0}, of before version 0.1.0: `storectl upgrade` of the commit {READS_EARLIER} is the last one \
         that reads them"
    )]
    Before(u32),
    #[error("the data have the schema number {found}, and this version knows {known}")]
    Later { found: u32, known: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many rows an upgrade writes, by kind.
pub type Rows = BTreeMap<&'static str, usize>;

/// The rows that a table lacks of today's format.
#[derive(Debug, Default)]
pub struct Lacking {
    /// The schema number of the data; `None` if nothing is published.
    pub schema: Option<u32>,
    writes: Vec<(&'static str, Vec<Write>)>,
}

#[derive(Debug, Clone, Default)]
pub struct Upgraded {
    /// The schema number that the data had; `None` if nothing is published.
    pub from: Option<u32>,
    pub rows: Rows,
}

impl Lacking {
    /// Looks at the table. Calls `progress` for what it reads. Fails with [`UpgradeError`] if the table cannot be read, or the data are
    /// not of a version that this one knows.
    pub async fn find(db: &Db, steps: &[Step], progress: OnProgress<'_>) -> Result<Self, UpgradeError> {
        let schema = read_active_version(db).await?.map(|active| active.schema);
        let known = newest(steps);
        match schema {
            Some(found) if found < FIRST => return Err(UpgradeError::Before(found)),
            Some(found) if found > known => return Err(UpgradeError::Later { found, known }),
            _ => {}
        }
        let mut writes = Vec::new();
        for step in steps {
            writes.push((step.rows, (step.find)(db, progress).await?));
        }
        Ok(Self { schema, writes })
    }

    /// How many rows are to be written.
    pub fn rows(&self) -> Rows {
        let counts = self.writes.iter().map(|(kind, writes)| (*kind, writes.len()));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// The schema number after these steps.
pub fn newest(steps: &[Step]) -> u32 {
    steps.last().map_or(FIRST, |step| step.to)
}

/// Upgrades a table. Calls `progress` for what it reads and writes. Fails with [`UpgradeError`] if the database does not respond, or if
/// others keep writing what an upgrade writes. What was written stays, and the next upgrade continues.
pub async fn upgrade(db: &Db, steps: &[Step], progress: OnProgress<'_>) -> Result<Upgraded, UpgradeError> {
    let (mut upgraded, mut turns) = (Upgraded::default(), Turns::of(UPGRADE_TURNS));
    while turns.next().await {
        let lacking = Lacking::find(db, steps, progress).await?;
        upgraded.from = upgraded.from.or(lacking.schema);
        let rows = lacking.rows();
        if rows.is_empty() {
            if upgraded.from.is_some_and(|from| from < newest(steps)) {
                raise_schema(db, newest(steps)).await?;
            }
            return Ok(upgraded);
        }
        for write in lacking.writes.into_iter().flat_map(|(_, writes)| writes) {
            // A row that another request changed is left to the next round.
            sent(db, vec![write]).await?;
            progress(1);
        }
        for (kind, count) in rows {
            *upgraded.rows.entry(kind).or_default() += count;
        }
    }
    Err(StoreError::Contended.into())
}

/// Whether the data in a table are of an earlier format; `false` if nothing is published.
pub async fn is_needed(db: &Db) -> Result<bool, StoreError> {
    Ok(read_active_version(db).await?.as_ref().is_some_and(|active| !ActiveVersion::is_current(active)))
}

#[cfg(test)]
mod tests {
    use super::{STEPS, newest};
    use crate::model::SCHEMA;

    #[test]
    fn the_last_step_leads_to_the_number_that_the_code_writes_and_each_to_a_higher_one() {
        assert_eq!(newest(STEPS), SCHEMA);
        assert!(STEPS.is_sorted_by(|one, next| one.to < next.to));
    }
}
