//! Every call that fails, and the process killed at every call: what is asked again completes, the sweep finishes the
//! rest, and nothing happens twice.

use super::books::{assert_none_payable, assert_quiet};
use super::provider::Fault;
use super::support::{FREE, Instance, Market, Refused, VIRTUAL, gift, line};
use crate::orders_sums::orders;
use crate::orders_support::{FIVE, PLAIN, Sabotage, TWO_EACH};
use shared::model::InternalId;
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::store::orders as stored_orders;
use shared::usecases::checkouts::{SettleError, settle};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a buyer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Begins a checkout of three items with a coupon, and pays.
    Pay,
    /// Begins one that a gift card and virtual currency pay for.
    Free,
    /// Begins one, changes the cart, and begins another.
    Change,
    /// Begins one, and lets it expire.
    Expire,
    /// Pays, and gets a part and then the rest back.
    Refund,
}

const FLOWS: [Flow; 5] = [Flow::Pay, Flow::Free, Flow::Change, Flow::Expire, Flow::Refund];

/// How a database call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Database {
    Fails(Sabotage),
    /// The process is killed: this call and all later ones never arrive.
    Killed,
    /// The call is done, and the process is killed.
    KilledAfter,
}

async fn prepare(market: &Market, flow: Flow) {
    market.set_virtual_balance(1, 60).await;
    let lines = match flow {
        Flow::Free => vec![line(1, FIVE, 2), line(2, VIRTUAL, 1), line(3, FREE, 1)],
        _ => vec![line(1, FIVE, 2), line(2, TWO_EACH, 1), gift(3, super::support::TWENTY, "Newcomer")],
    };
    let on_cart = if flow == Flow::Free { "card" } else { "once" };
    market.fill_with(1, lines, Some(on_cart)).await;
}

/// Takes the buyer's steps through an instance; stops at the first that fails.
async fn walk(market: &Market, by: &Instance, flow: Flow) -> Option<()> {
    let first = create(market, by).await?;
    match flow {
        Flow::Free => return Some(()),
        Flow::Change => {
            market.fill_with(1, vec![line(1, FIVE, 3), line(2, PLAIN, 1)], None).await;
            create(market, by).await?;
            return Some(());
        }
        Flow::Expire => {
            market.provider.end(&first, Progress::Expired);
        }
        Flow::Pay | Flow::Refund => {
            market.provider.pay(&first);
        }
    }
    look(market, by, &first).await?;
    if flow == Flow::Refund {
        for refunded in [100, i64::MAX] {
            market
                .provider
                .set(&first, |state| state.refunded = shared::model::Money::from_minor(refunded).min(state.amount));
            look(market, by, &first).await?;
        }
    }
    Some(())
}

async fn create(market: &Market, by: &Instance) -> Option<InternalId> {
    match market.create_by(by, 1).await {
        Ok(checkout) => Some(checkout.order),
        // What was in it is paid, or units that a killed process counted come back by the sweep.
        Err(
            Refused::Load(_)
            | Refused::Store(_)
            | Refused::Provider(_)
            | Refused::Conflict
            | Refused::Refused(CheckoutRefusal::Empty | CheckoutRefusal::Left { .. } | CheckoutRefusal::SoldOut { .. }),
        ) => None,
        Err(error) => panic!("{error:?}"),
    }
}

async fn look(market: &Market, by: &Instance, id: &InternalId) -> Option<()> {
    let stored = stored_orders::get(&by.db, id).await.ok()??;
    match settle(&by.db, market.clock(), &market.provider, &stored).await {
        Ok(_) => Some(()),
        Err(SettleError::Store(_) | SettleError::Provider(_) | SettleError::Conflict) => None,
    }
}

/// The buyer comes again, and pays what can be paid.
async fn come_again(market: &Market) {
    let instance = market.instance();
    if !market.cart(1).await.lines.is_empty()
        && let Some(order) = create(market, &instance).await
    {
        market.provider.pay(&order);
        look(market, &instance, &order).await.unwrap();
    }
}

async fn assert_finished(market: &Market, note: &str) {
    let balances = BTreeMap::from([(1, 60)]);
    market.sweep_later().await;
    assert_quiet(market, &balances).await;
    // What the provider says is said again.
    for stored in orders(&market.shop.db).await {
        market.settle(&stored.order.internal_id).await;
    }
    assert_quiet(market, &balances).await;
    assert_none_payable(market).await;
    for stored in orders(&market.shop.db).await {
        let state = market.provider.state(&stored.order.internal_id);
        let is_paid = state.is_some_and(|state| state.progress == Progress::Paid && state.refunded < state.amount);
        let costs = stored.order.price > shared::model::Money::ZERO;
        assert_eq!(costs && stored.order.status.as_str() == "PAID", is_paid, "{note}: {stored:?}");
    }
}

