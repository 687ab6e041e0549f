//! Refunds in part: each increase is taken off ledgers and statistics once, and a refund in full takes off the rest.

use crate::books::assert_quiet;
use crate::shop::{FIVE, PLAIN, PRICE, Shop, gift, line, paid};
use crate::sums::{Facts, assert_sums};
use proptest::prelude::*;
use shared::model::{
    Donations, Donor, Holding, InternalId, ItemId, Money, MonthSum, OrderStatus, TaxMode, TaxPrices, TopPatrons, UserId,
};
use shared::rules::payment::PaymentState;
use shared::shop::payments::{Desk, Settled, Swept};
use shared::shop::statistics;
use shared::shop::statistics::catch_up;
use shared::table::keys;
use stripe_stand_in::Action;
use tests::count;

/// The last user of the fixture whose purchases are compared; the first is 1.
const BUYERS: u64 = 4;

/// Everything that an order changes but counters and codes.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    ledgers: Vec<Vec<(ItemId, Holding)>>,
    donations: Donations,
    patrons: Vec<Donor>,
    top: TopPatrons,
    month: Vec<MonthSum>,
}

async fn shown(shop: &Shop) -> Shown {
    let db = &shop.db;
    let mut owned = Vec::new();
    for user in 1..=BUYERS {
        let ledger = shop.ledger(user).await;
        owned.push(ledger.iter().filter(|(_, held)| *held != Holding::default()).collect());
    }
    let donations = statistics::donations(db).await.unwrap();
    let month = statistics::month_sums(db, &donations.month).await.unwrap();
    let mut patrons = statistics::patrons(db).await.unwrap();
    patrons.sort_by_key(|donor| donor.user);
    Shown { ledgers: owned, donations, patrons, top: statistics::top_patrons(db).await.unwrap(), month }
}

/// A paid checkout of user 1, with a gift for a player without an account. It costs more than the gift card has.
async fn buy(shop: &Shop, units: u32, on_cart: Option<&str>) -> InternalId {
    let lines = vec![line(1, FIVE, units), line(2, PLAIN, 12), gift(3, crate::shop::TWENTY, "Newcomer")];
    shop.fill_with(1, lines, on_cart).await;
    let order = shop.create(1).await.unwrap().order;
    shop.pay(&order).await;
    order
}

async fn others_buy(shop: &Shop) {
    for (id, user) in [("first", 1), ("second", 2)] {
        let order = paid(id, Some(user), &[(FIVE, 1, PRICE), (PLAIN, 1, 37)]);
        shop.record(order).await.unwrap();
    }
}

/// Refunds shares of what is left, in hundredths, and then all of it.
async fn refund_by_parts(units: u32, on_cart: Option<&'static str>, shares: Vec<i64>, tax: Option<TaxPrices>) {
    let (shop, facts) = (Shop::open().await, Facts::of_fixture());
    shop.set_payments(|payments| {
        payments.tax = if tax.is_some() { TaxMode::Stripe } else { TaxMode::None };
        payments.tax_prices = tax.unwrap_or_default();
    })
    .await;
    others_buy(&shop).await;
    let before = shown(&shop).await;
    let order = buy(&shop, units, on_cart).await;
    let price = shop.order(&order).await.order.price.minor();
    let mut refunded = 0;
    for share in shares {
        let mut more = (price - refunded) * share / 100;
        if more == 1 && tax == Some(TaxPrices::Exclusive) {
            // All of it may be tax: no sum changes then, and the recent donations show the cent until the next refund.
            more = 0;
        }
        refunded += more;
        if more > 0 {
            assert_eq!(shop.refund_there(&order, more).await, Settled::Changed);
        }
        assert_eq!(shop.settle(&order).await, Settled::Unchanged);
        shop.sweep().await;
        assert_sums(&shop.db, &facts).await;
        let stored = shop.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        let recent = shown(&shop).await.donations.recent;
        let own = recent.iter().find(|donation| donation.order == order).unwrap();
        assert_eq!(own.amount.minor(), price - refunded);
    }
    assert_eq!(shop.refund_there(&order, price - refunded).await, Settled::Changed);
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    shop.sweep().await;
    assert_sums(&shop.db, &facts).await;
    assert_eq!(shown(&shop).await, before);
    shop.sweep_later().await;
    assert_eq!(shown(&shop).await, before);
    assert_eq!(shop.unfinished().await, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 32)))]

    #[test]
    fn refunds_in_part_and_one_in_full_leave_nothing_of_an_order(
        units in 1_u32..4,
        on_cart in prop::option::of(prop::sample::select(vec!["once", "few", "card"])),
        shares in prop::collection::vec(0_i64..100, 0..6),
        tax in prop::option::of(prop::sample::select(vec![TaxPrices::Inclusive, TaxPrices::Exclusive])),
    ) {
        crate::block_on(refund_by_parts(units, on_cart, shares, tax));
    }
}

