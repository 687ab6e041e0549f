//! Many buyers at once, over connections of their own.

use crate::shop::{BALANCE, FIVE, PLAIN, PRICE, Refused, Shop, line};
use crate::sums::{assert_books, assert_none_payable, assert_quiet};
use futures_util::future::join_all;
use shared::model::{InternalId, Money, OrderStatus};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::payments::{Desk, Settled};
use shared::shop::statistics;
use std::collections::BTreeSet;
use stripe_stand_in::Action;

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_coupon_is_on_as_many_checkouts_as_it_has_uses() {
    let shop = Shop::open().await;
    for buyer in 1..=24 {
        shop.fill(buyer, &[(PLAIN, 1)], Some("few")).await;
    }
    let instances = shop.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, buyer))).await;
    let ok = all.iter().filter(|created| created.is_ok()).count();
    let removed = all
        .iter()
        .filter(|created| matches!(created, Err(Refused::Refused(CheckoutRefusal::CodeRemoved { .. }))))
        .count();
    assert_eq!((ok, removed, shop.uses("few").await), (3, 21, 3), "{all:?}");
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_gift_card_is_spent_to_the_cent() {
    let shop = Shop::open().await;
    for buyer in 1..=24 {
        shop.fill(buyer, &[(PLAIN, 3)], Some("card")).await;
    }
    let instances = shop.instances(8);
    let all = join_all((1..=24).zip(instances.iter().cycle()).map(|(buyer, by)| shop.create_by(by, buyer))).await;
    let orders = shop.orders().await;
    let parts: BTreeSet<i64> =
        orders.iter().filter_map(|stored| Some(stored.effects.gift_card.as_ref()?.amount.minor())).collect();
    assert_eq!((shop.balance().await, parts), (0, BTreeSet::from([BALANCE % (3 * PRICE), 3 * PRICE])));
    assert_eq!(all.iter().filter(|created| created.is_ok()).count(), 4, "{all:?}");
    assert_books(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn fifty_requests_for_one_cart_are_one_order() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], Some("once")).await;
    let instances = shop.instances(8);
    let all = join_all((0..50).zip(instances.iter().cycle()).map(|(_, by)| shop.create_by(by, 1))).await;
    let ids: BTreeSet<String> = all.iter().map(|created| created.as_ref().unwrap().order.to_string()).collect();
    assert_eq!((ids.len(), shop.orders().await.len(), shop.stand_in.sessions().len()), (1, 1, 1));
    assert_eq!((shop.sold(FIVE).await, shop.uses("once").await), (2, 1));
    shop.sweep_later().await;
    assert_quiet(&shop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_checkout_a_changed_cart_a_payment_and_its_end_at_once() {
    for round in 0..12_u32 {
        let shop = Shop::open().await;
        let first = shop.checkout(1, &[(FIVE, 2)], Some("once")).await;
        let instances = shop.instances(8);
        let change = async {
            let mut cart = shop.cart(1).await;
            cart.lines.push(line(9, PLAIN, 1));
            // It may lose against the payment.
            _ = shared::shop::carts::save(&instances[1].db, &cart).await;
        };
        let pay = async {
            if round % 3 != 0 {
                tokio::task::yield_now().await;
            }
            _ = shop.try_act(&first, Action::Pay);
            look(&shop, &first, &instances[2].db).await;
        };
        let expire = async {
            shop.end(&first, Progress::Expired);
            look(&shop, &first, &instances[3].db).await;
        };
        let (created, again, (), (), ()) =
            tokio::join!(shop.create_by(&instances[0], 1), shop.create_by(&instances[4], 1), change, pay, expire);
        for created in [created, again] {
            assert!(!matches!(created, Err(Refused::Store(_) | Refused::Load(_))), "{created:?}");
        }
        shop.settle(&first).await;
        let progress = shop.says(&first).await.progress;
        let expected = if progress == Progress::Paid { OrderStatus::Paid } else { OrderStatus::Cancelled };
        assert_eq!(shop.status(&first).await, expected);
        assert_books(&shop).await;
        shop.sweep_later().await;
        assert_none_payable(&shop).await;
        assert_quiet(&shop).await;
    }
}

async fn look(shop: &Shop, order: &InternalId, db: &shared::table::Db) {
    let state = shop.says(order).await;
    shop.desk_of(db).apply(order, &state).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_payment_that_is_seen_a_hundred_times_counts_once() {
    let shop = Shop::open().await;
    let order = shop.checkout(1, &[(FIVE, 2)], Some("once")).await;
    shop.act(&order, Action::Pay);
    let instances = shop.instances(8);
    let state = shop.says(&order).await;
    let all = join_all(
        (0..100)
            .zip(instances.iter().cycle())
            .map(|(_, by)| async { shop.desk_of(&by.db).apply(&order, &state).await }),
    )
    .await;
    // Requests that send the same transaction concurrently all learn that it was written; it was written once.
    assert!(
        all.iter().all(Result::is_ok) && all.iter().any(|settled| matches!(settled, Ok(Some(Settled::Changed)))),
        "{all:?}"
    );
    shop.sweep_later().await;
    assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (2, 2));
    let donors = statistics::patrons(&shop.db).await.unwrap();
    assert_eq!(donors.iter().map(|donor| donor.amount).collect::<Vec<_>>(), [Money::from_minor(180)]);
    assert_quiet(&shop).await;
}

/// Every order of these.
fn permutations(of: &[PaymentState]) -> Vec<Vec<PaymentState>> {
    let [first, rest @ ..] = of else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for permutation in permutations(rest) {
        for place in 0..=permutation.len() {
            let mut with = permutation.clone();
            with.insert(place, first.clone());
            all.push(with);
        }
    }
    all
}

/// The states of a payment of 180 that was refunded up to this amount, in every order.
async fn said_in_any_order(refunded: i64) -> Vec<Vec<PaymentState>> {
    let shop = Shop::open().await;
    let open = shop.says(&shop.checkout(1, &[(FIVE, 2)], Some("once")).await).await;
    let paid = PaymentState { progress: Progress::Paid, intent: Some("intent".to_owned()), ..open.clone() };
    let processing = PaymentState { progress: Progress::Processing, ..open.clone() };
    let refunded = PaymentState { refunded: Money::from_minor(refunded), ..paid.clone() };
    permutations(&[open, paid, processing, refunded])
}

async fn hear(shop: &Shop, order: &InternalId, state: &PaymentState) {
    let session = shop.order(order).await.session().unwrap().to_owned();
    let state = PaymentState { session, order: Some(order.clone()), ..state.clone() };
    shop.desk().apply(order, &state).await.unwrap();
}

#[tokio::test]
async fn what_is_refunded_in_full_is_not_paid_by_an_older_read() {
    for states in said_in_any_order(180).await {
        let shop = Shop::open().await;
        let order = shop.checkout(1, &[(FIVE, 2)], Some("once")).await;
        let mut is_refunded = false;
        for state in states.iter().chain(&states) {
            hear(&shop, &order, state).await;
            is_refunded |= state.is_refunded();
            assert_ne!((is_refunded, shop.status(&order).await), (true, OrderStatus::Paid), "{states:?}");
        }
        shop.sweep().await;
        assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (0, 0));
        assert_quiet(&shop).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_reads_that_meet_an_older_one_does_not_pay_what_is_refunded_in_full() {
    for is_older_first in [true, false] {
        let shop = Shop::open_with(|payments| payments.delayed = true).await;
        let order = shop.checkout(1, &[(PLAIN, 2)], Some("once")).await;
        shop.end(&order, Progress::Failed);
        shop.settle(&order).await;
        let failed = shop.says(&order).await;
        let [mut first, mut second] = [0, 180].map(|refunded| PaymentState {
            progress: Progress::Paid,
            intent: Some("intent".to_owned()),
            refunded: Money::from_minor(refunded),
            ..failed.clone()
        });
        if !is_older_first {
            std::mem::swap(&mut first, &mut second);
        }
        // The first has read the order, and writes when the second has written.
        let (provider, clock, id) = (shop.stripe.clone(), shop.clock.clone(), order.clone());
        let interrupted = shop.interrupted(1, move |db| {
            let (provider, clock, id, second) = (provider.clone(), clock.clone(), id.clone(), second.clone());
            async move {
                Desk::new(&db, &clock, &provider).apply(&id, &second).await.unwrap();
            }
        });
        shop.desk_of(&interrupted).apply(&order, &first).await.unwrap();
        assert_ne!(shop.status(&order).await, OrderStatus::Paid, "the older one first: {is_older_first}");
        shop.sweep_later().await;
        assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (0, 0));
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn what_was_said_of_a_payment_may_arrive_in_any_order() {
    for states in said_in_any_order(60).await {
        let shop = Shop::open().await;
        let order = shop.checkout(1, &[(FIVE, 2)], Some("once")).await;
        for state in states.iter().chain(&states) {
            hear(&shop, &order, state).await;
        }
        let stored = shop.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, 60));
        assert_eq!(shop.paid_for(1, FIVE).await, 120);
        shop.sweep().await;
        let donors = statistics::patrons(&shop.db).await.unwrap();
        assert_eq!(donors.len(), 1);
        assert_quiet(&shop).await;
    }
}
