//! Units of lines that were refunded by themselves, and the money that they were paid with.

use super::{Money, Order, OrderLine};

impl OrderLine {
    /// The part of its total that its returned units were paid with, half up.
    #[must_use]
    pub fn returned_total(&self) -> Money {
        self.part(self.total)
    }

    /// The part of its total in virtual currency that its returned units were paid with, half up.
    #[must_use]
    pub fn returned_virtual(&self) -> Money {
        self.part(self.virtual_total)
    }

    fn part(&self, total: Money) -> Money {
        let units = |units: u32| Money::from_minor(i64::from(units));
        total.portion(units(self.returned), units(self.count))
    }
}

impl Order {
    /// The sum of what returned units were paid with.
    #[must_use]
    pub fn returned_total(&self) -> Money {
        self.lines.iter().map(OrderLine::returned_total).sum()
    }

    /// The part of the charged amount that returned units were paid with, half up.
    #[must_use]
    pub fn charged_for_returned(&self) -> Money {
        self.returned_total().portion(self.price, self.total())
    }

    /// The part of a gift card's payment that returned units were paid with. With the charged part it adds up to the whole,
    /// if the order is in the store's currency.
    #[must_use]
    pub fn card_for_returned(&self, card: Money) -> Money {
        let (total, returned) = (self.total(), self.returned_total());
        if self.price + card == total {
            returned.less(self.charged_for_returned())
        } else {
            returned.portion(card, total)
        }
    }

    /// The sum in virtual currency of returned units.
    #[must_use]
    pub fn returned_virtual(&self) -> Money {
        self.lines.iter().map(OrderLine::returned_virtual).sum()
    }

    /// The part of the order's total that the buyer has back, if `refunded` of the charged amount is refunded.
    #[must_use]
    pub fn given_back(&self, refunded: Money) -> Money {
        (self.returned_total() + refunded.less(self.charged_for_returned())).min(self.total())
    }
}
