//! A user's stored cart: what was chosen, never its price.

use super::{CodeId, CodeText, Coupon, GiftCard, ItemId, Line, LineId, Login, OpenCheckout, UserId};
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
    pub const MAX_LINES: usize = super::line::MAX_LINES;
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
