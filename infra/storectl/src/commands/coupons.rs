//! `coupon add`, by the same rules as coupons in files, and `coupon delete`.

use super::codes::{facts, find, missing, text};
use super::common::{beginning, end, is_absolute, published, shown_time};
use super::{coupon_doubts, find_user, items};
use crate::answer::{Answer, GOOD, paint};
use crate::cli::{AddCoupon, DeleteCoupon, DiscountOptions, PeriodOptions, ScopeOptions};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{CategoryId, Code, CodeId, CodeKind, Coupon, Discount, GiftCard, ItemId, Money, Scope};
use shared::money::CurrencyFormat;
use shared::shop::codes;
use shared::shop::codes::add_coupon;
use shared::table::{keys, read_live};

pub(super) async fn add(target: &Target, options: &AddCoupon) -> Result<Answer, Failure> {
    let code = text(&options.code)?;
    let active = published(target).await?;
    let digits = active.config.digits;
    let discount = discount(&options.discount, digits)?;
    let minimum = options.discount.minimum.as_ref().map(|text| items::money("--minimum", text, digits)).transpose()?;
    let now = target.clock.seconds();
    let (starts_at, ends_at) = period(&options.period, now)?;
    let scope = scope(target, &active.version, &options.scope).await?;
    let user = match &options.user {
        Some(text) => Some(find_user::find(target, text).await?),
        None => None,
    };
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
        user: user.map(|user| user.id),
        uses: 0,
    };
    let doubts = coupon_doubts::of(target, &coupon, digits).await?;
    let made = add_coupon(&target.db, coupon.clone()).await.map_err(|error| {
        let done = "It is not known whether the coupon was made.";
        Failure::from(error).done(done).next("Run the same command again: it is made once.")
    })?;
    let is_new = made.is_some();
    let known = match made {
        Some(made) => made,
        None => made_before(target, &coupon, &options.period).await?.ok_or_else(|| {
            let what = format!("The code {code} is taken by another coupon or a gift card.");
            Failure::refused(what, "Choose another, or change that one with `storectl coupon edit`.")
        })?,
    };
    let (id, period) = (known.id(), said_period(&known));
    let said = if is_new {
        format!("{} Coupon {code} (id {id}) may be used{period}.", paint(GOOD, "ok"))
    } else {
        format!("Nothing to do: coupon {code} (id {id}) was made before; it may be used{period}.")
    };
    let json = json!({ "coupon": facts(&known, CurrencyFormat::new(digits)), "made": is_new });
    Ok(coupon_doubts::added_to(&Answer::new(said, json), &doubts))
}

/// The coupon that an earlier run of the same command has made. Of a period that is counted from now it is only compared whether
/// it is limited: that run had another now.
async fn made_before(target: &Target, wanted: &Coupon, options: &PeriodOptions) -> Result<Option<Code>, Failure> {
    let Some(Code::Coupon(found)) = read_live(&target.db, &keys::code(&wanted.code)).await? else { return Ok(None) };
    let is_same = |typed: &Option<String>, found: Option<i64>, wanted: Option<i64>| {
        let counts_from_now = typed.as_ref().is_some_and(|text| !is_absolute(text));
        found == wanted || counts_from_now && found.is_some()
    };
    let is_made = is_same(&options.starts_at, found.starts_at, wanted.starts_at)
        && is_same(&options.ends_at, found.ends_at, wanted.ends_at)
        && Coupon {
            id: found.id,
            uses: found.uses,
            starts_at: found.starts_at,
            ends_at: found.ends_at,
            ..wanted.clone()
        } == found;
    Ok(is_made.then_some(Code::Coupon(found)))
}

pub(super) async fn delete(target: &Target, console: &Console, options: &DeleteCoupon) -> Result<Answer, Failure> {
    let Code::Coupon(coupon) = find(target, CodeKind::Coupon, &options.code).await? else {
        return Err(missing(CodeKind::Coupon));
    };
    let code = &coupon.code;
    let used = || {
        let what = format!("The coupon {code} is not deleted: orders or open checkouts use it.");
        Failure::refused(what, format!("`storectl coupon disable {code}` switches it off."))
    };
    if coupon.uses > 0 {
        return Err(used());
    }
    console.confirm(&format!("Coupon {code} (id {})", coupon.id), "Delete it?", options.yes)?;
    let deleted = codes::delete_unused(&target.db, &coupon).await.map_err(|error| {
        let done = "It is not known whether the coupon was deleted.";
        Failure::from(error).done(done).next("Run the same command again.")
    })?;
    if !deleted {
        return Err(used());
    }
    let said = format!("{} Coupon {code} is deleted; carts that have it no longer count it.", paint(GOOD, "ok"));
    Ok(Answer::new(said, json!({ "code": code, "deleted": true })))
}

fn said_period(code: &Code) -> String {
    let (Code::Coupon(Coupon { starts_at, ends_at, .. }) | Code::Gift(GiftCard { starts_at, ends_at, .. })) = code;
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
    let starts = options.starts_at.as_ref().map(|text| beginning(text, now)).transpose()?;
    let ends = options.ends_at.as_ref().map(|text| end(text, now)).transpose()?;
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
