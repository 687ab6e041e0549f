//! The sequential model of one buyer: cart, codes, stock, checkouts and payments, as rules.md describes them. It calls
//! nothing of the service.
//!
//! The changes that the service may make by itself at any moment, such as writing what the provider says, is in [`closure`]: an
//! operation is explained if it is so in one of these states.

use super::cart::{Cart, Line, Made};
use super::checker::Model;
use super::checkout::Share;
use super::ops::{CartOp, Said, Shown};
use super::shop::{ANY_PRICE, CARD, Version, price};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not written yet.
    Absent,
    Pending,
    Paid,
    Cancelled,
    /// A debit failed.
    Failed,
    Refunded,
}

/// How far a checkout is at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Open,
    /// It is paid by a debit, whose money is not there yet.
    Processing,
    Paid,
    Failed,
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    pub status: Status,
    pub stage: Stage,
    /// The amount that the provider has refunded, in cents.
    pub refunded: i64,
    /// Whether what was bought has left the cart.
    pub cleared: bool,
    /// Its part in what is owned of the subscription, from when it was paid on.
    pub share: Option<Share>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub cart: Cart,
    /// The orders that are ever made, in the order of their numbers.
    pub orders: Vec<Order>,
}

/// How a checkout ended that did not respond with an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoOrder {
    Empty,
    /// Too few units are left, or they are not for sale.
    Stock,
    /// A code leaves less to pay than the least amount.
    Least,
    CodeRemoved,
    /// The last payment is neither there nor failed.
    Processing,
    /// Other requests changed the cart or ended the checkout.
    Contention,
    /// A refusal that no history should have.
    Other(String),
}

/// An operation with its response. `None` is no response, or one that does not say whether it was done.
#[derive(Debug, Clone)]
pub enum Done {
    Cart(CartOp, Option<Said>),
    Show(Shown),
    Create(Option<Result<usize, NoOrder>>),
    Pay(usize),
    Debit(usize),
    /// A debit succeeds or fails.
    Settle(usize, bool),
    Expire(usize),
    Refund(usize, i64),
    /// The operator has refunded up to this total.
    RefundTo(usize, i64),
    /// The provider has been paid for a further period.
    Renew(usize),
    /// The service has read what the provider said of an order, when it was so at least.
    Noticed(usize, Stage, i64),
    Status(usize, Status),
    /// Another user was shown the order.
    Spied,
    /// Everything is finished, and this is in the table.
    End(Box<Books>),
}

/// The content of the table at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    pub statuses: Vec<Status>,
    pub cart: Cart,
    pub sold: i64,
    pub tenth_uses: usize,
    pub three_uses: usize,
    pub three_uses_by_user: usize,
    pub balance: i64,
    /// The buyer's units of each item.
    pub owned: [i64; 6],
    /// The amount paid, by the ledger.
    pub paid: i64,
    /// The amount given, by the statistics.
    pub given: i64,
}

/// An operation, and the versions of the store that it may have used.
#[derive(Debug, Clone)]
pub struct Step {
    pub done: Done,
    pub versions: Vec<Version>,
}

/// The facts of a history that are known beforehand.
#[derive(Debug)]
pub struct Buyer {
    pub made: Vec<Made>,
}

impl Model for Buyer {
    type State = State;
    type Op = Step;

    fn step(&self, state: &State, step: &Step) -> Vec<State> {
        let is_end = matches!(step.done, Done::End(_));
        let mut after = Vec::new();
        for state in self.closure(state, is_end) {
            for next in self.apply(&state, step) {
                if !after.contains(&next) {
                    after.push(next);
                }
            }
        }
        after
    }
}

impl Buyer {
    /// The state before a history: an empty cart, after the line of a subscription that is paid.
    pub fn start(&self) -> State {
        let order = |made: &Made| {
            let (status, stage, share) = match made.period {
                Some(1) => (Status::Paid, Stage::Paid, Some(Share::FIRST)),
                _ => (Status::Absent, Stage::Open, None),
            };
            Order { status, stage, refunded: 0, cleared: made.period.is_some(), share }
        };
        let subscribed = self.made.iter().filter(|made| made.period == Some(1)).count();
        let next = 1 + u8::try_from(subscribed).unwrap();
        State { cart: Cart { next, ..Cart::default() }, orders: self.made.iter().map(order).collect() }
    }

