//! `gift …`: random codes that a person can read aloud, one or very many.
//!
//! Many go to a file first and to the table after, so that no card exists whose code is lost; with the same file the
//! same command continues where it was interrupted.

use crate::account::default_key;
use crate::arguments::{key, positive, short_text};
use crate::code::{self, OneCode, PeriodOptions, edited, missing, period};
use crate::prelude::*;
use crate::user::AddedFacts;
use archive::private;
use shared::model::{Code, CodeKind, CodeText, GiftCard};
use shared::money::CurrencyFormat;
use shared::shop::codes::{self, Added, Addition, Batch, Card, missing_cards, new_cards, write_cards};
use shared::table::{StoreError, keys};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Subcommand)]
pub enum GiftCommand {
    /// Make gift cards with random codes that can be read aloud.
    #[command(after_help = "Examples:\n  storectl gift add --balance 25 --stack storefront\n  \
                            storectl gift add --balance 25 --for Thornwick --note 'won the build contest' --stack storefront\n  \
                            storectl gift add --balance 10 --count 5000 --out spring.csv --stack storefront\n\n\
                            The file is written first. If the command is interrupted, run it again with the same file: \
                            it makes the cards that are missing.")]
    Add(AddGift),
    /// Show one gift card.
    #[command(after_help = "Example:\n  storectl gift show lusab-babad-gutih-tugad-mudof --stack storefront")]
    Show(OneCode),
    /// List every gift card; looks through the whole table.
    #[command(after_help = "Example:\n  storectl gift list --stack storefront")]
    List,
    /// Switch a gift card off; its balance stays.
    #[command(after_help = "Example:\n  storectl gift disable lusab-babad-gutih-tugad-mudof --stack storefront")]
    Disable(OneCode),
    /// Switch a gift card on again.
    #[command(after_help = "Example:\n  storectl gift enable lusab-babad-gutih-tugad-mudof --stack storefront")]
    Enable(OneCode),
    /// Change when a gift card may be used.
    #[command(after_help = "Example:\n  storectl gift edit lusab-babad-gutih-tugad-mudof --ends-at none\n\n\
                            `none` removes a time.")]
    Edit(EditGift),
    /// Add to a gift card's balance, once per key.
    #[command(after_help = "Examples:\n  storectl gift top-up lusab-babad-gutih-tugad-mudof 25 --stack storefront\n  \
                            storectl gift top-up lusab-babad-gutih-tugad-mudof 25 --key ticket-118 --stack storefront\n\n\
                            Run again, also after it was interrupted, it adds nothing a second time. Without --key, the same \
                            AMOUNT with the same note is the same top-up.")]
    TopUp(TopUp),
}

