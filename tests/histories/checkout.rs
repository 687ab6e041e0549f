//! The checkout in the model (rules.md, "Checkout"): what an order takes when it begins, who may begin one, and what is
//! in the table when every order is over. And the subscription (rules.md, "Limits and availability" and
//! "Periods of a subscription"): what is owned of it after payments and refunds in any order.

use super::cart::{Cart, Line, Made};
use super::checker::Model;
use super::model::{Books, Buyer, Done, NoOrder, Order, Stage, State, Status, Step};
use super::shop::{BALANCE, CARD, LEAST, LIMITED, MONTHLY, OPTIONS, TENTH, TENTH_USES, THREE, THREE_USES, Version};
use std::collections::BTreeSet;

impl Buyer {
    /// The orders that have taken what they sell: those that hold it, and those that are paid.
    fn taken<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (usize, &'a Made)> {
        let has_taken =
            |(place, _): &(usize, &Made)| matches!(state.orders[*place].status, Status::Pending | Status::Paid);
        self.made.iter().enumerate().filter(has_taken)
    }

    /// How often a code is used by orders other than `except`.
    fn uses(&self, state: &State, coupon: u8, except: Option<usize>) -> usize {
        self.taken(state).filter(|(place, made)| made.coupon == Some(coupon) && Some(*place) != except).count()
    }

    fn sold(&self, state: &State) -> i64 {
        self.taken(state).map(|(_, made)| made.units(LIMITED)).sum()
    }

    fn balance(&self, state: &State) -> i64 {
        BALANCE - self.taken(state).map(|(_, made)| made.from_card).sum::<i64>()
    }

    /// Whether a code can be used up, so that a refusal is allowed: some order of the history uses it.
    pub fn is_used(&self, code: u8) -> bool {
        self.made.iter().any(|made| if code == CARD { made.from_card > 0 } else { made.coupon == Some(code) })
    }

    /// Whether a code has nothing left that the cart could use.
    pub fn is_used_up(&self, state: &State, code: u8) -> bool {
        let except = state.cart.checkout;
        match code {
            TENTH => self.uses(state, TENTH, except) >= TENTH_USES,
            THREE => self.uses(state, THREE, except) >= THREE_USES,
            _ => {
                let own = except.map_or(0, |place| self.made[place].from_card);
                self.balance(state) + own <= 0
            }
        }
    }

    /// The states after payments/create has responded like this.
    pub fn create(&self, state: &State, created: Option<&Result<usize, NoOrder>>, versions: &[Version]) -> Vec<State> {
        let cart = &state.cart;
        let holds = |is_so: bool| if is_so { vec![state.clone()] } else { Vec::new() };
        let absent = (0..self.made.len()).filter(|place| state.orders[*place].status == Status::Absent);
        let any_begun = || absent.clone().filter_map(|place| self.begin(state, place, versions));
        let without_codes = || {
            let may_remove = |code: u8| self.is_used(code) || !cart.sells_more_than_limited();
            let coupons = [cart.coupon, None].into_iter().take(1 + usize::from(cart.coupon.is_some_and(may_remove)));
            let cards = [cart.card, false].into_iter().take(1 + usize::from(cart.card && may_remove(CARD)));
            let all = coupons.flat_map(|coupon| cards.clone().map(move |card| (coupon, card)));
            let removed = all.filter(|left| cart.checkout.is_none() && *left != (cart.coupon, cart.card));
            let after = |(coupon, card)| Cart { coupon, card, changed: true, ..cart.clone() };
            removed.map(|left| State { cart: after(left), orders: state.orders.clone() }).collect::<Vec<_>>()
        };
        match created {
            Some(Ok(place)) => {
                let order = state.orders[*place];
                let is_open = order.status == Status::Pending && cart.checkout == Some(*place) && !cart.changed;
                let is_over = matches!(order.status, Status::Paid | Status::Refunded)
                    && (cart.lines.is_empty() || self.made[*place].price == 0);
                match order.status {
                    Status::Absent => self.begin(state, *place, versions).into_iter().collect(),
                    _ => holds(is_open || is_over),
                }
            }
            Some(Err(NoOrder::Empty)) => holds(cart.lines.is_empty()),
            Some(Err(NoOrder::Stock)) => holds(cart.lines.iter().any(|line| line.item == LIMITED)),
            Some(Err(NoOrder::Least)) => {
                let total = |version: &Version| cart.total(*version, self.balance(state)).0;
                holds(versions.iter().any(|version| (1..LEAST).contains(&total(version))))
            }
            Some(Err(NoOrder::Processing)) => holds(
                state.orders.iter().any(|order| (order.status, order.stage) == (Status::Pending, Stage::Processing)),
            ),
            Some(Err(NoOrder::CodeRemoved)) => without_codes(),
            Some(Err(NoOrder::Contention)) => any_begun().chain([state.clone()]).collect(),
            Some(Err(NoOrder::Other(_))) => Vec::new(),
            None => any_begun().chain(without_codes()).collect(),
        }
    }

