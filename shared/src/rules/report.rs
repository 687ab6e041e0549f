//! What a store earned in a time (rules.md, "What was earned"): orders and changes of the provider's balance in, sums out. What was
//! read is not kept, only sums, the buyers' ids and the first differences.

use crate::model::{
    Back, BalanceChange, BalanceKind, InternalId, ItemId, Money, Order, OrderEffects, OrderLine, OrderStatus, ServerId,
    UserId, Window,
};
use crate::rules::order::spread;
use crate::rules::payment::was_returned;
use std::collections::{BTreeMap, HashMap};
use std::ops::{AddAssign, Range};

/// What the sums are split by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    #[default]
    Day,
    Month,
    Item,
    Category,
    Server,
    Referral,
    Coupon,
    Method,
    Country,
}

impl By {
    /// Each by its word.
    pub const ALL: [(&str, Self); 9] = [
        ("day", Self::Day),
        ("month", Self::Month),
        ("item", Self::Item),
        ("category", Self::Category),
        ("server", Self::Server),
        ("referral", Self::Referral),
        ("coupon", Self::Coupon),
        ("method", Self::Method),
        ("country", Self::Country),
    ];

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, by)| *by)
    }

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, by)| *by == self).map_or("", |(word, _)| word)
    }
}

/// Sums in minor units of the store's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Orders that were paid.
    pub orders: u64,
    /// What was sold, at the regular prices.
    pub gross: Money,
    /// What sales, coupons and upgrades took off that.
    pub discounts: Money,
    /// The part that gift cards paid, less what went back to them.
    pub gift_cards: Money,
    /// The tax in what was received, less that of what went back.
    pub tax: Money,
    /// The money that was received, tax included.
    pub received: Money,
    pub refunds: Money,
    pub disputes: Money,
    /// The provider's fees, as far as it pays out in the store's currency.
    pub fees: Money,
    /// What was paid in virtual currency, less what went back.
    pub virtual_currency: Money,
}

impl Sums {
    /// What the store has: received, less refunds, disputes and fees.
    #[must_use]
    pub fn net(&self) -> Money {
        self.received - self.refunds - self.disputes - self.fees
    }

    fn amounts(&mut self) -> [&mut Money; 9] {
        let Self { orders: _, gross, discounts, gift_cards, tax, received, refunds, disputes, fees, virtual_currency } =
            self;
        [gross, discounts, gift_cards, tax, received, refunds, disputes, fees, virtual_currency]
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, mut more: Self) {
        self.orders += more.orders;
        for (own, more) in self.amounts().into_iter().zip(more.amounts()) {
            *own = *own + *more;
        }
    }
}

/// The provider's own account of the time, in minor units of one currency in which it pays out. Payouts are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    pub charges: Money,
    pub refunds: Money,
    pub disputes: Money,
    pub other: Money,
    pub fees: Money,
    pub net: Money,
    /// The part of `net` that has no order here, and how many changes it is.
    pub without_order: Money,
    pub without_order_count: u64,
}

/// What an order and the provider disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub order: InternalId,
    pub kind: DifferenceKind,
    /// In minor units of the order's currency.
    pub here: Money,
    pub provider: Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Paid here, and not in the provider's list.
    NotListed,
    /// Charged by the provider, and not paid here.
    NotPaid,
    /// The provider charged another amount.
    Amount,
    /// More went back at the provider than the order says.
    Returned,
}

/// The most differences that are kept.
pub const MOST_DIFFERENCES: usize = 1_000;

/// Names for what orders have by id, as they are now: under another name it was the same.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub items: HashMap<ItemId, String>,
    pub categories: HashMap<ItemId, String>,
    pub servers: HashMap<ServerId, String>,
}

