//! The day before, as a notice: once a day, after midnight of the store's zone.

use super::put;
use crate::clock::Clock;
use crate::deadline::Stop;
use crate::model::{About, NoticeDay, NoticeEvent, Settings, StoreConfig};
use crate::money::CurrencyFormat;
use crate::rules::daily::{CommandsOfDay, Provider, lines};
use crate::rules::report::{By, Names, Report, day_text, seconds_of_day};
use crate::shop::delivery::times::times;
use crate::shop::delivery::{commands, measure};
use crate::shop::report::{Listed, listed, read};
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, keys, read_live, read_published};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How long after midnight the provider's list is waited for, in seconds.
const LIST_TIMEOUT: i64 = 2 * 3_600;
/// The most commands of a server that are counted.
const MOST_COMMANDS: usize = 1_000;

/// The last day of which the owner was told, or need not be, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ToldDay {
    day: i64,
}

/// The write of the day, on the condition that the owner was told of no later one.
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
    let provider = match listed(db).await? {
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
