//! Whether a coupon or gift card applies to a cart, and what it takes off (rules.md, "Coupons and gift cards").

use super::cart::{PricedLine, sums};
use crate::model::{Code, Coupon, CouponUses, Discount, GiftCard, Money, PaymentType, PublishedItem, Scope};

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
    /// This user's last use is not long enough ago.
    #[error("coupon used by this user a short time ago")]
    NotYet {
        /// When it can be used again, seconds since 1970 UTC.
        at: i64,
    },
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
    /// All that the coupon would apply to is for a buyer who has bought before.
    #[error("the coupon is for a first purchase")]
    NotFirst,
    /// All that the coupon would apply to are gifts of a login by name.
    #[error("a coupon for a first purchase, and a gift of a login by name")]
    GiftByName,
    #[error("fewer than two units that the coupon applies to")]
    TooFew,
    /// All that the coupon would apply to has a better price by a sale that does not go with codes.
    #[error("a sale takes off more than the coupon")]
    OnSale,
}

impl CodeRefusal {
    /// The refusal's name in the metrics.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NotValidNow => "not_valid_now",
            Self::UsedUp => "used_up",
            Self::NotYet { .. } => "not_yet",
            Self::NoBalance => "no_balance",
            Self::EmptyCart => "empty_cart",
            Self::BelowMinimum { .. } => "below_minimum",
            Self::NothingEligible => "nothing_eligible",
            Self::Subscription => "subscription",
            Self::NotFirst => "not_first",
            Self::GiftByName => "gift_by_name",
            Self::TooFew => "too_few",
            Self::OnSale => "on_sale",
        }
    }
}

/// The reason why a coupon takes nothing off a line, as a sentence for the buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    #[error("This cannot be bought at the moment.")]
    Unavailable,
    #[error("The coupon is for what is paid in money.")]
    VirtualCurrency,
    #[error("The coupon is not for this item.")]
    NotCovered,
    #[error("A coupon takes nothing off a subscription.")]
    Subscription,
    #[error("The coupon is for a first purchase.")]
    NotFirst,
    #[error("Log in in the game to use this coupon for a gift.")]
    GiftByName,
    #[error("The coupon makes the cheapest item free.")]
    NotCheapest,
    /// At the price of a sale that does not go with codes.
    #[error("It is on sale already, and the sale takes off more than the coupon.")]
    OnSale,
}

impl LeftOut {
    /// The refusal of a coupon that takes nothing off any line, for this reason of one of them.
    const fn refusal(self) -> CodeRefusal {
        match self {
            Self::Subscription => CodeRefusal::Subscription,
            Self::NotFirst => CodeRefusal::NotFirst,
            Self::GiftByName => CodeRefusal::GiftByName,
            Self::NotCheapest => CodeRefusal::TooFew,
            Self::OnSale => CodeRefusal::OnSale,
            Self::Unavailable | Self::VirtualCurrency | Self::NotCovered => CodeRefusal::NothingEligible,
        }
    }
}

/// What a coupon does to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePart {
    /// The amount that it takes off the line.
    pub off: Money,
    /// The reason why that is nothing, if it is for one.
    pub left_out: Option<LeftOut>,
}

/// A code that applies to a cart, and the amount that it takes off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied<'a> {
    pub code: &'a Code,
    /// The amount taken off; never more than the eligible lines cost.
    pub sum: Money,
    /// What a coupon does to each line of the cart, in their order. Of a gift card there are none.
    pub lines: Vec<LinePart>,
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

/// A buyer, as far as that decides about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeBuyer {
    /// Whether the login proves more than a name (rules.md, "Tokens").
    pub is_proven: bool,
    /// Whether the buyer has paid, or owns something.
    pub has_bought: bool,
}

