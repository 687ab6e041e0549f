//! What the lines of an order cost if their totals are not given: what the owner's cart would charge for them.

use super::{active_version, as_checkout};
use crate::clock::Clock;
use crate::model::{
    Chosen, Code, CodeText, GiftCardPayment, ItemId, Items, Ledger, Line, LineId, LineVariable, Money, OrderLine,
    PlayerName, ServerId, Sold, UserId,
};
use crate::rules::add_line::LineRefusal;
use crate::rules::cart::{PricedLine, price_lines};
use crate::rules::checkout::CheckoutRefusal;
use crate::rules::code::{self, CodeInputs, judge, taken_off};
use crate::store::orders::StoredOrder;
use crate::store::{Db, StoreError, codes, keys, ledgers};
use std::sync::Arc;

/// A line to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRequest {
    pub item: ItemId,
    /// Units.
    pub count: u32,
    /// The line's total after coupon, in the store's currency; `None` if it is to be priced.
    pub total: Option<Money>,
    /// The account that a gift is for; `None` on every other line, and of a player who has no account yet.
    pub recipient: Option<UserId>,
    /// The name of the player that a gift is for.
    pub gift_to: Option<PlayerName>,
    pub variables: Vec<LineVariable>,
    pub server: Option<ServerId>,
}

impl LineRequest {
    /// Whether it is a gift.
    pub(super) const fn is_gift(&self) -> bool {
        self.recipient.is_some() || self.gift_to.is_some()
    }

