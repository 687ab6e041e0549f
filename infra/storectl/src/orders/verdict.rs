//! How a cancelled transaction is read: by position, in one written order, without looking anywhere else.

use aws_sdk_dynamodb::types::CancellationReason;
use shared::model::{Code, ItemId, Money};
use shared::store::codec::Item;
use shared::store::codes::USES;

/// Why an order cannot be paid: a limit, a code or a balance does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More units than may be sold in all.
    #[error("item {item} may be sold {limit} times in all, and not as many are left")]
    GlobalLimit {
        /// The item.
        item: ItemId,
        /// Its limit.
        limit: u32,
    },
    /// More units than one user may buy.
    #[error("item {item} may be bought {limit} times by one user, and this one bought too many already")]
    UserLimit {
        /// The item.
        item: ItemId,
        /// Its limit.
        limit: u32,
    },
    /// No such coupon.
    #[error("there is no coupon with this code")]
    UnknownCoupon,
    /// No such gift card.
    #[error("there is no gift card with this code")]
    UnknownGiftCard,
    /// Used as often as it may be.
    #[error("the coupon is used up")]
    CouponUsedUp,
    /// Used as often as this user may.
    #[error("the coupon is used up for this user")]
    CouponUsedUpByUser,
    /// Less on the gift card than is to be taken.
    #[error("the gift card's balance is below the amount to be taken")]
    GiftCardBalance,
}

/// A user's limit on an item, and how many units are to be bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UserLimit {
    /// The item.
    pub(super) item: ItemId,
    /// Units in this order.
    pub(super) count: u64,
    /// Units that one user may buy.
    pub(super) limit: u32,
}

/// What a failed condition of a write means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// Something that was read is not what it was: the decision has to be made anew.
    Basis,
    /// The buyer's ledger with the limits that it was guarded by.
    Ledger(Vec<UserLimit>),
    /// A global counter with its limit.
    Count {
        /// The item.
        item: ItemId,
        /// Units that may be sold in all.
        limit: u32,
    },
    /// A coupon's uses in all.
    Coupon,
    /// A coupon's uses by the buyer.
    Use,
    /// A gift card and what is taken from it.
    GiftCard {
        /// The amount.
        amount: Money,
    },
}

/// What a cancelled transaction comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// Read again and try again: something moved, or another transaction was on the same items.
    Again,
    /// It cannot be, for this reason.
    Refused(Refusal),
    /// The database is short of capacity.
    Throttled,
    /// The database finds the transaction faulty: a bug.
    Broken,
}

/// Reads a cancelled transaction, whose writes had these roles. In this order:
///
/// 1. What was read has changed (the order itself above all): nothing else may be believed, for the very same
///    order may have taken the last unit when it was recorded a moment ago.
/// 2. A refusal: the first by position.
/// 3. Contention.
/// 4. A fault: short of capacity, and last whatever is left.
pub(super) fn judge(roles: &[Role], reasons: &[CancellationReason]) -> Cancelled {
    let says = |reason: &CancellationReason, what: &str| reason.code() == Some(what);
    let failed = roles.iter().zip(reasons).filter(|(_, reason)| says(reason, "ConditionalCheckFailed"));
    let meanings: Vec<Option<Refusal>> = failed.map(|(role, reason)| meaning(role, reason.item())).collect();
    if meanings.contains(&None) {
        return Cancelled::Again;
    }
    if let Some(refusal) = meanings.into_iter().flatten().next() {
        return Cancelled::Refused(refusal);
    }
    if reasons.iter().any(|reason| says(reason, "TransactionConflict")) {
        return Cancelled::Again;
    }
    let short = ["ProvisionedThroughputExceeded", "ThrottlingError", "RequestLimitExceeded"];
    if reasons.iter().any(|reason| short.iter().any(|what| says(reason, what))) {
        return Cancelled::Throttled;
    }
    Cancelled::Broken
}

/// What one failed condition means, from the item as it was: `None` where what was read has changed.
fn meaning(role: &Role, old: Option<&Item>) -> Option<Refusal> {
    match role {
        Role::Basis => None,
        Role::Ledger(limits) => {
            let held = |item: ItemId| old.map_or(0, |old| number(old, &format!("u{item}")));
            let exceeded = |guard: &&UserLimit| held(guard.item) + i128::from(guard.count) > i128::from(guard.limit);
            let guard = limits.iter().find(exceeded)?;
            Some(Refusal::UserLimit { item: guard.item, limit: guard.limit })
        }
        Role::Count { item, limit } => Some(Refusal::GlobalLimit { item: *item, limit: *limit }),
        Role::Coupon => match code(old)? {
            Code::Coupon(coupon) if coupon.max_uses.is_some_and(|most| coupon.uses >= most) => {
                Some(Refusal::CouponUsedUp)
            }
            _ => None,
        },
        Role::Use => Some(Refusal::CouponUsedUpByUser),
        Role::GiftCard { amount } => match code(old)? {
            Code::Gift(gift) if gift.balance < *amount => Some(Refusal::GiftCardBalance),
            _ => None,
        },
    }
}

fn number(item: &Item, attribute: &str) -> i128 {
    let number = item.get(attribute).and_then(|value| value.as_n().ok());
    number.and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn code(old: Option<&Item>) -> Option<Code> {
    let mut item = old?.clone();
    // A coupon that was never used may have been written without its counter.
    item.entry(USES.to_owned()).or_insert_with(|| aws_sdk_dynamodb::types::AttributeValue::N("0".to_owned()));
    serde_dynamo::aws_sdk_dynamodb_1::from_item(item).ok()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