    /// The state after a checkout has begun; `None` if it cannot begin so.
    fn begin(&self, state: &State, place: usize, versions: &[Version]) -> Option<State> {
        let (cart, made) = (&state.cart, &self.made[place]);
        let fits = |version: &Version| {
            let (total, from_card) = cart.total(*version, self.balance(state));
            made.total() == total
                // What was read of the card may have been less, if an order was refunded meanwhile.
                && made.from_card <= from_card
                // A limit that was lowered since refuses units of its own item alone.
                && (made.units(LIMITED) == 0 || self.sold(state) + made.units(LIMITED) <= version.limit)
        };
        let is_left = match made.coupon {
            Some(TENTH) => self.uses(state, TENTH, None) < TENTH_USES,
            Some(THREE) => self.uses(state, THREE, None) < THREE_USES,
            _ => true,
        };
        let is_same = cart.has_lines_of(&made.lines) && cart.coupon == made.coupon && !cart.lines.is_empty();
        (cart.checkout.is_none() && is_same && is_left && versions.iter().any(fits)).then(|| {
            let mut after = state.clone();
            after.orders[place].status = Status::Pending;
            after.cart.checkout = Some(place);
            after.cart.changed = false;
            after
        })
    }

    /// The content of the table if everything is finished.
    pub fn books(&self, state: &State) -> Books {
        let is_paid = |place: &usize| state.orders[*place].status == Status::Paid;
        let paid: BTreeSet<usize> = (0..self.made.len()).filter(is_paid).collect();
        let sum = |of: &dyn Fn(usize) -> i64| paid.iter().map(|place| of(*place)).sum::<i64>();
        let kept = |place: usize| self.made[place].kept(state.orders[place].refunded);
        let last = last_run(&state.orders);
        let counts = |place: usize| state.orders[place].share.is_none_or(|share| share.run == last);
        let units = |place: usize, item: u8| match state.orders[place].share {
            Some(share) if item == MONTHLY => i64::from(share.begins),
            _ => self.made[place].units(item),
        };
        Books {
            statuses: state.orders.iter().map(|order| order.status).collect(),
            cart: Cart { changed: false, ..state.cart.clone() },
            sold: self.sold(state),
            tenth_uses: self.uses(state, TENTH, None),
            three_uses: self.uses(state, THREE, None),
            three_uses_by_user: self.uses(state, THREE, None),
            balance: self.balance(state),
            owned: [0, 1, 2, 3, 4, 5].map(|item| sum(&|place| if counts(place) { units(place, item) } else { 0 })),
            paid: sum(&|place| if counts(place) { kept(place) } else { 0 }),
            given: sum(&kept),
        }
    }
}

#[test]
fn a_limit_below_what_is_sold_refuses_its_own_item_alone() {
    let line = |item: u8| Line { id: 1, item, count: 1, choice: 0 };
    let made = |item: u8, count: u16, price: i64| Made {
        id: item.to_string(),
        lines: vec![Line { count, ..line(item) }],
        coupon: None,
        from_card: 0,
        price,
        tax: 0,
        period: None,
    };
    let buyer = Buyer { made: vec![made(LIMITED, 6, 1_800), made(OPTIONS, 1, 500), made(LIMITED, 1, 300)] };
    let mut state = buyer.start();
    state.orders[0].status = Status::Paid;
    let mut begins = |place: usize, item: u8| {
        state.cart.lines = vec![line(item)];
        buyer.begin(&state, place, &[Version { price: 500, limit: 4 }]).is_some()
    };
    assert_eq!((begins(1, OPTIONS), begins(2, LIMITED)), (true, false));
}