    /// The states in which the service may be without another request: it has written what the provider says, ended a
    /// checkout whose cart has changed, or removed from the cart what was bought. At the end every checkout is over.
    fn closure(&self, state: &State, is_end: bool) -> Vec<State> {
        let mut states = vec![state.clone()];
        let mut at = 0;
        while at < states.len() {
            for place in 0..self.made.len() {
                for next in self.by_itself(&states[at], place, is_end) {
                    if !states.contains(&next) {
                        states.push(next);
                    }
                }
            }
            at += 1;
        }
        states
    }

    /// The states to which an order may change by itself.
    fn by_itself(&self, state: &State, place: usize, is_end: bool) -> Vec<State> {
        let (order, made) = (state.orders[place], &self.made[place]);
        let is_remembered = state.cart.checkout == Some(place);
        let is_refunded = made.price > 0 && order.refunded >= made.price;
        let set = |status: Status, stage: Stage| {
            let mut state = state.clone();
            state.orders[place] = Order { status, stage, ..order };
            if order.status == Status::Pending && status == Status::Paid {
                state.orders[place].share = made.period.map(|period| Share::next(&state.orders, period));
            }
            if matches!(status, Status::Cancelled | Status::Failed) && is_remembered {
                state.cart.checkout = None;
            }
            state
        };
        let mut next = Vec::new();
        match (order.status, order.stage) {
            // A further period that is paid at the provider.
            (Status::Absent, Stage::Paid) => next.push(set(Status::Pending, Stage::Paid)),
            (Status::Pending, _) if made.price == 0 => next.push(set(Status::Paid, Stage::Paid)),
            (Status::Pending, Stage::Paid) => {
                next.push(set(Status::Paid, Stage::Paid));
                // It was refunded before it was seen.
                next.extend(is_refunded.then(|| set(Status::Cancelled, Stage::Paid)));
            }
            (Status::Pending, Stage::Failed) => next.push(set(Status::Failed, Stage::Failed)),
            (Status::Pending, Stage::Expired) => next.push(set(Status::Cancelled, Stage::Expired)),
            (Status::Pending, Stage::Open) if is_end || state.cart.changed || !is_remembered => {
                next.push(set(Status::Cancelled, Stage::Expired));
            }
            (Status::Paid, _) if is_refunded => next.push(set(Status::Refunded, order.stage)),
            _ => {}
        }
        if matches!(order.status, Status::Paid | Status::Refunded) && !order.cleared {
            let mut cleared = state.clone();
            cleared.orders[place].cleared = true;
            if is_remembered {
                cleared.cart.remove_bought(made);
                // The checkout of a refunded order may be forgotten before.
                if order.status == Status::Refunded {
                    let mut forgotten = state.clone();
                    forgotten.orders[place].cleared = true;
                    forgotten.cart.checkout = None;
                    next.push(forgotten);
                }
            }
            next.push(cleared);
        }
        next
    }

