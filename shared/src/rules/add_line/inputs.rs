//! The inputs of a decision about a line of a cart.

use crate::model::{Cart, ItemId, Items, Line, PlayerName, Sold, StoreDelivery, UserName};
use crate::rules::pricing::Buyer;

/// Everything besides the line itself that decides about it.
#[derive(Debug, Clone, Copy)]
pub struct CartInputs<'a> {
    pub cart: &'a Cart,
    /// The items of the cart's lines and of the line to add.
    pub items: &'a Items,
    /// Units sold of these items.
    pub sold: &'a Sold,
    pub owner: Buyer<'a>,
    /// The owner's name.
    pub buyer: &'a str,
    pub has_virtual_currency: bool,
    /// The commands of every sale.
    pub delivery: &'a StoreDelivery,
}

impl CartInputs<'_> {
    /// Whether a recipient is the buyer, without regard to case.
    pub(super) fn is_buyer(&self, recipient: &PlayerName) -> bool {
        UserName::parse(self.buyer).is_ok_and(|buyer| buyer == *recipient.key())
    }

    /// Units of an item in the lines that `counts` is true of.
    pub(super) fn units(&self, item: ItemId, counts: impl Fn(&Line) -> bool) -> u64 {
        let lines = self.cart.lines.iter().filter(|line| line.item == item && counts(line));
        lines.map(|line| u64::from(line.count)).sum()
    }
}
