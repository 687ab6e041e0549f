//! The rows of notices: what is due, what waits, and how a row moves from one place to the next.
//!
//! Every write of the sender removes the row as it was read and puts it under another key: the condition is that it is there, with
//! the subject that was read. An erasure changes the subject in its place.

use crate::model::{Notice, PausedTarget};
use crate::rules::sending::{Place, again};
use crate::table::codec::{Row, encode_live, noted, readable};
use crate::table::keys::{self, Key};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, single};
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::BTreeMap;

/// The attribute with a notice's subject.
const ABOUT: &str = "about";
/// How long a notice is kept that every target has, in seconds.
const NOTICE_KEPT: i64 = 30 * 86_400;
/// The most notices that are listed.
pub const MOST_LISTED: usize = 1_000;

/// A notice, and the key of its row.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticeRow {
    pub key: Key,
    pub notice: Notice,
}

impl NoticeRow {
    fn read(row: Row) -> Option<Self> {
        let key = noted(row.key())?;
        noted(row.live(&key)).map(|notice| Self { key, notice })
    }

    /// The second since when it is due; `None` if it waits or every target has it.
    fn due(&self) -> Option<i64> {
        keys::due_second(&self.key)
    }
}

/// The first `most` notices that are due at `now` (seconds since 1970 UTC), the longest overdue first. One that cannot be read is
/// left out, logged and counted.
pub(super) async fn due(db: &Db, now: i64, most: usize) -> Result<Vec<NoticeRow>, StoreError> {
    let (first, last) = (keys::notices_of(None).0, keys::due_until(now));
    db.query_first(&keys::notices(), (&first, &last), most, NoticeRow::read).await
}

/// The notices that are not sent to all yet, at most [`MOST_LISTED`], the oldest first; those that are tried by themselves come
/// before those that wait.
pub async fn listed(db: &Db) -> Result<Vec<NoticeRow>, StoreError> {
    let (first, last) = keys::notices_of(None);
    let mut all = db.query_first(&keys::notices(), (&first, &last), MOST_LISTED, NoticeRow::read).await?;
    all.extend(waiting(db, MOST_LISTED - all.len()).await?);
    Ok(all)
}

/// The first notices that wait for the owner, the oldest first.
pub async fn waiting(db: &Db, most: usize) -> Result<Vec<NoticeRow>, StoreError> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let (first, last) = keys::notices_of(Some("WAITING"));
    db.query_first(&keys::notices(), (&first, &last), most, NoticeRow::read).await
}

/// Until when targets take nothing, by name, in seconds since 1970 UTC.
pub(super) async fn paused(db: &Db) -> Result<BTreeMap<String, i64>, StoreError> {
    let (first, last) = keys::notices_of(Some("TARGET"));
    let rows = db.query_first(&keys::notices(), (&first, &last), MOST_LISTED, Some).await?;
    Ok(readable(rows).map(|target: PausedTarget| (target.name, target.until)).collect())
}

/// Notes until when a target takes nothing.
pub(super) async fn pause(db: &Db, name: &str, until: i64) -> Result<(), StoreError> {
    let write = Write::put_live(keys::paused_target(name), &PausedTarget { name: name.to_owned(), until })?;
    single::apply(db, write.kept_until(until)).await.map(drop)
}

/// Moves a row to where its notice belongs now. Returns whether it was still as it was read.
pub(super) async fn move_to(
    db: &Db,
    row: &NoticeRow,
    notice: &Notice,
    place: Place,
    now: i64,
) -> Result<bool, StoreError> {
    let (id, at) = (&notice.id, notice.at);
    let (key, expires) = match place {
        // Later than before, so that it is another key.
        Place::Due(due) => (keys::notice_due(due.max(row.due().map_or(0, |due| due + 1)), id), None),
        Place::Waiting => (keys::notice_in("WAITING", at, id), None),
        Place::Sent => (keys::notice_in("SENT", at, id), Some(now.saturating_add(NOTICE_KEPT))),
    };
    put_in_place_of(db, row, notice, (key, expires)).await
}

/// Puts a notice under another key than it was read under, until it expires. Returns whether it was still as it was read.
async fn put_in_place_of(
    db: &Db,
    row: &NoticeRow,
    notice: &Notice,
    (key, expires): (Key, Option<i64>),
) -> Result<bool, StoreError> {
    let put = Write::put_live(key, notice)?;
    let put = expires.into_iter().fold(put, Write::kept_until);
    let read = encode_live(&row.key, &row.notice)?.remove(ABOUT).unwrap_or(AttributeValue::Null(true));
    let delete = Write::delete(row.key.clone());
    let as_read = delete.clone().only_if("#about = :about").name("#about", ABOUT).value(":about", read);
    if single::apply_all(db, vec![as_read, put.clone()]).await? {
        return Ok(true);
    }
    // What a later version has written besides is not read here, and is no change.
    let found = db.query_first(&row.key.pk, (&row.key.sk, &row.key.sk), 1, NoticeRow::read).await?;
    if found.first() != Some(row) {
        return Ok(false);
    }
    single::apply_all(db, vec![delete.only_if_present(), put]).await
}

/// The write of another subject of a notice, if it is still under this key. It keeps when the row ends.
pub(in crate::shop) fn change_about(key: Key, notice: &Notice) -> Result<Write, StoreError> {
    let about = encode_live(&key, notice)?.remove(ABOUT).unwrap_or(AttributeValue::Null(true));
    let write = Write::update(key, "SET #about = :about").only_if_present();
    Ok(write.name("#about", ABOUT).value(":about", about))
}

/// Lets a notice be sent again, from now on for a day, also if it waits for a later time or its target takes nothing for a time.
/// Returns whether it was still as it was read.
pub async fn resend(db: &Db, row: &NoticeRow, now: i64) -> Result<bool, StoreError> {
    let again = again(&row.notice, now);
    for (target, _) in again.targets.iter().filter(|(_, sending)| sending.sent_at.is_none()) {
        end_pause(db, target).await?;
    }
    let due = if row.due() == Some(now) { now + 1 } else { now };
    put_in_place_of(db, row, &again, (keys::notice_due(due, &again.id), None)).await
}

/// Forgets that a target takes nothing for a time.
pub async fn end_pause(db: &Db, name: &str) -> Result<(), StoreError> {
    single::apply(db, Write::delete(keys::paused_target(name))).await.map(drop)
}
