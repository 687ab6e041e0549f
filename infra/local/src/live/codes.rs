//! `live/coupons.yaml`, `live/gift_cards.yaml` and `live/referrals.yaml`.

use super::CodeUse;
use super::Written;
use super::context::Context;
use super::files::{CouponFile, GiftCardFile, ReferralFile};
use publish::fault::Unique;
use publish::files::At;
use publish::lower::{check_id, money};
use shared::model::{
    CategoryId, Code, CodeId, CodeText, Coupon, Discount, GiftCard, ItemId, Money, Referral, Scope, UserId,
};

/// Reads coupons and gift cards, which share one space of ids and texts (rules.md, "Coupons and gift cards"), and who
/// used the coupons.
pub(super) fn codes(written: &Written, context: &mut Context<'_>) -> (Vec<Code>, Vec<CodeUse>) {
    let (mut ids, mut texts) = (Unique::new("code id"), Unique::new("code"));
    let (mut codes, mut uses) = (Vec::new(), Vec::new());
    let mut take = |id: &At<u64>, code: &At<String>, context: &mut Context<'_>| {
        check_id(**id, id.line, "id", context.report);
        ids.take(context.report, **id, id.line, "id");
        let text = context.code(code, CodeText::LONGEST_COUPON, &format!("[{}].code", **id));
        if let Some(text) = &text {
            texts.take(context.report, text.clone(), code.line, &format!("[{}].code", **id));
        }
        text
    };
    context.enter("coupons.yaml");
    for file in written.coupons.iter().flatten() {
        let text = take(&file.id, &file.code, context);
        let (coupon, by_users) = coupon(file, text, context);
        codes.extend(coupon.map(Code::Coupon));
        uses.extend(by_users);
    }
    context.enter("gift_cards.yaml");
    for file in written.gift_cards.iter().flatten() {
        let text = take(&file.id, &file.code, context);
        codes.extend(gift_card(file, text, context).map(Code::Gift));
    }
    (codes, uses)
}

/// Reads the time in which a code may be used.
fn period(
    id: u64,
    starts_at: Option<&At<String>>,
    ends_at: Option<&At<String>>,
    context: &mut Context<'_>,
) -> (Option<i64>, Option<i64>) {
    let starts = starts_at.map(|at| context.time(at, &format!("[{id}].starts_at")));
    let ends = ends_at.map(|at| context.time(at, &format!("[{id}].ends_at")));
    if let (Some(begin), Some(end)) = (starts, ends)
        && end <= begin
    {
        let line = ends_at.and_then(|at| at.line);
        context.report.fault(line, format!("[{id}].ends_at"), "must be after starts_at");
    }
    (starts, ends)
}

fn coupon(file: &CouponFile, text: Option<CodeText>, context: &mut Context<'_>) -> (Option<Coupon>, Vec<CodeUse>) {
    let id = *file.id;
    let (starts_at, ends_at) = period(id, file.starts_at.as_ref(), file.ends_at.as_ref(), context);
    let discount = discount(file, context);
    let scope = scope(file, context);
    let digits = context.digits;
    let minimum = file.minimum.as_ref();
    let minimum =
        minimum.map_or(Money::ZERO, |amount| money(amount, digits, &format!("[{id}].minimum"), context.report));
    for (limit, name) in [(&file.max_uses, "max_uses"), (&file.max_uses_per_user, "max_uses_per_user")] {
        if let Some(limit) = limit.as_ref().filter(|limit| ***limit == 0) {
            let problem = "must be at least 1; with 0 the coupon can never be used";
            context.report.fault(limit.line, format!("[{id}].{name}"), problem);
        }
    }
    let Some(text) = text else { return (None, Vec::new()) };
    let (uses, used_by) = uses(file, &text, context);
    let coupon = discount.map(|discount| Coupon {
        id: CodeId::new(id),
        code: text,
        active: file.active,
        starts_at,
        ends_at,
        discount,
        scope,
        minimum,
        max_uses: file.max_uses.as_ref().map(|limit| **limit),
        max_uses_per_user: file.max_uses_per_user.as_ref().map(|limit| **limit),
        user: None,
        uses,
    });
    (coupon, used_by)
}

