//! `coupon generate …`: very many coupons of one kind with random codes, in a file.

use crate::arguments::money;
use crate::code::{self, PeriodOptions, period};
use crate::code_file::{CodeFile, CodesOfFile};
use crate::coupon::{DiscountOptions, ScopeOptions, as_lines, discount, doubts_of, scope, text};
use crate::prelude::*;
use shared::model::{Code, CodeId, Coupon, Money};
use shared::money::CurrencyFormat;
use shared::shop::codes::Card;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("discount").required(true).args(["percentage", "amount", "cheapest_free"]))]
pub struct GenerateCoupons {
    /// How many coupons.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// File that the codes are written to, as CSV.
    #[arg(long, value_name = "FILE")]
    pub csv: PathBuf,
    #[command(flatten)]
    pub discount: DiscountOptions,
    /// Only for the first purchase of a buyer, or of who gets a gift.
    #[arg(long)]
    pub first_purchase: bool,
    #[command(flatten)]
    pub period: PeriodOptions,
    #[command(flatten)]
    pub scope: ScopeOptions,
}

/// Makes many coupons of one kind, each for one use.
pub async fn generate(at: &Deployment, console: &Console, options: &GenerateCoupons) -> Outcome {
    let active = at.published().await?;
    let digits = active.config.digits;
    let discount = discount(&options.discount, digits)?;
    let minimum = options.discount.minimum.as_ref().map(|text| money("--minimum", text, digits)).transpose()?;
    let period = period(&options.period, at.clock.seconds())?;
    let scope = scope(at, &active.version, &options.scope).await?;
    let coupon = |(id, code): &Card, (starts_at, ends_at)| Coupon {
        id: CodeId::new(*id),
        code: code.clone(),
        active: true,
        starts_at,
        ends_at,
        discount,
        cheapest_free: options.discount.cheapest_free,
        scope: scope.clone(),
        minimum: minimum.unwrap_or(Money::ZERO),
        max_uses: Some(1),
        max_uses_per_user: None,
        once_per: None,
        first_purchase: options.first_purchase,
        user: None,
        uses: 0,
    };
    let example = coupon(&(0, text("example")?), period);
    let (warnings, off) = (doubts_of(at, &example, digits).await?, code::off(&example, CurrencyFormat::new(digits)));
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (from, until) = (or_none(&options.period.starts_at), or_none(&options.period.ends_at));
    let minimum = or_none(&options.discount.minimum);
    let first = if options.first_purchase { ", for a first purchase" } else { "" };
    let ScopeOptions { categories, items } = &options.scope;
    let file = CodeFile {
        path: &options.csv,
        noun: "coupons",
        label: "Making coupons",
        kind: format!(
            "of {off} from {from} until {until}, minimum {minimum}{first}, categories {categories:?}, items {items:?}"
        ),
        count: options.count,
        period,
        column: ("off", off.clone()),
    };
    let made = file.make(at, console, |card, period| Code::Coupon(coupon(card, period))).await?;
    let CodesOfFile { made, count, said } = made;
    Ok(Printed::new(said + &as_lines(&warnings), &facts! { made, count, file: &options.csv, warnings }))
}
