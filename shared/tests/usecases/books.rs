//! The table compared with what paid and held orders add up to.

use crate::market::{Market, SOLD};
use crate::shop::USERS;
use crate::sums::{assert_codes, has_taken, orders};
use shared::model::{Cart, ItemId, OrderStatus, UserId};
use shared::rules::order::{by_item, holdings};
use shared::rules::payment::Progress;
use shared::store::orders::StoredOrder;
use shared::store::{Rows, carts, counters, keys, ledgers};
use std::collections::BTreeMap;

/// The orders, and what they add up to.
struct Books<'a> {
    market: &'a Market,
    all: Vec<StoredOrder>,
    rows: Rows,
    carts: Vec<Cart>,
}

impl<'a> Books<'a> {
    async fn read(market: &'a Market) -> Self {
        let users = || (1..=USERS).map(UserId::new);
        let mut wanted: Vec<keys::Key> = users().flat_map(|user| [keys::ledger(user), keys::cart(user)]).collect();
        wanted.extend(SOLD.map(|item| keys::count(ItemId::new(item))));
        let all = orders(&market.db).await;
        let mut rows = market.db.batch_get(wanted).await.unwrap();
        let carts = users().map(|user| carts::take(&mut rows, user).unwrap()).collect();
        Self { market, all, rows, carts }
    }

    fn taken(&self) -> Vec<StoredOrder> {
        self.all.iter().filter(|stored| has_taken(stored)).cloned().collect()
    }

    async fn assert_counters(&mut self, is_quiet: bool) {
        let mut units: BTreeMap<ItemId, u64> = BTreeMap::new();
        for stored in self.taken() {
            for (item, (count, _)) in by_item(&stored.order) {
                *units.entry(item).or_default() += count;
            }
        }
        for item in SOLD.map(ItemId::new) {
            let sold = counters::take(&mut self.rows, item).unwrap().unwrap_or(0);
            let expected = units.get(&item).copied().unwrap_or_default();
            assert_eq!(u64::try_from(sold).unwrap(), expected, "units of {item}");
            if is_quiet {
                let row = self.market.db.get(&keys::count(item), true).await.unwrap().unwrap_or_default();
                assert!(!row.contains_key("taking"), "{row:?}");
            }
        }
    }

    fn assert_ledgers(&mut self) {
        let mut owned: BTreeMap<UserId, BTreeMap<ItemId, u64>> = BTreeMap::new();
        for stored in self.all.iter().filter(|stored| stored.order.status == OrderStatus::Paid) {
            for (user, items) in holdings(&stored.order) {
                for (item, (count, _)) in items {
                    *owned.entry(user).or_default().entry(item).or_default() += count;
                }
            }
        }
        for user in (1..=USERS).map(UserId::new) {
            let ledger = ledgers::take(&mut self.rows, user).unwrap();
            let units = ledger.iter().map(|(item, held)| (item, u64::from(held.units)));
            let units: BTreeMap<ItemId, u64> = units.filter(|(_, units)| *units > 0).collect();
            assert_eq!(units, owned.remove(&user).unwrap_or_default(), "ledger of {user}");
        }
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
                assert!(self.market.db.get(&row, true).await.unwrap().is_some(), "no row of {id}");
            }
        }
        for Cart { user, checkout, .. } in &self.carts {
            let Some(checkout) = checkout else { continue };
            let stored = self.all.iter().find(|stored| stored.order.internal_id == checkout.order);
            assert!(stored.is_some_and(waits), "the cart of {user} remembers {stored:?}");
        }
    }

    async fn assert_all(&mut self, is_quiet: bool) {
        assert_codes(&self.market.db, &self.all).await;
        self.assert_counters(is_quiet).await;
        self.assert_ledgers();
        self.assert_found().await;
        let taken = self.taken();
        for (user, first) in self.market.balances() {
            let own = taken.iter().filter(|stored| stored.order.owner == Some(UserId::new(user)));
            let spent: i64 = own.map(|stored| stored.effects.virtual_currency.minor()).sum();
            assert_eq!(self.market.virtual_balance(user).await, first - spent, "virtual currency of {user}");
        }
    }
}

/// Fails unless counters, uses, balances and ledgers are what paid and held orders add up to, and the sweep finds every
/// order that waits.
pub async fn assert_books(market: &Market) {
    Books::read(market).await.assert_all(false).await;
}

/// Fails unless, after one more sweep, the books are right and nothing waits, is held or is reserved any more.
pub async fn assert_quiet(market: &Market) {
    market.sweep().await;
    let mut books = Books::read(market).await;
    for stored in &books.all {
        assert_ne!(stored.order.status, OrderStatus::Pending, "{stored:?}");
        assert!(!stored.statistics_due() && stored.effects.due.is_none(), "{stored:?}");
    }
    assert!(books.carts.iter().all(|cart| cart.checkout.is_none()));
    assert_eq!(market.unfinished().await, 0);
    books.assert_all(true).await;
}

/// The number of orders that are paid.
pub async fn count_paid(market: &Market) -> usize {
    let all = orders(&market.db).await;
    all.iter().filter(|stored| stored.order.status == OrderStatus::Paid).count()
}

/// Fails if a checkout can still be paid whose order is not pending.
pub async fn assert_none_payable(market: &Market) {
    for id in market.provider.in_state(Progress::Open) {
        assert_eq!(market.status(&id).await, OrderStatus::Pending, "{id} can still be paid");
    }
}