/// A report while it is made.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub by: By,
    /// The time that it is about, seconds since 1970 UTC.
    pub time: Range<i64>,
    /// Code of the store's currency.
    pub currency: String,
    days: Window,
    names: Names,
    /// The sums by day, item or whatever else, under what is shown of it.
    pub groups: BTreeMap<String, Sums>,
    pub total: Sums,
    /// By currency.
    pub balance: BTreeMap<String, Balance>,
    /// Checkouts that were begun in the time, those of them that are paid by now, and those that were left.
    pub checkouts: [u64; 3],
    pub differences: Vec<Difference>,
    pub differences_count: u64,
    /// Buyers with a paid order, and whether one of their orders in the time is their first.
    buyers: HashMap<UserId, bool>,
    /// What went back at the provider in the time, of orders of which something did; refunds that failed are in it.
    returned: HashMap<InternalId, Money>,
}

/// The group of what orders have not.
const NONE: &str = "-";

impl Report {
    pub fn new(by: By, time: Range<i64>, days: Window, currency: String, names: Names) -> Self {
        Self { by, time, currency, days, names, ..Self::default() }
    }

    /// Buyers whose first purchase is in the time, and those who had bought before.
    pub fn buyers(&self) -> (usize, usize) {
        let new = self.buyers.values().filter(|is_new| **is_new).count();
        (new, self.buyers.len() - new)
    }

    /// An order that was made in the time, whatever became of it.
    pub fn made(&mut self, order: &Order, effects: &OrderEffects) {
        let is_begun = effects.provider.is_some() && !effects.subscription.as_ref().is_some_and(|own| own.renewal);
        if !is_begun {
            return;
        }
        let [begun, paid, left] = &mut self.checkouts;
        *begun += 1;
        match order.status {
            OrderStatus::Paid | OrderStatus::Refunded => *paid += 1,
            OrderStatus::Failed | OrderStatus::Cancelled => *left += 1,
            OrderStatus::Pending => {}
        }
    }

    /// An order that was paid at a second, with the change of the balance if it was paid at the provider.
    pub fn sold(&mut self, order: &Order, effects: &OrderEffects, at: i64, charge: Option<&BalanceChange>) {
        let card = effects.card();
        let discount: Money = order.lines.iter().map(|line| line.discount).sum();
        let own = charge.filter(|charge| charge.currency == self.currency);
        if let Some(charge) = charge.filter(|_| !order.status.was_paid()) {
            // Money of an order that is not paid: nothing was sold for it.
            if !was_returned(effects, charge.intent.as_ref()) {
                self.differ(order, DifferenceKind::NotPaid, Money::ZERO, charge.of);
            }
            let received = own.map_or(charge.of, |charge| charge.amount);
            let fees = own.map_or(Money::ZERO, |charge| charge.fee);
            return self.add(order, effects, at, Sums { received, fees, ..Sums::default() });
        }
        let sums = Sums {
            orders: 1,
            gross: order.total() + discount,
            discounts: discount,
            gift_cards: card,
            tax: order.tax.as_ref().map_or(Money::ZERO, |tax| tax.amount),
            received: own.map_or_else(|| self.received(order, card), |charge| charge.amount),
            fees: own.map_or_else(|| self.known_fee(effects, charge), |charge| charge.fee),
            virtual_currency: effects.virtual_currency,
            ..Sums::default()
        };
        if let Some(owner) = order.owner {
            *self.buyers.entry(owner).or_default() |= effects.first_purchase;
        }
        if let Some(charge) = charge {
            self.differ(order, DifferenceKind::Amount, order.price, charge.of);
        }
        self.add(order, effects, at, sums);
    }

    /// What was received for an order, in the store's currency: one that was recorded in another has its lines in it.
    fn received(&self, order: &Order, card: Money) -> Money {
        if order.currency == self.currency { order.price } else { order.total().less(card) + order.tax_on_top() }
    }

    /// The fee that an order itself knows, if no list of the provider has it.
    fn known_fee(&self, effects: &OrderEffects, charge: Option<&BalanceChange>) -> Money {
        let proceeds = effects.facts.as_ref().and_then(|facts| facts.proceeds.as_ref());
        let proceeds = proceeds.filter(|proceeds| charge.is_none() && proceeds.currency == self.currency);
        proceeds.map_or(Money::ZERO, |proceeds| proceeds.fee)
    }

    /// An order that is paid here at the provider, which does not list it.
    pub fn not_listed(&mut self, order: &Order) {
        self.differ(order, DifferenceKind::NotListed, order.price, Money::ZERO);
    }

