//! The reason why an order is refused, and how that is read from the item that a failed condition returns.

use crate::model::{Code, ItemId, Money};
use crate::money::date_and_time;
use crate::rules::first_day::FirstDay;
use crate::shop::stock::{addresses, ledgers};
use crate::shop::{accounts, codes};
use crate::table::codec::Item;
use crate::table::limiter::{self, RateLimit};
use crate::table::transaction::{self, Guard};

/// A write of an order's transaction, and the limit that it guards.
pub(in crate::shop) type Guarded = transaction::Guarded<Limit>;

/// The reason why an order cannot be paid: a limit, a code or a balance does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefusal {
    #[error("item {item} may be sold {limit} times in all, and not as many are left")]
    GlobalLimit { item: ItemId, limit: u32 },
    #[error("a limit in time or of a server of item {item} is reached")]
    Place { item: ItemId },
    #[error("a limit in time of item {item} is reached until {} UTC", date_and_time(*.at))]
    Later {
        item: ItemId,
        /// Seconds since 1970 UTC.
        at: i64,
    },
    #[error("item {item} may be bought {limit} times by one user in a time, and with this order it would be more")]
    UserTime { item: ItemId, limit: u32 },
    #[error("item {item} may be bought {limit} times by one user, and with this order it would be more")]
    UserLimit { item: ItemId, limit: u32 },
    #[error("there is no coupon with this code")]
    UnknownCoupon,
    #[error("there is no gift card with this code")]
    UnknownGiftCard,
    #[error("the coupon is used up")]
    CouponUsedUp,
    #[error("the coupon is used up for this user")]
    CouponUsedUpByUser,
    #[error("the gift card's balance is below the amount to be taken")]
    GiftCardBalance,
    #[error("the balance in virtual currency is below the price")]
    VirtualCurrency,
    /// A user owns the item, or one of its category whose regular price is not lower.
    #[error("item {item}, or one that includes it, is owned already")]
    Owned { item: ItemId },
    /// The coupon is for a first purchase, and who gets the item has bought before.
    #[error("the recipient of item {item} has bought before, and the coupon is for a first purchase")]
    FirstPurchase { item: ItemId },
    /// The buyer has the subscription meanwhile, or another one has taken its place.
    #[error("the buyer has the subscription already, or another one in its place")]
    Subscribed,
    #[error("the recipient of item {item} owns it or has reached the limit")]
    Recipient { item: ItemId },
    #[error("the buyer does not own what item {item} requires")]
    Lacks { item: ItemId },
    #[error("the recipient of item {item} does not own what it requires")]
    RecipientLacks { item: ItemId },
    #[error("a player that a gift is for is banned")]
    Banned,
    /// The chat login has ended, or another account uses it.
    #[error("the chat login has ended, or another account uses it")]
    Chat,
    #[error("this address has begun too many checkouts")]
    TooManyCheckouts {
        /// Seconds until it may begin another one.
        retry_seconds: u64,
    },
    #[error("this address has too many open checkouts that hold what is limited")]
    TooManyOpen {
        /// Seconds until one of them no longer counts.
        retry_seconds: u64,
    },
    #[error("the card that paid it is banned")]
    Card,
    #[error("more would be paid than can be on a first day")]
    FirstDay(FirstDay),
}

/// A user's limit on an item, and the number of units in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shop) struct UserLimit {
    pub(in crate::shop) item: ItemId,
    /// Units in this order.
    pub(in crate::shop) count: u64,
    /// Units that one user may buy.
    pub(in crate::shop) limit: u32,
}

/// The limit that the condition of a write guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shop) enum Limit {
    /// A user's limits, in the user's ledger.
    Ledger {
        limits: Vec<UserLimit>,
        /// When the write was made, seconds since 1970 UTC.
        now: i64,
    },
    /// An item's global limit, in its counter.
    Sold {
        item: ItemId,
        /// Units that may be sold in all.
        limit: u32,
    },
    /// The limits of an item in time and of servers, and its global limit, in its counter.
    Place {
        item: ItemId,
    },
    CouponUses,
    /// A coupon's uses by the buyer.
    UserUses,
    /// A gift card's balance.
    Balance {
        amount: Money,
    },
    /// A user's balance in virtual currency.
    VirtualCurrency {
        amount: Money,
    },
    /// The most that a user may own before a checkout, and what they must own, in the user's ledger.
    Ownership {
        limits: Vec<OwnedLimit>,
        needed: Vec<Needed>,
        /// When the write was made, seconds since 1970 UTC.
        now: i64,
    },
    /// The first purchase of the recipient of an item: there is no ledger.
    FirstPurchase {
        item: ItemId,
    },
    /// The ban of a name.
    Ban,
    /// The ban of a card.
    Card,
    /// The account that uses a chat login.
    Chat,
    /// The checkouts that an address has begun.
    Rate {
        /// How many it may begin.
        limit: RateLimit,
        /// When the write was made, milliseconds since 1970 UTC.
        now: u64,
    },
    /// What is spent from an address on its first day.
    FirstDay {
        most: Money,
        price: Money,
        /// When the write was made, seconds since 1970 UTC.
        now: i64,
    },
}

