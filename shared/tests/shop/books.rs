//! The table compared with what paid and held orders add up to.

use crate::shop::{Shop, USERS};
use crate::sums::{assert_audit, assert_codes, has_taken};
use shared::model::{Cart, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::shop::carts;
use shared::shop::orders::StoredOrder;
use shared::table::keys;

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