#[derive(Debug, Clone, Args)]
pub struct AddGift {
    /// Balance of each card.
    #[arg(long, value_name = "A")]
    pub balance: String,
    /// How many cards.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// For whom it is, for your own records; anybody who has the code may use it.
    #[arg(long = "for", value_name = "NAME", value_parser = short_text)]
    pub made_for: Option<String>,
    /// The reason, for your own records; `gift show` and `gift list` show both.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: Option<String>,
    /// File that the codes are written to, as CSV; needed for more than 20.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub period: PeriodOptions,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("changes").required(true).multiple(true).args(["starts_at", "ends_at"]))]
pub struct EditGift {
    /// The code; case does not matter.
    pub code: String,
    #[command(flatten)]
    pub period: PeriodOptions,
}

#[derive(Debug, Clone, Args)]
pub struct TopUp {
    /// The code; case does not matter.
    pub code: String,
    /// Amount to add to the balance.
    pub amount: String,
    /// The reason; `gift show` shows it.
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    pub note: Option<String>,
    /// Unique among the card's top-ups, such as the number of a ticket; by default AMOUNT and TEXT.
    #[arg(long, value_parser = key)]
    pub key: Option<String>,
}

impl GiftCommand {
    pub async fn run(&self, at: &Deployment, console: &Console) -> Outcome {
        match self {
            Self::Add(options) => add(at, console, options).await,
            Self::Show(one) => show(at, &one.code).await,
            Self::List => code::list(at, CodeKind::Gift).await,
            Self::Disable(one) => code::switch(at, CodeKind::Gift, &one.code, false).await,
            Self::Enable(one) => code::switch(at, CodeKind::Gift, &one.code, true).await,
            Self::Edit(options) => {
                let mut card = find(at, &options.code).await?;
                let before = Code::Gift(card.clone());
                (card.starts_at, card.ends_at) = edited(at, &options.period, (card.starts_at, card.ends_at))?;
                let facts = code::write(at, &before, Code::Gift(card), at.digits().await?).await?;
                Ok(Printed::new(code::lines(&facts), &facts))
            }
            Self::TopUp(options) => top_up(at, options).await,
        }
    }
}

async fn find(at: &Deployment, written: &str) -> Result<GiftCard> {
    match code::find(at, CodeKind::Gift, written).await? {
        Code::Gift(card) => Ok(card),
        Code::Coupon(_) => Err(missing(CodeKind::Gift)),
    }
}

async fn show(at: &Deployment, written: &str) -> Outcome {
    let (card, digits) = (find(at, written).await?, at.digits().await?);
    let top_ups = codes::of(&at.db, &keys::top_ups(&card.code)).await?.into_iter();
    let top_ups: Vec<_> = top_ups.map(|top_up| AddedFacts::new(top_up, CurrencyFormat::new(digits))).collect();
    let card = code::facts(&Code::Gift(card), digits);
    let line = |AddedFacts { amount, at, note, .. }: &AddedFacts| format!("\ntop-up of {amount} at {at}: {note}");
    let text = code::lines(&card) + &top_ups.iter().map(line).collect::<String>();
    Ok(Printed::new(text, &facts! { #[serde(flatten)] card, top_ups }))
}

/// How many cards are printed; more go to a file.
const PRINTED: u32 = 20;

/// Cards that are looked for at once when a file is resumed.
const CHUNK: usize = 100;

async fn add(at: &Deployment, console: &Console, options: &AddGift) -> Outcome {
    let digits = at.digits().await?;
    let balance = positive("--balance", &options.balance, digits)?;
    let (starts_at, ends_at) = period(&options.period, at.clock.seconds())?;
    let batch = Batch { balance, starts_at, ends_at, made_for: options.made_for.clone(), note: options.note.clone() };
    match &options.out {
        Some(file) if file.exists() => resume(at, console, file, options, batch).await,
        Some(file) => {
            let cards = new_cards(&at.db, options.count).await?;
            write_file(file, options, &batch, digits, &cards)?;
            put(at, console, file, &batch, &cards, false).await
        }
        None if options.count > PRINTED => {
            let what = format!("{} codes are too many to print.", options.count);
            Err(Failure::refused(what, "Add --out FILE: the codes are written there."))
        }
        None => few(at, &batch, digits, options.count).await,
    }
}

async fn few(at: &Deployment, batch: &Batch, digits: u8, count: u32) -> Outcome {
    let cards = new_cards(&at.db, count).await?;
    let written = write_cards(&at.db, batch, cards.iter(), &|_| {}).await;
    written.after("No code was shown; the codes of cards that were made are lost; they can be switched off.")?;
    let balance = CurrencyFormat::new(digits).money(batch.balance);
    let text = cards.iter().map(|(_, code)| code.to_string()).collect::<Vec<_>>().join("\n");
    let gift_cards: Vec<_> = cards.iter().map(|(id, code)| facts! { id, code, balance }).collect();
    Ok(Printed::new(text, &facts! { gift_cards }))
}

/// The first line of a file of codes, by which a resumed command recognises its own file.
fn heading(options: &AddGift) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (from, until) = (or_none(&options.period.starts_at), or_none(&options.period.ends_at));
    let made_for = options.made_for.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
    let note = options.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("# {} gift cards of {} from {from} until {until}{made_for}{note}", options.count, options.balance.trim())
}

fn write_file(path: &Path, options: &AddGift, batch: &Batch, digits: u8, cards: &[Card]) -> Result<()> {
    let second = |at: Option<i64>| at.map_or_else(String::new, |at| at.to_string());
    let balance = CurrencyFormat::new(digits).money(batch.balance);
    let mut text =
        format!("{}\n# {},{}\nid,code,balance\n", heading(options), second(batch.starts_at), second(batch.ends_at));
    for (id, code) in cards {
        // Writing to a String cannot fail.
        _ = writeln!(text, "{id},{code},{balance}");
    }
    text.push_str("# end\n");
    // Who reads the file can spend the cards.
    let written = private::options().create_new(true).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::file(path, &error).done("No gift card was made."))
}

/// Resumes with a file that an earlier run wrote.
async fn resume(at: &Deployment, console: &Console, path: &Path, options: &AddGift, batch: Batch) -> Outcome {
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
    put(at, console, path, &batch, &cards, true).await
}

/// Writes cards to the table: all of them, or those that are not there yet.
async fn put(at: &Deployment, console: &Console, path: &Path, batch: &Batch, cards: &[Card], resumed: bool) -> Outcome {
    let progress = console.progress("Making gift cards", Some(cards.len() as u64));
    let outcome = async {
        if !resumed {
            write_cards(&at.db, batch, cards.iter(), &|done| progress.advance(done)).await?;
            return Ok(cards.len());
        }
        let mut made = 0;
        for chunk in cards.chunks(CHUNK) {
            let missing = missing_cards(&at.db, chunk).await?;
            made += missing.len();
            write_cards(&at.db, batch, missing.into_iter(), &|_| {}).await?;
            progress.advance(chunk.len() as u64);
        }
        Ok::<usize, StoreError>(made)
    };
    let outcome = outcome.await;
    let (done, count) = (progress.position(), cards.len());
    let done = format!("{done} of {count} cards are made; all codes are in {}.", path.display());
    let next = "Run the same command with the same file again: it makes the rest.";
    let made = outcome.unsure(done, next)?;
    let text = ok!("{made} gift cards were made; the codes are in {}.", path.display());
    Ok(Printed::new(text, &facts! { made, count, file: path }))
}

/// Adds to a balance, once per key.
async fn top_up(at: &Deployment, options: &TopUp) -> Outcome {
    let digits = at.digits().await?;
    let amount = positive("AMOUNT", &options.amount, digits)?;
    let card = find(at, &options.code).await?;
    let note = options.note.clone().unwrap_or_default();
    let key = options.key.clone().unwrap_or_else(|| default_key(amount, &note));
    let top_up = Addition { key, amount, note, at: at.clock.seconds() };
    let topped_up = codes::top_up(&at.db, &card, &top_up).await;
    let next = "Run the same command again: it is added once.";
    let format = CurrencyFormat::new(digits);
    let before = match topped_up.unsure("It is not known whether it was added.", next)? {
        Added::Written => None,
        Added::Before(before) if (before.amount, &before.note) == (amount, &top_up.note) => Some(before),
        Added::Before(before) => {
            let AddedFacts { key, amount, note, at } = AddedFacts::new(before, format);
            let what = format!("The key {key} was used for this card at {at}: {amount}, {note:?}.");
            return Err(Failure::refused(what, "Give another --key to add to it again."));
        }
        Added::NoOwner => return Err(missing(CodeKind::Gift)),
        Added::TooMuch => {
            return Err(Failure::refused("The balance would be above the largest amount.", "Add less."));
        }
    };
    let card = code::facts(&Code::Gift(find(at, &options.code).await?), digits);
    let text = match &before {
        None => code::lines(&card),
        Some(before) => {
            let (sum, at) = (format.money(amount), Time(before.at));
            let said = format!("Nothing to do: {sum} was added at {at}. To add it again give another --key.");
            format!("{said}\n{}", code::lines(&card))
        }
    };
    Ok(Printed::new(text, &facts! { #[serde(flatten)] card, topped_up: before.is_none(), key: top_up.key }))
}
