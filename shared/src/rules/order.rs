//! Which status an order may change to (rules.md, "Who may see an order"), and what its lines count for.

use crate::model::{ItemId, Money, Order, OrderLine, OrderStatus, UserId};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an order may change from one status to another. Keeping a status is not a change.
///
/// - A pending order becomes paid, failed or cancelled.
/// - A failed or cancelled order can still be paid: gateways let buyers try again under the same id, and a payment may
///   arrive late. An owner who does not want it refunds it.
/// - A paid order can only be refunded.
/// - A refunded order is final. A buyer who pays again makes a new order.
#[must_use]
pub const fn may_become(from: OrderStatus, to: OrderStatus) -> bool {
    use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
    matches!((from, to), (Pending, Paid | Failed | Cancelled) | (Failed | Cancelled, Paid) | (Paid, Refunded))
}

/// Units and a sum of money.
pub type UnitsAndSum = (u64, Money);

/// Units and sums of lines by a key. Lines without a key are left out.
pub fn merged<K: Ord>(lines: &[OrderLine], key: impl Fn(&OrderLine) -> Option<K>) -> BTreeMap<K, UnitsAndSum> {
    let mut merged: BTreeMap<K, UnitsAndSum> = BTreeMap::new();
    for line in lines {
        let Some(key) = key(line) else { continue };
        let (count, total) = merged.entry(key).or_default();
        *count = count.saturating_add(u64::from(line.count));
        *total = *total + line.total;
    }
    merged
}

/// The owner and the recipients of gifts.
#[must_use]
pub fn users(order: &Order) -> BTreeSet<UserId> {
    order.lines.iter().filter_map(|line| line.recipient).chain(order.owner).collect()
}

/// Units and sums by item.
#[must_use]
pub fn by_item(order: &Order) -> BTreeMap<ItemId, UnitsAndSum> {
    merged(&order.lines, |line| Some(line.item))
}

/// Units and sums by item, for each user that they count for (rules.md, "Gifts").
#[must_use]
pub fn holdings(order: &Order) -> BTreeMap<UserId, BTreeMap<ItemId, UnitsAndSum>> {
    let mut holdings: BTreeMap<UserId, BTreeMap<ItemId, UnitsAndSum>> = BTreeMap::new();
    let lines = merged(&order.lines, |line| Some((line.beneficiary(order.owner)?, line.item)));
    for ((user, item), held) in lines {
        holdings.entry(user).or_default().insert(item, held);
    }
    holdings
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn a_refunded_order_is_final_and_no_order_becomes_pending_again() {
        for status in OrderStatus::ALL {
            assert!(!may_become(Refunded, status));
            assert!(!may_become(status, Pending));
        }
    }
}
