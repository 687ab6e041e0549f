//! The subscription in the model (rules.md, "Limits and availability" and "Periods of a subscription"): what is owned of it
//! after payments and refunds in any order.

use super::model::{Order, Status};

/// The part of a paid order in what is owned of the subscription. A history is shorter than a period, so that a run ends
/// within it only if everything that was paid of it is refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// The run that it is part of, the first being 1. Only the last run is owned.
    pub run: u8,
    /// Whether the run began with it: then it counts a unit, and the others none.
    pub begins: bool,
    /// How many periods later the run ends because of it.
    pub periods: u8,
}

impl Share {
    /// The share of the order that the subscription began with.
    pub const FIRST: Self = Self { run: 1, begins: true, periods: 1 };

    /// The share of an order that becomes PAID now and pays a period. While anything is left of the last run, it makes that
    /// last to the end of the period; otherwise it begins another one.
    pub fn next(orders: &[Order], period: u8) -> Self {
        let run = last_run(orders);
        let paid = orders.iter().filter(|order| order.status == Status::Paid).filter_map(|order| order.share);
        let left: u8 = paid.filter(|share| share.run == run).map(|share| share.periods).sum();
        match left {
            0 => Self { run: run + 1, begins: true, periods: period },
            _ => Self { run, begins: false, periods: period.saturating_sub(left) },
        }
    }
}

/// The run that is owned, or was the last one.
pub fn last_run(orders: &[Order]) -> u8 {
    orders.iter().filter_map(|order| order.share).map(|share| share.run).max().unwrap_or_default()
}