/// The part of a paid order in what is owned of the subscription. A history is shorter than a period, so that a run ends
/// within it only if everything that was paid of it is refunded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// The run that it is part of, the first being 1. Only the last run is owned.
    pub run: u8,
    /// Whether the run began with it: then it counts a unit, and the others none.
    pub begins: bool,
    /// How many periods later the run ends because of it.
    pub periods: u8,
}

impl Share {
    /// The share of the order that the subscription began with.
    pub const FIRST: Self = Self { run: 1, begins: true, periods: 1 };

    /// The share of an order that becomes PAID now and pays a period. While anything is left of the last run, it makes that
    /// last to the end of the period; otherwise it begins another one.
    pub fn next(orders: &[Order], period: u8) -> Self {
        let run = last_run(orders);
        let paid = orders.iter().filter(|order| order.status == Status::Paid).filter_map(|order| order.share);
        let left: u8 = paid.filter(|share| share.run == run).map(|share| share.periods).sum();
        match left {
            0 => Self { run: run + 1, begins: true, periods: period },
            _ => Self { run, begins: false, periods: period.saturating_sub(left) },
        }
    }
}

/// The run that is owned, or was the last one.
pub fn last_run(orders: &[Order]) -> u8 {
    orders.iter().filter_map(|order| order.share).map(|share| share.run).max().unwrap_or_default()
}

const PRICE: i64 = 799;

/// The units and the sum of the subscription that the model can have after these steps. It is paid so many periods.
fn owned_after(periods: u8, steps: &[[Done; 2]]) -> Vec<(i64, i64)> {
    let made = |period: u8| Made {
        id: period.to_string(),
        lines: vec![Line { id: 1, item: MONTHLY, count: u16::from(period == 1), choice: 0 }],
        coupon: None,
        from_card: 0,
        price: PRICE,
        tax: 0,
        period: Some(period),
    };
    let buyer = Buyer { made: (1..=periods).map(made).collect() };
    let after = |states: Vec<State>, done: &Done| {
        let step = Step { done: done.clone(), versions: Vec::new() };
        states.iter().flat_map(|state| buyer.step(state, &step)).collect()
    };
    let states = steps.iter().flatten().fold(vec![buyer.start()], after);
    let books = states.iter().map(|state| buyer.books(state));
    let mut found: Vec<(i64, i64)> = books.map(|books| (books.owned[usize::from(MONTHLY)], books.paid)).collect();
    found.dedup();
    found
}

#[test]
fn a_renewal_counts_a_unit_only_if_all_before_it_was_refunded() {
    let renewed = |order: usize| [Done::Renew(order), Done::Status(order, Status::Paid)];
    let refunded = |order: usize| [Done::Refund(order, PRICE), Done::Status(order, Status::Refunded)];
    assert_eq!(owned_after(2, &[renewed(1)]), [(1, 2 * PRICE)]);
    assert_eq!(owned_after(2, &[refunded(0), renewed(1)]), [(1, PRICE)]);
    assert_eq!(owned_after(2, &[renewed(1), refunded(0)]), [(0, PRICE)]);
    assert_eq!(owned_after(3, &[renewed(1), refunded(1), renewed(2)]), [(1, 2 * PRICE)]);
    assert_eq!(owned_after(3, &[refunded(0), renewed(1), refunded(1), renewed(2)]), [(1, PRICE)]);
    // A period that is heard of after the next one makes nothing longer: its run is over, and is owned no more.
    let late = [renewed(2), renewed(1), refunded(2), refunded(0)];
    assert_eq!(owned_after(3, &late), [(0, PRICE)]);
    let again = [&late[..], &[renewed(3)]].concat();
    assert_eq!(owned_after(4, &again), [(1, PRICE)]);
}
