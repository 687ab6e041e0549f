//! The price of one unit after the item's own discount, the sales that run, and what the buyer has paid for lower items
//! (rules.md, "Sales").

use super::pricing::{Buyer, Quote, Terms};
use crate::model::{Discount, Item, Money, Sale, SaleId};

/// The price of one unit, and the sale that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitPrice {
    pub quote: Quote,
    /// The sale whose price it is; `None` if the item's own discount is as good.
    pub sale: Option<SaleId>,
    /// The price that codes begin with: another than the quote's if that is the price of a sale without codes.
    pub with_codes: Money,
}

/// The price of one unit of an item whose regular price is `regular`. `credit` is what the buyer has paid for items of its
/// cumulative category, `None` if there is nothing to take off; `buyer` is who pays, whoever the unit is for.
pub fn unit_price(
    item: &Item,
    regular: Money,
    credit: Option<Money>,
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
) -> UnitPrice {
    let due = regular.less(credit.unwrap_or_default());
    let own = less(due, item.own_discount(), credit.is_some(), terms.least);
    // The buyer chooses the price; this one holds until then, and could be chosen.
    let own = if item.any_price { own.max(item.min_price) } else { own };
    let (mut price, mut best, mut with_codes) = (own, None::<&Sale>, own);
    let running = terms.sales.iter().filter(|sale| sale.is_running(terms.now) && item.sales.contains(&sale.id));
    for sale in running.filter(|sale| item.takes_sales() && is_for(sale, buyer)) {
        let reduced = less(due, sale.discount, credit.is_some(), terms.least);
        if sale.with_codes {
            with_codes = with_codes.min(reduced);
        }
        // Of two with the same price, the one that goes with codes is better.
        let is_better = reduced == price && sale.with_codes && best.is_some_and(|best| !best.with_codes);
        if reduced < price || is_better {
            (price, best) = (reduced, Some(sale));
        }
    }
    let quote = Quote { price, discount: regular.less(price) };
    UnitPrice { quote, sale: best.map(|sale| sale.id), with_codes }
}

/// What a regular price is in a sale for a buyer who gets it and owns nothing that is taken off, whenever it runs.
pub fn price_in(sale: &Sale, price: Money) -> Money {
    less(price, sale.discount, false, Money::ZERO)
}

/// Whether a buyer, who may be unknown, gets a sale.
fn is_for(sale: &Sale, buyer: Option<Buyer<'_>>) -> bool {
    let owns = |buyer: Buyer<'_>| sale.owners_of.iter().any(|item| buyer.owned(item.id).units > 0);
    sale.owners_of.is_empty() || buyer.is_some_and(owns)
}

/// `due` less a discount. An amount off a difference to what is owned leaves the least that can be paid, so that no step is
/// given away.
fn less(due: Money, discount: Discount, is_difference: bool, least: Money) -> Money {
    match discount {
        Discount::Percentage(percent) => due.less(due.share(percent)),
        Discount::Amount(amount) if is_difference => due.less(amount).max(due.min(least.max(Money::SMALLEST))),
        Discount::Amount(amount) => due.less(amount),
    }
}
