//! What a cart costs: its lines as they are now, and the sums over them (rulings 6 and 8).

use super::pricing::{Standing, is_cumulative, standing};
use crate::model::{Item, Items, Ledger, Line, Money, PublishedItem, Sold};

/// A line of a cart as it stands now.
#[derive(Debug, Clone)]
pub struct PricedLine<'a> {
    /// The stored line.
    pub line: &'a Line,
    /// What it is a line of.
    pub published: &'a PublishedItem,
    /// How the item stands for the cart's owner.
    pub standing: Standing,
    /// Units; one where the item is sold cumulatively (ruling 6).
    pub count: u32,
    /// What one unit of this line costs, in money or, where [`Item::virtual_only`], nothing.
    pub unit_price: Money,
}

impl PricedLine<'_> {
    /// The item of the line.
    #[must_use]
    pub const fn item(&self) -> &Item {
        &self.published.item
    }

    /// `price` × `count`.
    #[must_use]
    pub const fn total(&self) -> Money {
        self.unit_price.times(self.count)
    }

    /// Whether the line counts in `clear_price` and for codes: available, and paid in money.
    #[must_use]
    pub const fn is_payable(&self) -> bool {
        !self.standing.unavailable && !self.published.item.virtual_only
    }
}

/// Prices every line whose item is still published, in the order of the cart.
#[must_use]
pub fn price_lines<'a>(lines: &'a [Line], items: &'a Items, sold: &Sold, ledger: &Ledger) -> Vec<PricedLine<'a>> {
    let priced = lines.iter().filter_map(|line| {
        let published = items.get(&line.item)?.as_ref();
        let standing = standing(&published.item, &published.ladder, sold, Some(ledger));
        let count = if is_cumulative(&published.item, &published.ladder) { line.count.min(1) } else { line.count };
        Some(PricedLine { line, published, standing, count, unit_price: unit_price(line, &published.item, standing) })
    });
    priced.collect()
}

/// A line added from a promotion keeps the promoted price while the promotion is published; an any-price line has
/// the buyer's price, never below the least the owner takes now; all else costs what the catalog says (ruling 6).
fn unit_price(line: &Line, item: &Item, standing: Standing) -> Money {
    match (&item.promotion, line.price) {
        (Some(promotion), _) if line.promoted => promotion.price,
        (_, Some(named)) if item.any_price => named.max(item.min_price),
        _ => standing.quote.price,
    }
}

/// The sums that no code changes (ruling 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Σ count over available lines: an unavailable one counts in no sum.
    pub items: u64,
    /// Σ price × count over available lines paid in money.
    pub clear_price: Money,
    /// Σ virtual price × count over available lines sold for virtual currency alone.
    pub virtual_price: Money,
}

/// Adds up a cart.
#[must_use]
pub fn sums(lines: &[PricedLine<'_>]) -> Sums {
    let available = || lines.iter().filter(|line| !line.standing.unavailable);
    let virtual_lines = available().filter(|line| line.item().virtual_only);
    Sums {
        items: available().map(|line| u64::from(line.count)).sum(),
        clear_price: lines.iter().filter(|line| line.is_payable()).map(PricedLine::total).sum(),
        virtual_price: virtual_lines.map(|line| line.item().virtual_price.times(line.count)).sum(),
    }
}
