//! The table compared with what its orders add up to, by the function that the service itself uses, and with what paid and held
//! orders take.

use crate::fixture::{BALANCE, USERS, code, goals, user};
use crate::shop::Shop;
use shared::model::{Cart, Code, Donations, Donor, Goal, Money, Order, OrderStatus, Patron, User, UserId};
use shared::rules::order::without_refunded;
use shared::rules::patrons::largest;
use shared::rules::payment::Progress;
use shared::rules::statistics::derive;
use shared::shop::orders::{StoredOrder, each_order};
use shared::shop::upkeep::audit;
use shared::shop::{carts, codes, statistics};
use shared::table::{Db, keys};
use std::collections::BTreeMap;
use tests::NOW;

const COUPONS: [&str; 4] = ["once", "each", "free", "few"];
/// The users whose uses of coupons are compared: 1 to this.
const BUYERS: u64 = 6;

/// The facts that the sums depend on, apart from the orders.
pub struct Facts {
    pub users: Vec<User>,
    pub goals: Vec<Goal>,
}

impl Facts {
    /// Those of the fixture.
    pub fn of_fixture() -> Self {
        Self { users: (1..=USERS).map(user).collect(), goals: goals(&[1, 2]) }
    }
}

/// Every order of a table.
pub async fn orders(db: &Db) -> Vec<StoredOrder> {
    let mut orders = Vec::new();
    each_order(db, |stored| orders.push(stored)).await.unwrap();
    orders
}

/// Fails unless counters, ledgers and the amounts of patrons are what the orders add up to.
pub async fn assert_audit(db: &Db) {
    let audit = audit(db, &|_| {}).await.unwrap();
    assert!(audit.is_clean(), "{audit:#?}");
}

/// Fails unless counters, ledgers and statistics are what the orders add up to.
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
    assert_audit(db).await;
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

/// Whether an order has what it takes.
pub fn has_taken(stored: &StoredOrder) -> bool {
    stored.effects.held || stored.order.status == OrderStatus::Paid
}

/// Fails unless uses and balance of the fixture's codes are what these orders took.
pub async fn assert_codes(db: &Db, orders: &[StoredOrder]) {
    let taken = || orders.iter().filter(|stored| has_taken(stored));
    let buyers = || (1..=BUYERS).map(UserId::new);
    let mut wanted = vec![keys::code(&code("card"))];
    for text in COUPONS.map(code) {
        wanted.extend(buyers().map(|buyer| keys::code_use(&text, buyer)));
        wanted.push(keys::code(&text));
    }
    let mut rows = db.batch_get(wanted).await.unwrap();
    for text in COUPONS {
        let used: Vec<&StoredOrder> = taken().filter(|stored| stored.effects.coupon == Some(code(text))).collect();
        match codes::take(&mut rows, &code(text)).unwrap() {
            Some(Code::Coupon(coupon)) => assert_eq!(coupon.uses as usize, used.len(), "uses of {text}"),
            other => assert!(other.is_none(), "{other:?}"),
        }
        for buyer in buyers() {
            let own = used.iter().filter(|stored| stored.order.owner == Some(buyer)).count();
            let counted = codes::take_uses(&mut rows, &code(text), buyer).unwrap();
            assert_eq!(counted.count as usize, own, "uses of {text} by {buyer}");
        }
    }
    let from_card: i64 = taken().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).sum();
    let Some(Code::Gift(gift)) = codes::take(&mut rows, &code("card")).unwrap() else { panic!("no card") };
    assert_eq!(gift.balance.minor(), BALANCE - from_card, "gift card");
}

pub async fn shown(db: &Db) -> Donations {
    statistics::donations(db).await.unwrap()
}

/// The orders, and what they add up to.
struct Books<'a> {
    shop: &'a Shop,
    all: Vec<StoredOrder>,
    carts: Vec<Cart>,
}

impl<'a> Books<'a> {
    async fn read(shop: &'a Shop) -> Self {
        let users = || (1..=USERS).map(UserId::new);
        let all = shop.orders().await;
        let mut rows = shop.db.batch_get(users().map(keys::cart).collect()).await.unwrap();
        let carts = users().map(|user| carts::take(&mut rows, user).unwrap()).collect();
        Self { shop, all, carts }
    }

    /// The sweep finds every order that waits, and carts remember no other.
    async fn assert_found(&self) {
        let waits = |stored: &StoredOrder| {
            stored.order.status == OrderStatus::Pending || stored.effects.cart_cleared == Some(false)
        };
        for stored in &self.all {
            let id = &stored.order.internal_id;
            assert!(!stored.effects.held || stored.order.status == OrderStatus::Pending, "{id}");
            assert!(!waits(stored) || stored.effects.due.is_some(), "{id} is not due");
            if let Some(row) = stored.unfinished() {
                assert!(self.shop.db.get(&row, true).await.unwrap().is_some(), "no row of {id}");
            }
        }
        for Cart { user, checkout, .. } in &self.carts {
            let Some(checkout) = checkout else { continue };
            let stored = self.all.iter().find(|stored| stored.order.internal_id == checkout.order);
            assert!(stored.is_some_and(waits), "the cart of {user} remembers {stored:?}");
        }
    }

    async fn assert_all(&self) {
        assert_codes(&self.shop.db, &self.all).await;
        assert_audit(&self.shop.db).await;
        self.assert_found().await;
        for (user, first) in self.shop.balances() {
            let own =
                self.all.iter().filter(|stored| has_taken(stored) && stored.order.owner == Some(UserId::new(user)));
            let spent: i64 = own.map(|stored| stored.effects.virtual_currency.minor()).sum();
            assert_eq!(self.shop.virtual_balance(user).await, first - spent, "virtual currency of {user}");
        }
    }
}

/// Fails unless counters, uses, balances and ledgers are what paid and held orders add up to, and the sweep finds every
/// order that waits.
pub async fn assert_books(shop: &Shop) {
    Books::read(shop).await.assert_all().await;
}

/// Fails unless, after one more sweep, the books are right and nothing waits, is held or is reserved any more.
pub async fn assert_quiet(shop: &Shop) {
    shop.sweep().await;
    let books = Books::read(shop).await;
    for stored in &books.all {
        assert_ne!(stored.order.status, OrderStatus::Pending, "{stored:?}");
        assert!(!stored.statistics_due() && stored.effects.due.is_none(), "{stored:?}");
    }
    assert!(books.carts.iter().all(|cart| cart.checkout.is_none()));
    assert_eq!(shop.unfinished().await, 0);
    for row in shop.items(keys::prefix::COUNT).await {
        assert!(!row.contains_key("reserving"), "{row:?}");
    }
    books.assert_all().await;
}

/// The number of orders that are paid.
pub async fn count_paid(shop: &Shop) -> usize {
    let all = shop.orders().await;
    all.iter().filter(|stored| stored.order.status == OrderStatus::Paid).count()
}

/// Fails if a checkout can still be paid whose order is not pending.
pub async fn assert_none_payable(shop: &Shop) {
    for open in shop.payments().await.into_iter().filter(|payment| payment.progress == Progress::Open) {
        assert_eq!(shop.status(&open.order.unwrap()).await, OrderStatus::Pending, "{} can still be paid", open.session);
    }
}
