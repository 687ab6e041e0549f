//! The cart in the model (rules.md, "Carts" and "Adding and changing lines"), its lines, the orders that are made of
//! them, and what codes take off.

use super::ops::{CartOp, Said};
use super::shop::{AMOUNT, ANY_PRICE, CARD, LEAST, LIMITED, OPTIONS, SERVERS, TENTH, THREE, Version, price};

/// A line: item, units, and what was chosen (a server, a colour, or euros).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Line {
    pub id: u8,
    pub item: u8,
    pub count: u16,
    pub choice: u16,
}

/// An order that was made in the history, with the values in the table at the end. None of them ever changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub id: String,
    pub lines: Vec<Line>,
    pub coupon: Option<u8>,
    /// The amount that the gift card pays, in cents.
    pub from_card: i64,
    /// The amount that is left to pay; once it is paid, with the tax on top.
    pub price: i64,
    /// The tax on top, once it is paid.
    pub tax: i64,
    /// Which period of the subscription it pays, the first being 1; `None` if it is not one of it.
    pub period: Option<u8>,
}

impl Made {
    /// The price after its coupon; a gift card counts as money.
    pub const fn total(&self) -> i64 {
        self.price - self.tax + self.from_card
    }

    /// What is left of the price after its coupon if so much of the payment is refunded: tax goes back in proportion, half up.
    pub const fn kept(&self, refunded: i64) -> i64 {
        let tax = if self.price == 0 { 0 } else { (2 * self.tax * refunded + self.price) / (2 * self.price) };
        self.total() - (refunded - tax)
    }

    pub fn units(&self, item: u8) -> i64 {
        self.lines.iter().filter(|line| line.item == item).map(|line| i64::from(line.count)).sum()
    }
}

