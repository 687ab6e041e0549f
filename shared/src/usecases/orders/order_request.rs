//! An order that is to be recorded, as requested.

use crate::model::{
    Chosen, CodeText, GiftCardPayment, ItemId, Line, LineVariable, Money, OrderLine, PlayerName, ServerId, UserId,
};
use crate::rules::add_line::LineRefusal;
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::code;
use crate::store::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRequest {
    pub item: ItemId,
    pub count: u32,
    /// The line's total after coupon, in the store's currency; `None` if it is to be priced.
    pub total: Option<Money>,
    /// The account that a gift is for; `None` on every other line, and of a player who has no account yet.
    pub recipient: Option<UserId>,
    pub gift_to: Option<PlayerName>,
    pub variables: Vec<LineVariable>,
    pub server: Option<ServerId>,
}

impl LineRequest {
    pub(super) const fn is_gift(&self) -> bool {
        self.recipient.is_some() || self.gift_to.is_some()
    }

    /// The order's line. `line` is as a cart would have it, `name` the item's if it is published.
    pub(super) fn with_total(&self, total: Money, line: &Line, name: Option<&str>) -> OrderLine {
        let has_choices = !self.variables.is_empty() || self.server.is_some() || self.gift_to.is_some();
        let chosen = || Chosen {
            line: line.id,
            name: name.map_or_else(|| self.item.to_string(), ToOwned::to_owned),
            variables: self.variables.clone(),
            server: self.server,
            gift_to: self.gift_to.clone(),
        };
        OrderLine {
            payment_type: line.payment_type,
            recipient: self.recipient,
            chosen: (has_choices || name.is_some()).then(chosen),
            ..OrderLine::new(self.item, self.count, total)
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct OrderRequest<'a> {
    /// The user whose order it is; `None` without one.
    pub owner: Option<UserId>,
    pub lines: &'a [LineRequest],
    pub coupon: Option<&'a CodeText>,
    pub gift_card: Option<&'a GiftCardPayment>,
    /// The second (since 1970 UTC) for which the codes are checked.
    pub at: i64,
    /// Whether it was sold before, so that it does not matter what a checkout would refuse now.
    pub is_past: bool,
}

/// The reason why a line has no total, or cannot be sold.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    #[error("item {0} is not published")]
    NotPublished(ItemId),
    #[error("the buyer names the price of item {0}")]
    AnyPrice(ItemId),
    #[error(
        "this buyer cannot buy item {0} now: it is not on sale, or they own it or a higher step, or the order has one"
    )]
    Unavailable(ItemId),
    /// More than one unit of an item of a cumulative category.
    #[error("only one of item {0} can be bought")]
    OnlyOne(ItemId),
    /// A coupon and some totals, from which it is already taken off.
    #[error("a coupon is used and only some of the lines have a total")]
    SomeWithCoupon,
    #[error("the coupon does not apply now: {0}")]
    Coupon(code::CodeRefusal),
    #[error("the gift card does not apply now: {0}")]
    GiftCard(code::CodeRefusal),
    #[error("item {item}: {refusal}")]
    Line { item: ItemId, refusal: LineRefusal },
    /// A checkout would refuse it.
    #[error(transparent)]
    Checkout(#[from] CheckoutRefusal),
    #[error("the buyer is banned")]
    Banned,
    #[error("there is no user {0}")]
    UnknownUser(UserId),
    #[error(transparent)]
    Store(#[from] StoreError),
}
