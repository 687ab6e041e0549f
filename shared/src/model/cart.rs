//! A user's stored cart: what was chosen, never its price; and lines of carts and orders: what the buyer chose, and units that were
//! refunded by themselves with the money that they were paid with.

use super::{
    CodeId, CodeText, Coupon, GiftCard, ItemId, LineId, Login, Money, OpenCheckout, Order, OrderLine, PlayerName,
    ServerId, UserId,
};
use serde::{Deserialize, Serialize};

/// The coupon on a cart (rules.md, "Carts").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedCoupon {
    pub code: CodeText,
    /// The coupon's id when it was applied. A code that was issued again under the same text has another id.
    pub id: CodeId,
}

impl From<&Coupon> for AppliedCoupon {
    fn from(coupon: &Coupon) -> Self {
        Self { code: coupon.code.clone(), id: coupon.id }
    }
}

/// The gift card on a cart (rules.md, "Carts").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedGiftCard {
    pub code: CodeText,
    /// The card's id when it was applied. A code that was issued again under the same text has another id.
    pub id: CodeId,
    /// The login that entered it, whose it is (rules.md, "Logins"). A card that was stored without one is of no login
    /// by name.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub login: Login,
}

impl AppliedGiftCard {
    pub fn entered_by(login: Login, card: &GiftCard) -> Self {
        Self { code: card.code.clone(), id: card.id, login }
    }
}

/// A user's cart. Every user has exactly one; before the first write it is [`Cart::empty`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cart {
    /// The owner, whose id is also the cart's id.
    pub user: UserId,
    /// The number of writes. Every write is conditional on it (rules.md, "Writing a cart").
    pub version: u64,
    pub next_line: u64,
    /// Its lines, at most [`Cart::MAX_LINES`].
    #[serde(default)]
    pub lines: Vec<Line>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coupon: Option<AppliedCoupon>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift_card: Option<AppliedGiftCard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral: Option<CodeText>,
    /// The checkout that sells what was in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<OpenCheckout>,
}

impl Cart {
    /// The most lines of a cart (rules.md, "Carts").
    pub const MAX_LINES: usize = MAX_LINES;
    /// The most players who receive gifts of a cart (rules.md, "Gifts").
    pub const MAX_RECIPIENTS: usize = 10;

    /// The cart of a user that was never written.
    pub const fn empty(user: UserId) -> Self {
        Self {
            user,
            version: 0,
            next_line: 1,
            lines: Vec::new(),
            coupon: None,
            gift_card: None,
            referral: None,
            checkout: None,
        }
    }

    /// The line that a client means by an id: the line with that id, else the first line of the item with that id, because
    /// the public client names lines by their item.
    pub fn line(&self, id: LineId) -> Option<&Line> {
        let of_item = || self.lines.iter().find(|line| line.item.get() == id.get());
        self.lines.iter().find(|line| line.id == id).or_else(of_item)
    }

    /// The id of a new line of an item. It is not the id of an item in the cart, so that it stays clear what an id means.
    pub fn new_line_id(&self, item: ItemId) -> LineId {
        let is_of_item = |id: u64| self.lines.iter().map(|line| line.item).chain([item]).any(|item| item.get() == id);
        let free = (self.next_line..u64::MAX).find(|id| !is_of_item(*id));
        LineId::new(free.unwrap_or(self.next_line))
    }
}

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

#[cfg(test)]
mod tests {
    use super::super::LoginId;
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_means_a_line_or_else_the_first_line_of_an_item() {
        let line = |(id, item)| Line::new(LineId::new(id), ItemId::new(item), 1);
        let lines = [(1, 301), (2, 4), (3, 301), (4, 5)].map(line).to_vec();
        let cart = Cart { lines, next_line: 5, ..Cart::empty(UserId::new(7)) };
        let meant = |id| cart.line(LineId::new(id)).map(|line| line.id.get());
        assert_eq!([3, 301, 5].map(meant), [Some(3), Some(1), Some(4)]);
        assert_eq!(meant(4), Some(4), "a line's own id comes first");
        assert_eq!(meant(6), None);
    }

    #[test]
    fn a_new_line_does_not_get_the_id_of_an_item_in_the_cart() {
        let lines = [9, 10, 12].map(|item| Line::new(LineId::new(item - 8), ItemId::new(item), 1)).to_vec();
        let cart = Cart { lines, next_line: 9, ..Cart::empty(UserId::new(7)) };
        assert_eq!(cart.new_line_id(ItemId::new(301)), LineId::new(11));
        assert_eq!(cart.new_line_id(ItemId::new(11)), LineId::new(13));
    }

    #[test]
    fn a_cart_is_read_as_it_was_written() {
        let login = LoginId::parse("00c0ffee00c0ffee").unwrap();
        let (coupon, card) = (CodeText::parse("ten").unwrap(), CodeText::parse("card").unwrap());
        let coupon = AppliedCoupon { code: coupon, id: CodeId::new(1) };
        let card = AppliedGiftCard { code: card, id: CodeId::new(2), login: Login::Name(login) };
        for (coupon, gift_card) in
            [(Some(&coupon), Some(&card)), (Some(&coupon), None), (None, Some(&card)), (None, None)]
        {
            let empty = Cart::empty(UserId::new(7));
            let filled = Cart { coupon: coupon.cloned(), gift_card: gift_card.cloned(), ..empty };
            let written = serde_json::to_value(&filled).unwrap();
            assert_eq!(serde_json::from_value::<Cart>(written).unwrap(), filled);
        }
        let card = serde_json::to_value(AppliedGiftCard { login: Login::Proven, ..card }).unwrap();
        assert_eq!(card, json!({ "code": "card", "id": 2 }));
    }
}
