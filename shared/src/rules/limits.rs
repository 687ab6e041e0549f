//! How much of an item's limits is used, and when what is used is given back by time (rules.md, "Limits in time and place"); the
//! holds of an order, and which of them do not count against its own buyer (rules.md, "Checkout").

use super::pricing::{Buyer, Terms};
use crate::model::{
    Code, Coupon, CouponUses, Every, GiftCard, Held, InternalId, Item, ItemId, ItemLimit, Money, OrderEffects,
    OrderLine, Place, ServerId, Sold, Units, is_mark_of,
};
use std::collections::BTreeMap;

/// A limit of an item and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Which of the item's limits it is: 0 and 1 are those without a time, in all and per user.
    pub number: usize,
    pub per_user: bool,
    /// The server whose units count; `None` if all do.
    pub server: Option<ServerId>,
    /// The most units.
    pub most: u32,
    pub taken: u64,
    /// When a unit can be bought again, in seconds since 1970 UTC, if none can now; `None` if time does not tell.
    pub again: Option<i64>,
}

impl Standing {
    /// The units that can still be bought.
    pub fn left(self) -> u64 {
        u64::from(self.most).saturating_sub(self.taken)
    }

    pub fn is_reached(self) -> bool {
        self.left() == 0
    }
}

/// The limits of an item for a caller, and for units of a server if one is selected; those of other servers are left out.
pub fn of<'a>(
    item: &'a Item,
    terms: Terms<'a>,
    buyer: Option<Buyer<'a>>,
    server: Option<ServerId>,
) -> impl Iterator<Item = Standing> {
    let forever = |number, per_user, most, taken| Standing { number, per_user, server: None, most, taken, again: None };
    let sold = move || terms.sold.get(&item.id).map_or(0, |counted| counted.sold);
    let global = item.global_limit.map(|most| forever(0, false, most, sold()));
    let user = item.user_limit.zip(buyer);
    let user = user.map(|(most, buyer)| forever(1, true, most, u64::from(buyer.owned(item.id).units)));
    global.into_iter().chain(user).chain(in_time(item.id, &item.limits, terms, buyer, server))
}

/// As [`of`], only the limits in time and of servers.
pub fn in_time<'a>(
    item: ItemId,
    limits: &'a [ItemLimit],
    terms: Terms<'a>,
    buyer: Option<Buyer<'a>>,
    server: Option<ServerId>,
) -> impl Iterator<Item = Standing> {
    let limits = (2..).zip(limits).filter(move |(_, limit)| limit.counts_for(server));
    limits.filter_map(move |(number, limit)| standing(number, item, limit, terms, buyer))
}

/// `None` of a limit per user for a caller who is not known.
fn standing(
    number: usize,
    item: ItemId,
    limit: &ItemLimit,
    terms: Terms<'_>,
    buyer: Option<Buyer<'_>>,
) -> Option<Standing> {
    let counts = limit.counted_at(terms.now);
    let counted = terms.sold.get(&item);
    let place = limit.place(terms.now).unwrap_or_default();
    // The times of the units that count, latest first.
    let mut times: Vec<i64> = match &limit.every {
        _ if limit.per_user => buyer?.ledger.times(item).to_vec(),
        Some(Every::Rolling(_)) => counted.map(|counted| counted.times(&place)).unwrap_or_default(),
        None | Some(Every::Window(_)) => Vec::new(),
    };
    times.retain(|time| counts.as_ref().is_some_and(|counts| counts.contains(time)));
    let placed = counted.and_then(|counted| counted.places.get(&place)).copied().unwrap_or_default();
    let taken = placed.max(u64::try_from(times.len()).unwrap_or(u64::MAX));
    let again = match &limit.every {
        _ if taken < u64::from(limit.most) => None,
        None => None,
        Some(Every::Window(_)) => counts.map(|counts| counts.end),
        Some(Every::Rolling(length)) => {
            let last = usize::try_from(limit.most).unwrap_or(usize::MAX).checked_sub(1);
            last.and_then(|last| times.get(last)).map(|time| time.saturating_add(i64::from(*length)))
        }
    };
    Some(Standing { number, per_user: limit.per_user, server: limit.server, most: limit.most, taken, again })
}

/// Whether one of some limits is reached, and when all of them have a unit again if time tells.
pub fn reached(standings: impl IntoIterator<Item = Standing>) -> Option<Option<i64>> {
    let reached = standings.into_iter().filter(|standing| standing.is_reached());
    reached.map(|standing| standing.again).reduce(|one, other| Some(one?.max(other?)))
}

