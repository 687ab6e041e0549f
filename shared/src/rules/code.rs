//! Whether a coupon or gift card applies to a cart, and what it takes off (rules.md, "Coupons and gift cards").

use super::cart::{PricedLine, sums};
use crate::model::{Code, Coupon, Discount, GiftCard, Money, PublishedItem, Scope};

/// The reason why a code does not apply, in the order in which the reasons are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodeRefusal {
    #[error("unknown code")]
    Unknown,
    /// Not active, not begun yet, or ended.
    #[error("code not valid now")]
    NotValidNow,
    /// No uses left, in all or for this user.
    #[error("code used up")]
    UsedUp,
    #[error("gift card without balance")]
    NoBalance,
    #[error("the cart is empty")]
    EmptyCart,
    #[error("below the coupon's minimum")]
    BelowMinimum {
        /// The least `clear_price`.
        minimum: Money,
    },
    #[error("nothing in the cart that the code applies to")]
    NothingEligible,
    /// All that the code would apply to are subscriptions.
    #[error("a code takes nothing off a subscription")]
    Subscription,
}

impl CodeRefusal {
    /// The refusal's name in the metrics.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NotValidNow => "not_valid_now",
            Self::UsedUp => "used_up",
            Self::NoBalance => "no_balance",
            Self::EmptyCart => "empty_cart",
            Self::BelowMinimum { .. } => "below_minimum",
            Self::NothingEligible => "nothing_eligible",
            Self::Subscription => "subscription",
        }
    }
}

/// A code that applies to a cart, and the amount that it takes off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied<'a> {
    pub code: &'a Code,
    /// The amount taken off; never more than the eligible lines cost.
    pub sum: Money,
}

/// The codes on a cart that apply to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedCodes<'a> {
    pub coupon: Option<Applied<'a>>,
    /// The gift card, which pays from what the coupon leaves.
    pub gift_card: Option<Applied<'a>>,
}

impl AppliedCodes<'_> {
    #[must_use]
    pub fn coupon_sum(&self) -> Money {
        self.coupon.as_ref().map_or(Money::ZERO, |applied| applied.sum)
    }

    #[must_use]
    pub fn gift_sum(&self) -> Money {
        self.gift_card.as_ref().map_or(Money::ZERO, |applied| applied.sum)
    }

    /// The sum that is left to pay in money.
    #[must_use]
    pub fn to_pay(&self, lines: &[PricedLine<'_>]) -> Money {
        sums(lines).clear_price.less(self.coupon_sum()).less(self.gift_sum())
    }
}

/// A cart, as far as it decides about a code.
#[derive(Debug, Clone, Copy)]
pub struct CodeInputs<'a> {
    pub lines: &'a [PricedLine<'a>],
    /// The amount that the coupon on the cart takes off; a gift card pays from what it leaves.
    pub coupon_sum: Money,
    /// The least amount that can be paid. A gift card pays less if otherwise less than that would be left.
    pub least: Money,
}

/// Decides whether a code applies to a cart. `uses_by_user` is how often the cart's owner used it in paid orders, `now`
/// the current second. Fails with the first [`CodeRefusal`] in the order of rules.md, "Coupons and gift cards".
pub fn judge<'a>(
    code: Option<&'a Code>,
    uses_by_user: u32,
    inputs: CodeInputs<'_>,
    now: i64,
) -> Result<Applied<'a>, CodeRefusal> {
    let code = usable(code, uses_by_user, now)?;
    if inputs.lines.is_empty() {
        return Err(CodeRefusal::EmptyCart);
    }
    let sum = match code {
        Code::Coupon(coupon) => judge_coupon(coupon, inputs.lines)?,
        Code::Gift(gift) => judge_gift(gift, inputs)?,
    };
    Ok(Applied { code, sum })
}

/// Decides whether a code can be used at all: the part of [`judge`] that needs no priced cart. Fails with the first
/// [`CodeRefusal`] in the order of rules.md, "Coupons and gift cards".
pub fn usable(code: Option<&Code>, uses_by_user: u32, now: i64) -> Result<&Code, CodeRefusal> {
    let code = code.ok_or(CodeRefusal::Unknown)?;
    match code {
        Code::Coupon(coupon) => {
            valid_now(coupon.active, coupon.starts_at, coupon.ends_at, now)?;
            let full = |limit: Option<u32>, uses: u32| limit.is_some_and(|limit| uses >= limit);
            if full(coupon.max_uses, coupon.uses) || full(coupon.max_uses_per_user, uses_by_user) {
                return Err(CodeRefusal::UsedUp);
            }
        }
        Code::Gift(gift) => {
            valid_now(gift.active, gift.starts_at, gift.ends_at, now)?;
            if gift.balance <= Money::ZERO {
                return Err(CodeRefusal::NoBalance);
            }
        }
    }
    Ok(code)
}

