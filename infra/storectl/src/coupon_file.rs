//! `coupon generate …`: very many coupons of one kind with random codes, in a file.

use crate::code;
use crate::code_file::{CodeFile, CodesOfFile};
use crate::coupon::{KindOptions, ScopeOptions, as_lines, doubts_of, of_kind, text};
use crate::prelude::*;
use shared::model::{Code, CodeId, Coupon};
use shared::money::CurrencyFormat;
use shared::shop::codes::Card;
use std::path::PathBuf;

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