    fn apply(&self, before: &State, step: &Step) -> Vec<State> {
        let holds = |is_so: bool| if is_so { vec![before.clone()] } else { Vec::new() };
        match &step.done {
            Done::Cart(op, said) => self.cart(before, *op, *said, &step.versions),
            Done::Show(shown) => holds(self.shows(before, shown, &step.versions)),
            Done::Create(created) => self.create(before, created.as_ref(), &step.versions),
            Done::Pay(order) | Done::Expire(order) | Done::Debit(order) | Done::Settle(order, _) => {
                let (mut after, was) = (before.clone(), before.orders[*order]);
                let (from, to) = match step.done {
                    Done::Pay(_) => (Stage::Open, Stage::Paid),
                    Done::Debit(_) => (Stage::Open, Stage::Processing),
                    Done::Settle(_, true) => (Stage::Processing, Stage::Paid),
                    Done::Settle(_, false) => (Stage::Processing, Stage::Failed),
                    _ => (Stage::Open, Stage::Expired),
                };
                after.orders[*order].stage = to;
                // What can be paid at the provider, or waits there, is pending here.
                if was.status == Status::Pending && was.stage == from { vec![after] } else { Vec::new() }
            }
            Done::Refund(order, cents) => {
                let mut after = before.clone();
                after.orders[*order].refunded += cents;
                if before.orders[*order].stage == Stage::Paid { vec![after] } else { Vec::new() }
            }
            Done::RefundTo(order, total) => {
                let (mut after, was) = (before.clone(), before.orders[*order]);
                after.orders[*order].refunded = *total;
                if was.stage == Stage::Paid && was.refunded <= *total { vec![after] } else { Vec::new() }
            }
            Done::Renew(order) => {
                let mut after = before.clone();
                after.orders[*order].stage = Stage::Paid;
                if before.orders[*order].stage == Stage::Open { vec![after] } else { Vec::new() }
            }
            Done::Noticed(order, stage, refunded) => {
                let status = before.orders[*order].status;
                holds(match stage {
                    _ if status == Status::Absent => false,
                    Stage::Paid if *refunded >= self.made[*order].price => {
                        matches!(status, Status::Refunded | Status::Cancelled)
                    }
                    Stage::Paid | Stage::Failed | Stage::Expired => status != Status::Pending,
                    Stage::Open | Stage::Processing => true,
                })
            }
            Done::Status(order, status) => holds(before.orders[*order].status == *status),
            Done::Spied => Vec::new(),
            Done::End(books) => {
                let is_quiet = before.orders.iter().all(|order| order.status != Status::Pending);
                holds(is_quiet && before.cart.checkout.is_none() && self.books(before) == **books)
            }
        }
    }

    fn cart(&self, state: &State, op: CartOp, said: Option<Said>, versions: &[Version]) -> Vec<State> {
        if said == Some(Said::Contention) {
            return vec![state.clone()];
        }
        let most = versions.iter().map(|version| version.limit).max().unwrap_or_default();
        let mut outcomes = state.cart.outcomes(op, most);
        if let CartOp::Accept(code) = op {
            let may_refuse = !state.cart.sells_more_than_limited() || self.is_used(code);
            outcomes.retain(|(said, _)| match said {
                Said::Refused => may_refuse,
                Said::Already => true,
                _ => !self.is_used_up(state, code),
            });
        }
        let matching = outcomes.into_iter().filter(|(outcome, _)| said.is_none_or(|said| said == *outcome));
        matching.map(|(_, cart)| State { cart, orders: state.orders.clone() }).collect()
    }

    fn shows(&self, state: &State, shown: &Shown, versions: &[Version]) -> bool {
        let cart = &state.cart;
        let has_price =
            |line: &Line, cents: i64| versions.iter().any(|version| price(line.item, line.choice, *version) == cents);
        let same_lines = cart.lines.len() == shown.lines.len()
            && cart.lines.iter().zip(&shown.lines).all(|(line, shown)| {
                let choice = shown.choice.unwrap_or(if line.item == ANY_PRICE { line.choice } else { 0 });
                (line.id, line.item, line.count, line.choice) == (shown.id, shown.item, shown.count, choice)
                    && has_price(line, shown.cents)
            });
        let may_hide = |code: u8| !cart.sells_more_than_limited() || self.is_used(code);
        let same_coupon = match (cart.coupon, shown.coupon) {
            (Some(coupon), None) => may_hide(coupon),
            (coupon, shown) => coupon == shown,
        };
        let same_card = cart.card == shown.card || cart.card && may_hide(CARD);
        let same_code = same_coupon && same_card;
        let checkout = cart.checkout.map(|place| &self.made[place].id);
        same_lines && same_code && cart.referral == shown.referral && checkout == shown.checkout.as_ref()
    }
}
