//! Which status an order may change to (rules.md, "Who may see an order"), what its lines count for, and its currency.

use crate::model::{GiftCardPayment, ItemId, Money, Order, OrderEffects, OrderLine, OrderStatus, Settings, UserId};
use crate::rules::dispute::is_taken_back;
use std::collections::{BTreeMap, BTreeSet};

/// Whether an order may change from one status to another. Keeping a status is not a change.
///
/// - A pending order becomes paid, failed or cancelled.
/// - A failed or cancelled order can still be paid: gateways let buyers try again under the same id, and a payment may
///   arrive late. An owner who does not want it refunds it.
/// - A paid order can only be refunded.
/// - A refunded order is final. A buyer who pays again makes a new order.
pub const fn may_become(from: OrderStatus, to: OrderStatus) -> bool {
    use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
    matches!((from, to), (Pending, Paid | Failed | Cancelled) | (Failed | Cancelled, Paid) | (Paid, Refunded))
}

pub type UnitsAndSum = (u64, Money);

/// Units and sums of lines by a key. Lines without a key are left out.
pub fn merged<K: Ord>(lines: &[OrderLine], key: impl Fn(&OrderLine) -> Option<K>) -> BTreeMap<K, UnitsAndSum> {
    let mut merged: BTreeMap<K, UnitsAndSum> = BTreeMap::new();
    for line in lines {
        let Some(key) = key(line) else { continue };
        let (count, total) = merged.entry(key).or_default();
        *count = count.saturating_add(u64::from(line.units()));
        *total = *total + line.total;
    }
    merged
}

/// How many units of all lines were refunded by themselves.
pub fn returned_units(order: &Order) -> u64 {
    order.lines.iter().map(|line| u64::from(line.returned)).sum()
}

pub fn users(order: &Order) -> BTreeSet<UserId> {
    order.lines.iter().filter_map(|line| line.recipient).chain(order.moved_to).chain(order.owner).collect()
}

/// Units and sums by item. A renewal takes no units.
pub fn by_item(order: &Order) -> BTreeMap<ItemId, UnitsAndSum> {
    merged(&order.lines, |line| (!line.renewal).then_some(line.item))
}

/// The parts of `amount` by line, in proportion to the lines' totals; they add up to it exactly.
pub fn spread(lines: &[OrderLine], amount: Money) -> Vec<Money> {
    amount.spread(&lines.iter().map(|line| line.total).collect::<Vec<_>>())
}

/// The order with its price, and its lines' totals, less what was refunded: of each line its returned units, and the rest
/// of `refunded` in proportion to what the lines are then.
pub fn without_refunded(order: &Order, refunded: Money) -> Order {
    let own = order.charged_for_returned();
    let [before, own_before] = [refunded, own].map(|charged| order.before_tax(charged));
    let mut order = Order { price: order.price.less(refunded.max(own)), ..order.clone() };
    for line in &mut order.lines {
        line.total = line.total.less(line.returned_total());
    }
    let parts = spread(&order.lines, before.less(own_before).min(order.total()));
    for (line, part) in order.lines.iter_mut().zip(parts) {
        line.total = line.total.less(part);
    }
    order
}

/// The part of an order's price that ledgers do not call paid: what was refunded, and all of it while a dispute takes it back.
pub fn returned(order: &Order, effects: &OrderEffects) -> Money {
    if is_taken_back(effects) { order.total() + order.tax_on_top() } else { effects.refunded }
}

/// The order less what was [`returned`] of it.
pub fn less_returned(order: &Order, effects: &OrderEffects) -> Order {
    without_refunded(order, returned(order, effects))
}

/// A currency in which no order of the store can be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a currency of this store")]
pub struct UnknownCurrency(pub String);

/// The currency of an order: `wanted`, if it is the store's or one that a buyer may pay in, in any case; the store's by
/// default. An order that is recorded keeps its currency, `kept`.
pub fn currency<'a>(
    settings: &'a Settings,
    wanted: Option<&str>,
    kept: Option<&'a str>,
) -> Result<&'a str, UnknownCurrency> {
    let Some(wanted) = wanted.map(str::trim) else { return Ok(kept.unwrap_or(&settings.system_currency.name)) };
    let known = kept.into_iter().chain(settings.order_currencies()).find(|code| code.eq_ignore_ascii_case(wanted));
    known.ok_or_else(|| UnknownCurrency(wanted.to_owned()))
}

/// The amount charged for lines, less the gift card. `None` in another currency than the store's, in which the prices
/// are.
pub fn charged(
    settings: &Settings,
    currency: &str,
    lines: &[OrderLine],
    gift_card: Option<&GiftCardPayment>,
) -> Option<Money> {
    let total: Money = lines.iter().map(|line| line.total).sum();
    let charged = gift_card.map_or(total, |payment| total.less(payment.amount));
    (currency == settings.system_currency.name).then_some(charged)
}

/// The part that a caller is shown of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderVisibility<'a> {
    Shown(&'a Order),
    /// It has an owner, and the caller is anonymous.
    Unauthorized,
    /// It belongs to another user.
    Forbidden,
    /// There is no such order.
    NotFound,
}

/// Decides what a caller is shown of an order. `caller` is `None` without a token and with an invalid one.
pub fn visibility_of(order: Option<&Order>, caller: Option<UserId>) -> OrderVisibility<'_> {
    let Some(order) = order else { return OrderVisibility::NotFound };
    match (order.owner, caller) {
        (None, _) => OrderVisibility::Shown(order),
        (Some(_), None) => OrderVisibility::Unauthorized,
        (Some(owner), Some(caller)) if owner == caller => OrderVisibility::Shown(order),
        (Some(_), Some(_)) => OrderVisibility::Forbidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CodeText, Currency};

    #[test]
    fn a_currency_is_the_stores_or_one_that_buyers_pay_in() {
        let named = |name: &str| Currency { name: name.to_owned(), ..Currency::default() };
        let (own, others) = (named("EUR"), vec![named("PLN")]);
        let settings = Settings { system_currency: own, currencies: others, ..Settings::default() };
        assert_eq!(currency(&settings, None, None), Ok("EUR"));
        assert_eq!(currency(&settings, Some(" pln "), None), Ok("PLN"));
        assert_eq!(currency(&settings, None, Some("USD")), Ok("USD"));
        assert_eq!(currency(&settings, Some("usd"), Some("USD")), Ok("USD"));
        assert_eq!(currency(&settings, Some("USD"), None), Err(UnknownCurrency("USD".to_owned())));
        let lines = [OrderLine::new(ItemId::new(1), 1, Money::from_minor(500))];
        let payment = GiftCardPayment { code: CodeText::parse("card").unwrap(), amount: Money::from_minor(200) };
        assert_eq!(charged(&settings, "EUR", &lines, None), Some(Money::from_minor(500)));
        assert_eq!(charged(&settings, "EUR", &lines, Some(&payment)), Some(Money::from_minor(300)));
        assert_eq!(charged(&settings, "PLN", &lines, None), None);
    }

    use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};

    #[test]
    fn every_pair_of_states_is_decided() {
        let steps = [
            (Pending, Paid),
            (Pending, Failed),
            (Pending, Cancelled),
            (Failed, Paid),
            (Cancelled, Paid),
            (Paid, Refunded),
        ];
        for from in OrderStatus::ALL {
            for to in OrderStatus::ALL {
                assert_eq!(may_become(from, to), steps.contains(&(from, to)), "{from:?} to {to:?}");
            }
        }
    }
}
