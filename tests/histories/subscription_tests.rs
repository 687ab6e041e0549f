//! The subscription in the model, in histories with one order of steps.

use super::checker::Model;
use super::made::{Line, Made};
use super::model::{Buyer, Done, State, Status, Step};
use super::shop::MONTHLY;

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
