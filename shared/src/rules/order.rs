//! Which status an order may change to (rules.md, "Who may see an order").

use crate::model::OrderStatus;

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
    fn nothing_leaves_refunded_and_nothing_comes_back_to_pending() {
        for status in OrderStatus::ALL {
            assert!(!may_become(Refunded, status));
            assert!(!may_become(status, Pending));
        }
    }
}
