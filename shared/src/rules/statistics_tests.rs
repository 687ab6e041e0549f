//! The sums of orders, by example and by property.

use super::*;
use crate::model::{InternalId, OrderLine, OrderNumber};
use proptest::prelude::*;

/// 2031-03-15T12:00:00Z.
const NOW: i64 = 1_931_342_400;
const DAY: i64 = 86_400;

fn order(id: u64, status: OrderStatus, owner: Option<u64>, created_at: i64, lines: &[(u64, u32, i64)]) -> Order {
    let line = |&(item, count, total)| OrderLine::new(ItemId::new(item), count, Money::from_minor(total));
    let lines: Vec<OrderLine> = lines.iter().map(line).collect();
    Order {
        id: OrderNumber::new(id),
        internal_id: InternalId::new(&format!("order-{id}")),
        price: lines.iter().map(|line| line.total).sum(),
        currency: "EUR".to_owned(),
        digits: 2,
        status,
        gateway: "g".to_owned(),
        created_at,
        owner: owner.map(UserId::new),
        moved_to: None,
        lines,
        tax: None,
    }
}

fn goals() -> Vec<Goal> {
    [1, 2].map(|id| Goal { id, goal_amount: Money::from_minor(100), ..Goal::default() }).to_vec()
}

fn sums(orders: &[Order], now: i64) -> Derived {
    derive(orders, &BTreeMap::new(), &goals(), now)
}

#[test]
fn the_top_is_of_this_month_in_utc_and_largest_first() {
    let first = NOW - 14 * DAY - 12 * 3_600;
    let orders = [
        order(1, OrderStatus::Paid, Some(5), first - 1, &[(7, 1, 900)]),
        order(2, OrderStatus::Paid, Some(5), first, &[(7, 1, 100)]),
        order(3, OrderStatus::Paid, Some(6), NOW, &[(8, 1, 200)]),
    ];
    let donations = sums(&orders, NOW).donations;
    assert_eq!(donations.month, "2031-03");
    let top: Vec<(u64, i64)> = donations.top.iter().map(|donor| (donor.user.get(), donor.amount.minor())).collect();
    assert_eq!(top, [(6, 200), (5, 100)]);
}

prop_compose! {
    fn some_order()(
        id in 1_u64..1_000,
        status in prop::sample::select(OrderStatus::ALL.to_vec()),
        owner in prop::option::of(1_u64..4),
        age in 0_i64..90,
        lines in prop::collection::vec((5_u64..9, 1_u32..4, 0_i64..10_000), 0..4),
    ) -> Order {
        order(id, status, owner, NOW - age * DAY, &lines)
    }
}

proptest! {
    #[test]
    fn the_order_of_orders_does_not_matter(mut orders in prop::collection::vec(some_order(), 0..20)) {
        orders.sort_by_key(|order| order.id);
        orders.dedup_by_key(|order| order.id);
        let sorted = sums(&orders, NOW);
        orders.reverse();
        prop_assert_eq!(sums(&orders, NOW), sorted);
    }

    #[test]
    fn what_is_not_paid_changes_nothing(orders in prop::collection::vec(some_order(), 0..20)) {
        let paid: Vec<Order> = orders.iter().filter(|order| order.status == OrderStatus::Paid).cloned().collect();
        prop_assert_eq!(sums(&orders, NOW), sums(&paid, NOW));
    }

    #[test]
    fn ledgers_and_patrons_agree_and_stay_within_the_goals(orders in prop::collection::vec(some_order(), 0..20)) {
        let sums = sums(&orders, NOW);
        let held: Money = sums.ledgers.values().flat_map(Ledger::iter).map(|(_, held)| held.all.paid).sum();
        let given: Money = sums.patrons.iter().map(|donor| donor.amount).sum();
        prop_assert_eq!(held, given);
        prop_assert!(given <= sums.donations.goals["1"]);
        let month: Money = sums.donations.top.iter().map(|donor| donor.amount).sum();
        prop_assert!(month <= given);
    }
}