/// The price of lines that cost this much: the total after a coupon, and what a gift card with this balance pays of it.
/// It leaves nothing or the least amount.
pub fn after_codes(lines: &[i64], coupon: Option<u8>, balance: i64) -> (i64, i64) {
    let all: i64 = lines.iter().sum();
    let total = match coupon {
        // Each line is rounded half up.
        Some(TENTH) => lines.iter().map(|line| line - (line + 5) / 10).sum(),
        Some(THREE) => (all - AMOUNT).max(0),
        _ => all,
    };
    let from_card = if balance >= total { total } else { balance.min(total - LEAST).max(0) };
    (total, from_card)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cart {
    pub lines: Vec<Line>,
    pub next: u8,
    pub coupon: Option<u8>,
    /// Whether the gift card is on it.
    pub card: bool,
    pub referral: Option<u8>,
    /// The order whose checkout the cart remembers, by its place.
    pub checkout: Option<usize>,
    /// Whether the cart has changed since this checkout began.
    pub changed: bool,
}

impl Default for Cart {
    fn default() -> Self {
        Self { lines: Vec::new(), next: 1, coupon: None, card: false, referral: None, checkout: None, changed: false }
    }
}

impl Cart {
    /// Whether a line costs something whose stock does not matter: a code applies to it.
    pub fn sells_more_than_limited(&self) -> bool {
        self.lines.iter().any(|line| line.item != LIMITED)
    }

    /// The price of the cart after its coupon, and the amount that a gift card with this balance pays of it.
    pub fn total(&self, version: Version, balance: i64) -> (i64, i64) {
        let cost = |line: &Line| price(line.item, line.choice, version) * i64::from(line.count);
        after_codes(&self.lines.iter().map(cost).collect::<Vec<_>>(), self.coupon, if self.card { balance } else { 0 })
    }

    /// Whether these are the lines of an order for this cart. An order has no price that the buyer chose; its total tells.
    pub fn has_lines_of(&self, sold: &[Line]) -> bool {
        let of_order = |line: &Line| Line { choice: if line.item == ANY_PRICE { 0 } else { line.choice }, ..*line };
        self.lines.iter().map(of_order).eq(sold.iter().copied())
    }

    /// Removes what was bought. Units and lines that were added meanwhile stay.
    pub fn remove_bought(&mut self, made: &Made) {
        for line in &mut self.lines {
            let of_line = |sold: &&Line| (sold.id, sold.item) == (line.id, line.item);
            let sold: u16 = made.lines.iter().filter(of_line).map(|sold| sold.count).sum();
            line.count = line.count.saturating_sub(sold);
        }
        self.lines.retain(|line| line.count > 0);
        self.coupon.take_if(|on_cart| Some(*on_cart) == made.coupon);
        self.card &= made.from_card == 0;
        self.checkout = None;
    }

    /// Everything that a request may respond, with the cart after it. `most` is the largest limit of [`LIMITED`]; fewer may
    /// be left, so that more units of it may be refused.
    pub fn outcomes(&self, op: CartOp, most: i64) -> Vec<(Said, Self)> {
        let refused = || (Said::Refused, self.clone());
        match op {
            CartOp::Add { item, count, choice } => {
                let added = self.with_added(item, count, choice);
                let fits = added.1.units(LIMITED) <= most;
                match item {
                    LIMITED if fits => vec![added, refused()],
                    LIMITED => vec![refused()],
                    _ => vec![added],
                }
            }
            CartOp::Remove(id) => vec![(Said::Done, self.changed(|cart| cart.lines.retain(|line| line.id != id)))],
            CartOp::Reload { line, count } => {
                let mut outcomes = self.with_line(line, |line| line.count = count, |_| true);
                outcomes.retain(|(_, cart)| cart.units(LIMITED) <= most.max(self.units(LIMITED)));
                let is_more = |old: &Line| old.id == line && old.item == LIMITED && old.count != count;
                if outcomes.is_empty() || self.lines.iter().any(is_more) {
                    outcomes.push(refused());
                }
                outcomes
            }
            CartOp::SetVariable { line, colour } => {
                self.with_line(line, |line| line.choice = colour, |line| line.item == OPTIONS)
            }
            CartOp::SelectServer { line, server } => {
                self.with_line(line, |line| line.choice = server, |line| line.item == SERVERS && server <= 2)
            }
            CartOp::ChangePrice { line, euros } => {
                self.with_line(line, |line| line.choice = euros, |line| line.item == ANY_PRICE && euros > 0)
            }
            CartOp::Accept(_) if self.lines.is_empty() => vec![refused()],
            CartOp::Accept(code) => {
                let said = match self.coupon {
                    _ if code == CARD && self.card => Said::Already,
                    _ if code == CARD => Said::Done,
                    None => Said::Done,
                    Some(on_cart) if on_cart == code => Said::Already,
                    Some(_) => Said::Replaced,
                };
                vec![(said, self.changed(|cart| cart.put(code))), refused()]
            }
            CartOp::RemoveCoupon => self.without_code(self.coupon.is_some(), |cart| cart.coupon = None),
            CartOp::RemoveGiftcard => self.without_code(self.card, |cart| cart.card = false),
            CartOp::SetReferral(code) => match self.referral {
                None => vec![(Said::Done, self.changed(|cart| cart.referral = Some(code)))],
                Some(set) if set == code => vec![(Said::Already, self.clone())],
                Some(_) => vec![refused()],
            },
            CartOp::RemoveReferral if self.referral.is_none() => vec![refused()],
            CartOp::RemoveReferral => vec![(Said::Done, self.changed(|cart| cart.referral = None))],
        }
    }

    fn units(&self, item: u8) -> i64 {
        self.lines.iter().filter(|line| line.item == item).map(|line| i64::from(line.count)).sum()
    }

    /// The cart after a change. One that changes nothing is not written, and a checkout stays that of the cart.
    fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut cart = self.clone();
        change(&mut cart);
        cart.changed |= cart != *self;
        cart
    }

    fn with_added(&self, item: u8, count: u16, choice: u16) -> (Said, Self) {
        let same = self.lines.iter().find(|line| (line.item, line.choice) == (item, choice));
        let id = same.map_or(self.next, |line| line.id);
        let after = self.changed(|cart| match cart.lines.iter_mut().find(|line| line.id == id) {
            Some(line) => line.count += count,
            None => {
                cart.lines.push(Line { id, item, count, choice });
                cart.next += 1;
            }
        });
        (Said::Added(id), after)
    }

    /// The only outcome of changing a line, which it allows or not.
    fn with_line(&self, id: u8, change: impl Fn(&mut Line), allows: impl Fn(&Line) -> bool) -> Vec<(Said, Self)> {
        if !self.lines.iter().any(|line| line.id == id && allows(line)) {
            return vec![(Said::Refused, self.clone())];
        }
        let change = |cart: &mut Self| cart.lines.iter_mut().filter(|line| line.id == id).for_each(change);
        vec![(Said::Done, self.changed(change))]
    }

    fn put(&mut self, code: u8) {
        if code == CARD { self.card = true } else { self.coupon = Some(code) }
    }

    fn without_code(&self, has_one: bool, remove: impl FnOnce(&mut Self)) -> Vec<(Said, Self)> {
        vec![if has_one { (Said::Done, self.changed(remove)) } else { (Said::Refused, self.clone()) }]
    }
}
