//! What the lines of an order cost if their totals are not given: what the owner's cart would charge for them.

use super::active_version;
use crate::model::{Code, CodeText, ItemId, Items, Ledger, Line, LineId, Money, OrderLine, PaymentType, Sold, UserId};
use crate::rules::cart::{PricedLine, price_lines};
use crate::rules::code::{self, judge, taken_off};
use crate::store::orders::StoredOrder;
use crate::store::{Db, StoreError, codes, keys, ledgers};
use std::sync::Arc;

/// A line to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRequest {
    /// The item.
    pub item: ItemId,
    /// Units.
    pub count: u32,
    /// The line's total after coupon, in the store's currency; `None` if it is to be priced.
    pub total: Option<Money>,
    /// The user a gift is for.
    pub recipient: Option<UserId>,
}

impl LineRequest {
    fn with_total(&self, total: Money) -> OrderLine {
        let line = OrderLine::new(self.item, self.count, total);
        match self.recipient {
            Some(recipient) => line.gift_for(recipient),
            None => line,
        }
    }
}

/// Why the total of a line is not known.
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
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Gives every line its total. If the order is recorded already, a missing total is the recorded one,
/// regardless of present prices, ledgers and codes. Limits are not checked: the write guards them. `at` is the second for which the
/// coupon is checked.
///
/// # Errors
/// [`PriceError`] if a total is neither given nor known.
pub async fn price(
    db: &Db,
    recorded: Option<&StoredOrder>,
    owner: Option<UserId>,
    lines: &[LineRequest],
    coupon: Option<&CodeText>,
    at: i64,
) -> Result<Vec<OrderLine>, PriceError> {
    let given: Option<Vec<OrderLine>> = lines.iter().map(|line| Some(line.with_total(line.total?))).collect();
    if let Some(given) = given {
        return Ok(given);
    }
    if let Some(recorded) = recorded {
        return Ok(as_recorded(lines, &recorded.order.lines));
    }
    if coupon.is_some() && lines.iter().any(|line| line.total.is_some()) {
        return Err(PriceError::SomeWithCoupon);
    }
    let cart: Vec<Line> = (1..).zip(lines).map(|(id, line)| cart_line(id, line)).collect();
    let inputs = PriceInputs::read(db, owner, &cart, coupon).await?;
    let missing = lines.iter().find(|line| line.total.is_none() && !inputs.items.contains_key(&line.item));
    if let Some(missing) = missing {
        return Err(PriceError::NotPublished(missing.item));
    }
    let priced = price_lines(&cart, &inputs.items, &Sold::new(), &inputs.ledger);
    let off = match coupon {
        Some(_) => inputs.taken_off(&priced, at)?,
        None => vec![Money::ZERO; priced.len()],
    };
    let find = |id: LineId| priced.iter().zip(&off).find(|(line, _)| line.line.id == id);
    let total = |(request, line): (&LineRequest, &Line)| match (request.total, find(line.id)) {
        (Some(total), _) => Ok(request.with_total(total)),
        (None, Some((priced, off))) => Ok(request.with_total(total_of(priced, *off)?)),
        (None, None) => Err(PriceError::NotPublished(request.item)),
    };
    lines.iter().zip(&cart).map(total).collect()
}

/// A line that differs from the recorded one gets a total of zero: recording the order then names the difference.
fn as_recorded(lines: &[LineRequest], recorded: &[OrderLine]) -> Vec<OrderLine> {
    let total = |(place, line): (usize, &LineRequest)| {
        let same = |old: &&OrderLine| (old.item, old.count, old.recipient) == (line.item, line.count, line.recipient);
        let old = recorded.get(place).filter(same).map(|old| old.total);
        line.with_total(line.total.or(old).unwrap_or(Money::ZERO))
    };
    lines.iter().enumerate().map(total).collect()
}

fn cart_line(id: u64, line: &LineRequest) -> Line {
    let payment_type = if line.recipient.is_some() { PaymentType::Gift } else { PaymentType::OneOff };
    Line { payment_type, ..Line::new(LineId::new(id), line.item, line.count) }
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
        let applied = judge(self.code.as_ref(), self.uses, lines, at).map_err(PriceError::Coupon)?;
        Ok(match applied.code {
            Code::Coupon(coupon) => taken_off(coupon, lines),
            // Recording the order refuses a gift card as its coupon.
            Code::Gift(_) => vec![Money::ZERO; lines.len()],
        })
    }
}
