//! Publishing: every row of the new version is written next to the old one, then one conditional write moves the active
//! version. Whatever happens before that write, readers see the old version whole.

use crate::compile::{Compiled, Part};
use crate::currency::check_digits;
use crate::own_files::{FilesError, keep_files, own_files};
use crate::prices::Prices;
use crate::version::{LoadError, damage_of, generation, load, store_of, unsound, version_name};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use shared::model::ActiveVersion;
use shared::shop::publishing::{self, Step, Switched, VersionRecord, begin_version, list_versions, read_history};
use shared::table::bulk::{IN_FLIGHT, OnProgress, batches, write_each};
use shared::table::published::{must_be_current, read_active_version};
use shared::table::{Db, StoreError, codec};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// This very store is what is published already.
    Unchanged,
    /// So it is, but its files were others, in comments for example: they are replaced.
    FilesReplaced,
    /// The active version was moved to this store.
    Switched {
        version: String,
        /// The version that was active before; `None` on the first publish.
        previous: Option<String>,
        rows: usize,
    },
}

/// Publishes a store over what is published now, see [`publish_with`]. After an error the version that was published
/// before is still published, or another publisher's is.
pub async fn publish(db: &Db, compiled: &Compiled, now: i64) -> Result<Published, PublishError> {
    let current = read_active_version(db).await?.map(|active| active.version);
    publish_with(db, compiled, current.as_deref(), now, &|_| {}).await
}

/// Publishes a store and calls `progress` for every row that is in the table. `seen` is the version that the caller
/// compared the store with: if another one is published by now, nothing is switched, so that no change of another
/// publisher is lost. Interrupted, it can be run again: rows that are there already are not written again. A version
/// with missing or altered rows is never switched to: the store is then written again as a new version, which is how
/// functions that cached such a row learn of the repair. `now` is in seconds since 1970 UTC. After an error the version
/// that was published before is still published, or another publisher's is.
pub async fn publish_with(
    db: &Db,
    compiled: &Compiled,
    seen: Option<&str>,
    now: i64,
    progress: OnProgress<'_>,
) -> Result<Published, PublishError> {
    publish_by(db, compiled, seen, Step::Forward, now, progress).await
}

/// [`publish_with`], as a step of the history: also of a version that was published before.
async fn publish_by(
    db: &Db,
    compiled: &Compiled,
    seen: Option<&str>,
    step: Step,
    now: i64,
    progress: OnProgress<'_>,
) -> Result<Published, PublishError> {
    let current = read_active_version(db).await?;
    current.as_ref().map_or(Ok(()), must_be_current)?;
    let previous = current.as_ref().map(|active| active.version.clone());
    let same = previous.as_ref().is_some_and(|version| store_of(version) == compiled.version);
    if !same && previous.as_deref() != seen {
        return Err(PublishError::OtherPublished { winner: previous.unwrap_or_default() });
    }
    let prices = Prices::read(db, current.as_ref(), Some(compiled), now).await?;
    let compiled = &prices.lowest(compiled, now);
    let (place, version) = place(db, compiled, current.as_ref()).await?;
    let active = ActiveVersion { version, config: compiled.config.clone(), ..ActiveVersion::default() };
    let is_published = |current: &ActiveVersion| current.version == active.version && current.config == active.config;
    if place == Place::Sound && current.as_ref().is_some_and(is_published) {
        let replaced = keep_files(db, &active.version, &compiled.files).await?;
        return Ok(if replaced { Published::FilesReplaced } else { Published::Unchanged });
    }
    let rows = compiled.parts(&active.version).len();
    if place != Place::Sound {
        if place == Place::New {
            begin_version(db, &draft(compiled, &active.version, rows, now)).await?;
        }
        write_rows(db, compiled, &active.version, progress).await?;
    }
    // A version that can be switched to has its files.
    keep_files(db, &active.version, &compiled.files).await?;
    prices.store(db).await?;
    let step = if same { Step::Repair } else { step };
    match switch(db, previous.as_deref(), &active, place != Place::Sound, step, now).await {
        // Two publishers of one and the same store: both have what they wanted.
        Err(PublishError::OtherPublished { winner }) if store_of(&winner) == compiled.version => {
            Ok(Published::Unchanged)
        }
        moved => moved.map(|()| Published::Switched { version: active.version, previous, rows }),
    }
}

/// Makes a version that is in the table the published one in place of `from`, and returns the name that it has then: a new one if
/// the lowest prices before its reductions are others by now. `now` is in seconds since 1970 UTC. Fails with
/// [`PublishError::OtherPublished`] if the active version points elsewhere by now, [`PublishError::BeingRemoved`] if the version is
/// being removed or was, [`PublishError::Digits`] if live amounts would be read with other digits.
pub async fn return_to(db: &Db, to: &VersionRecord, from: &str, step: Step, now: i64) -> Result<String, PublishError> {
    if let Some(store) = whole(db, to).await? {
        return Ok(match publish_by(db, &store, Some(from), step, now, &|_| {}).await? {
            Published::Switched { version, .. } => version,
            Published::Unchanged | Published::FilesReplaced => from.to_owned(),
        });
    }
    let current = read_active_version(db).await?;
    Prices::read(db, current.as_ref(), None, now).await?.store(db).await?;
    let active = ActiveVersion { version: to.version.clone(), config: to.config.clone(), ..ActiveVersion::default() };
    switch(db, Some(from), &active, false, step, now).await?;
    Ok(active.version)
}