    /// The order's line. `line` is as a cart would have it, `name` the item's if it is published.
    fn with_total(&self, total: Money, line: &Line, name: Option<&str>) -> OrderLine {
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
    /// What was bought.
    pub lines: &'a [LineRequest],
    /// The coupon that was used.
    pub coupon: Option<&'a CodeText>,
    /// The payment with a gift card.
    pub gift_card: Option<&'a GiftCardPayment>,
    /// The second (since 1970 UTC) for which the codes are checked.
    pub at: i64,
    /// Whether it was sold before, so that it does not matter what a checkout would refuse now.
    pub is_past: bool,
}

/// Why a line has no total, or cannot be sold.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The item is not published, so that it has no price.
    #[error("item {0} is not published")]
    NotPublished(ItemId),
    /// The buyer chooses the price.
    #[error("the buyer names the price of item {0}")]
    AnyPrice(ItemId),
    /// A cart would show the line unavailable.
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
    /// The coupon would not be applied.
    #[error("the coupon does not apply now: {0}")]
    Coupon(code::CodeRefusal),
    /// A cart would not take the gift card.
    #[error("the gift card does not apply now: {0}")]
    GiftCard(code::CodeRefusal),
    /// A cart would not take the line.
    #[error("item {item}: {refusal}")]
    Line {
        item: ItemId,
        /// Why.
        refusal: LineRefusal,
    },
    /// A checkout would refuse it.
    #[error(transparent)]
    Checkout(#[from] CheckoutRefusal),
    /// The owner is banned.
    #[error("the buyer is banned")]
    Banned,
    /// There is no such owner.
    #[error("there is no user {0}")]
    UnknownUser(UserId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Gives every line its total, and refuses what a checkout would refuse, unless it was sold before. If the order is
/// recorded already, a missing total is the recorded one, regardless of present prices, ledgers and codes. Limits are
/// guarded again by the write.
///
/// # Errors
/// [`PriceError`] if a total is neither given nor known, or a checkout would refuse the order.
pub async fn price(
    db: &Db,
    clock: &dyn Clock,
    recorded: Option<&StoredOrder>,
    order: &OrderRequest<'_>,
) -> Result<Vec<OrderLine>, PriceError> {
    let OrderRequest { owner, lines, coupon, .. } = *order;
    let cart: Vec<Line> = lines.iter().enumerate().map(|(place, line)| line.in_cart(place)).collect();
    if let Some(recorded) = recorded {
        return Ok(as_recorded(lines, &cart, &recorded.order.lines));
    }
    let is_given = lines.iter().all(|line| line.total.is_some());
    if !is_given && coupon.is_some() && lines.iter().any(|line| line.total.is_some()) {
        return Err(PriceError::SomeWithCoupon);
    }
    let inputs = PriceInputs::read(db, owner, &cart, coupon).await?;
    let missing = lines.iter().find(|line| line.total.is_none() && !inputs.items.contains_key(&line.item));
    if let Some(missing) = missing {
        return Err(PriceError::NotPublished(missing.item));
    }
    let priced = price_lines(&cart, &inputs.items, &Sold::new(), &inputs.ledger);
    let off = match coupon {
        Some(_) if !is_given || !order.is_past => inputs.taken_off(&priced, order.at)?,
        _ => vec![Money::ZERO; priced.len()],
    };
    let find = |id: LineId| priced.iter().zip(&off).find(|(line, _)| line.line.id == id);
    let total = |(request, line): (&LineRequest, &Line)| {
        let found = find(line.id);
        let name = found.map(|(priced, _)| priced.item().name.as_str());
        match (request.total, found) {
            (Some(total), _) => Ok(request.with_total(total, line, name)),
            (None, Some((priced, off))) => Ok(request.with_total(total_of(priced, *off)?, line, name)),
            (None, None) => Err(PriceError::NotPublished(request.item)),
        }
    };
    let totals: Vec<OrderLine> = lines.iter().zip(&cart).map(total).collect::<Result<_, _>>()?;
    if !order.is_past {
        as_checkout::check_gift_card(db, order.gift_card, order.at).await?;
        as_checkout::check(db, clock, owner, lines, &totals).await?;
    }
    Ok(totals)
}

/// A line that differs from the recorded one gets a total of zero: recording the order then names the difference.
fn as_recorded(lines: &[LineRequest], cart: &[Line], recorded: &[OrderLine]) -> Vec<OrderLine> {
    let total = |(place, (line, in_cart)): (usize, (&LineRequest, &Line))| {
        let same = |old: &&OrderLine| (old.item, old.count, old.recipient) == (line.item, line.count, line.recipient);
        let old = recorded.get(place).filter(same).map(|old| old.total);
        line.with_total(line.total.or(old).unwrap_or(Money::ZERO), in_cart, None)
    };
    lines.iter().zip(cart).enumerate().map(total).collect()
}

/// The total of one line in money.
fn total_of(line: &PricedLine<'_>, off: Money) -> Result<Money, PriceError> {
    let item = line.item();
    if item.any_price {
        return Err(PriceError::AnyPrice(item.id));
    }
    if line.count != line.line.count {
        return Err(PriceError::OnlyOne(item.id));
    }
    if line.availability.unavailable && !line.availability.limits.reached() {
        return Err(PriceError::Unavailable(item.id));
    }
    Ok(if item.virtual_only { Money::ZERO } else { line.total().less(off) })
}

/// Everything that the prices depend on.
struct PriceInputs {
    items: Items,
    ledger: Ledger,
    code: Option<Code>,
    uses: u32,
}

impl PriceInputs {
    async fn read(
        db: &Db,
        owner: Option<UserId>,
        lines: &[Line],
        coupon: Option<&CodeText>,
    ) -> Result<Self, StoreError> {
        let version = active_version(db).await?.version;
        let mut ids: Vec<ItemId> = lines.iter().map(|line| line.item).collect();
        ids.sort();
        ids.dedup();
        let mut wanted: Vec<keys::Key> = ids.iter().map(|id| keys::item(&version, *id)).collect();
        wanted.extend(owner.map(keys::ledger));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        let mut rows = db.batch_get(wanted).await?;
        let mut items = Items::new();
        for id in ids {
            let key = keys::item(&version, id);
            if let Some(row) = rows.take(&key) {
                items.insert(id, Arc::new(row.published(&key)?.0));
            }
        }
        Ok(Self {
            items,
            ledger: owner.map_or_else(|| Ok(Ledger::default()), |user| ledgers::take(&mut rows, user))?,
            uses: coupon.zip(owner).map_or(Ok(0), |(code, user)| codes::take_uses(&mut rows, code, user))?,
            code: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
        })
    }

    /// What the coupon takes off each line.
    fn taken_off(&self, lines: &[PricedLine<'_>], at: i64) -> Result<Vec<Money>, PriceError> {
        let inputs = CodeInputs { lines, coupon_sum: Money::ZERO, least: Money::ZERO };
        let applied = judge(self.code.as_ref(), self.uses, inputs, at).map_err(PriceError::Coupon)?;
        Ok(match applied.code {
            Code::Coupon(coupon) => taken_off(coupon, lines),
            // Recording the order refuses a gift card as its coupon.
            Code::Gift(_) => vec![Money::ZERO; lines.len()],
        })
    }
}
