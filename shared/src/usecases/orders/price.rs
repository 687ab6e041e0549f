//! The prices of an order's lines if their totals are not given: what the owner's cart would charge for them.

use super::order_request::{LineRequest, OrderRequest, PriceError};
use super::{active_version, as_checkout};
use crate::clock::Clock;
use crate::model::{Code, CodeText, Items, Ledger, Line, LineId, Money, OrderLine, Sold, UserId};
use crate::rules::cart::{PricedLine, price_lines};
use crate::rules::code::{CodeInputs, judge, taken_off};
use crate::rules::pricing::Buyer;
use crate::store::items::ItemCache;
use crate::store::orders::StoredOrder;
use crate::store::{Db, StoreError, codes, keys, ledgers};

/// Gives every line its total, and refuses what a checkout would refuse, unless it was sold before. If the order is
/// recorded already, a missing total is the recorded one, regardless of present prices, ledgers and codes. Limits are
/// guarded again by the write. Fails if a total is neither given nor known, or a checkout would refuse the order.
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
    let buyer = Buyer { ledger: &inputs.ledger, subscriptions: &[], now: clock.seconds() };
    let priced = price_lines(&cart, &inputs.items, &Sold::new(), buyer);
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

fn total_of(line: &PricedLine<'_>, off: Money) -> Result<Money, PriceError> {
    let item = line.item();
    if item.any_price {
        return Err(PriceError::AnyPrice(item.id));
    }
    if line.count != line.line.count {
        return Err(PriceError::OnlyOne(item.id));
    }
    // A cart would have a subscription in a line of another kind.
    let is_available = !line.availability.unavailable || item.is_subscription && item.active;
    if !is_available && !line.availability.limits.reached() {
        return Err(PriceError::Unavailable(item.id));
    }
    Ok(if item.virtual_only { Money::ZERO } else { line.total().less(off) })
}

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
        let cache = ItemCache::default();
        let plan = cache.plan(&version, lines.iter().map(|line| line.item));
        let mut wanted: Vec<keys::Key> = plan.keys().collect();
        wanted.extend(owner.map(keys::ledger));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        let mut rows = db.batch_get(wanted).await?;
        Ok(Self {
            items: cache.complete(plan, &mut rows, |_| false)?,
            ledger: owner.map_or_else(|| Ok(Ledger::default()), |user| ledgers::take(&mut rows, user))?,
            uses: coupon.zip(owner).map_or(Ok(0), |(code, user)| codes::take_uses(&mut rows, code, user))?,
            code: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?.filter(|code| code.is_for(owner)),
        })
    }

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