    /// What went back of an order by the store's hand. `has_money` is `false` if the provider says that of its money.
    pub fn back(&mut self, order: &Order, effects: &OrderEffects, at: i64, back: Back, has_money: bool) {
        let card = effects.card();
        let money = if order.currency == self.currency {
            back.money
        } else {
            self.received(order, card).portion(back.money, order.price)
        };
        let sums = Sums {
            gift_cards: Money::ZERO - back.gift_card,
            tax: if has_money { Money::ZERO - order.tax_of(back.money) } else { Money::ZERO },
            refunds: if has_money { money } else { Money::ZERO },
            virtual_currency: Money::ZERO - back.virtual_currency,
            ..Sums::default()
        };
        self.add(order, effects, at, sums);
    }

    /// A refund or a dispute at the provider, of an order.
    pub fn returned(&mut self, order: &Order, effects: &OrderEffects, change: &BalanceChange) {
        let is_taken = change.amount < Money::ZERO;
        let of = if is_taken { change.of } else { Money::ZERO - change.of };
        let taken = if change.currency == self.currency { Money::ZERO - change.amount } else { of };
        let is_dispute = change.kind() == BalanceKind::Dispute;
        let tax = order.tax_of(change.of);
        let sums = Sums {
            tax: if is_taken { Money::ZERO - tax } else { tax },
            refunds: if is_dispute { Money::ZERO } else { taken },
            disputes: if is_dispute { taken } else { Money::ZERO },
            fees: if change.currency == self.currency { change.fee } else { Money::ZERO },
            ..Sums::default()
        };
        // A dispute that is open took money, and the order does not say that it is lost. A refund that failed has come back, and may
        // have done so after this time.
        if is_taken && !is_dispute {
            let returned = self.returned.entry(order.internal_id.clone()).or_default();
            *returned = *returned + of;
            let (here, provider) = (came_back(order, effects), returned.less(effects.failed_refunds));
            let is_more = provider > here && order.status != OrderStatus::Pending;
            if is_more && !self.differences.iter().any(|known| known.order == order.internal_id) {
                self.differ(order, DifferenceKind::Returned, here, provider);
            }
        }
        self.add(order, effects, change.created, sums);
    }

    /// A change of the balance, for the provider's own account of the time. `has_order` is whether it is an order's.
    pub fn listed(&mut self, change: &BalanceChange, has_order: bool) {
        let balance = self.balance.entry(change.currency.clone()).or_default();
        let own = match change.kind() {
            BalanceKind::Payout => return,
            BalanceKind::Charge => &mut balance.charges,
            BalanceKind::Refund => &mut balance.refunds,
            BalanceKind::Dispute => &mut balance.disputes,
            BalanceKind::Other => &mut balance.other,
        };
        *own = *own + change.amount;
        balance.fees = balance.fees + change.fee;
        balance.net = balance.net + change.net;
        if !has_order {
            balance.without_order = balance.without_order + change.net;
            balance.without_order_count += 1;
        }
    }

    fn differ(&mut self, order: &Order, kind: DifferenceKind, here: Money, provider: Money) {
        if here == provider {
            return;
        }
        self.differences_count += 1;
        if self.differences.len() < MOST_DIFFERENCES {
            self.differences.push(Difference { order: order.internal_id.clone(), kind, here, provider });
        }
    }

    /// Adds sums of an order to the total, and to its groups.
    fn add(&mut self, order: &Order, effects: &OrderEffects, at: i64, sums: Sums) {
        self.total += sums;
        match self.by {
            By::Day | By::Month => {
                let day = day_text(self.days.number(at));
                let length = if self.by == By::Day { day.len() } else { day.len() - 3 };
                let group = day.get(..length).unwrap_or(&day).to_owned();
                *self.groups.entry(group).or_default() += sums;
            }
            By::Item | By::Category | By::Server => {
                for (group, part) in by_line(order, &sums, |line| self.group_of(line)) {
                    *self.groups.entry(group).or_default() += part;
                }
            }
            By::Referral | By::Coupon | By::Method | By::Country => {
                *self.groups.entry(self.group_of_order(order, effects)).or_default() += sums;
            }
        }
    }