#[tokio::test]
async fn the_statistics_follow_a_payment_and_a_refund_at_the_next_sweep() {
    let shop = Shop::open().await;
    let order = buy(&shop, 2, None).await;
    let patron = keys::patron(UserId::new(1));
    assert_eq!(shop.db.get(&patron, true).await.unwrap(), None);
    assert_eq!(shop.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(shop.number(&patron, "amount").await, 1_500);
    shop.refund_there(&order, 90).await;
    let stored = shop.order(&order).await;
    assert_eq!((stored.effects.refunded.minor(), stored.statistics_due()), (90, true));
    assert_eq!(shop.number(&patron, "amount").await, 1_500);
    assert_eq!(shop.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(shop.number(&patron, "amount").await, 1_410);
    shop.assert_sums().await;
    assert_eq!(shop.unfinished().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_the_second_in_which_its_order_is_counted_is_not_lost() {
    let shop = Shop::open().await;
    let order = buy(&shop, 2, None).await;
    shop.act(&order, Action::Refund(Some(90)));
    let (state, provider, clock, id) =
        (shop.says(&order).await, shop.stripe.clone(), shop.clock.clone(), order.clone());
    // The transaction that counts the order is the first.
    let counting = shop.interrupted(1, move |db| {
        let (provider, clock, id, state) = (provider.clone(), clock.clone(), id.clone(), state.clone());
        async move {
            Desk::new(&db, &clock, &provider).apply(&id, &state).await.unwrap();
        }
    });
    catch_up(&counting, &order).await.unwrap();
    assert_eq!(shop.order(&order).await.effects.refunded.minor(), 90);
    shop.sweep().await;
    assert_eq!(shop.number(&keys::patron(UserId::new(1)), "amount").await, 1_410);
    assert_quiet(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_full_that_meets_one_in_part_takes_off_only_the_rest() {
    let shop = Shop::open().await;
    others_buy(&shop).await;
    let before = shown(&shop).await;
    let order = buy(&shop, 1, None).await;
    let price = shop.order(&order).await.order.price;
    let paid = shop.says(&order).await;
    let says = async |refunded: i64| {
        let state = PaymentState { refunded: Money::from_minor(refunded), ..paid.clone() };
        shop.desk().apply(&order, &state).await.unwrap()
    };
    for refunded in 60..67 {
        says(refunded).await;
    }
    // Both read the same order; the one that is later decides again.
    tokio::join!(says(67), says(price.minor()));
    assert_eq!(shop.status(&order).await, OrderStatus::Refunded);
    shop.sweep_later().await;
    assert_eq!(shown(&shop).await, before);
}

#[tokio::test]
async fn a_refund_in_part_brings_nothing_of_an_erased_owner_back() {
    let shop = Shop::open().await;
    let order = buy(&shop, 1, None).await;
    shop.sweep().await;
    let user = UserId::new(1);
    let rows = [keys::user(user), keys::ledger(user), keys::patron(user)];
    for key in &rows {
        shop.delete(key).await;
    }
    assert_eq!(shop.refund_there(&order, 90).await, Settled::Changed);
    shop.sweep().await;
    for key in &rows {
        assert_eq!(shop.db.get(key, true).await.unwrap(), None);
    }
    assert!(!shop.order(&order).await.statistics_due());
}
