//! Lines, the orders that are made of them, and what codes take off.

use super::shop::{AMOUNT, LEAST, TENTH, THREE};

/// A line: item, units, and what was chosen (a server, a colour, or euros).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line {
    pub id: u8,
    pub item: u8,
    pub count: u16,
    pub choice: u16,
}

/// An order that was made in the history, with the values in the table at the end. None of them ever changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub id: String,
    pub lines: Vec<Line>,
    pub coupon: Option<u8>,
    /// The amount that the gift card pays, in cents.
    pub from_card: i64,
    /// The amount that is left to pay; once it is paid, with the tax on top.
    pub price: i64,
    /// The tax on top, once it is paid.
    pub tax: i64,
    /// Which period of the subscription it pays, the first being 1; `None` if it is not one of it.
    pub period: Option<u8>,
}

impl Made {
    /// The price after its coupon; a gift card counts as money.
    pub const fn total(&self) -> i64 {
        self.price - self.tax + self.from_card
    }

    /// What is left of the price after its coupon if so much of the payment is refunded: tax goes back in proportion, half up.
    pub const fn kept(&self, refunded: i64) -> i64 {
        let tax = if self.price == 0 { 0 } else { (2 * self.tax * refunded + self.price) / (2 * self.price) };
        self.total() - (refunded - tax)
    }

    pub fn units(&self, item: u8) -> i64 {
        self.lines.iter().filter(|line| line.item == item).map(|line| i64::from(line.count)).sum()
    }
}

/// The price of lines that cost this much: the total after a coupon, and what a gift card with this balance pays of it.
/// It leaves nothing or the least amount.
pub fn after_codes(lines: &[i64], coupon: Option<u8>, balance: i64) -> (i64, i64) {
    let all: i64 = lines.iter().sum();
    let total = match coupon {
        // Each line is rounded half up.
        Some(TENTH) => lines.iter().map(|line| line - (line + 5) / 10).sum(),
        Some(THREE) => (all - AMOUNT).max(0),
        _ => all,
    };
    let from_card = if balance >= total { total } else { balance.min(total - LEAST).max(0) };
    (total, from_card)
}