/// Whether a limit of an item is reached for a caller, and when it can be bought again if time tells. A limit of a server counts once
/// each of the servers that can be selected is full.
pub fn full(item: &Item, terms: Terms<'_>, buyer: Option<Buyer<'_>>) -> Option<Option<i64>> {
    let reached = |server: Option<ServerId>| reached(of(item, terms, buyer, server));
    if let Some(again) = reached(None) {
        return Some(again);
    }
    if !item.limits.iter().any(|limit| limit.server.is_some()) {
        return None;
    }
    // The first server that is free again; of one without a time it is not known.
    let all: Vec<Option<i64>> = item.servers.iter().map(|server| reached(Some(server.id))).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.into_iter().flatten().min())
}

/// The next second after `now` at which time gives something of an item's limits back, of all players together.
pub fn edge(item: &Item, terms: Terms<'_>) -> Option<i64> {
    let counted = terms.sold.get(&item.id)?;
    let of_limit = |limit: &ItemLimit| {
        let place = limit.place(terms.now)?;
        match limit.every.as_ref()? {
            Every::Window(window) => Some(window.seconds(terms.now).end),
            Every::Rolling(length) => {
                let ends = counted.times(&place).into_iter().map(|time| time.saturating_add(i64::from(*length)));
                ends.filter(|end| *end > terms.now).min()
            }
        }
    };
    item.limits.iter().filter_map(of_limit).min()
}

/// How many units that were bought at these times count for a limit of one user at `at`, seconds since 1970 UTC.
pub fn bought_in(limit: &ItemLimit, times: &[i64], at: i64) -> u64 {
    let counts = limit.counted_at(at);
    let count = times.iter().filter(|time| counts.as_ref().is_some_and(|counts| counts.contains(time))).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The times of a user's units of an item as its ledger keeps them, once `units` were bought at `at`: as many as the item's limits in
/// time count. `None` if it has no limit of that kind.
pub fn times_after(item: &Item, times: &[i64], at: i64, units: u64) -> Option<Vec<i64>> {
    let most = item.limits.iter().filter(|limit| limit.per_user).map(|limit| limit.most).max()?;
    let mut times = times.to_vec();
    times.extend((0..units.min(u64::from(most))).map(|_| at));
    times.sort_unstable_by(|one, other| other.cmp(one));
    times.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Some(times)
}

/// The times without `units` that were bought at `at`; `None` if they have none of them.
pub fn times_without(times: &[i64], at: i64, units: u64) -> Option<Vec<i64>> {
    let mut left = units;
    let mut kept = times.to_vec();
    kept.retain(|time| {
        let goes = *time == at && left > 0;
        left -= u64::from(goes);
        !goes
    });
    (kept.len() < times.len()).then_some(kept)
}

/// The places of an item's counter in which units count that are sold for a server at `at`, if they still do at `now`; both in seconds
/// since 1970 UTC.
pub fn places(item: &Item, server: Option<ServerId>, at: i64, now: i64) -> Vec<String> {
    let limits = item.limits.iter().filter(|limit| limit.counts_for(server));
    let current = limits.filter(|limit| limit.counted_at(now).is_none_or(|counts| counts.contains(&at)));
    current.filter_map(|limit| limit.place(at)).collect()
}

/// The units of an order's lines in each place, without those that were refunded.
pub fn taken(lines: &[OrderLine]) -> Vec<Place> {
    let mut all: BTreeMap<(ItemId, &str), u64> = BTreeMap::new();
    for line in lines {
        for name in &line.places {
            *all.entry((line.item, name)).or_default() += u64::from(line.units());
        }
    }
    let place = |((item, name), units): ((ItemId, &str), u64)| Place { item, name: name.to_owned(), units };
    all.into_iter().map(place).filter(|place| place.units > 0).collect()
}

/// Units, codes and balances that are held for an order.
pub fn held(lines: &[OrderLine], effects: &OrderEffects) -> Held {
    let mut units: BTreeMap<ItemId, u64> = BTreeMap::new();
    for line in lines {
        *units.entry(line.item).or_default() += u64::from(line.count);
    }
    Held {
        units: units.into_iter().map(|(item, count)| Units { item, count }).collect(),
        places: taken(lines),
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
