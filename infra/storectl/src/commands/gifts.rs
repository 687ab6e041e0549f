//! `gift add`: random codes that a person can read aloud, one or very many.
//!
//! Many go to a file first and to the table after, so that no card exists whose code is lost; with the same file the
//! same command continues where it was interrupted.

use super::{codes, coupons, items};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::AddGift;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::json;
use shared::model::CodeText;
use shared::money::CurrencyFormat;
use shared::shop::codes::{Batch, Card, missing_cards, new_cards, write_cards};
use shared::table::StoreError;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// How many cards are printed; more go to a file.
const PRINTED: u32 = 20;
/// Cards that are looked for at once when a file is resumed.
const CHUNK: usize = 100;

pub(super) async fn add(target: &Target, console: &Console, options: &AddGift) -> Result<Answer, Failure> {
    let digits = codes::digits(target).await?;
    let balance = items::positive("--balance", &options.balance, digits)?;
    let now = target.clock.seconds();
    let (starts_at, ends_at) = coupons::period(&options.period, now)?;
    let batch = Batch { balance, starts_at, ends_at, made_for: options.made_for.clone(), note: options.note.clone() };
    match &options.out {
        Some(file) if file.exists() => resume(target, console, file, options, batch).await,
        Some(file) => {
            let cards = new_cards(&target.db, options.count).await?;
            write_file(file, options, &batch, digits, &cards)?;
            put(target, console, file, &batch, &cards, false).await
        }
        None if options.count > PRINTED => {
            let what = format!("{} codes are too many to print.", options.count);
            Err(Failure::refused(what, "Add --out FILE: the codes are written there."))
        }
        None => few(target, &batch, digits, options.count).await,
    }
}

async fn few(target: &Target, batch: &Batch, digits: u8, count: u32) -> Result<Answer, Failure> {
    let cards = new_cards(&target.db, count).await?;
    write_cards(&target.db, batch, cards.iter(), &|_| {}).await.map_err(|error| {
        let failure = Failure::from(error);
        failure.done("No code was shown; the codes of cards that were made are lost; they can be switched off.")
    })?;
    let balance = CurrencyFormat::new(digits).money(batch.balance);
    let lines: Vec<String> = cards.iter().map(|(_, code)| code.to_string()).collect();
    let cards: Vec<_> = cards.iter().map(|(id, code)| json!({ "id": id, "code": code, "balance": balance })).collect();
    Ok(Answer::new(lines.join("\n"), json!({ "gift_cards": cards })))
}

/// The first line of a file of codes, by which a resumed command recognises its own file.
fn heading(options: &AddGift) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (from, until) = (or_none(&options.period.starts_at), or_none(&options.period.ends_at));
    let made_for = options.made_for.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
    let note = options.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("# {} gift cards of {} from {from} until {until}{made_for}{note}", options.count, options.balance.trim())
}

fn write_file(path: &Path, options: &AddGift, batch: &Batch, digits: u8, cards: &[Card]) -> Result<(), Failure> {
    let second = |at: Option<i64>| at.map_or_else(String::new, |at| at.to_string());
    let balance = CurrencyFormat::new(digits).money(batch.balance);
    let mut text =
        format!("{}\n# {},{}\nid,code,balance\n", heading(options), second(batch.starts_at), second(batch.ends_at));
    for (id, code) in cards {
        // Writing to a String cannot fail.
        _ = writeln!(text, "{id},{code},{balance}");
    }
    text.push_str("# end\n");
    let mut open = OpenOptions::new();
    open.write(true).create_new(true);
    // Who reads the file can spend the cards.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let written = open.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::file(path, &error).done("No gift card was made."))
}

/// Resumes with a file that an earlier run wrote.
async fn resume(
    target: &Target,
    console: &Console,
    path: &Path,
    options: &AddGift,
    batch: Batch,
) -> Result<Answer, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let foreign = || {
        let what = format!("{} is there already and is not this command's file.", path.display());
        Failure::new(Exit::Local, what, "Choose another file, or repeat the very command that wrote it.")
    };
    let mut lines = text.lines();
    if lines.next() != Some(heading(options).as_str()) || !text.ends_with("# end\n") {
        return Err(foreign());
    }
    let period = lines.next().and_then(|line| line.strip_prefix("# ")).and_then(|line| line.split_once(','));
    let (starts, ends) = period.ok_or_else(foreign)?;
    // Times counted from now are those of the first run.
    let batch = Batch { starts_at: starts.parse().ok(), ends_at: ends.parse().ok(), ..batch };
    let card = |line: &str| -> Option<Card> {
        let mut parts = line.split(',');
        Some((parts.next()?.parse().ok()?, CodeText::parse(parts.next()?).ok()?))
    };
    let rows = lines.skip(1).filter(|line| !line.starts_with('#'));
    let cards: Option<Vec<Card>> = rows.map(card).collect();
    let cards = cards.filter(|cards| cards.len() == options.count as usize).ok_or_else(foreign)?;
    put(target, console, path, &batch, &cards, true).await
}

/// Writes cards to the table: all of them, or those that are not there yet.
async fn put(
    target: &Target,
    console: &Console,
    path: &Path,
    batch: &Batch,
    cards: &[Card],
    resumed: bool,
) -> Result<Answer, Failure> {
    let progress = console.progress("Making gift cards", Some(cards.len() as u64));
    let outcome = async {
        if !resumed {
            write_cards(&target.db, batch, cards.iter(), &|done| progress.advance(done)).await?;
            return Ok(cards.len());
        }
        let mut made = 0;
        for chunk in cards.chunks(CHUNK) {
            let missing = missing_cards(&target.db, chunk).await?;
            made += missing.len();
            write_cards(&target.db, batch, missing.into_iter(), &|_| {}).await?;
            progress.advance(chunk.len() as u64);
        }
        Ok::<usize, StoreError>(made)
    };
    let made = outcome.await.map_err(|error| {
        let done =
            format!("{} of {} cards are made; all codes are in {}.", progress.position(), cards.len(), path.display());
        Failure::from(error).done(done).next("Run the same command with the same file again: it makes the rest.")
    })?;
    let text = format!("{} {made} gift cards were made; the codes are in {}.", paint(GOOD, "ok"), path.display());
    Ok(Answer::new(text, json!({ "made": made, "count": cards.len(), "file": path })))
}
