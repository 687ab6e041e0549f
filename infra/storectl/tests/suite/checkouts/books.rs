//! What is in the table against what paid and held orders add up to.

use super::support::{Market, SOLD};
use crate::orders_sums::orders;
use crate::orders_support::{BALANCE, USERS, code};
use shared::model::{Cart, InternalId, ItemId, OrderStatus, UserId};
use shared::rules::order::{by_item, holdings};
use shared::store::keys;
use shared::store::orders::StoredOrder;
use std::collections::BTreeMap;

fn has_taken(stored: &&StoredOrder) -> bool {
    stored.effects.held || stored.order.status == OrderStatus::Paid
}

/// Fails unless counters, uses, balances and ledgers are what paid and held orders add up to, and whatever waits is found
/// by the sweep. `virtual_balances` are what users had at first.
pub async fn assert_books(market: &Market, virtual_balances: &BTreeMap<u64, i64>) {
    let all = orders(&market.shop.db).await;
    let taken: Vec<&StoredOrder> = all.iter().filter(has_taken).collect();
    assert!(all.iter().all(|stored| !stored.effects.held || stored.order.status == OrderStatus::Pending));
    let units = |item: u64| -> u64 {
        let of = |stored: &&StoredOrder| by_item(&stored.order).get(&ItemId::new(item)).map_or(0, |(count, _)| *count);
        taken.iter().map(of).sum()
    };
    for item in SOLD {
        assert_eq!(market.shop.sold(item).await, i64::try_from(units(item)).unwrap(), "units of {item}");
    }
    for text in ["once", "each", "free", "few"] {
        let used = taken.iter().filter(|stored| stored.effects.coupon == Some(code(text)));
        assert_eq!(market.shop.uses(text).await, i64::try_from(used.count()).unwrap(), "uses of {text}");
        for user in 1..=6 {
            let own = |stored: &&&StoredOrder| {
                stored.effects.coupon == Some(code(text)) && stored.order.owner == Some(UserId::new(user))
            };
            let row = market.shop.number(&keys::code_use(&code(text), UserId::new(user)), "uses").await;
            assert_eq!(row, i64::try_from(taken.iter().filter(own).count()).unwrap(), "uses of {text} by {user}");
        }
    }
    let from_card: i64 =
        taken.iter().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).sum();
    assert_eq!(market.shop.balance().await, BALANCE - from_card, "gift card");
    for (user, first) in virtual_balances {
        let own = taken.iter().filter(|stored| stored.order.owner == Some(UserId::new(*user)));
        let spent: i64 = own.map(|stored| stored.effects.virtual_currency.minor()).sum();
        assert_eq!(market.virtual_balance(*user).await, first - spent, "virtual currency of {user}");
    }
    assert_ledgers(market, &all).await;
    assert_found(market, &all).await;
}

async fn assert_ledgers(market: &Market, all: &[StoredOrder]) {
    let mut owned: BTreeMap<(UserId, ItemId), i64> = BTreeMap::new();
    for stored in all.iter().filter(|stored| stored.order.status == OrderStatus::Paid) {
        for (user, items) in holdings(&stored.order) {
            for (item, (count, _)) in items {
                *owned.entry((user, item)).or_default() += i64::try_from(count).unwrap();
            }
        }
    }
    for user in (1..=USERS).map(UserId::new) {
        for item in SOLD {
            let expected = owned.get(&(user, ItemId::new(item))).copied().unwrap_or_default();
            assert_eq!(market.shop.held(user.get(), item).await, expected, "item {item} of {user}");
        }
    }
}

/// Whatever waits is found by the sweep, and carts remember only what waits.
async fn assert_found(market: &Market, all: &[StoredOrder]) {
    for stored in all {
        let waits = stored.order.status == OrderStatus::Pending || stored.effects.cart_cleared == Some(false);
        assert!(!waits || stored.effects.due.is_some(), "nobody looks at {}", stored.order.internal_id);
        if let Some(row) = stored.unfinished() {
            assert!(market.shop.db.get(&row, true).await.unwrap().is_some(), "no row of {}", stored.order.internal_id);
        }
    }
    for user in 1..=USERS {
        let Cart { checkout: Some(checkout), .. } = market.cart(user).await else { continue };
        let stored = market.order(&checkout.order).await;
        let waits = stored.order.status == OrderStatus::Pending || stored.effects.cart_cleared == Some(false);
        assert!(waits, "the cart of {user} remembers an order that is {:?}", stored.order.status);
    }
}

/// Fails unless nothing waits, is held, or is on its way any more, and the books are right.
pub async fn assert_quiet(market: &Market, virtual_balances: &BTreeMap<u64, i64>) {
    assert_books(market, virtual_balances).await;
    let all = orders(&market.shop.db).await;
    for stored in &all {
        assert_ne!(stored.order.status, OrderStatus::Pending, "{:?}", stored.effects);
        assert!(!stored.statistics_due() && stored.effects.due.is_none(), "{:?}", stored.effects);
    }
    assert_eq!(market.unfinished().await, 0);
    for user in 1..=USERS {
        assert_eq!(market.cart(user).await.checkout, None, "cart of {user}");
    }
    for item in SOLD {
        let row = market.shop.db.get(&keys::count(ItemId::new(item)), true).await.unwrap().unwrap_or_default();
        assert!(!row.contains_key("taking"), "{row:?}");
    }
}

/// The orders that are paid.
pub async fn paid(market: &Market) -> Vec<InternalId> {
    let all = orders(&market.shop.db).await;
    let paid = all.into_iter().filter(|stored| stored.order.status == OrderStatus::Paid);
    paid.map(|stored| stored.order.internal_id).collect()
}

/// Fails if a checkout can still be paid whose order is not pending.
pub async fn assert_none_payable(market: &Market) {
    use shared::rules::payment::Progress;
    for id in market.provider.in_state(Progress::Open) {
        assert_eq!(market.status(&id).await, OrderStatus::Pending, "{id} can still be paid");
    }
}
