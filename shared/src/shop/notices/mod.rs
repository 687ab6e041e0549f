//! What owners are notified of (rules.md, "Notices"): its rows, and the day before, once a day after midnight of the store's zone.
//!
//! Every write of the sender removes the row as it was read and puts it under another key: the condition is that the row still has
//! the subject that was read. An erasure changes the subject in its place.

pub(in crate::shop) mod of_commands;
pub(in crate::shop) mod of_orders;
pub(in crate::shop) mod of_stock;
mod run;

pub use run::{Sent, run};

use crate::clock::Clock;
use crate::deadline::Stop;
use crate::model::{About, Notice, NoticeDay, NoticeEvent, NoticeTarget, PausedTarget, Settings, StoreConfig};
use crate::money::CurrencyFormat;
use crate::rules::daily::{CommandsOfDay, Provider, lines};
use crate::rules::report::{By, Names, Report, day_text, seconds_of_day};
use crate::rules::sending::{Place, again};
use crate::shop::delivery::measures::times;
use crate::shop::delivery::{commands, measure};
use crate::shop::report::{self, Listed, read};
use crate::table::codec::{Row, encode_live, noted, readable};
use crate::table::keys::{self, Key};
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, read_live, read_published, single};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Range;

/// Whether one of the targets is notified of an event.
pub fn tells(targets: &[NoticeTarget], event: NoticeEvent) -> bool {
    targets.iter().any(|target| target.events.contains(&event))
}

/// The write of a notice, for the transaction of what it tells of. It is sent in the next minute.
pub fn put(event: NoticeEvent, id: String, at: i64, about: About) -> Result<Write, StoreError> {
    let key = keys::notice_due(at, &id);
    Write::put_live(key, &Notice::new(event, id, at, about))
}

/// The writes of a notice of something that lasts, on the condition that it is not the last one that was written of `what`.
pub(in crate::shop) fn put_once(
    what: &str,
    event: NoticeEvent,
    id: String,
    at: i64,
    about: About,
) -> Result<Vec<Write>, StoreError> {
    let mark = Write::put_live(keys::notice_told(what), &json!({ "notice": id }))?;
    let mark = mark.only_if("attribute_not_exists(#notice) OR #notice <> :notice");
    let mark = mark.name("#notice", "notice").text(":notice", &id);
    Ok(vec![mark, put(event, id, at, about)?])
}

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
async fn due(db: &Db, now: i64, most: usize) -> Result<Vec<NoticeRow>, StoreError> {
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
async fn paused(db: &Db) -> Result<BTreeMap<String, i64>, StoreError> {
    let (first, last) = keys::notices_of(Some("TARGET"));
    let rows = db.query_first(&keys::notices(), (&first, &last), MOST_LISTED, Some).await?;
    Ok(readable(rows).map(|target: PausedTarget| (target.name, target.until)).collect())
}

/// Notes until when a target takes nothing.
async fn pause(db: &Db, name: &str, until: i64) -> Result<(), StoreError> {
    let write = Write::put_live(keys::paused_target(name), &PausedTarget { name: name.to_owned(), until })?;
    single::apply(db, write.kept_until(until)).await.map(drop)
}

/// Moves a row to where its notice belongs now. Returns whether it was still as it was read.
async fn move_to(db: &Db, row: &NoticeRow, notice: &Notice, place: Place, now: i64) -> Result<bool, StoreError> {
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

/// How long after midnight the provider's list is waited for, in seconds.
const LIST_TIMEOUT: i64 = 2 * 3_600;
/// The most commands of a server that are counted.
const MOST_COMMANDS: usize = 1_000;

/// The last day of which the owner was told, or need not be, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ToldDay {
    day: i64,
}

/// The write of the day, on the condition that the owner was notified of no later one.
fn put_told(day: i64) -> Result<Write, StoreError> {
    let write = Write::put_live(keys::told_day(), &ToldDay { day })?;
    Ok(write.only_if("attribute_not_exists(#day) OR #day < :day").name("#day", "day").number(":day", day))
}

/// Writes the notice of yesterday, if it is wanted, not written yet, and can be read before `stop`.
pub(in crate::shop) async fn tell_daily(db: &Db, clock: &dyn Clock, stop: Stop) -> Result<(), StoreError> {
    let Some(active) = read_active_version(db).await? else { return Ok(()) };
    let config = &active.config;
    if !config.notify.iter().any(|target| target.events.contains(&NoticeEvent::Daily)) {
        return Ok(());
    }
    let (now, days) = (clock.seconds(), config.zone.days());
    let day = days.number(now).saturating_sub(1);
    match read_live::<ToldDay>(db, &keys::told_day()).await? {
        Some(told) if told.day >= day => return Ok(()),
        Some(_) => {}
        // The owner has switched it on today.
        None => return sent(db, vec![put_told(day)?]).await.map(drop),
    }
    let time = seconds_of_day(&days, day);
    let provider = match report::listed(db).await? {
        Listed::Never => Provider::None,
        Listed::Until(until) if until >= time.end => Provider::Known,
        Listed::Until(_) | Listed::Filling if now.saturating_sub(time.end) < LIST_TIMEOUT => return Ok(()),
        Listed::Until(_) | Listed::Filling => Provider::Late,
    };
    let settings: Option<Settings> = read_published(db, &keys::settings(&active.version)).await?;
    let currency = settings.unwrap_or_default().system_currency.name;
    let mut report = Report::new(By::Day, time, days, currency, Names::default());
    if !read(db, &mut report, Some(stop)).await? {
        return Ok(());
    }
    let (text, commands) = (day_text(day), commands_of_day(db, clock, config, &report.time).await?);
    let lines = lines(&text, &report, CurrencyFormat::new(config.digits), provider, commands);
    let id = format!("daily-{text}");
    let notice = put(NoticeEvent::Daily, id, now, About::Day(NoticeDay { day: text, lines }))?;
    // If it conflicts, another sweep has written it.
    sent(db, vec![put_told(day)?, notice]).await.map(drop)
}

/// What ran at the game servers in a time, and what waits there now; `None` without any.
async fn commands_of_day(
    db: &Db,
    clock: &dyn Clock,
    config: &StoreConfig,
    time: &Range<i64>,
) -> Result<Option<CommandsOfDay>, StoreError> {
    let servers = &config.delivery.servers;
    if servers.is_empty() {
        return Ok(None);
    }
    let mut found = CommandsOfDay::default();
    for server in servers {
        let ran = times(db, server.id, time.start, time.end).await?;
        found.own.add_all(&ran.own);
        found.waited.add_all(&ran.waited);
        found.waiting += commands::due(db, server.id, clock.seconds(), MOST_COMMANDS).await?.len();
        found.undecided += measure(db, clock, server.id).await?.undecided;
    }
    Ok(Some(found))
}
