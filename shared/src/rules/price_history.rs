//! The prices that were asked for an item, and the lowest before a reduction (rules.md, "Prices that were").

use super::pricing::{Terms, unit_price};
use crate::model::{Item, LowestPrice, Money, Sold, StoreConfig};
use serde::{Deserialize, Serialize};

/// The time before a reduction in which the lowest price counts, in seconds: 30 days.
pub const COMPARED_SECONDS: i64 = 30 * 86_400;
/// How long a price is kept after it ended, in seconds: 100 days, more than three times as long as it counts.
const KEPT_SECONDS: i64 = 100 * 86_400;

/// The price of an item for everyone from one second on, until the next of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedPrice {
    /// Seconds since 1970 UTC.
    pub since: i64,
    /// Of one unit; `None` while the item cannot be bought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    /// The regular price, if the price is below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regular: Option<Money>,
}

impl AskedPrice {
    /// Whether an announcement of the one is one of the other: a reduction goes on while its price is the same.
    fn is_like(&self, other: &Self) -> bool {
        (self.price, self.regular.is_some()) == (other.price, other.regular.is_some())
    }
}

/// The prices of an item, oldest first: those that were asked, and those that the calendar plans.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceHistory {
    pub prices: Vec<AskedPrice>,
}

/// A reduced price for everyone, from its first second on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// Seconds since 1970 UTC.
    pub begins: i64,
    pub price: Money,
    /// The regular price at its beginning.
    pub regular: Money,
    /// The lowest price of the 30 days before it began; `None` if none was asked then.
    pub lowest: Option<Money>,
    /// Since when prices are known, if that is less than 30 days before it began.
    pub known_since: Option<i64>,
    pub raised: Option<Raised>,
}

/// A regular price that was raised in the 30 days before a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    pub from: Money,
    /// Seconds since 1970 UTC.
    pub at: i64,
}

impl PriceHistory {
    /// The same up to `now`, and `planned` from then on.
    #[must_use]
    pub fn followed_by(&self, now: i64, planned: &[AskedPrice]) -> Self {
        let mut prices: Vec<AskedPrice> = self.prices.iter().filter(|asked| asked.since < now).copied().collect();
        for asked in planned {
            // Before its first price there is nothing to know.
            let is_known = prices.last().map_or(asked.price.is_none(), |last| last.is_like(asked));
            if !is_known {
                prices.push(*asked);
            }
        }
        Self { prices }
    }

    /// The same without what ended 100 days before `now`, or before the reduction that is running then.
    #[must_use]
    pub fn kept(&self, now: i64) -> Self {
        let running = self.prices.iter().rfind(|asked| asked.since <= now).filter(|asked| asked.regular.is_some());
        let oldest = running.map_or(now, |asked| asked.since).saturating_sub(KEPT_SECONDS);
        let kept = self.prices.iter().enumerate().filter(|(place, _)| self.end(*place) > oldest);
        Self { prices: kept.map(|(_, asked)| *asked).collect() }
    }

    /// The second at which the price at this place ends.
    fn end(&self, place: usize) -> i64 {
        self.prices.get(place + 1).map_or(i64::MAX, |next| next.since)
    }

    /// The reductions that are running at `now` or planned, in order.
    pub fn reductions(&self, now: i64) -> impl Iterator<Item = Reduction> {
        let known = self.prices.iter().enumerate().filter(move |(place, _)| self.end(*place) > now);
        known.filter_map(|(place, asked)| self.reduction(place, asked))
    }

    fn reduction(&self, place: usize, asked: &AskedPrice) -> Option<Reduction> {
        let (price, regular) = asked.price.zip(asked.regular)?;
        let from = asked.since.saturating_sub(COMPARED_SECONDS);
        let counts = self.prices.iter().enumerate().take(place).filter(|(before, _)| self.end(*before) > from);
        let before: Vec<(AskedPrice, Money)> =
            counts.filter_map(|(_, before)| Some((*before, before.price?))).collect();
        let first = before.first().map(|(first, _)| first.since);
        Some(Reduction {
            begins: asked.since,
            price,
            regular,
            lowest: before.iter().map(|(_, price)| *price).min(),
            known_since: first.filter(|first| *first > from),
            raised: raised(&before, asked.since, regular),
        })
    }

    /// The lowest price before each of the reductions that are running at `now` or planned. Two that have the same are one entry.
    pub fn lowest_prices(&self, now: i64) -> Vec<LowestPrice> {
        let mut found: Vec<LowestPrice> = Vec::new();
        for reduction in self.reductions(now) {
            let Reduction { begins, lowest: price, known_since: since, .. } = reduction;
            let before = found.last().map_or((None, None), |last| (last.price, last.since));
            if before != (price, since) {
                found.push(LowestPrice { from: Some(begins).filter(|begins| *begins > now), price, since });
            }
        }
        found
    }

    /// Whether `kept` says of every reduction from `now` on what [`PriceHistory::lowest_prices`] says.
    pub fn is_told_by(&self, kept: &[LowestPrice], now: i64) -> bool {
        let new = self.lowest_prices(now);
        let changes = kept.iter().chain(&new).filter_map(|lowest| lowest.from).filter(|from| *from > now);
        let seconds = changes.chain(self.reductions(now).map(|reduction| reduction.begins.max(now)));
        let is_reduced = |second: &i64| {
            let asked = self.prices.iter().rfind(|asked| asked.since <= *second);
            asked.is_some_and(|asked| asked.regular.is_some())
        };
        seconds.filter(is_reduced).all(|second| {
            let told = |all: &[LowestPrice]| LowestPrice::at(all, second).map(|lowest| (lowest.price, lowest.since));
            told(kept) == told(&new)
        })
    }
}

/// The lowest price before the reduction for everyone that runs for an item at `now` (seconds since 1970 UTC), if one does and a price
/// was asked before it.
pub fn lowest_price(item: &Item, config: &StoreConfig, now: i64) -> Option<LowestPrice> {
    let lowest = LowestPrice::at(&item.lowest_prices, now).filter(|_| config.price_history)?;
    let quote = unit_price(item, item.price, None, Terms::of(config, &Sold::default(), now), None).quote;
    (quote.discount > Money::ZERO).then_some(*lowest)
}

/// How a regular price of `regular` was reached at `at`, if less was regular before.
fn raised(before: &[(AskedPrice, Money)], at: i64, regular: Money) -> Option<Raised> {
    let mut unreduced = before.iter().filter(|(asked, _)| asked.regular.is_none());
    let least = unreduced.clone().map(|(_, price)| *price).min().filter(|least| *least < regular)?;
    let after = unreduced.by_ref().skip_while(|(_, price)| *price != least).find(|(_, price)| *price > least);
    Some(Raised { from: least, at: after.map_or(at, |(asked, _)| asked.since) })
}
