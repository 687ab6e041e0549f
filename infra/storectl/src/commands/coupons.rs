//! `coupon add`: by the same rules as coupons in files.

use super::codes::{facts, text};
use super::common::{published, shown_time, time};
use super::items;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{AddCoupon, DiscountOptions, PeriodOptions, ScopeOptions};
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{CategoryId, CodeId, Coupon, Discount, ItemId, Money, Scope};
use shared::money::CurrencyFormat;
use shared::usecases::codes::add_coupon;

pub(super) async fn add(target: &Target, options: &AddCoupon) -> Result<Answer, Failure> {
    let code = text(&options.code)?;
    let active = published(target).await?;
    let digits = active.config.digits;
    let discount = discount(&options.discount, digits)?;
    let minimum = options.discount.minimum.as_ref().map(|text| items::money("--minimum", text, digits)).transpose()?;
    let now = target.clock.seconds();
    let (starts_at, ends_at) = period(&options.period, now)?;
    let scope = scope(target, &active.version, &options.scope).await?;
    let coupon = Coupon {
        id: CodeId::new(0),
        code: code.clone(),
        active: true,
        starts_at,
        ends_at,
        discount,
        scope,
        minimum: minimum.unwrap_or(Money::ZERO),
        max_uses: options.max_uses,
        max_uses_per_user: options.max_uses_per_user,
        uses: 0,
    };
    let coupon = add_coupon(&target.db, coupon).await.map_err(|error| {
        let done = format!("It is not known whether the coupon was made; check with `storectl coupon show {code}`.");
        Failure::from(error).done(done)
    })?;
    let coupon = coupon.ok_or_else(|| {
        let what = format!("The code {code} is taken by a coupon or gift card.");
        Failure::refused(what, "Choose another, or change that one with `storectl coupon edit`.")
    })?;
    let id = coupon.id();
    let said = format!("{} Coupon {code} (id {id}) may be used{}.", paint(GOOD, "ok"), said_period(starts_at, ends_at));
    Ok(Answer::new(said, json!({ "coupon": facts(&coupon, CurrencyFormat::new(digits)) })))
}

fn said_period(starts_at: Option<i64>, ends_at: Option<i64>) -> String {
    let from = starts_at.map_or_else(String::new, |at| format!(" from {}", shown_time(at)));
    let until = ends_at.map_or_else(String::new, |at| format!(" until {}", shown_time(at)));
    format!("{from}{until}")
}

/// Reads a discount: a percentage or an amount.
pub(super) fn discount(options: &DiscountOptions, digits: u8) -> Result<Discount, Failure> {
    if let Some(text) = &options.percentage {
        return Ok(Discount::Percentage(items::percent("--percentage", text)?));
    }
    Ok(Discount::Amount(items::positive("--amount", options.amount.as_deref().unwrap_or_default(), digits)?))
}

/// Reads the time in which a code may be used.
pub(super) fn period(options: &PeriodOptions, now: i64) -> Result<(Option<i64>, Option<i64>), Failure> {
    let read = |text: &Option<String>| text.as_ref().map(|text| time(text, now)).transpose();
    let (starts, ends) = (read(&options.starts_at)?, read(&options.ends_at)?);
    check_period(starts, ends, now)?;
    Ok((starts, ends))
}

/// Refuses a time in which a code could never be used.
pub(super) fn check_period(starts: Option<i64>, ends: Option<i64>, now: i64) -> Result<(), Failure> {
    if ends.is_some_and(|end| end <= starts.unwrap_or(now).max(now)) {
        let what = "--ends-at must be after now and after --starts-at: the code could never be used.";
        return Err(Failure::refused(what, "Correct it and try again."));
    }
    Ok(())
}

/// The scope of a coupon; everything that is named must be published.
pub(super) async fn scope(target: &Target, version: &str, options: &ScopeOptions) -> Result<Scope, Failure> {
    let ScopeOptions { categories, items } = options;
    if !categories.is_empty() {
        let tree = items::tree(target, version).await?;
        let heads = tree.0.iter().flat_map(|node| std::iter::once(&node.head).chain(&node.subcategories));
        let known: Vec<u64> = heads.map(|head| head.id.get()).collect();
        if let Some(unknown) = categories.iter().find(|id| !known.contains(id)) {
            let what = format!("There is no published category {unknown}.");
            return Err(Failure::refused(what, "Publish it first, or check the id."));
        }
    }
    for id in items {
        items::item(target, version, ItemId::new(*id)).await?;
    }
    Ok(Scope {
        categories: categories.iter().copied().map(CategoryId::new).collect(),
        items: items.iter().copied().map(ItemId::new).collect(),
    })
}
