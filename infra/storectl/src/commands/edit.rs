//! `coupon edit`, `gift edit` and `gift top-up`.

use super::accounts::default_key;
use super::codes::{self, find, missing, shown};
use super::common::{beginning, end, published, shown_time};
use super::{coupon_doubts, coupons, items, users};
use crate::answer::Answer;
use crate::cli::{EditCoupon, EditGift, PeriodOptions, TopUp};
use crate::error::Failure;
use crate::target::Target;
use shared::model::{Code, CodeKind, Scope};
use shared::shop::codes::{self as rows, Added, Addition, tag};

pub(super) async fn coupon(target: &Target, options: &EditCoupon) -> Result<Answer, Failure> {
    let before = find(target, CodeKind::Coupon, &options.code).await?;
    let Code::Coupon(mut coupon) = before.clone() else { return Err(missing(CodeKind::Coupon)) };
    let active = published(target).await?;
    let digits = active.config.digits;
    if options.discount.percentage.is_some() || options.discount.amount.is_some() {
        coupon.discount = coupons::discount(&options.discount, digits)?;
    }
    if let Some(text) = &options.discount.minimum {
        coupon.minimum = items::money("--minimum", text, digits)?;
    }
    if let Some(text) = &options.max_uses {
        coupon.max_uses = limit("--max-uses", text)?;
    }
    if let Some(text) = &options.max_uses_per_user {
        coupon.max_uses_per_user = limit("--max-uses-per-user", text)?;
    }
    (coupon.starts_at, coupon.ends_at) = edited(target, &options.period, (coupon.starts_at, coupon.ends_at))?;
    if options.everything {
        coupon.scope = Scope::default();
    } else if !(options.scope.categories.is_empty() && options.scope.items.is_empty()) {
        coupon.scope = coupons::scope(target, &active.version, &options.scope).await?;
    }
    let doubts = coupon_doubts::of(target, &coupon, digits).await?;
    let answer = write(target, &before, &Code::Coupon(coupon), digits).await?;
    Ok(coupon_doubts::added_to(&answer, &doubts))
}

pub(super) async fn gift(target: &Target, options: &EditGift) -> Result<Answer, Failure> {
    let before = find(target, CodeKind::Gift, &options.code).await?;
    let Code::Gift(mut gift) = before.clone() else { return Err(missing(CodeKind::Gift)) };
    (gift.starts_at, gift.ends_at) = edited(target, &options.period, (gift.starts_at, gift.ends_at))?;
    write(target, &before, &Code::Gift(gift), codes::digits(target).await?).await
}

/// Reads a limit of the command line, at least 1, or `none`.
fn limit(name: &str, text: &str) -> Result<Option<u32>, Failure> {
    match text.trim() {
        "none" => Ok(None),
        number => match number.parse() {
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => {
                Err(Failure::refused(format!("{name} must be a number from 1, or none."), "Correct it and try again."))
            }
        },
    }
}

/// The time in which a code may be used, with what the command line changes of it.
fn edited(
    target: &Target,
    options: &PeriodOptions,
    (old_start, old_end): (Option<i64>, Option<i64>),
) -> Result<(Option<i64>, Option<i64>), Failure> {
    let now = target.clock.seconds();
    let read =
        |text: &Option<String>, old: Option<i64>, time: fn(&str, i64) -> Result<i64, Failure>| match text.as_deref() {
            None => Ok(old),
            Some("none") => Ok(None),
            Some(text) => time(text, now).map(Some),
        };
    let (starts, ends) = (read(&options.starts_at, old_start, beginning)?, read(&options.ends_at, old_end, end)?);
    if options.starts_at.is_some() || options.ends_at.is_some() {
        coupons::check_period(starts, ends, now)?;
    }
    Ok((starts, ends))
}

async fn write(target: &Target, before: &Code, after: &Code, digits: u8) -> Result<Answer, Failure> {
    let written = rows::edit(&target.db, before, after).await.map_err(|error| {
        let next = format!("Look at it with `storectl {} show`, then decide.", tag(before.kind()));
        Failure::from(error).done("It is not known whether the code was changed.").next(next)
    })?;
    if written { Ok(shown(after, digits)) } else { Err(missing(before.kind())) }
}

/// Adds to a balance, once per key.
pub(super) async fn top_up(target: &Target, options: &TopUp) -> Result<Answer, Failure> {
    let digits = codes::digits(target).await?;
    let amount = items::positive("AMOUNT", &options.amount, digits)?;
    let Code::Gift(card) = find(target, CodeKind::Gift, &options.code).await? else {
        return Err(missing(CodeKind::Gift));
    };
    let note = options.note.clone().unwrap_or_default();
    let key = options.key.clone().unwrap_or_else(|| default_key(amount, &note));
    let top_up = Addition { key, amount, note, at: target.clock.seconds() };
    let topped_up = rows::top_up(&target.db, &card, &top_up).await.map_err(|error| {
        let next = "Run the same command again: it is added once.";
        Failure::from(error).done("It is not known whether it was added.").next(next)
    })?;
    let before = match topped_up {
        Added::Written => None,
        Added::Before(before) if (before.amount, &before.note) == (amount, &top_up.note) => Some(before),
        Added::Before(before) => {
            let (at, sum) = (shown_time(before.at), users::amount(before.amount, digits));
            let what = format!("The key {} was used for this card at {at}: {sum}, {:?}.", before.key, before.note);
            return Err(Failure::refused(what, "Give another --key to add to it again."));
        }
        Added::NoOwner => return Err(missing(CodeKind::Gift)),
        Added::TooMuch => {
            return Err(Failure::refused("The balance would be above the largest amount.", "Add less."));
        }
    };
    let answer = shown(&find(target, CodeKind::Gift, &options.code).await?, digits);
    let mut json = answer.json().clone();
    json["topped_up"] = before.is_none().into();
    json["key"] = top_up.key.into();
    Ok(match before {
        None => Answer::new(answer.text(), json),
        Some(before) => {
            let (sum, at) = (users::amount(amount, digits), shown_time(before.at));
            let said = format!("Nothing to do: {sum} was added at {at}. To add it again give another --key.");
            Answer::new(format!("{said}\n{}", answer.text()), json)
        }
    })
}
