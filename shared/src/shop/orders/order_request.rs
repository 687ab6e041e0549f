//! The lines of an order that is to be recorded, as requested: the operator says what each cost.

use super::{active_version, as_checkout};
use crate::clock::Clock;
use crate::model::{
    Chosen, CodeText, GiftCardPayment, ItemId, Items, Line, LineId, LineVariable, Money, OrderLine, PaymentType,
    PlayerName, ServerId, UserId,
};
use crate::rules::add_line::LineRefusal;
use crate::rules::bundle;
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::code;
use crate::shop::catalog::ItemPlan;
use crate::table::caches::VersionedCache;
use crate::table::{Db, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRequest {
    pub item: ItemId,
    pub count: u32,
    /// The line's total after coupon, in the store's currency.
    pub total: Money,
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

    /// The line as a cart would have it, at a place from 0.
    pub(super) fn in_cart(&self, place: usize) -> Line {
        let payment_type = if self.is_gift() { PaymentType::Gift } else { PaymentType::OneOff };
        let id = LineId::new(u64::try_from(place).unwrap_or_default() + 1);
        Line { payment_type, ..Line::new(id, self.item, self.count) }
    }

    /// [`Self::in_cart`] with what was chosen.
    fn with_choices(&self, place: usize) -> Line {
        Line { variables: self.variables.clone(), server: self.server, ..self.in_cart(place) }
    }

    /// The order's line, with the item's name if it is published.
    fn in_order(&self, place: usize, items: &Items) -> OrderLine {
        let (line, name) = (self.in_cart(place), items.get(&self.item).map(|published| published.item.name.clone()));
        let has_choices = !self.variables.is_empty() || self.server.is_some() || self.gift_to.is_some();
        let chosen = (has_choices || name.is_some()).then(|| Chosen {
            line: line.id,
            name: name.unwrap_or_else(|| self.item.to_string()),
            variables: self.variables.clone(),
            server: self.server,
            gift_to: self.gift_to.clone(),
        });
        let (payment_type, recipient) = (line.payment_type, self.recipient);
        OrderLine { payment_type, recipient, chosen, ..OrderLine::new(self.item, self.count, self.total) }
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
    /// Whether it was sold or recorded before, so that it does not matter what a checkout would refuse now.
    pub is_past: bool,
}

/// The lines of an order. Limits are guarded again by the write. Fails if a checkout would refuse the order, unless it was sold before.
pub async fn lines(db: &Db, clock: &dyn Clock, order: &OrderRequest<'_>) -> Result<Vec<OrderLine>, RequestError> {
    let version = active_version(db).await?.version;
    let cache = VersionedCache::default();
    let plan = ItemPlan::new(&cache, &version, order.lines.iter().map(|line| line.item));
    let mut rows = db.batch_get(plan.keys().collect()).await?;
    let items = plan.complete(&mut rows, |_| false)?;
    let mut next = LineId::new(u64::try_from(order.lines.len()).unwrap_or_default().saturating_add(1));
    let expanded = order.lines.iter().enumerate().flat_map(|(place, line)| {
        let head = line.in_order(place, &items);
        match items.get(&line.item) {
            Some(published) => bundle::lines(published, &line.with_choices(place), head, &mut next),
            None => vec![head],
        }
    });
    let lines = expanded.collect();
    if !order.is_past {
        as_checkout::check(db, clock, order).await?;
    }
    Ok(lines)
}

/// The reason why an order cannot be sold.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(
        "this buyer cannot buy item {0} now: it is not on sale, or they own it or a higher step, or the order has one"
    )]
    Unavailable(ItemId),
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
