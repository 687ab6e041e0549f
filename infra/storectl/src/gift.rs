//! `gift …`: random codes that a person can read aloud, one or very many.

use crate::account::default_key;
use crate::arguments::{key, positive, short_text};
use crate::code::{self, OneCode, PeriodOptions, edited, missing, period};
use crate::code_file::{CodeFile, CodesOfFile};
use crate::prelude::*;
use crate::user::AddedFacts;
use shared::model::{Code, CodeKind, GiftCard};
use shared::money::CurrencyFormat;
use shared::shop::codes::{self, Added, Addition, Batch, Card, new_codes, write_codes};
use shared::table::keys;
use std::path::PathBuf;

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
    /// For whom it is, for your own records; anyone who has the code may use it.
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

async fn add(at: &Deployment, console: &Console, options: &AddGift) -> Outcome {
    let digits = at.digits().await?;
    let balance = positive("--balance", &options.balance, digits)?;
    let (starts_at, ends_at) = period(&options.period, at.clock.seconds())?;
    let batch = Batch { balance, starts_at, ends_at, made_for: options.made_for.clone(), note: options.note.clone() };
    match &options.out {
        Some(path) => {
            let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let (from, until) = (or_none(&options.period.starts_at), or_none(&options.period.ends_at));
            let made_for = options.made_for.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
            let note = options.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let file = CodeFile {
                path,
                noun: "gift cards",
                label: "Making gift cards",
                kind: format!("of {} from {from} until {until}{made_for}{note}", options.balance.trim()),
                count: options.count,
                period: (starts_at, ends_at),
                column: ("balance", CurrencyFormat::new(digits).money(balance).to_string()),
            };
            let card = |card: &Card, (starts_at, ends_at)| Batch { starts_at, ends_at, ..batch.clone() }.card(card);
            let CodesOfFile { made, count, said } = file.make(at, console, card).await?;
            Ok(Printed::new(said, &facts! { made, count, file: path }))
        }
        None if options.count > PRINTED => {
            let what = format!("{} codes are too many to print.", options.count);
            Err(Failure::refused(what, "Add --out FILE: the codes are written there."))
        }
        None => few(at, &batch, digits, options.count).await,
    }
}

async fn few(at: &Deployment, batch: &Batch, digits: u8, count: u32) -> Outcome {
    let cards = new_codes(&at.db, count).await?;
    let written = write_codes(&at.db, cards.iter(), |card| batch.card(card), &|_| {}).await;
    written.after("No code was shown; the codes of cards that were made are lost; they can be switched off.")?;
    let balance = CurrencyFormat::new(digits).money(batch.balance);
    let text = cards.iter().map(|(_, code)| code.to_string()).collect::<Vec<_>>().join("\n");
    let gift_cards: Vec<_> = cards.iter().map(|(id, code)| facts! { id, code, balance }).collect();
    Ok(Printed::new(text, &facts! { gift_cards }))
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
