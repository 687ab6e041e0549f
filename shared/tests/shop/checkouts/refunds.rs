//! Refunds in part: each increase is taken off ledgers and statistics once, and a refund in full takes off the rest.

use crate::books::assert_quiet;
use crate::market::{Market, PRICE, gift, line};
use crate::shop::{FIVE, PLAIN, paid};
use crate::sums::{Facts, assert_sums};
use proptest::prelude::*;
use shared::model::{Donations, Donor, Holding, InternalId, ItemId, Money, MonthSum, OrderStatus, TopPatrons, UserId};
use shared::rules::payment::PaymentState;
use shared::shop::payments::{Desk, Settled, Swept};
use shared::shop::statistics;
use shared::shop::statistics::catch_up;
use shared::shop::stock::ledgers;
use shared::table::keys::{self, Key};
use tests::{TestClock, count};

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

async fn shown(market: &Market) -> Shown {
    let db = &market.db;
    let mut owned = Vec::new();
    for user in (1..=BUYERS).map(UserId::new) {
        let mut rows = db.batch_get(vec![keys::ledger(user)]).await.unwrap();
        let ledger = ledgers::take(&mut rows, user).unwrap();
        owned.push(ledger.iter().filter(|(_, held)| *held != Holding::default()).collect());
    }
    let donations = statistics::donations(db).await.unwrap();
    let month = statistics::month_sums(db, &donations.month).await.unwrap();
    let mut patrons = statistics::patrons(db).await.unwrap();
    patrons.sort_by_key(|donor| donor.user);
    Shown { ledgers: owned, donations, patrons, top: statistics::top_patrons(db).await.unwrap(), month }
}

/// A paid checkout of user 1, with a gift for a player without an account. It costs more than the gift card has.
async fn buy(market: &Market, units: u32, on_cart: Option<&str>) -> InternalId {
    let lines = vec![line(1, FIVE, units), line(2, PLAIN, 12), gift(3, crate::market::TWENTY, "Newcomer")];
    market.fill_with(1, lines, on_cart).await;
    let order = market.create(1).await.unwrap().order;
    market.pay(&order).await;
    order
}

async fn others_buy(market: &Market) {
    for (id, user) in [("first", 1), ("second", 2)] {
        let order = paid(id, Some(user), &[(FIVE, 1, PRICE), (PLAIN, 1, 37)]);
        market.record(order).await.unwrap();
    }
}

/// Refunds shares of what is left, in hundredths, and then all of it.
async fn refund_by_parts(units: u32, on_cart: Option<&'static str>, shares: Vec<i64>) {
    let (market, facts) = (Market::open().await, Facts::of_fixture());
    others_buy(&market).await;
    let before = shown(&market).await;
    let order = buy(&market, units, on_cart).await;
    let price = market.order(&order).await.order.price.minor();
    let mut refunded = 0;
    for share in shares {
        let more = (price - refunded) * share / 100;
        refunded += more;
        market.provider.set(&order, |state| state.refunded = Money::from_minor(refunded));
        let expected = if more > 0 { Settled::Changed } else { Settled::Unchanged };
        assert_eq!(market.settle(&order).await, expected);
        assert_eq!(market.settle(&order).await, Settled::Unchanged);
        market.sweep().await;
        assert_sums(&market.db, &facts).await;
        let stored = market.order(&order).await;
        assert_eq!((stored.order.status, stored.effects.refunded.minor()), (OrderStatus::Paid, refunded));
        let recent = shown(&market).await.donations.recent;
        let own = recent.iter().find(|donation| donation.order == order).unwrap();
        assert_eq!(own.amount.minor(), price - refunded);
    }
    market.provider.set(&order, |state| state.refunded = Money::from_minor(price));
    assert_eq!(market.settle(&order).await, Settled::Changed);
    assert_eq!(market.status(&order).await, OrderStatus::Refunded);
    market.sweep().await;
    assert_sums(&market.db, &facts).await;
    assert_eq!(shown(&market).await, before);
    market.sweep_later().await;
    assert_eq!(shown(&market).await, before);
    assert_eq!(market.unfinished().await, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 64)))]

    #[test]
    fn refunds_in_part_and_one_in_full_leave_nothing_of_an_order(
        units in 1_u32..4,
        on_cart in prop::option::of(prop::sample::select(vec!["once", "few", "card"])),
        shares in prop::collection::vec(0_i64..100, 0..6),
    ) {
        crate::block_on(refund_by_parts(units, on_cart, shares));
    }
}

