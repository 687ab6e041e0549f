//! Which way an order's status may go (rules.md, "Who may see an order").

use crate::model::OrderStatus;

/// Whether an order may go from one status to another; staying where it is is no step.
///
/// - What is pending ends in any of three ways.
/// - What failed or was given up can still be paid: gateways let buyers try again under the same id, and money that
///   arrives late is money that arrived. The owner who does not want it refunds it.
/// - What is paid can be refunded, and nothing else: it never becomes unpaid.
/// - Nothing leaves what is refunded. A buyer who pays again makes a new order.
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
