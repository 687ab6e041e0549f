//! What everything costs, worked out apart from the rules: from the world as it was drawn, in whole cents.

use super::world::{Kind, Off, Thing, Wish, World, is_within};
use std::collections::BTreeSet;

/// The price of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub regular: i64,
    pub price: i64,
    /// The sales of which one made it; empty if the item's own discount is as good.
    pub sales: BTreeSet<u64>,
    /// What codes begin with: another price if that of a sale does not go with them.
    pub with_codes: i64,
}

/// An item as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub unit: Unit,
    pub is_unavailable: bool,
}

/// A cart as it is paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paid {
    /// The price of a unit, what the line costs, and what the coupon takes off it, if that is known to the cent.
    pub lines: Vec<(i64, i64, Option<i64>)>,
    /// What the coupon takes off in all: from, and up to.
    pub coupon: (i64, i64),
}

/// Half up.
pub fn part_of(amount: i64, hundredths: i64) -> i64 {
    let exact = i128::from(amount) * i128::from(hundredths);
    i64::try_from((exact + 5_000).div_euclid(10_000)).unwrap()
}

impl World {
    /// What is left of a price. An amount off a difference leaves the least that can be paid, or all that there is.
    fn less(&self, due: i64, off: Off, is_difference: bool) -> i64 {
        match off {
            Off::Percentage(hundredths) => due - part_of(due, hundredths),
            Off::Amount(cents) if is_difference => (due - cents).max(self.least.min(due)),
            Off::Amount(cents) => (due - cents).max(0),
        }
    }

    fn paid_for_steps(&self) -> i64 {
        self.owned.iter().filter(|(id, _)| *id < 200).map(|(_, paid)| paid).sum()
    }

    /// A unit whose price before any discount is `regular`, of which `paid` is taken off.
    fn unit(&self, thing: &Thing, regular: i64, paid: Option<i64>, is_known: bool, now: i64) -> Unit {
        let due = (regular - paid.unwrap_or(0)).max(0);
        let own = thing.off.map_or(due, |off| self.less(due, off, paid.is_some()));
        // Of what its buyer names, this is what is shown.
        let own = if thing.kind == Kind::Named { own.max(100) } else { own };
        let owns = |ids: &[u64]| is_known && self.owned.iter().any(|(id, _)| ids.contains(id));
        let counts = |kind| kind == Kind::Step || kind == Kind::Plain;
        let running = self.sales.iter().filter(|sale| {
            let is_covered = sale.scope.covers(thing.id) && !sale.except.contains(&thing.id);
            let is_for = sale.owners_of.is_empty() || owns(&sale.owners_of);
            is_covered && is_for && counts(thing.kind) && is_within(sale.times, now)
        });
        let mut unit = Unit { regular, price: own, sales: BTreeSet::new(), with_codes: own };
        for sale in running {
            let price = self.less(due, sale.off, paid.is_some());
            if price < unit.price {
                (unit.price, unit.sales) = (price, BTreeSet::new());
            }
            if price == unit.price && price < own {
                unit.sales.insert(sale.id);
            }
            if sale.with_codes {
                unit.with_codes = unit.with_codes.min(price);
            }
        }
        unit
    }

    /// An item in the catalog; `None` if lists leave it out.
    pub fn shown(&self, thing: &Thing, is_known: bool, now: i64) -> Option<Shown> {
        if thing.times.1.is_some_and(|until| until <= now) {
            return None;
        }
        let owned = |(id, _): &(u64, i64)| *id < 200 && self.thing(*id).price >= thing.price;
        let owns_as_good = is_known && thing.kind == Kind::Step && self.owned.iter().any(owned);
        let is_unavailable = owns_as_good || !is_within(thing.times, now);
        let is_difference = is_known && thing.kind == Kind::Step && !is_unavailable;
        let paid = is_difference.then(|| self.paid_for_steps());
        Some(Shown { unit: self.unit(thing, thing.price, paid, is_known, now), is_unavailable })
    }

    /// A unit of a line; `None` if it cannot be bought.
    fn of_line(&self, wish: &Wish, now: i64) -> Option<Unit> {
        let thing = self.thing(wish.id);
        let gold = if wish.is_gold { thing.gold.unwrap_or(0) } else { 0 };
        let fixed = |price| Unit { regular: price, price, sales: BTreeSet::new(), with_codes: price };
        let is_own_step = thing.kind == Kind::Step && !wish.is_gift;
        if !is_within(thing.times, now) || is_own_step && self.shown(thing, true, now)?.is_unavailable {
            return None;
        }
        if let Some(named) = wish.named {
            return Some(fixed(named.max(100)));
        }
        if let Some(promoted) = thing.promoted.filter(|_| wish.is_promoted) {
            return Some(fixed(promoted + gold));
        }
        let pack = thing.packs.iter().rev().find(|(count, _)| *count <= wish.count);
        let regular = pack.map_or(thing.price, |(_, price)| *price) + gold;
        let paid = is_own_step.then(|| self.paid_for_steps());
        Some(self.unit(thing, regular, paid, true, now))
    }

    /// What the coupon takes off each line, if that is known to the cent, and in all: from, and up to. Of a line whose sale does
    /// not go with codes it takes off by how much it is better.
    fn coupon(&self, lines: &[(&Wish, Unit)]) -> (Vec<Option<i64>>, (i64, i64)) {
        let Some((off, scope)) = &self.coupon else { return (vec![Some(0); lines.len()], (0, 0)) };
        let covered = |wish: &Wish| scope.covers(wish.id);
        let before = |(wish, unit): &(&Wish, Unit)| if covered(wish) { unit.with_codes * wish.count } else { 0 };
        let by_sale = |(wish, unit): &(&Wish, Unit)| (unit.with_codes - unit.price) * wish.count;
        let all: i64 = lines.iter().map(before).sum();
        match *off {
            Off::Percentage(hundredths) => {
                let part = |line| (part_of(before(line), hundredths) - by_sale(line)).max(0);
                let parts: Vec<i64> = lines.iter().map(part).collect();
                let sum = parts.iter().sum();
                (parts.into_iter().map(Some).collect(), (sum, sum))
            }
            Off::Amount(cents) => {
                let mut covered = lines.iter().filter(|(wish, _)| covered(wish));
                if lines.iter().all(|line| by_sale(line) == 0) {
                    (vec![None; lines.len()], (cents.min(all), cents.min(all)))
                } else if let (Some(line), None) = (covered.next(), covered.next()) {
                    let sum = (cents.min(all) - by_sale(line)).max(0);
                    (vec![None; lines.len()], (sum, sum))
                } else {
                    (vec![None; lines.len()], (0, cents))
                }
            }
        }
    }

    /// Which wishes can be fulfilled, and what they cost together.
    pub fn paid(&self, now: i64) -> (Vec<bool>, Paid) {
        let units: Vec<Option<Unit>> = self.wishes.iter().map(|wish| self.of_line(wish, now)).collect();
        let can = units.iter().map(Option::is_some).collect();
        let lines: Vec<(&Wish, Unit)> =
            self.wishes.iter().zip(units).filter_map(|(wish, unit)| Some((wish, unit?))).collect();
        let (parts, coupon) = self.coupon(&lines);
        let line = |((wish, unit), part): (&(&Wish, Unit), Option<i64>)| (unit.price, unit.price * wish.count, part);
        (can, Paid { lines: lines.iter().zip(parts).map(line).collect(), coupon })
    }
}
