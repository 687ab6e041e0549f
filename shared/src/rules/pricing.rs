//! What an item costs a caller, and whether it can be had: the one answer that the catalog, the deals, the
//! promotions and the cart all give (rules.md, "Limits and availability").

use crate::model::{Item, Ledger, Money, PriceTier, Sold};
use serde::Serialize;

/// What one unit of an item costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// What the buyer pays now.
    pub price: Money,
    /// The amount taken off.
    pub discount: Money,
}

impl Quote {
    /// `price` + `discount` (rules.md, "Money and rounding").
    #[must_use]
    pub fn original_price(self) -> Money {
        self.price + self.discount
    }
}

/// How far an item's limits are used up. A current value is there exactly where its limit is; both user fields
/// are absent for a caller who is not logged in (rules.md, "Limits and availability"). Serialised under the names of
/// the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Units that may be sold in total. Null if there is no limit.
    #[serde(rename = "quantityGlobalLimit")]
    pub global: Option<u32>,
    /// Units sold in total. Null exactly if `quantityGlobalLimit` is null.
    #[serde(rename = "quantityGlobalCurrentLimit")]
    pub global_current: Option<u64>,
    /// Units that the caller may buy. Null if there is no limit or the caller is not logged in.
    #[serde(rename = "quantityUserLimit")]
    pub user: Option<u32>,
    /// Units that the caller has bought. Null exactly if `quantityUserLimit` is null.
    #[serde(rename = "quantityUserCurrentLimit")]
    pub user_current: Option<u64>,
}

impl Limits {
    /// The limits of an item for a caller.
    #[must_use]
    pub fn of(item: &Item, sold: &Sold, buyer: Option<&Ledger>) -> Self {
        let user = item.user_limit.filter(|_| buyer.is_some());
        let bought = buyer.map(|ledger| u64::from(ledger.of(item.id).units));
        Self {
            global: item.global_limit,
            global_current: item.global_limit.map(|_| sold.get(&item.id).copied().unwrap_or_default()),
            user,
            user_current: user.and(bought),
        }
    }

    /// Whether either limit is reached.
    #[must_use]
    pub fn reached(self) -> bool {
        let full = |limit: Option<u32>, current: Option<u64>| {
            limit.zip(current).is_some_and(|(limit, current)| current >= u64::from(limit))
        };
        full(self.global, self.global_current) || full(self.user, self.user_current)
    }
}

/// How an item stands for a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Availability {
    /// What one unit costs.
    pub quote: Quote,
    /// How far its limits are used up.
    pub limits: Limits,
    /// Whether it cannot be bought: inactive, a limit reached, or owned already on a ladder
    /// (rules.md, "Limits and availability").
    pub unavailable: bool,
}

/// What a buyer has on a ladder already: the same for each of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UpgradeCredit {
    /// What was paid for the ladder's items, less refunds.
    paid: Money,
    /// The highest regular price among the items owned.
    highest: Option<Money>,
}

impl UpgradeCredit {
    /// What `buyer` has on `ladder`; `None` where there is no ladder, or nobody is logged in.
    #[must_use]
    pub fn of(ladder: &[PriceTier], buyer: Option<&Ledger>) -> Option<Self> {
        let ledger = buyer.filter(|_| !ladder.is_empty())?;
        Some(ladder.iter().fold(Self::default(), |climbed, rung| {
            let holding = ledger.of(rung.item);
            let owned = (holding.units > 0).then_some(rung.price);
            Self { paid: climbed.paid + holding.paid, highest: climbed.highest.max(owned) }
        }))
    }
}

/// How `item` stands for a caller: `ladder` is that of its category (empty where that is not cumulative) and
/// `buyer` the ledger of a logged-in caller.
#[must_use]
pub fn standing(item: &Item, ladder: &[PriceTier], sold: &Sold, buyer: Option<&Ledger>) -> Availability {
    availability_on(item, UpgradeCredit::of(ladder, buyer), sold, buyer)
}

/// [`standing`] where it is known already what the caller has on the item's ladder.
#[must_use]
pub fn availability_on(
    item: &Item,
    climbed: Option<UpgradeCredit>,
    sold: &Sold,
    buyer: Option<&Ledger>,
) -> Availability {
    let limits = Limits::of(item, sold, buyer);
    let sale = item.price.less(item.discount);
    let climbed = climbed.filter(|_| climbs(item));
    let price = climbed.map_or(sale, |climbed| sale.less(climbed.paid));
    // The item itself, which stands on its ladder at its own price, or another whose regular price is not lower.
    let owned = climbed.is_some_and(|climbed| climbed.highest >= Some(item.price));
    Availability {
        quote: Quote { price, discount: item.price.less(price) },
        limits,
        unavailable: !item.active || limits.reached() || owned,
    }
}

/// Whether an item is sold cumulatively: at most one unit, for the difference.
#[must_use]
pub fn is_cumulative(item: &Item, ladder: &[PriceTier]) -> bool {
    !ladder.is_empty() && climbs(item)
}

/// Whether an item's price falls with what was paid on its ladder: a subscription's never does, and an any-price item
/// has the buyer's price (rules.md, "Cumulative categories").
const fn climbs(item: &Item) -> bool {
    !item.is_subscription && !item.any_price
}