/// The most that a user may own of an item before a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shop) struct OwnedLimit {
    pub(in crate::shop) item: ItemId,
    /// The most units.
    pub(in crate::shop) most: u64,
    /// The second (since 1970 UTC) from which bought units count; `None` if all count that are owned.
    pub(in crate::shop) since: Option<i64>,
    /// The refusal if there are more.
    pub(in crate::shop) refusal: OrderRefusal,
}

/// Items of which a user must own one before a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shop) struct Needed {
    pub(in crate::shop) any_of: Vec<ItemId>,
    /// The refusal if there is none of them.
    pub(in crate::shop) refusal: OrderRefusal,
}

impl Guard for Limit {
    type Refusal = OrderRefusal;

    fn refusal(&self, old: Option<&Item>) -> Option<OrderRefusal> {
        match self {
            Self::Ledger { limits, now } => {
                let held = |item: ItemId| old.map_or(0, |old| ledgers::units(old, item, *now));
                let exceeded =
                    |limit: &&UserLimit| held(limit.item) + i128::from(limit.count) > i128::from(limit.limit);
                let limit = limits.iter().find(exceeded)?;
                Some(OrderRefusal::UserLimit { item: limit.item, limit: limit.limit })
            }
            Self::Sold { item, limit } => Some(OrderRefusal::GlobalLimit { item: *item, limit: *limit }),
            Self::Place { item } => Some(OrderRefusal::Place { item: *item }),
            Self::CouponUses => match codes::decode_old(old)? {
                Code::Coupon(coupon) if coupon.max_uses.is_some_and(|most| coupon.uses >= most) => {
                    Some(OrderRefusal::CouponUsedUp)
                }
                _ => None,
            },
            Self::UserUses => Some(OrderRefusal::CouponUsedUpByUser),
            Self::Balance { amount } => match codes::decode_old(old)? {
                Code::Gift(gift) if gift.balance < *amount => Some(OrderRefusal::GiftCardBalance),
                _ => None,
            },
            Self::VirtualCurrency { amount } => {
                // Of an erased user nothing is left.
                accounts::balance(old?).is_none_or(|balance| balance < *amount).then_some(OrderRefusal::VirtualCurrency)
            }
            Self::Ownership { limits, needed, now } => {
                let held = |item: ItemId| old.map_or(0, |old| ledgers::units(old, item, *now));
                let counted = |limit: &OwnedLimit| match limit.since {
                    None => held(limit.item),
                    Some(since) => old.map_or(0, |old| ledgers::units_since(old, limit.item, since)),
                };
                let exceeded = limits.iter().find(|limit| counted(limit) > i128::from(limit.most));
                let lacks = || needed.iter().find(|needed| !needed.any_of.iter().any(|item| held(*item) > 0));
                exceeded.map(|limit| limit.refusal).or_else(|| lacks().map(|needed| needed.refusal))
            }
            Self::FirstPurchase { item } => Some(OrderRefusal::FirstPurchase { item: *item }),
            // A row that is gone is that of an erased recipient, not of a banned one.
            Self::Ban => old.map(|_| OrderRefusal::Banned),
            Self::Card => Some(OrderRefusal::Card),
            Self::Chat => Some(OrderRefusal::Chat),
            Self::Rate { limit, now } => {
                let retry_seconds = limiter::full_in(old, *limit, *now)?;
                Some(OrderRefusal::TooManyCheckouts { retry_seconds })
            }
            Self::FirstDay { most, price, now } => {
                addresses::refused_in(old, *most, *price, *now).map(OrderRefusal::FirstDay)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::StoreError;
    use crate::table::transaction::judge;
    use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};

    const LEDGER: ItemId = ItemId::new(7);

    fn guards() -> Vec<Option<Limit>> {
        let limits = vec![
            UserLimit { item: ItemId::new(6), count: 1, limit: 9 },
            UserLimit { item: LEDGER, count: 2, limit: 3 },
        ];
        vec![
            None,
            Some(Limit::Ledger { limits, now: 0 }),
            Some(Limit::Sold { item: ItemId::new(5), limit: 4 }),
            Some(Limit::CouponUses),
            Some(Limit::UserUses),
            Some(Limit::Balance { amount: Money::from_minor(300) }),
        ]
    }

    fn reason(code: &str, old: &[(&str, AttributeValue)]) -> CancellationReason {
        let old: Item = old.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let old = (!old.is_empty()).then_some(old);
        CancellationReason::builder().code(code).set_item(old).build()
    }

    fn number(number: i64) -> AttributeValue {
        AttributeValue::N(number.to_string())
    }

    fn coupon(uses: i64, max_uses: i64) -> Vec<(&'static str, AttributeValue)> {
        let discount = Item::from([("percentage".to_owned(), number(1_000))]);
        vec![
            ("kind", AttributeValue::S("coupon".to_owned())),
            ("id", number(1)),
            ("code", AttributeValue::S("summer".to_owned())),
            ("active", AttributeValue::Bool(true)),
            ("discount", AttributeValue::M(discount)),
            ("uses", number(uses)),
            ("max_uses", number(max_uses)),
        ]
    }

    fn gift(balance: i64) -> Vec<(&'static str, AttributeValue)> {
        vec![
            ("kind", AttributeValue::S("gift".to_owned())),
            ("id", number(2)),
            ("code", AttributeValue::S("card".to_owned())),
            ("active", AttributeValue::Bool(true)),
            ("balance", number(balance)),
            ("start_balance", number(balance)),
        ]
    }

    type Judged = Result<OrderRefusal, &'static str>;

    const CONTENDED: Judged = Err("contended");
    const THROTTLED: Judged = Err("throttled");
    const INVALID: Judged = Err("invalid");

    /// Reasons by position; all others had none.
    fn judged(reasons: &[(usize, CancellationReason)]) -> Judged {
        let at = |place: usize| reasons.iter().find(|(other, _)| *other == place).map(|(_, reason)| reason.clone());
        judged_all(
            &(0..guards().len()).map(|place| at(place).unwrap_or_else(|| reason("None", &[]))).collect::<Vec<_>>(),
        )
    }

    fn judged_all(reasons: &[CancellationReason]) -> Judged {
        judge(&guards(), reasons, std::fmt::Error).map_err(|error| match error {
            StoreError::Contended => "contended",
            StoreError::Unavailable { .. } => "throttled",
            StoreError::Refused { .. } => "invalid",
            _ => "another",
        })
    }

    const FAILED: &str = "ConditionalCheckFailed";

    #[test]
    fn each_position_has_its_own_refusal() {
        let refused = |place, old: &[(&str, AttributeValue)]| judged(&[(place, reason(FAILED, old))]);
        let global = OrderRefusal::GlobalLimit { item: ItemId::new(5), limit: 4 };
        let user = OrderRefusal::UserLimit { item: LEDGER, limit: 3 };
        assert_eq!(refused(0, &[]), CONTENDED);
        assert_eq!(refused(1, &[("u7", number(2)), ("p7", number(500))]), Ok(user));
        assert_eq!(refused(2, &[("sold", number(4))]), Ok(global));
        assert_eq!(refused(3, &coupon(3, 3)), Ok(OrderRefusal::CouponUsedUp));
        assert_eq!(refused(4, &[("uses", number(1))]), Ok(OrderRefusal::CouponUsedUpByUser));
        assert_eq!(refused(5, &gift(299)), Ok(OrderRefusal::GiftCardBalance));
    }

    #[test]
    fn a_condition_that_holds_by_now_is_decided_again() {
        let refused = |place, old: &[(&str, AttributeValue)]| judged(&[(place, reason(FAILED, old))]);
        assert_eq!(refused(1, &[("u7", number(1))]), CONTENDED);
        assert_eq!(refused(3, &coupon(2, 3)), CONTENDED);
        assert_eq!(refused(3, &gift(500)), CONTENDED);
        assert_eq!(refused(3, &[]), CONTENDED);
        assert_eq!(refused(5, &gift(300)), CONTENDED);
        assert_eq!(refused(5, &[]), CONTENDED);
    }

    #[test]
    fn an_order_that_moved_comes_before_what_it_took() {
        let cases = [(0, reason(FAILED, &[])), (2, reason(FAILED, &[("sold", number(4))]))];
        assert_eq!(judged(&cases), CONTENDED);
    }

    #[test]
    fn a_refusal_comes_before_contention_and_contention_before_a_fault() {
        let refusal = (4, reason(FAILED, &[("uses", number(1))]));
        let conflict = (1, reason("TransactionConflict", &[]));
        let throttled = (2, reason("ThrottlingError", &[]));
        let broken = (3, reason("ValidationError", &[]));
        let used_up = Ok(OrderRefusal::CouponUsedUpByUser);
        let all = [refusal, conflict.clone(), throttled.clone(), broken.clone()];
        assert_eq!(judged(&all), used_up);
        assert_eq!(judged(&[conflict, throttled.clone(), broken.clone()]), CONTENDED);
        assert_eq!(judged(&[throttled, broken.clone()]), THROTTLED);
        assert_eq!(judged(&[broken]), INVALID);
        assert_eq!(judged(&[(0, reason("ProvisionedThroughputExceeded", &[]))]), THROTTLED);
    }

    #[test]
    fn of_two_refusals_the_first_by_position_is_named() {
        let two = [(5, reason(FAILED, &gift(0))), (3, reason(FAILED, &coupon(3, 3)))];
        assert_eq!(judged(&two), Ok(OrderRefusal::CouponUsedUp));
    }

    #[test]
    fn a_cancellation_without_reasons_is_a_fault() {
        assert_eq!(judged_all(&[]), INVALID);
    }
}