fn discount(file: &CouponFile, context: &mut Context<'_>) -> Option<Discount> {
    let id = *file.id;
    match (&file.percentage, &file.amount) {
        (Some(percentage), None) => match percentage.percent() {
            Ok(percent) => Some(Discount::Percentage(percent)),
            Err(error) => {
                context.report.fault(percentage.line(), format!("[{id}].percentage"), error.to_string());
                None
            }
        },
        (None, Some(written)) => {
            let field = format!("[{id}].amount");
            let faults = context.report.len();
            let amount = money(written, context.digits, &field, context.report);
            if amount == Money::ZERO && context.report.len() == faults {
                context.report.fault(written.line(), field, "must be more than 0");
            }
            Some(Discount::Amount(amount))
        }
        _ => {
            context.report.fault(file.id.line, format!("[{id}]"), "needs either a percentage or an amount");
            None
        }
    }
}

fn scope(file: &CouponFile, context: &mut Context<'_>) -> Scope {
    let id = *file.id;
    let Some(scope) = &file.scope else { return Scope::default() };
    if scope.categories.is_empty() && scope.items.is_empty() {
        let problem = "names nothing, so that the coupon could never be used; leave it out for everything";
        context.report.fault(file.id.line, format!("[{id}].scope"), problem);
    }
    for category in &scope.categories {
        if !context.categories.contains(&category.value) {
            let problem = format!("there is no category {}", **category);
            context.report.fault(category.line, format!("[{id}].scope.categories"), problem);
        }
    }
    for item in &scope.items {
        context.item(item, &format!("[{id}].scope.items"));
    }
    let gone = &context.given_up;
    let in_vain = scope.categories.iter().all(|category| gone.categories.contains(&category.value))
        && scope.items.iter().all(|item| gone.items.contains(&item.value));
    if in_vain && !(scope.categories.is_empty() && scope.items.is_empty()) {
        let problem = "names nothing but what is deleted, so that the coupon could never be used";
        context.report.fault(file.id.line, format!("[{id}].scope"), problem);
    }
    Scope {
        categories: scope.categories.iter().map(|category| CategoryId::new(**category)).collect(),
        items: scope.items.iter().map(|item| ItemId::new(**item)).collect(),
    }
}

/// How often a coupon was used, in all and by each user.
fn uses(file: &CouponFile, text: &CodeText, context: &mut Context<'_>) -> (u32, Vec<CodeUse>) {
    let id = *file.id;
    let mut used_by = Vec::with_capacity(file.used_by.len());
    let mut sum = 0_u32;
    for (user, uses) in &file.used_by {
        context.check_user(*user, uses.line, &format!("[{id}].used_by"));
        sum = sum.saturating_add(**uses);
        used_by.push(CodeUse { code: text.clone(), user: UserId::new(*user), uses: **uses });
    }
    let Some(written) = &file.uses else { return (sum, used_by) };
    if **written < sum {
        context.report.fault(written.line, format!("[{id}].uses"), "must not be below the sum of used_by");
    }
    (**written, used_by)
}

fn gift_card(file: &GiftCardFile, text: Option<CodeText>, context: &mut Context<'_>) -> Option<GiftCard> {
    let id = *file.id;
    let (starts_at, ends_at) = period(id, file.starts_at.as_ref(), file.ends_at.as_ref(), context);
    let balance = money(&file.balance, context.digits, &format!("[{id}].balance"), context.report);
    let start_balance = file.start_balance.as_ref().map_or(balance, |written| {
        let field = format!("[{id}].start_balance");
        let faults = context.report.len();
        let sum = money(written, context.digits, &field, context.report);
        if sum < balance && context.report.len() == faults {
            context.report.fault(written.line(), field, "must not be below balance");
        }
        sum
    });
    Some(GiftCard {
        id: CodeId::new(id),
        code: text?,
        active: file.active,
        starts_at,
        ends_at,
        balance,
        start_balance: Some(start_balance),
        made_for: None,
        note: None,
    })
}

pub(super) fn referrals(files: &[ReferralFile], context: &mut Context<'_>) -> Vec<Referral> {
    let mut texts = Unique::new("referral code");
    let mut referrals = Vec::with_capacity(files.len());
    for file in files {
        context.check_user(*file.owner, file.owner.line, "owner");
        let Some(code) = context.code(&file.code, CodeText::LONGEST, "code") else { continue };
        texts.take(context.report, code.clone(), file.code.line, "code");
        let name = context.users.as_ref().and_then(|users| users.get(&file.owner.value).cloned());
        let owner = UserId::new(*file.owner);
        referrals.push(Referral { code, owner, owner_name: name.unwrap_or_default(), active: file.active });
    }
    referrals
}
