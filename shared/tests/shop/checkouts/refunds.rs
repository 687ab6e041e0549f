//! Refunds in part, of amounts and of units of single lines: each is taken off ledgers and statistics once, and a refund in full
//! takes off the rest.

use crate::books::{Facts, assert_audit, assert_quiet, assert_sums};
use crate::shop::{FIVE, PLAIN, PRICE, STEPS, Shop, gift, line, money, paid};
use proptest::prelude::*;
use shared::model::{
    Donations, Donor, Holding, InternalId, ItemId, LineId, Money, MonthSum, OrderStatus, TaxMode, TaxPrices,
    TopPatrons, UserId,
};
use shared::rules::payment::PaymentState;
use shared::rules::refund::LineRefusal;
use shared::shop::payments::{Desk, LinesRefunded, OperatorError, RefundKind, Settled, Swept};
use shared::shop::statistics::{self, catch_up};
use shared::table::{Db, keys};
use std::time::Duration;
use stripe_stand_in::{Action, Fault, FaultKind};
use tests::{Fault as DatabaseFault, count};

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
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 64)))]

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

const DAY: Duration = Duration::from_hours(25);

async fn refund_by(
    shop: &Shop,
    db: &Db,
    order: &InternalId,
    lines: &[(u64, u32)],
) -> Result<LinesRefunded, OperatorError> {
    let wanted: Vec<_> = lines.iter().map(|(line, units)| (LineId::new(*line), *units)).collect();
    Desk::new(db, &shop.clock, Some(&shop.stripe)).refund_lines(order, &wanted).await
}

async fn refund(shop: &Shop, order: &InternalId, lines: &[(u64, u32)]) -> Result<LinesRefunded, OperatorError> {
    refund_by(shop, &shop.db, order, lines).await
}

/// Fails unless so much is refunded at the provider, and the table is what its orders add up to.
async fn assert_refunded(shop: &Shop, order: &InternalId, total: i64, note: &str) {
    assert_eq!(shop.says(order).await.refunded, money(total), "{note}");
    shop.settle(order).await;
    catch_up(&shop.db, order).await.unwrap();
    shop.sweep().await;
    assert!(!shop.order(order).await.statistics_due(), "{note}");
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn units_of_a_line_come_back_and_what_was_paid_for_the_others_stays() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(STEPS[0], 1), (PLAIN, 3)], None).await;
    let refunded = refund(&shop, &order, &[(2, 2)]).await.unwrap();
    assert!(refunded.is_new);
    assert_eq!(refunded.payment.unwrap().amount, money(2 * PRICE));
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (1, 1));
    assert_eq!((shop.paid_for(1, STEPS[0]).await, shop.paid_for(1, PLAIN).await), (240, PRICE));
    assert_refunded(&shop, &order, 2 * PRICE, "two units").await;
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Paid);
    // The next step costs the difference to what was paid for the one before. Alone that is less than the provider takes.
    let next = shop.checkout(1, &[(STEPS[1], 1), (PLAIN, 1)], None).await;
    let totals: Vec<_> = shop.order(&next).await.order.lines.iter().map(|line| line.total).collect();
    assert_eq!(totals, [money(10), money(PRICE)]);
}

#[tokio::test]
async fn the_same_units_again_change_nothing_and_more_add_to_them() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    for (units, is_new, total) in [(2, true, 200), (2, false, 200), (3, true, 300), (3, false, 300)] {
        let refunded = refund(&shop, &order, &[(1, units)]).await.unwrap();
        assert_eq!((refunded.is_new, refunded.payment.unwrap().total), (is_new, money(total)));
        assert_eq!(shop.sold(PLAIN).await, 5 - i64::from(units));
        assert_refunded(&shop, &order, total, "again").await;
    }
    let last = refund(&shop, &order, &[(1, 5)]).await.unwrap();
    assert_eq!(last.stored.order.status, OrderStatus::Refunded);
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (0, 0));
    assert_refunded(&shop, &order, 500, "all of it").await;
    assert_eq!(refund(&shop, &order, &[(1, 5)]).await.unwrap().payment.unwrap().kind, RefundKind::Already);
}

