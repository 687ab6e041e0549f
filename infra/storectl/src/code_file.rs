//! Very many random codes: they go to a file first and to the table after, so that no code exists that is lost. With the same file the
//! same command continues where it was interrupted. `coupon generate …` is here: coupons of one kind.

use crate::code;
use crate::coupon::{KindOptions, ScopeOptions, as_lines, doubts_of, of_kind, text};
use crate::prelude::*;
use archive::running;
use shared::model::{Code, CodeId, CodeText, Coupon};
use shared::money::CurrencyFormat;
use shared::shop::codes::{Card, missing_codes, new_codes, write_codes};
use shared::table::StoreError;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Codes that are looked for at once when a file is resumed.
const CHUNK: usize = 100;

/// The first and the end second at which codes may be used, since 1970 UTC.
pub type Period = (Option<i64>, Option<i64>);

/// A file of codes of one kind.
pub struct CodeFile<'a> {
    pub path: &'a Path,
    /// The codes in the plural: "gift cards".
    pub noun: &'static str,
    /// The line of the progress: "Making gift cards".
    pub label: &'static str,
    /// The kind, by which a repeated command recognises its own file.
    pub kind: String,
    pub count: u32,
    pub period: Period,
    /// The name of the third column, and its value.
    pub column: (&'static str, String),
}

/// The outcome of making the codes of a file.
pub struct CodesOfFile {
    /// How many were made by this run.
    pub made: usize,
    /// How many there are.
    pub count: usize,
    /// That as a sentence.
    pub said: String,
}

impl CodeFile<'_> {
    /// Writes the file, or takes one that the same command wrote, and makes the codes that are missing.
    pub async fn make(
        &self,
        at: &Deployment,
        console: &Console,
        code: impl Fn(&Card, Period) -> Code,
    ) -> Result<CodesOfFile> {
        let (period, cards, is_resumed) = if self.path.exists() {
            let (period, cards) = self.read()?;
            (period, cards, true)
        } else {
            let cards = new_codes(&at.db, self.count).await?;
            self.write(&cards)?;
            (self.period, cards, false)
        };
        self.put(at, console, &cards, is_resumed, |card| code(card, period)).await
    }

    fn heading(&self) -> String {
        format!("# {} {} {}", self.count, self.noun, self.kind)
    }

    fn write(&self, cards: &[Card]) -> Result<()> {
        let (heading, (starts_at, ends_at), (column, value)) = (self.heading(), self.period, &self.column);
        let second = |at: Option<i64>| at.map_or_else(String::new, |at| at.to_string());
        let mut text = format!("{heading}\n# {},{}\nid,code,{column}\n", second(starts_at), second(ends_at));
        for (id, code) in cards {
            // Writing to a String cannot fail.
            _ = writeln!(text, "{id},{code},{value}");
        }
        text.push_str("# end\n");
        // Who reads the file can use the codes.
        running::write_whole(self.path, text.as_bytes()).map_err(|error| {
            let none = format!("No {} was made.", self.noun.trim_end_matches('s'));
            Failure::file(self.path, &error).done(none)
        })
    }

    /// The period and the codes of a file that an earlier run wrote. Times counted from now are those of that run.
    fn read(&self) -> Result<(Period, Vec<Card>)> {
        let text = std::fs::read_to_string(self.path).map_err(|error| Failure::file(self.path, &error))?;
        let foreign = || {
            let what = format!("{} is there already and is not this command's file.", self.path.display());
            Failure::new(Exit::Local, what, "Choose another file, or repeat the very command that wrote it.")
        };
        let mut lines = text.lines();
        if lines.next() != Some(self.heading().as_str()) || !text.ends_with("# end\n") {
            return Err(foreign());
        }
        let period = lines.next().and_then(|line| line.strip_prefix("# ")).and_then(|line| line.split_once(','));
        let (starts, ends) = period.ok_or_else(foreign)?;
        let card = |line: &str| -> Option<Card> {
            let mut parts = line.split(',');
            Some((parts.next()?.parse().ok()?, CodeText::parse(parts.next()?).ok()?))
        };
        let rows = lines.skip(1).filter(|line| !line.starts_with('#'));
        let cards: Option<Vec<Card>> = rows.map(card).collect();
        let cards = cards.filter(|cards| cards.len() == self.count as usize).ok_or_else(foreign)?;
        Ok(((starts.parse().ok(), ends.parse().ok()), cards))
    }

    /// Writes codes to the table: all of them, or those that are not there yet.
    async fn put(
        &self,
        at: &Deployment,
        console: &Console,
        cards: &[Card],
        is_resumed: bool,
        code: impl Fn(&Card) -> Code,
    ) -> Result<CodesOfFile> {
        let (noun, file) = (self.noun, self.path);
        let progress = console.progress(self.label, Some(cards.len() as u64));
        let outcome = async {
            if !is_resumed {
                write_codes(&at.db, cards.iter(), &code, &|done| progress.advance(done)).await?;
                return Ok(cards.len());
            }
            let mut made = 0;
            for chunk in cards.chunks(CHUNK) {
                let missing = missing_codes(&at.db, chunk).await?;
                made += missing.len();
                write_codes(&at.db, missing.into_iter(), &code, &|_| {}).await?;
                progress.advance(chunk.len() as u64);
            }
            Ok::<usize, StoreError>(made)
        };
        let outcome = outcome.await;
        let (done, count) = (progress.position(), cards.len());
        let done = format!("{done} of {count} {noun} are made; all codes are in {}.", file.display());
        let next = "Run the same command with the same file again: it makes the rest.";
        let made = outcome.unsure(done, next)?;
        let said = ok!("{made} {noun} were made; the codes are in {}.", file.display());
        Ok(CodesOfFile { made, count, said })
    }
}

#[derive(Debug, Clone, Args)]
pub struct GenerateCoupons {
    /// How many coupons.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// File that the codes are written to, as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: PathBuf,
    #[command(flatten)]
    pub kind: KindOptions,
}

/// Makes many coupons of one kind, each for one use.
pub async fn generate(at: &Deployment, console: &Console, options: &GenerateCoupons) -> Outcome {
    let active = at.published().await?;
    let digits = active.config.digits;
    let kind = &options.kind;
    let example = Coupon { max_uses: Some(1), ..of_kind(at, &active, text("example")?, kind).await? };
    let (warnings, off) = (doubts_of(at, &example, digits).await?, code::off(&example, CurrencyFormat::new(digits)));
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (from, until) = (or_none(&kind.period.starts_at), or_none(&kind.period.ends_at));
    let minimum = or_none(&kind.discount.minimum);
    let first = if kind.first_purchase { ", for a first purchase" } else { "" };
    let ScopeOptions { categories, items } = &kind.scope;
    let file = CodeFile {
        path: &options.csv,
        noun: "coupons",
        label: "Making coupons",
        kind: format!(
            "of {off} from {from} until {until}, minimum {minimum}{first}, categories {categories:?}, items {items:?}"
        ),
        count: options.count,
        period: (example.starts_at, example.ends_at),
        column: ("off", off.clone()),
    };
    let one = |(id, code): &Card, (starts_at, ends_at)| Coupon {
        id: CodeId::new(*id),
        code: code.clone(),
        starts_at,
        ends_at,
        ..example.clone()
    };
    let made = file.make(at, console, |card, period| Code::Coupon(one(card, period))).await?;
    let CodesOfFile { made, count, said } = made;
    Ok(Printed::new(said + &as_lines(&warnings), &facts! { made, count, file: &options.csv, warnings }))
}