/// The numbers of a key's attributes.
async fn held(market: &Market, key: &Key, attribute: &str) -> i64 {
    market.number(key, attribute).await
}

#[tokio::test]
async fn the_statistics_follow_a_payment_and_a_refund_at_the_next_sweep() {
    let market = Market::open().await;
    let order = buy(&market, 2, None).await;
    let patron = keys::patron(UserId::new(1));
    assert_eq!(market.db.get(&patron, true).await.unwrap(), None);
    assert_eq!(market.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(held(&market, &patron, "amount").await, 1_500);
    market.provider.set(&order, |state| state.refunded = Money::from_minor(90));
    market.settle(&order).await;
    let stored = market.order(&order).await;
    assert_eq!((stored.effects.refunded.minor(), stored.statistics_due()), (90, true));
    assert_eq!(held(&market, &patron, "amount").await, 1_500);
    assert_eq!(market.sweep().await, Swept { due: 1, done: 1, ..Swept::default() });
    assert_eq!(held(&market, &patron, "amount").await, 1_410);
    market.assert_sums().await;
    assert_eq!(market.unfinished().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_the_second_in_which_its_order_is_counted_is_not_lost() {
    let market = Market::open().await;
    let order = buy(&market, 2, None).await;
    let state = PaymentState { refunded: Money::from_minor(90), ..market.provider.state(&order).unwrap() };
    let (provider, id) = (market.provider.clone(), order.clone());
    // The transaction that counts the order is the first.
    let counting = market.interrupted(1, move |db| {
        let (provider, id, state) = (provider.clone(), id.clone(), state.clone());
        async move {
            // Its clock is at the same second as the market's.
            Desk::new(&db, &TestClock::new(), &provider).apply(&id, &state).await.unwrap();
        }
    });
    market.provider.set(&order, |state| state.refunded = Money::from_minor(90));
    catch_up(&counting, &order).await.unwrap();
    assert_eq!(market.order(&order).await.effects.refunded.minor(), 90);
    market.sweep().await;
    assert_eq!(held(&market, &keys::patron(UserId::new(1)), "amount").await, 1_410);
    assert_quiet(&market).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_in_full_that_meets_one_in_part_takes_off_only_the_rest() {
    let market = Market::open().await;
    others_buy(&market).await;
    let before = shown(&market).await;
    let order = buy(&market, 1, None).await;
    let price = market.order(&order).await.order.price;
    let says = async |refunded: i64| {
        let state = PaymentState { refunded: Money::from_minor(refunded), ..market.provider.state(&order).unwrap() };
        market.desk().apply(&order, &state).await.unwrap()
    };
    for refunded in 60..67 {
        says(refunded).await;
    }
    // Both read the same order; the one that is later decides again.
    tokio::join!(says(67), says(price.minor()));
    assert_eq!(market.status(&order).await, OrderStatus::Refunded);
    market.sweep_later().await;
    assert_eq!(shown(&market).await, before);
}

#[tokio::test]
async fn a_refund_in_part_brings_nothing_of_an_erased_owner_back() {
    let market = Market::open().await;
    let order = buy(&market, 1, None).await;
    market.sweep().await;
    let user = UserId::new(1);
    let rows = [keys::user(user), keys::ledger(user), keys::patron(user)];
    for key in &rows {
        market.delete(key).await;
    }
    market.provider.set(&order, |state| state.refunded = Money::from_minor(90));
    assert_eq!(market.settle(&order).await, Settled::Changed);
    market.sweep().await;
    for key in &rows {
        assert_eq!(market.db.get(key, true).await.unwrap(), None);
    }
    assert!(!market.order(&order).await.statistics_due());
}