/// A cart, as far as it decides about a code.
#[derive(Debug, Clone, Copy)]
pub struct CodeInputs<'a> {
    pub lines: &'a [PricedLine<'a>],
    pub buyer: CodeBuyer,
    /// The amount that the coupon on the cart takes off; a gift card pays from what it leaves.
    pub coupon_sum: Money,
    /// The least amount that can be paid. A gift card pays less if otherwise less than that would be left.
    pub least: Money,
}

/// Decides whether a code applies to a cart. `uses` are those of the cart's owner, `now` is the current second. Fails with the first [`CodeRefusal`] in the order of rules.md, "Coupons and gift cards".
pub fn judge<'a>(
    code: Option<&'a Code>,
    uses: CouponUses,
    inputs: CodeInputs<'_>,
    now: i64,
) -> Result<Applied<'a>, CodeRefusal> {
    let code = usable(code, uses, now)?;
    if inputs.lines.is_empty() {
        return Err(CodeRefusal::EmptyCart);
    }
    match code {
        Code::Coupon(coupon) => {
            let lines = judge_coupon(coupon, inputs)?;
            Ok(Applied { code, sum: lines.iter().map(|part| part.off).sum(), lines })
        }
        Code::Gift(gift) => Ok(Applied { code, sum: judge_gift(gift, inputs)?, lines: Vec::new() }),
    }
}