#[tokio::test]
async fn every_means_of_payment_gives_back_its_share_and_they_add_up() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 11)], Some("card")).await;
    let (price, balance) = (shop.order(&order).await.order.price.minor(), shop.balance().await);
    assert_eq!((price, balance), (100, 0));
    // A unit is 100, of which the card paid ten parts of eleven.
    for (units, charged) in [(1, 9), (2, 18), (6, 55), (10, 91), (11, 100)] {
        refund(&shop, &order, &[(1, units)]).await.unwrap();
        assert_eq!(shop.says(&order).await.refunded, money(charged));
        assert_eq!(shop.balance().await, 100 * i64::from(units) - charged, "{units}");
        assert_refunded(&shop, &order, charged, "shares").await;
    }
    assert_eq!(shop.order(&order).await.order.status, OrderStatus::Refunded);
}

#[tokio::test]
async fn a_refund_of_another_amount_before_stays_and_counts_for_all_lines() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    shop.refund(&order, Some(60)).await.unwrap();
    refund(&shop, &order, &[(1, 1)]).await.unwrap();
    assert_refunded(&shop, &order, 160, "both").await;
    assert_eq!(shop.paid_for(1, PLAIN).await, 340);
    let whole = shop.refund(&order, None).await.unwrap();
    assert_eq!(whole.stored.order.status, OrderStatus::Refunded);
    assert_eq!((shop.sold(PLAIN).await, shop.held(1, PLAIN).await), (0, 0));
    assert_refunded(&shop, &order, 500, "the rest").await;
}

#[tokio::test]
async fn what_cannot_be_refunded_is_refused_and_nothing_is_written() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    refund(&shop, &order, &[(1, 2)]).await.unwrap();
    let before = shop.order(&order).await;
    let line = LineId::new(1);
    for (wanted, expected) in [
        (vec![(7, 1)], LineRefusal::Unknown { line: LineId::new(7) }),
        (vec![(1, 6)], LineRefusal::TooMany { line, count: 5 }),
        (vec![(1, 1)], LineRefusal::Less { line, returned: 2 }),
        (vec![(1, 3), (1, 4)], LineRefusal::Twice { line }),
    ] {
        let refused = refund(&shop, &order, &wanted).await;
        assert!(matches!(&refused, Err(OperatorError::Line(refusal)) if *refusal == expected), "{refused:?}");
    }
    assert_eq!(shop.order(&order).await.order, before.order);
    shop.act(&order, Action::Dispute(None));
    let disputed = refund(&shop, &order, &[(1, 3)]).await;
    assert!(matches!(disputed, Err(OperatorError::Disputed(_))), "{disputed:?}");
    assert_eq!(shop.order(&order).await.order.lines, before.order.lines);
}

#[tokio::test]
async fn whenever_it_is_killed_the_repeated_command_finishes_it_and_pays_once() {
    for later in [Duration::ZERO, DAY] {
        for place in 0..60 {
            let shop = Shop::open().await;
            let order = shop.buy(1, &[(PLAIN, 5)], None).await;
            let fault = if place % 2 == 0 { DatabaseFault::Internal } else { DatabaseFault::ResponseLost };
            let killed = shop.failing(move |at, _| (at >= place).then_some(fault));
            let first = refund_by(&shop, &killed.db, &order, &[(1, 2)]).await;
            shop.clock.advance(later);
            refund(&shop, &order, &[(1, 2)]).await.unwrap();
            let note = format!("killed at {place}, {later:?} later");
            assert_eq!(shop.sold(PLAIN).await, 3, "{note}");
            assert_refunded(&shop, &order, 200, &note).await;
            if first.is_ok() {
                assert!(place > 10, "{place}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn whichever_request_to_the_provider_is_lost_the_repeated_command_pays_once() {
    let shop = Shop::open().await;
    let order = shop.buy(1, &[(PLAIN, 5)], None).await;
    let requests = shop.requests();
    refund(&shop, &order, &[(1, 2)]).await.unwrap();
    let count = requests();
    assert!(count >= 4, "{count}");
    // A fault after the last request would fail the repeated command in place of the first.
    for place in 0..count {
        for fault in [Fault::before(FaultKind::Cut), Fault::after(FaultKind::Cut)] {
            let order = shop.buy(1, &[(PLAIN, 5)], None).await;
            let sold = shop.sold(PLAIN).await;
            let note = format!("{fault:?} at {place}");
            shop.fail_request(place, fault);
            _ = refund(&shop, &order, &[(1, 2)]).await;
            shop.clock.advance(DAY);
            refund(&shop, &order, &[(1, 2)]).await.unwrap();
            assert_refunded(&shop, &order, 200, &note).await;
            assert_eq!(shop.says(&order).await.attempts.len(), 1, "{note}");
            assert_eq!(shop.sold(PLAIN).await, sold - 2, "{note}");
        }
    }
}
