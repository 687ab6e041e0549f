//! Lines of carts and orders: what the buyer chose, and units that were refunded by themselves with the money that they were paid
//! with.

use super::{ItemId, LineId, Money, Order, OrderLine, PlayerName, ServerId};
use serde::{Deserialize, Serialize};

/// The most lines of a cart, and so of an order (rules.md, "Carts").
pub(super) const MAX_LINES: usize = 50;

/// How a line is bought (rules.md, "Carts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentType {
    /// Once.
    #[default]
    OneOff,
    Subscription,
    /// Once, for another user.
    Gift,
}

impl PaymentType {
    /// Whether it is bought once, for the buyer.
    pub const fn is_one_off(&self) -> bool {
        matches!(self, Self::OneOff)
    }

    /// The number in JSON.
    pub const fn number(self) -> u8 {
        match self {
            Self::OneOff => 0,
            Self::Subscription => 1,
            Self::Gift => 2,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineVariable {
    /// The variable, see [`super::Variable`].
    pub id: u64,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The line's id (`cid`), counted up inside the cart.
    pub id: LineId,
    pub item: ItemId,
    pub count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<LineVariable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    /// The buyer's price for one unit of an any-price item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Money>,
    #[serde(default)]
    pub payment_type: PaymentType,
    /// Whether it was added from a promotion (rules.md, "Promotions").
    #[serde(default)]
    pub promoted: bool,
    /// The recipient of a gift, who may have no account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_to: Option<PlayerName>,
}

impl Line {
    /// The most units of a line (rules.md, "Carts").
    pub const MAX_COUNT: u32 = 1_000;

    /// A line that is bought once, with nothing chosen.
    pub const fn new(id: LineId, item: ItemId, count: u32) -> Self {
        Self {
            id,
            item,
            count,
            variables: Vec::new(),
            server: None,
            price: None,
            payment_type: PaymentType::OneOff,
            promoted: false,
            gift_to: None,
        }
    }
}

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
        let price = self.before_tax(self.price);
        if price + card == total {
            returned.less(returned.portion(price, total))
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
        let [refunded, own] = [refunded, self.charged_for_returned()].map(|charged| self.before_tax(charged));
        (self.returned_total() + refunded.less(own)).min(self.total())
    }
}
