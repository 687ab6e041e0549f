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
        digits: Some(2),
        status,
        gateway: "g".to_owned(),
        created_at,
        owner: owner.map(UserId::new),
        lines,
    }
}

fn goals() -> Vec<Goal> {
    [1, 2].map(|id| Goal { id, name: String::new(), goal_amount: Money::from_minor(100) }).to_vec()
}

fn sums(orders: &[Order], now: i64) -> Derived {
    derive(orders, &BTreeMap::new(), &goals(), now)
}

#[test]
fn only_paid_orders_count() {
    for status in OrderStatus::ALL {
        let sums = sums(&[order(1, status, Some(5), NOW, &[(7, 2, 300)])], NOW);
        let counts = status == OrderStatus::Paid;
        assert_eq!(!sums.ledgers.is_empty(), counts, "{status:?}");
        assert_eq!(!sums.sold.is_empty(), counts, "{status:?}");
        assert_eq!(!sums.patrons.is_empty(), counts, "{status:?}");
        assert_eq!(!sums.donations.recent.is_empty(), counts, "{status:?}");
        assert_eq!(!sums.donations.top.is_empty(), counts, "{status:?}");
        assert_eq!(sums.donations.goals["1"], Money::from_minor(if counts { 300 } else { 0 }), "{status:?}");
    }
}

#[test]
fn a_guests_order_counts_for_goals_and_limits_only() {
    let sums = sums(&[order(1, OrderStatus::Paid, None, NOW, &[(7, 2, 300)])], NOW);
    assert_eq!(sums.donations.goals["2"], Money::from_minor(300));
    assert_eq!(sums.sold[&ItemId::new(7)], 2);
    assert!(sums.ledgers.is_empty() && sums.patrons.is_empty());
    assert!(sums.donations.top.is_empty() && sums.donations.recent.is_empty());
}

#[test]
fn a_gift_counts_for_its_recipient_and_its_payer_is_the_donor() {
    let mut given = order(1, OrderStatus::Paid, Some(5), NOW, &[(7, 1, 300), (8, 1, 200)]);
    given.lines[1] = given.lines[1].clone().gift_for(UserId::new(6));
    let sums = sums(&[given], NOW);
    let owned = |user: u64, item: u64| sums.ledgers[&UserId::new(user)].of(ItemId::new(item));
    let held = |units, paid| Holding { units, paid: Money::from_minor(paid) };
    assert_eq!((owned(5, 7), owned(5, 8)), (held(1, 300), Holding::default()));
    assert_eq!((owned(6, 7), owned(6, 8)), (Holding::default(), held(1, 200)));
    assert_eq!(sums.sold[&ItemId::new(8)], 1);
    assert_eq!(sums.patrons.iter().map(|donor| donor.user.get()).collect::<Vec<_>>(), [5]);
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

#[test]
fn the_last_ten_donations_are_shown_newest_first() {
    let orders: Vec<Order> =
        (1..=12).map(|id| order(id, OrderStatus::Paid, Some(5), NOW - DAY, &[(7, 1, 100)])).collect();
    let recent = sums(&orders, NOW).donations.recent;
    let ids: Vec<&str> = recent.iter().map(|donation| donation.order.as_str()).collect();
    assert_eq!(ids.len(), Donations::RECENT);
    assert_eq!((ids[0], ids[9]), ("order-12", "order-3"));
}

#[test]
fn a_user_who_gave_nothing_is_not_a_donor() {
    let sums = sums(&[order(1, OrderStatus::Paid, Some(5), NOW, &[(7, 1, 0)])], NOW);
    assert!(sums.patrons.is_empty() && sums.donations.top.is_empty() && sums.donations.recent.is_empty());
    assert_eq!(sums.ledgers[&UserId::new(5)].of(ItemId::new(7)).units, 1);
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
        let held: Money = sums.ledgers.values().flat_map(Ledger::iter).map(|(_, held)| held.paid).sum();
        let given: Money = sums.patrons.iter().map(|donor| donor.amount).sum();
        prop_assert_eq!(held, given);
        prop_assert!(given <= sums.donations.goals["1"]);
        let month: Money = sums.donations.top.iter().map(|donor| donor.amount).sum();
        prop_assert!(month <= given);
    }
}
