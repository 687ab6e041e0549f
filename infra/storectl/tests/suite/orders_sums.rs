//! What is in the table against what its orders add up to, by the one function that says so.

use crate::orders_support::Shop;
use shared::model::{Donations, Donor, Goal, Holding, ItemId, Money, Order, OrderStatus, Patron, User, UserId};
use shared::rules::order::without_refunded;
use shared::rules::patrons::largest;
use shared::rules::statistics::derive;
use shared::store::orders::{StoredOrder, get as show};
use shared::store::{Db, codec, keys, ledgers, statistics};
use std::collections::{BTreeMap, BTreeSet};
use tests::NOW;

/// What the sums depend on beside the orders.
pub struct Facts {
    pub users: Vec<User>,
    pub goals: Vec<Goal>,
}

impl Facts {
    /// Those of the fixture.
    pub fn of_fixture() -> Self {
        use crate::orders_support::{USERS, goals, user};
        Self { users: (1..=USERS).map(user).collect(), goals: goals(&[1, 2]) }
    }
}

/// Every order of a table.
pub async fn orders(db: &Db) -> Vec<StoredOrder> {
    let (mut orders, mut start) = (Vec::new(), None);
    loop {
        let scan = db.client().scan().table_name(db.table()).filter_expression("attribute_exists(internal_id)");
        let page = scan.set_exclusive_start_key(start).send().await.unwrap();
        for item in page.items.unwrap_or_default() {
            let order: Order = codec::decode_live(&codec::key_of(&item).unwrap(), item).unwrap();
            orders.push(show(db, &order.internal_id).await.unwrap().unwrap());
        }
        start = page.last_evaluated_key;
        if start.is_none() {
            return orders;
        }
    }
}

/// Fails unless ledgers, counters, uses, balances and statistics are what the orders add up to.
pub async fn assert_sums(db: &Db, facts: &Facts) {
    let stored = orders(db).await;
    assert!(stored.iter().all(|order| !order.statistics_due()), "statistics are behind");
    let less_refunds = |stored: &StoredOrder| without_refunded(&stored.order, stored.effects.refunded);
    let orders: Vec<Order> = stored.iter().map(less_refunds).collect();
    let users: BTreeMap<UserId, &User> = facts.users.iter().map(|user| (user.id, user)).collect();
    let shown = statistics::donations(db).await.unwrap();
    let at =
        (0..4_000).map(|days| NOW - days * 86_400).find(|at| Donations::month_of(*at) == shown.month).unwrap_or(NOW);
    let sums = derive(&orders, &users, &facts.goals, at);
    for user in users.keys() {
        let key = keys::ledger(*user);
        let ledger = ledgers::take(&mut db.batch_get(vec![key]).await.unwrap(), *user).unwrap();
        let held: Vec<(ItemId, Holding)> = ledger.iter().filter(|(_, held)| *held != Holding::default()).collect();
        let expected: Vec<_> = sums.ledgers.get(user).map(|ledger| ledger.iter().collect()).unwrap_or_default();
        assert_eq!(held, expected, "ledger of {user}");
    }
    let items: BTreeSet<ItemId> = orders.iter().flat_map(|order| &order.lines).map(|line| line.item).collect();
    for item in &items {
        let row = db.get(&keys::count(*item), true).await.unwrap().unwrap_or_default();
        let sold: u64 = row.get("sold").map_or(0, |value| value.as_n().unwrap().parse().unwrap());
        assert_eq!(sold, sums.sold.get(item).copied().unwrap_or_default(), "sold of {item}");
    }
    let goals: BTreeMap<String, Money> =
        shown.goals.iter().map(|(goal, sum)| (goal.clone(), *sum)).filter(|(_, sum)| *sum > Money::ZERO).collect();
    let given: BTreeMap<String, Money> =
        sums.donations.goals.into_iter().filter(|(_, sum)| *sum > Money::ZERO).collect();
    assert_eq!(goals, given);
    assert_eq!(shown.top, sums.donations.top);
    assert_eq!(shown.recent, sums.donations.recent);
    let this_month = derive(&orders, &users, &facts.goals, NOW).donations;
    assert!(shown.month == this_month.month || this_month.top.is_empty(), "the newest month is not the one shown");
    assert_patrons(db, sums.patrons).await;
}

async fn assert_patrons(db: &Db, expected: Vec<Donor>) {
    let mut patrons = statistics::patrons(db).await.unwrap();
    patrons.sort_by_key(|donor| donor.user);
    assert_eq!(patrons, expected);
    let top = statistics::top_patrons(db).await.unwrap();
    assert_eq!(top, largest(expected.iter().map(Patron::from)));
}

/// Fails unless uses and balance of the fixture's codes are what its paid orders took.
pub async fn assert_codes(shop: &Shop) {
    use crate::orders_support::{BALANCE, code};
    let paid: Vec<StoredOrder> = orders(&shop.db).await;
    let paid: Vec<&StoredOrder> = paid.iter().filter(|stored| stored.order.status == OrderStatus::Paid).collect();
    for text in ["once", "each", "free", "few"] {
        let of = |stored: &&&StoredOrder| stored.effects.coupon == Some(code(text));
        let used: Vec<&&StoredOrder> = paid.iter().filter(of).collect();
        assert_eq!(shop.uses(text).await, i64::try_from(used.len()).unwrap(), "{text}");
        for number in 1..5 {
            let buyer = UserId::new(number);
            let by_user = used.iter().filter(|stored| stored.order.owner == Some(buyer)).count();
            let row = shop.number(&keys::code_use(&code(text), buyer), "uses").await;
            assert_eq!(row, i64::try_from(by_user).unwrap(), "{text} by {buyer}");
        }
    }
    let taken: i64 = paid.iter().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).sum();
    assert_eq!(shop.balance().await, BALANCE - taken);
}

pub async fn shown(db: &Db) -> Donations {
    statistics::donations(db).await.unwrap()
}
