//! Doctor, repair and sweep after processes that were killed: what waits is neither bad nor repaired, and counters are
//! what is paid and held.

use super::books::{assert_books, assert_quiet};
use super::provider::Fault;
use super::support::{Instance, Market, PRICE, Refused, TWENTY};
use crate::orders_sums::orders;
use crate::orders_support::{FIVE, PLAIN, Sabotage, Shop, id, paid};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use proptest::prelude::*;
use shared::model::{InternalId, ItemId, Money, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::store::codec::key_attributes;
use shared::store::{keys, statistics};
use shared::usecases::checkouts::sweep;
use shared::usecases::orders::{Audit, record, set_status};
use shared::usecases::orders::{audit, repair_table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NO_BALANCES: BTreeMap<u64, i64> = BTreeMap::new();

/// An instance whose process is killed at its `place`th call, which arrives if `after`. The provider hears nothing more of
/// it either.
fn killed(market: &Market, place: usize, after: bool) -> Instance {
    let dead = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&dead);
    market.provider.fail(move |_, _| seen.load(Ordering::SeqCst).then_some(Fault::Away));
    market.failing(move |at, _| {
        dead.store(at >= place, Ordering::SeqCst);
        (at >= place).then_some(if after && at == place { Sabotage::After } else { Sabotage::Before })
    })
}

async fn set_sold(shop: &Shop, item: u64, sold: i64) {
    let update = shop.db.client().update_item().table_name(shop.db.table());
    let update = update.set_key(Some(key_attributes(&keys::count(ItemId::new(item)))));
    let update = update.update_expression("SET sold = :sold");
    update.expression_attribute_values(":sold", AttributeValue::N(sold.to_string())).send().await.unwrap();
}

/// Buyers whose process is killed once their units are counted.
async fn break_off(market: &Market, buyers: std::ops::Range<u64>, item: u64) {
    join_all(buyers.map(|buyer| async move {
        market.fill(buyer, &[(item, 1)], None).await;
        let mut transactions = 0;
        let instance = market.failing(move |_, operation| {
            transactions += usize::from(operation == "TransactWriteItems");
            // The first one opens the row of the units, the second one writes the order.
            (transactions >= 2).then_some(Sabotage::Before)
        });
        let created = market.create_by(&instance, buyer).await;
        assert!(matches!(created, Err(Refused::Store(_))), "{created:?}");
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_on_their_way_are_neither_bad_nor_repaired_and_come_back_once() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    assert_eq!(market.shop.sold(FIVE).await, 3);
    let found = audit(&market.shop.db, &|_| {}).await.unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.waiting.units, BTreeMap::from([(ItemId::new(FIVE), 3)]));
    assert_eq!(repair_table(&market.shop.db, &found).await.unwrap(), 0);
    assert_eq!(market.shop.sold(FIVE).await, 3);
    market.sweep_later().await;
    assert_eq!(market.shop.sold(FIVE).await, 0);
    let buyers: Vec<u64> = (4..24).collect();
    for buyer in &buyers {
        market.fill(*buyer, &[(FIVE, 1)], None).await;
    }
    let created = join_all(buyers.iter().map(|buyer| market.create(*buyer))).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 5);
    assert_books(&market, &NO_BALANCES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_was_set_by_hand_never_goes_below_zero() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    market.fill(4, &[(FIVE, 2)], None).await;
    let order = market.create(4).await.unwrap().order;
    set_sold(&market.shop, FIVE, 1).await;
    market.sweep_later().await;
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
    assert_eq!(market.shop.sold(FIVE).await, 0);
    let found = audit(&market.shop.db, &|_| {}).await.unwrap();
    assert!(found.is_clean() && found.waiting.units.is_empty(), "{found:?}");
    // Nor by the refund of a paid order.
    for sold in [1, -3] {
        let order = format!("o{sold}");
        record(&market.shop.db, market.clock(), paid(&order, Some(5), &[(FIVE, 2, 200)])).await.unwrap();
        set_sold(&market.shop, FIVE, sold).await;
        set_status(&market.shop.db, market.clock(), &id(&order), OrderStatus::Refunded).await.unwrap();
        assert_eq!(market.shop.sold(FIVE).await, 0);
    }
}

/// What the doctor of the version before did: the units were set to what the orders add up to, and then given back again.
#[tokio::test(flavor = "multi_thread")]
async fn units_that_were_repaired_away_are_not_given_back_again() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    set_sold(&market.shop, FIVE, 0).await;
    market.sweep_later().await;
    assert_eq!(market.shop.sold(FIVE).await, 0);
    assert_quiet(&market, &NO_BALANCES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_that_nothing_knows_any_more_are_repaired() {
    let market = Market::open().await;
    break_off(&market, 1..3, FIVE).await;
    // A backup that was made meanwhile may have the counter with the mark, and not the row.
    for row in market.shop.db.query(&keys::unfinished()).await.unwrap() {
        market.shop.delete(&row.key().unwrap()).await;
    }
    let found = audit(&market.shop.db, &|_| {}).await.unwrap();
    assert_eq!((found.differences.len(), found.waiting.units.len()), (1, 0), "{found:?}");
    assert_eq!(repair_table(&market.shop.db, &found).await.unwrap(), 0);
    assert_quiet(&market, &NO_BALANCES).await;
    assert!(audit(&market.shop.db, &|_| {}).await.unwrap().is_clean());
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_that_wait_for_the_sweep_are_neither_bad_nor_repaired() {
    for place in 0..8 {
        let market = Market::open().await;
        market.fill(1, &[(FIVE, 2)], None).await;
        let order = market.create(1).await.unwrap().order;
        market.provider.pay(&order);
        let stored = market.order(&order).await;
        let by = killed(&market, place, place % 2 == 0);
        _ = shared::usecases::checkouts::settle(&by.db, market.clock(), &market.provider, &stored).await;
        market.provider.recover();
        let found = audit(&market.shop.db, &|_| {}).await.unwrap();
        assert!(found.is_clean(), "killed at {place}: {found:?}");
        let is_paid = market.status(&order).await == OrderStatus::Paid;
        let is_due = market.order(&order).await.effects.due.is_some();
        let named: Vec<InternalId> = found.waiting.overdue(tests::NOW).into_iter().cloned().collect();
        assert_eq!(named.contains(&order), is_paid && is_due, "killed at {place}: {named:?}");
        assert_eq!(repair_table(&market.shop.db, &found).await.unwrap(), 0);
        market.sweep_later().await;
        let patrons = statistics::patrons(&market.shop.db).await.unwrap();
        assert_eq!(patrons.iter().map(|donor| donor.amount.minor()).collect::<Vec<_>>(), [2 * PRICE]);
        assert_quiet(&market, &NO_BALANCES).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_changes_no_row_that_was_written_since_it_was_read() {
    let market = Market::open().await;
    let db = &market.shop.db;
    record(db, market.clock(), paid("a", Some(1), &[(FIVE, 2, 200)])).await.unwrap();
    set_sold(&market.shop, FIVE, 3).await;
    let update = db.client().update_item().table_name(db.table());
    let update = update.set_key(Some(key_attributes(&keys::ledger(UserId::new(1))))).update_expression("SET u2 = :n");
    update.expression_attribute_values(":n", AttributeValue::N("9".to_owned())).send().await.unwrap();
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(found.differences.len(), 2, "{found:?}");
    // The numbers are the same again, and the rows are not.
    record(db, market.clock(), paid("b", Some(1), &[(FIVE, 1, 100)])).await.unwrap();
    set_status(db, market.clock(), &id("b"), OrderStatus::Refunded).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 2);
    assert_eq!((market.shop.sold(FIVE).await, market.shop.held(1, FIVE).await), (3, 9));
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 0);
    assert_eq!((market.shop.sold(FIVE).await, market.shop.held(1, FIVE).await), (2, 2));
    assert!(audit(db, &|_| {}).await.unwrap().is_clean());
}

#[derive(Debug, Clone)]
enum Step {
    /// A buyer begins a checkout, in a process that is killed at a call.
    Create(u64, u64, usize, bool),
    Pay(usize),
    End(usize),
    Refund(usize, i64),
    /// A function looks at an order, in a process that is killed at a call.
    Look(usize, usize, bool),
    Sweep(usize, bool),
    /// The doctor reads the table.
    Doctor,
    /// What the doctor found last is repaired, perhaps much later.
    Repair,
    /// Somebody sets a counter.
    SetSold(u64, i64),
    Wait(u64),
}

fn some_step() -> impl Strategy<Value = Step> {
    let item = || prop::sample::select(vec![FIVE, TWENTY, PLAIN]);
    prop_oneof![
        8 => (1_u64..7, item(), 0_usize..16, any::<bool>()).prop_map(|(user, item, at, after)| Step::Create(user, item, at, after)),
        3 => (0_usize..9).prop_map(Step::Pay),
        1 => (0_usize..9).prop_map(Step::End),
        1 => (0_usize..9, 1_i64..400).prop_map(|(order, amount)| Step::Refund(order, amount)),
        3 => (0_usize..9, 0_usize..12, any::<bool>()).prop_map(|(order, at, after)| Step::Look(order, at, after)),
        3 => (0_usize..30, any::<bool>()).prop_map(|(at, after)| Step::Sweep(at, after)),
        3 => Just(Step::Doctor),
        3 => Just(Step::Repair),
        1 => (item(), 0_i64..6).prop_map(|(item, sold)| Step::SetSold(item, sold)),
        3 => prop::sample::select(vec![1_u64, 2, 5, 50]).prop_map(Step::Wait),
    ]
}

async fn take(market: &Market, step: Step, found: &mut Option<Audit>) {
    let mut known = orders(&market.shop.db).await;
    known.sort_by_key(|stored| stored.order.id.get());
    let at = |place: usize| (!known.is_empty()).then(|| known[place % known.len()].clone());
    let opened = |place: usize| {
        at(place).map(|stored| stored.order.internal_id).filter(|id| market.provider.state(id).is_some())
    };
    match step {
        Step::Create(user, item, place, after) => {
            market.fill(user, &[(item, 1)], None).await;
            _ = market.create_by(&killed(market, place, after), user).await;
        }
        Step::Pay(order) => _ = opened(order).map(|order| market.provider.pay(&order)),
        Step::End(order) => _ = opened(order).map(|order| market.provider.end(&order, Progress::Expired)),
        Step::Refund(order, amount) => {
            if let Some(order) = opened(order) {
                market.provider.set(&order, |state| {
                    if state.progress == Progress::Paid {
                        state.refunded = (state.refunded + Money::from_minor(amount)).min(state.amount);
                    }
                });
            }
        }
        Step::Look(order, place, after) => {
            if let Some(stored) = at(order) {
                let by = killed(market, place, after);
                _ = shared::usecases::checkouts::settle(&by.db, market.clock(), &market.provider, &stored).await;
            }
        }
        Step::Sweep(place, after) => {
            let by = killed(market, place, after);
            _ = sweep(&by.db, market.clock(), Some(&market.provider)).await;
        }
        Step::Doctor => *found = Some(audit(&market.shop.db, &|_| {}).await.unwrap()),
        Step::Repair => {
            if let Some(found) = found.take() {
                repair_table(&market.shop.db, &found).await.unwrap();
            }
        }
        Step::SetSold(item, sold) => set_sold(&market.shop, item, sold).await,
        Step::Wait(minutes) => market.clock().advance(Duration::from_mins(minutes)),
    }
    market.provider.recover();
}

async fn play(steps: Vec<Step>) {
    let market = Market::open().await;
    let (mut found, mut is_touched) = (None, false);
    for step in steps {
        is_touched |= matches!(step, Step::SetSold(..));
        let said = format!("{step:?}");
        take(&market, step, &mut found).await;
        for item in [FIVE, TWENTY, PLAIN] {
            assert!(market.shop.sold(item).await >= 0, "{item} after {said}");
        }
        if !is_touched {
            assert!(market.shop.sold(FIVE).await <= 5, "after {said}");
            let audit = audit(&market.shop.db, &|_| {}).await.unwrap();
            assert!(audit.is_clean(), "after {said}: {audit:?}");
        }
    }
    let found = audit(&market.shop.db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(&market.shop.db, &found).await.unwrap(), 0);
    market.sweep_later().await;
    assert_quiet(&market, &NO_BALANCES).await;
    assert!(audit(&market.shop.db, &|_| {}).await.unwrap().is_clean());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_killed_checked_repaired_and_swept_counters_are_what_is_paid_and_held(
        steps in prop::collection::vec(some_step(), 1..16),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(play(steps));
    }
}
