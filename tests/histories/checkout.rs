//! The checkout in the model (rules.md, "Checkout"): what an order takes when it begins, who may begin one, and what is in
//! the table when every order is over.

use super::cart::Cart;
use super::made::{Line, Made};
use super::model::{Books, Buyer, NoOrder, Stage, State, Status};
use super::shop::{BALANCE, CARD, LEAST, LIMITED, MONTHLY, OPTIONS, TENTH, TENTH_USES, THREE, THREE_USES, Version};
use super::subscription::last_run;
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
