//! The holds of an order, and which of them do does not count against its own buyer (rules.md, "Checkout").

use super::limits;
use crate::model::{
    Code, Coupon, CouponUses, GiftCard, Held, InternalId, ItemId, Money, OrderEffects, OrderLine, Sold, Units,
    is_mark_of,
};
use std::collections::BTreeMap;

/// Units, codes and balances that are held for an order.
pub fn held(lines: &[OrderLine], effects: &OrderEffects) -> Held {
    let mut units: BTreeMap<ItemId, u64> = BTreeMap::new();
    for line in lines {
        *units.entry(line.item).or_default() += u64::from(line.count);
    }
    Held {
        units: units.into_iter().map(|(item, count)| Units { item, count }).collect(),
        places: limits::taken(lines),
        coupon: effects.coupon.clone(),
        gift_card: effects.gift_card.clone(),
        virtual_currency: effects.virtual_currency,
    }
}

/// Takes what the buyer's own checkout, of an order, holds out of the units sold: it does not count against the buyer's cart.
pub fn release_units(sold: &mut Sold, held: &Held, order: &InternalId) {
    for units in &held.units {
        if let Some(sold) = sold.get_mut(&units.item) {
            sold.sold = sold.sold.saturating_sub(units.count);
        }
    }
    for place in &held.places {
        let Some(sold) = sold.get_mut(&place.item) else { continue };
        if let Some(units) = sold.places.get_mut(&place.name) {
            *units = units.saturating_sub(place.units);
        }
        if let Some(marks) = sold.marks.get_mut(&place.name) {
            marks.retain(|mark| !is_mark_of(mark, order.as_str()));
        }
    }
}

/// A code and the buyer's uses of it, without what the buyer's own checkout holds.
pub fn release_code(code: Option<Code>, uses: CouponUses, held: &Held) -> (Option<Code>, CouponUses) {
    match code {
        Some(Code::Coupon(coupon)) if held.coupon.as_ref() == Some(&coupon.code) => {
            let coupon = Coupon { uses: coupon.uses.saturating_sub(1), ..coupon };
            // The last use is the checkout's own; the one before it is longer ago than the coupon asks for.
            (Some(Code::Coupon(coupon)), CouponUses { count: uses.count.saturating_sub(1), last: None })
        }
        Some(Code::Gift(gift)) => {
            let own = held.gift_card.as_ref().filter(|payment| payment.code == gift.code);
            let balance = gift.balance + own.map_or(Money::ZERO, |payment| payment.amount);
            (Some(Code::Gift(GiftCard { balance, ..gift })), uses)
        }
        code => (code, uses),
    }
}