fn judge_coupon(coupon: &Coupon, lines: &[PricedLine<'_>]) -> Result<Money, CodeRefusal> {
    if sums(lines).clear_price < coupon.minimum {
        return Err(CodeRefusal::BelowMinimum { minimum: coupon.minimum });
    }
    check_any(lines, |line| covers(&coupon.scope, line.published))?;
    Ok(taken_off(coupon, lines).into_iter().sum())
}

/// Checks that a code which covers these lines takes something off one of them.
fn check_any(lines: &[PricedLine<'_>], covers: impl Fn(&PricedLine<'_>) -> bool) -> Result<(), CodeRefusal> {
    let mut covered = lines.iter().filter(|line| line.is_payable() && covers(line));
    if covered.clone().any(PricedLine::takes_codes) {
        return Ok(());
    }
    Err(covered.next().map_or(CodeRefusal::NothingEligible, |_| CodeRefusal::Subscription))
}

/// The amount that a coupon takes off each line, in the order of the lines. An amount is shared in proportion to what
/// the lines cost; the parts add up to it exactly, and none exceeds its line. Of a line at the price of a sale without codes
/// it takes off by how much it is better than the sale, and an amount is for the other lines first (rules.md, "Sales").
pub fn taken_off(coupon: &Coupon, lines: &[PricedLine<'_>]) -> Vec<Money> {
    let is_eligible = |line: &PricedLine<'_>| line.takes_codes() && covers(&coupon.scope, line.published);
    // Each line before a sale that does not go with codes, and what that takes off.
    let before = |line: &PricedLine<'_>| {
        let sale = line.without_codes();
        if is_eligible(line) { (line.total() + sale, sale) } else { (Money::ZERO, Money::ZERO) }
    };
    let before: Vec<(Money, Money)> = lines.iter().map(before).collect();
    match coupon.discount {
        Discount::Percentage(percent) => before.iter().map(|(total, sale)| total.share(percent).less(*sale)).collect(),
        Discount::Amount(amount) => {
            let plain: Vec<Money> =
                before.iter().map(|(total, sale)| if *sale == Money::ZERO { *total } else { Money::ZERO }).collect();
            let others: Money = before.iter().filter(|(_, sale)| *sale > Money::ZERO).map(|(total, _)| *total).sum();
            let first = amount.min(plain.iter().copied().sum());
            let rest = amount.less(first).min(others);
            let parts = first.spread(&plain).into_iter().zip(&before);
            let part = |(part, (total, sale)): (Money, &(Money, Money))| {
                if *sale == Money::ZERO { part } else { rest.portion_down(*total, others).less(*sale) }
            };
            parts.map(part).collect()
        }
    }
}

fn judge_gift(gift: &GiftCard, inputs: CodeInputs<'_>) -> Result<Money, CodeRefusal> {
    check_any(inputs.lines, |_| true)?;
    let eligible = inputs.lines.iter().filter(|line| line.takes_codes());
    let due = eligible.map(PricedLine::total).sum::<Money>().less(inputs.coupon_sum);
    let most = gift.balance.min(due);
    let is_too_little = most < due && due.less(most) < inputs.least;
    Ok(if is_too_little { due.less(inputs.least) } else { most })
}

/// A code is valid from `starts_at` on and no longer at `ends_at`.
fn valid_now(active: bool, starts_at: Option<i64>, ends_at: Option<i64>, now: i64) -> Result<(), CodeRefusal> {
    let begun = starts_at.is_none_or(|start| start <= now);
    let over = ends_at.is_some_and(|end| end <= now);
    if active && begun && !over { Ok(()) } else { Err(CodeRefusal::NotValidNow) }
}

/// Whether a coupon of this scope applies to an item. A category covers its subcategories.
pub fn covers(scope: &Scope, published: &PublishedItem) -> bool {
    scope.is_everything()
        || scope.items.contains(&published.item.id)
        || scope.categories.contains(&published.category)
        || published.parent.is_some_and(|parent| scope.categories.contains(&parent))
}
