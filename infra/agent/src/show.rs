//! The output of the commands that read the journal or the list of players.

use crate::book::{Book, Outcome, Record, Row};
use crate::cli::Failure;
use crate::config::Config;
use crate::journal::{self, End};
use rcon::Connection;
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// The players on the game server.
pub(crate) async fn players(config: &Config) -> Result<(), Failure> {
    let mut players =
        config.players.clone().ok_or_else(|| Failure::Text("the configuration has no players:".to_owned()))?;
    let rcon = &config.rcon;
    let mut console = Connection::open(rcon.protocol, &rcon.address, rcon.password.expose(), rcon.limit).await?;
    let response = players.ask(&mut console).await?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", response.trim())?;
    for player in players.read(&response) {
        let by = if player.is_known_by_name { "its name or its id" } else { "its id only" };
        writeln!(out, "{}\t{}\tknown by {by}", player.name, player.id)?;
    }
    Ok(())
}

/// Rows of the store, with whether each would run.
pub(crate) fn rows(rows: &[(Row, bool)]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for (row, runs) in rows {
        let would = if *runs { "would run" } else { "would wait for the player" };
        writeln!(out, "{}\torder {}\t{}\t{}\t{would}", row.id, row.order, row.player, row.text)?;
    }
    Ok(writeln!(out, "{} commands; nothing ran, and what was served now was given back to the store", rows.len())?)
}

pub(crate) fn status(folder: &Path, is_json: bool) -> Result<(), Failure> {
    let (mut book, mut last) = (Book::default(), None);
    let End { damaged, .. } = journal::read(&journal::file_in(folder), |record, at| {
        book.apply(&record, at);
        last = Some(time(at));
    })?;
    let (counts, is_running) = (book.counts(), journal::is_locked(folder));
    let mut out = io::stdout().lock();
    if is_json {
        let status = json!({
            "agent": book.agent(), "is_running": is_running, "waiting": counts.waiting, "for_players": counts.for_players,
            "to_report": counts.to_report, "over": counts.over, "last_entry": last, "damaged_bytes": damaged,
        });
        return Ok(writeln!(out, "{status}")?);
    }
    let running = if is_running { "running" } else { "not running" };
    writeln!(out, "agent {}: {running}", book.agent().unwrap_or("without a journal yet"))?;
    writeln!(out, "waiting: {}, of these {} for their players", counts.waiting, counts.for_players)?;
    writeln!(out, "ended and not reported to the store: {}", counts.to_report)?;
    writeln!(out, "over: {}", counts.over)?;
    if let Some(last) = last {
        writeln!(out, "last entry: {last}")?;
    }
    if damaged > 0 {
        writeln!(out, "{damaged} bytes at the end are damaged or being written")?;
    }
    Ok(())
}

/// The journal, or what it has about an order.
pub(crate) fn log(folder: &Path, order: Option<&str>, is_json: bool) -> Result<(), Failure> {
    let (mut rows, mut result) = (HashMap::new(), Ok(()));
    let mut out = BufWriter::new(io::stdout().lock());
    journal::read(&journal::file_in(folder), |record, at| {
        for (id, event, text) in events(record, &mut rows) {
            let Some(Row { order: of, player, retry_of, .. }) = rows.get(&id) else { continue };
            if result.is_err() || order.is_some_and(|order| order != of) {
                continue;
            }
            let at = time(at);
            result = if is_json {
                let event = json!({
                    "at": at, "id": id, "order": of, "player": player, "retry_of": retry_of, "event": event, "text": text,
                });
                writeln!(out, "{event}")
            } else {
                let retry = retry_of.map(|id| format!(", in place of {id}")).unwrap_or_default();
                let text = text.map(|text| format!(": {}", text.replace('\n', " "))).unwrap_or_default();
                writeln!(out, "{at}\t{id}{retry}\torder {of}\t{player}\t{event}{text}")
            };
        }
    })?;
    Ok(result.and_then(|()| out.flush())?)
}

/// The events of a record, each with the id of its command and the command or the response.
fn events(record: Record, rows: &mut HashMap<u32, Row>) -> Vec<(u32, &'static str, Option<String>)> {
    let all = |ids: Vec<u32>, event| ids.into_iter().map(|id| (id, event, None)).collect();
    match record {
        Record::Agent(_) | Record::Source(_) => Vec::new(),
        Record::Served(row) => {
            let word = if row.missed > 0 { "waits again: there was no such player" } else { "served" };
            let event = (row.id, word, Some(row.text.clone()));
            rows.insert(row.id, row);
            vec![event]
        }
        Record::Delivered(ids) => all(ids, "kept for the player"),
        Record::Recalled(ids) => all(ids, "recalled by the store"),
        Record::Begun(id) => vec![(id, "begun", None)],
        Record::Ended { id, state, refused, output } => {
            let word = match Outcome::of(state, refused) {
                Outcome::Done => "done",
                Outcome::Unknown => "unknown",
                Outcome::Refused => "refused",
            };
            vec![(id, word, Some(output))]
        }
        Record::Reported(ids) => all(ids, "reported to the store"),
    }
}

/// Seconds since 1970 UTC as a date and a time.
fn time(at: i64) -> String {
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    // Years begin in March here, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_550_399, "2026-11-24T19:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(at), text);
        }
    }
}