/// The store of a version as it was published; `None` if it is damaged, and can be returned to only as it is.
async fn whole(db: &Db, record: &VersionRecord) -> Result<Option<Compiled>, StoreError> {
    let store = match load(db, record).await {
        Ok(store) => store,
        Err(LoadError::Store(error)) => return Err(error),
        Err(LoadError::Missing { .. } | LoadError::Altered { .. }) => return Ok(None),
    };
    match own_files(db, &record.version).await {
        Ok(files) => Ok(Some(Compiled { version: store_of(&record.version).to_owned(), files, ..store })),
        Err(FilesError::Store(error)) => Err(error),
        Err(FilesError::None { .. } | FilesError::Damaged { .. }) => Ok(None),
    }
}

/// Makes a version the published one, see [`publishing::switch`], without a look at its prices. Fails as [`return_to`] does.
pub async fn switch(
    db: &Db,
    from: Option<&str>,
    to: &ActiveVersion,
    first: bool,
    step: Step,
    now: i64,
) -> Result<(), PublishError> {
    check_digits(db, to.config.digits).await?;
    match publishing::switch(db, from, to, first, step, now).await? {
        Switched::Written => Ok(()),
        Switched::Moved => {
            let winner = read_active_version(db).await?.map(|active| active.version).unwrap_or_default();
            Err(PublishError::OtherPublished { winner })
        }
        Switched::BeingRemoved => Err(PublishError::BeingRemoved { version: to.version.clone() }),
    }
}

/// How much of a store is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A version with every row as it was compiled.
    Sound,
    /// A version that an interrupted publish began.
    Begun,
    New,
}

/// The version under which a store is published: one that is in the table if its rows are sound, else one that was
/// begun, else a new one. Versions that are being removed are never used again.
async fn place(db: &Db, compiled: &Compiled, current: Option<&ActiveVersion>) -> Result<(Place, String), StoreError> {
    let current = current.map(|active| active.version.as_str());
    let mut records = list_versions(db).await?;
    records.retain(|record| store_of(&record.version) == compiled.version);
    records.sort_by_key(|record| {
        (current != Some(record.version.as_str()), std::cmp::Reverse(generation(&record.version)))
    });
    for record in records.iter().filter(|record| record.is_ready() && record.config == compiled.config) {
        if damage_of(db, compiled, &record.version).await? == 0 {
            return Ok((Place::Sound, record.version.clone()));
        }
    }
    if let Some(draft) = records.iter().find(|record| !record.whole && record.removing_since.is_none()) {
        return Ok((Place::Begun, draft.version.clone()));
    }
    let history = read_history(db).await?;
    let used = records.iter().map(|record| record.version.as_str()).chain(current);
    let used = used.chain(history.entries().iter().map(|entry| entry.version.as_str()));
    let last = used.filter(|version| store_of(version) == compiled.version).map(generation).max();
    Ok((Place::New, version_name(&compiled.version, last.map_or(1, |last| last + 1))))
}

fn draft(compiled: &Compiled, version: &str, rows: usize, now: i64) -> VersionRecord {
    VersionRecord {
        version: version.to_owned(),
        published_at: now,
        rows: rows as u64,
        config: compiled.config.clone(),
        pages: compiled.pages.iter().map(|page| page.url.clone()).collect(),
        whole: false,
        switched_at: None,
        retired_at: None,
        removing_since: None,
        label: None,
        files: None,
    }
}

/// Writes every row that is not in the table as it was compiled: first the category list, by which a removal finds the others, then
/// all but the items, then the items, which a removal finds by their categories.
async fn write_rows(db: &Db, compiled: &Compiled, version: &str, progress: OnProgress<'_>) -> Result<(), StoreError> {
    let stage = |part: &Part<'_>| match part {
        Part::Tree(_) => 0,
        Part::Item(_) => 2,
        _ => 1,
    };
    for wanted in 0..3 {
        let parts = compiled.parts(version).into_iter().filter(|(_, part)| stage(part) == wanted);
        let items = parts.map(|(key, part)| codec::encode_published(&key, &part));
        let writes = stream::iter(batches(items)).map(|batch| async move {
            let batch = batch?;
            let size = batch.len() as u64;
            write_each(db, unsound(db, batch).await?.into_iter().map(Ok), &|_| {}).await?;
            progress(size);
            Ok::<(), StoreError>(())
        });
        writes.buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("conflict: version {winner} was published in the meantime; nothing was switched")]
    OtherPublished { winner: String },
    #[error("version {version} is being removed")]
    BeingRemoved { version: String },
    /// The currency would have other digits, and the table has live amounts.
    #[error("amounts in the table have {published} digits, not {wanted}")]
    Digits { published: u8, wanted: u8 },
    #[error(transparent)]
    Store(#[from] StoreError),
}