/// Decides whether a code can be used at all: the part of [`judge`] that needs no priced cart. Fails with the first
/// [`CodeRefusal`] in the order of rules.md, "Coupons and gift cards".
pub fn usable(code: Option<&Code>, uses: CouponUses, now: i64) -> Result<&Code, CodeRefusal> {
    let code = code.ok_or(CodeRefusal::Unknown)?;
    match code {
        Code::Coupon(coupon) => {
            valid_now(coupon.active, coupon.starts_at, coupon.ends_at, now)?;
            let full = |limit: Option<u32>, uses: u32| limit.is_some_and(|limit| uses >= limit);
            if full(coupon.max_uses, coupon.uses) || full(coupon.max_uses_per_user, uses.count) {
                return Err(CodeRefusal::UsedUp);
            }
            let again = coupon.once_per.zip(uses.last).map(|(seconds, last)| last.saturating_add(seconds.into()));
            if let Some(at) = again.filter(|at| now < *at) {
                return Err(CodeRefusal::NotYet { at });
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

fn judge_coupon(coupon: &Coupon, inputs: CodeInputs<'_>) -> Result<Vec<LinePart>, CodeRefusal> {
    if sums(inputs.lines).clear_price < coupon.minimum {
        return Err(CodeRefusal::BelowMinimum { minimum: coupon.minimum });
    }
    let parts = taken_off(coupon, inputs.lines, inputs.buyer);
    if parts.iter().any(|part| part.left_out.is_none()) {
        return Ok(parts);
    }
    // Of several reasons the first that says more than that nothing is covered.
    let mut refusals = parts.iter().filter_map(|part| part.left_out).map(LeftOut::refusal);
    let says_more = |refusal: &CodeRefusal| *refusal != CodeRefusal::NothingEligible;
    Err(refusals.find(says_more).unwrap_or(CodeRefusal::NothingEligible))
}

/// The effect of a coupon on each line, in the order of the lines. An amount is shared in proportion to what the lines cost; the
/// parts add up to it exactly, and none exceeds its line. Of a line at the price of a sale without codes it takes off by how much
/// it is better than the sale, and an amount, or the cheapest unit, is for the other lines first (rules.md, "Sales").
pub fn taken_off(coupon: &Coupon, lines: &[PricedLine<'_>], buyer: CodeBuyer) -> Vec<LinePart> {
    let left_out: Vec<Option<LeftOut>> = lines.iter().map(|line| left_out(coupon, line, buyer)).collect();
    // Each line before a sale that does not go with codes, and what that takes off.
    let before = |(line, left_out): (&PricedLine<'_>, &Option<LeftOut>)| {
        let sale = line.without_codes();
        if left_out.is_none() { (line.total() + sale, sale) } else { (Money::ZERO, Money::ZERO) }
    };
    let before: Vec<(Money, Money)> = lines.iter().zip(&left_out).map(before).collect();
    let plain = || before.iter().map(|(total, sale)| if *sale == Money::ZERO { *total } else { Money::ZERO });
    let off: Vec<Money> = match coupon.discount {
        _ if coupon.cheapest_free => cheapest(lines, plain()),
        Discount::Percentage(percent) => before.iter().map(|(total, sale)| total.share(percent).less(*sale)).collect(),
        Discount::Amount(amount) => {
            let plain: Vec<Money> = plain().collect();
            let others: Money = before.iter().filter(|(_, sale)| *sale > Money::ZERO).map(|(total, _)| *total).sum();
            let first = amount.min(plain.iter().copied().sum());
            let rest = amount.less(first).min(others);
            let parts = first.spread(&plain).into_iter().zip(&before);
            let part = |(part, (total, sale)): (Money, &(Money, Money))| {
                if *sale == Money::ZERO { part } else { rest.portion_down(*total, others).less(*sale) }
            };
            parts.map(part).collect()
        }
    };
    let part = |((off, left_out), (_, sale)): ((Money, Option<LeftOut>), &(Money, Money))| {
        let on_sale = (*sale > Money::ZERO).then_some(LeftOut::OnSale);
        let why = on_sale.or(coupon.cheapest_free.then_some(LeftOut::NotCheapest)).filter(|_| off == Money::ZERO);
        LinePart { off, left_out: left_out.or(why) }
    };
    off.into_iter().zip(left_out).zip(&before).map(part).collect()
}

/// The price of one unit for the line with the cheapest one, of at least two units that cost something, and nothing for the others.
/// `totals` are what the lines cost that count.
fn cheapest(lines: &[PricedLine<'_>], totals: impl Iterator<Item = Money>) -> Vec<Money> {
    let counted: Vec<bool> = totals.map(|total| total > Money::ZERO).collect();
    let of_units = || lines.iter().zip(&counted).enumerate().filter(|(_, (_, counts))| **counts);
    let units: u64 = of_units().map(|(_, (line, _))| u64::from(line.count)).sum();
    let cheapest = of_units().min_by_key(|(_, (line, _))| line.unit_price).filter(|_| units > 1);
    let cheapest = cheapest.map(|(place, _)| place);
    let off = |(place, line): (usize, &PricedLine<'_>)| (Some(place) == cheapest).then_some(line.unit_price);
    lines.iter().enumerate().map(|one| off(one).unwrap_or_default()).collect()
}

/// The reason why a line is not one that a coupon applies to.
fn left_out(coupon: &Coupon, line: &PricedLine<'_>, buyer: CodeBuyer) -> Option<LeftOut> {
    let is_gift = line.line.payment_type == PaymentType::Gift;
    if line.availability.unavailable {
        Some(LeftOut::Unavailable)
    } else if line.item().virtual_only {
        Some(LeftOut::VirtualCurrency)
    } else if !covers(&coupon.scope, line.published) {
        Some(LeftOut::NotCovered)
    } else if line.item().is_subscription {
        Some(LeftOut::Subscription)
    } else if coupon.first_purchase && is_gift && !buyer.is_proven {
        Some(LeftOut::GiftByName)
    } else if coupon.first_purchase && !is_gift && buyer.has_bought {
        Some(LeftOut::NotFirst)
    } else {
        // Whether it is the first purchase of a gift's recipient is in the condition of the checkout.
        None
    }
}

fn judge_gift(gift: &GiftCard, inputs: CodeInputs<'_>) -> Result<Money, CodeRefusal> {
    let eligible = inputs.lines.iter().filter(|line| line.takes_codes());
    if eligible.clone().next().is_none() {
        let is_subscription = inputs.lines.iter().any(PricedLine::is_payable);
        return Err(if is_subscription { CodeRefusal::Subscription } else { CodeRefusal::NothingEligible });
    }
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