/// Fails the database call at `place`. `false` where there is no such call any more.
async fn fail_at(flow: Flow, place: usize, fault: Database, again: bool) -> bool {
    let market = Market::open().await;
    prepare(&market, flow).await;
    let fired = Arc::new(AtomicBool::new(false));
    let trigger = Arc::clone(&fired);
    let instance = market.failing(move |at, operation| {
        let sabotage = match fault {
            Database::Fails(Sabotage::Conflict | Sabotage::ConflictWithItself) if operation != "TransactWriteItems" => {
                return None;
            }
            Database::Fails(sabotage) if at == place => sabotage,
            Database::KilledAfter if at == place => Sabotage::After,
            Database::Killed | Database::KilledAfter if at >= place => Sabotage::Before,
            _ => return None,
        };
        trigger.store(true, Ordering::SeqCst);
        Some(sabotage)
    });
    if matches!(fault, Database::Killed | Database::KilledAfter) {
        let dead = Arc::clone(&fired);
        market.provider.fail(move |_, _| dead.load(Ordering::SeqCst).then_some(Fault::Away));
    }
    walk(&market, &instance, flow).await;
    market.provider.recover();
    if again {
        come_again(&market).await;
    }
    assert_finished(&market, &format!("{flow:?} {fault:?} at {place}, again: {again}")).await;
    fired.load(Ordering::SeqCst)
}

async fn fail_at_each(flow: Flow, fault: Database) {
    let mut place = 0;
    // Whether the buyer comes again alternates, and both are tried with each call by one fault or another.
    while fail_at(flow, place, fault, (place + usize::from(fault == Database::Killed)).is_multiple_of(2)).await {
        place += 1;
    }
    assert!(place >= 8 || fault == Database::Fails(Sabotage::Conflict), "only {place} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_call_to_the_database_never_arrives() {
    for flow in FLOWS {
        fail_at_each(flow, Database::Fails(Sabotage::Before)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_response_of_the_database_is_lost() {
    for flow in FLOWS {
        fail_at_each(flow, Database::Fails(Sabotage::After)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_transaction_meets_another_one() {
    for flow in FLOWS {
        for place in 0..20 {
            fail_at(flow, place, Database::Fails(Sabotage::Conflict), place % 2 == 0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_transaction_meets_itself() {
    for flow in FLOWS {
        for place in 0..20 {
            fail_at(flow, place, Database::Fails(Sabotage::ConflictWithItself), place % 2 == 0).await;
        }
    }
}

/// The units are counted already: taking them back would sell them twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_was_written_although_its_response_was_lost_keeps_what_it_holds() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    let mut transactions = 0;
    let instance = market.failing(move |_, operation| {
        transactions += usize::from(operation == "TransactWriteItems");
        // The first one opens the row of the units, the second one writes the order.
        (transactions == 2 && operation == "TransactWriteItems").then_some(Sabotage::ConflictWithItself)
    });
    let order = create(&market, &instance).await.unwrap();
    assert_eq!(market.shop.sold(FIVE).await, 2);
    assert_eq!(orders(&market.shop.db).await.len(), 1);
    market.provider.pay(&order);
    look(&market, &instance, &order).await.unwrap();
    assert_eq!(market.shop.sold(FIVE).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_process_is_killed() {
    for flow in FLOWS {
        fail_at_each(flow, Database::Killed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_process_is_killed_after_a_call() {
    for flow in FLOWS {
        fail_at_each(flow, Database::KilledAfter).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_call_to_the_provider_fails() {
    for fault in [Fault::Away, Fault::Lost, Fault::Refused] {
        for flow in FLOWS {
            for place in 0..8 {
                let market = Market::open().await;
                prepare(&market, flow).await;
                market.provider.fail(move |at, _| (at == place).then_some(fault));
                walk(&market, &market.instance(), flow).await;
                market.provider.recover();
                if place % 2 == 0 {
                    come_again(&market).await;
                }
                assert_finished(&market, &format!("{flow:?} {fault:?} at {place}")).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_interrupted_is_finished_by_the_next() {
    for place in 0..14 {
        let market = Market::open().await;
        prepare(&market, Flow::Pay).await;
        // Nothing after the session is known to the table.
        let killed =
            market.failing(|at, operation| (at >= 8 && operation != "BatchGetItem").then_some(Sabotage::Before));
        walk(&market, &killed, Flow::Pay).await;
        market.clock().advance(std::time::Duration::from_hours(1));
        let failing = market.failing(move |at, _| (at >= place).then_some(Sabotage::Before));
        _ = shared::usecases::checkouts::sweep(&failing.db, market.clock(), Some(&market.provider)).await;
        assert_finished(&market, &format!("sweep interrupted at {place}")).await;
    }
}