    fn group_of(&self, line: &OrderLine) -> String {
        let found = match self.by {
            By::Category => self.names.categories.get(&line.item).cloned(),
            By::Server => line.chosen.as_ref().and_then(|chosen| chosen.server).map(|server| {
                self.names.servers.get(&server).map_or_else(|| server.to_string(), |name| format!("{name} ({server})"))
            }),
            _ => {
                let sold_as = line.chosen.as_ref().map(|chosen| &chosen.name);
                let name = self.names.items.get(&line.item).or(sold_as);
                Some(name.map_or_else(|| line.item.to_string(), |name| format!("{name} ({})", line.item)))
            }
        };
        found.unwrap_or_else(|| NONE.to_owned())
    }

    fn group_of_order(&self, order: &Order, effects: &OrderEffects) -> String {
        let facts = effects.facts.as_ref();
        let found = match self.by {
            By::Referral => effects.referral.as_ref().map(|referral| referral.code.as_str().to_owned()),
            By::Coupon => effects.coupon.as_ref().map(|coupon| coupon.as_str().to_owned()),
            By::Country => facts.and_then(|facts| facts.country.clone()),
            _ => Some(facts.and_then(|facts| facts.method.clone()).unwrap_or_else(|| order.gateway.clone())),
        };
        found.filter(|text| !text.is_empty()).unwrap_or_else(|| NONE.to_owned())
    }
}

/// What of an order's money came back to the buyer, as the order says.
fn came_back(order: &Order, effects: &OrderEffects) -> Money {
    if order.status == OrderStatus::Paid { effects.refunded } else { order.price }
}

/// The sums of an order by its lines, which add up to them; an order is counted once in each group.
fn by_line(order: &Order, sums: &Sums, group: impl Fn(&OrderLine) -> String) -> BTreeMap<String, Sums> {
    let lines = &order.lines;
    // Of an order without amounts everything is the first line's.
    let parts = |amount: Money| {
        let mut parts = spread(lines, amount);
        let rest = amount - parts.iter().copied().sum();
        if let Some(first) = parts.first_mut() {
            *first = *first + rest;
        }
        parts
    };
    let sold = |line: &OrderLine| match sums.orders {
        0 => Sums::default(),
        _ => Sums { gross: line.total + line.discount, discounts: line.discount, ..Sums::default() },
    };
    let mut own: Vec<Sums> = lines.iter().map(sold).collect();
    let mut shared = Sums { gross: Money::ZERO, discounts: Money::ZERO, ..*sums };
    let virtual_totals: Vec<Money> = lines.iter().map(|line| line.virtual_total).collect();
    if virtual_totals.iter().copied().sum::<Money>() != Money::ZERO {
        let parts = std::mem::take(&mut shared.virtual_currency).spread(&virtual_totals);
        own.iter_mut().zip(parts).for_each(|(own, part)| own.virtual_currency = part);
    }
    for (place, amount) in shared.amounts().into_iter().enumerate() {
        for (own, part) in own.iter_mut().zip(parts(*amount)) {
            let own = &mut *own.amounts()[place];
            *own = *own + part;
        }
    }
    let mut groups: BTreeMap<String, Sums> = BTreeMap::new();
    for (line, own) in lines.iter().zip(own) {
        let found = groups.entry(group(line)).or_default();
        found.orders = sums.orders;
        *found += own;
    }
    if lines.is_empty() {
        groups.insert(NONE.to_owned(), *sums);
    }
    groups
}

/// The seconds (since 1970 UTC) of a day since 1970 in a time zone.
pub fn seconds_of_day(days: &Window, day: i64) -> Range<i64> {
    // Noon in UTC is of that day, or of the one before or after it.
    let noon = day.saturating_mul(86_400).saturating_add(43_200);
    days.seconds(noon.saturating_add((day - days.number(noon)).saturating_mul(86_400)))
}

/// A day since 1970 as text, such as `2027-05-01`.
pub fn day_text(day: i64) -> String {
    let text = crate::money::iso_8601(day.saturating_mul(86_400));
    text.get(..10).unwrap_or(&text).to_owned()
}
