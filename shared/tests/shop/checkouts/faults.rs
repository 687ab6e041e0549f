//! Every call that fails, and the process killed at every call: a repeated request completes, the sweep finishes the
//! rest, and nothing happens twice.

use crate::books::{assert_none_payable, assert_quiet};
use crate::market::{FREE, Instance, Market, Refused, TWENTY, VIRTUAL, gift, line};
use crate::provider::Fault;
use crate::shop::{FIVE, PLAIN, TWO_EACH};
use crate::sums::orders;
use shared::model::{InternalId, Money, OrderStatus};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::orders as stored_orders;
use shared::shop::payments::{Desk, SettleError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tests::{Fault as DatabaseFault, with_all_faults, writes};

/// Steps of a buyer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Begins a checkout of three items with a coupon.
    Begin,
    /// Begins one, and pays.
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

/// How a database call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Database {
    Fails(DatabaseFault),
    /// The process is killed: this call and all later ones never arrive.
    Killed,
    /// The call is done, and the process is killed.
    KilledAfter,
}

const NEVER_ARRIVES: Database = Database::Fails(DatabaseFault::Internal);
const RESPONSE_LOST: Database = Database::Fails(DatabaseFault::ResponseLost);

impl Database {
    /// The faults of a call. A read that is lost was done or not, which is the same: `FAULTS=all` tries both all the same.
    pub(super) fn of(operation: &str) -> Vec<Self> {
        let mut faults = vec![NEVER_ARRIVES, Self::Killed];
        if writes(operation) || with_all_faults() {
            faults.extend([RESPONSE_LOST, Self::KilledAfter]);
        }
        if operation == "TransactWriteItems" {
            faults.extend([Self::Fails(DatabaseFault::Cancelled), Self::Fails(DatabaseFault::CancelledByItself)]);
        }
        faults
    }

    /// The rule by which the call at `place` fails. `fired` says whether there was one.
    pub(super) fn rule(
        self,
        place: usize,
        fired: &Arc<AtomicBool>,
    ) -> impl FnMut(usize, &str) -> Option<DatabaseFault> + Send + 'static {
        let trigger = Arc::clone(fired);
        move |at, _| {
            let injected = match self {
                Self::Fails(fault) if at == place => fault,
                Self::KilledAfter if at == place => DatabaseFault::ResponseLost,
                Self::Killed | Self::KilledAfter if at >= place => DatabaseFault::Internal,
                _ => return None,
            };
            trigger.store(true, Ordering::SeqCst);
            Some(injected)
        }
    }
}

async fn prepare(market: &Market, flow: Flow) {
    market.set_virtual_balance(1, 60).await;
    let lines = match flow {
        Flow::Free => vec![line(1, FIVE, 2), line(2, VIRTUAL, 1), line(3, FREE, 1)],
        _ => vec![line(1, FIVE, 2), line(2, TWO_EACH, 1), gift(3, TWENTY, "Newcomer")],
    };
    let on_cart = if flow == Flow::Free { "card" } else { "once" };
    market.fill_with(1, lines, Some(on_cart)).await;
}

/// Takes the buyer's steps through an instance; stops at the first that fails.
async fn walk(market: &Market, by: &Instance, flow: Flow) -> Option<()> {
    let first = create(market, by).await?;
    match flow {
        Flow::Begin | Flow::Free => return Some(()),
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
            market.provider.set(&first, |state| state.refunded = Money::from_minor(refunded).min(state.amount));
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
            | Refused::Refused(CheckoutRefusal::Empty | CheckoutRefusal::Left { .. } | CheckoutRefusal::SoldOut { .. }),
        ) => None,
        Err(error) => panic!("{error:?}"),
    }
}

async fn look(market: &Market, by: &Instance, id: &InternalId) -> Option<()> {
    let stored = stored_orders::get(&by.db, id).await.ok()??;
    match Desk::new(&by.db, &market.clock, &market.provider).settle(&stored).await {
        Ok(_) => Some(()),
        Err(SettleError::Store(_) | SettleError::Provider(_)) => None,
    }
}

/// The buyer tries again, and pays what can be paid.
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
    market.sweep_later().await;
    assert_quiet(market).await;
    // What the provider says is said again.
    for stored in orders(&market.db).await {
        market.settle(&stored.order.internal_id).await;
    }
    assert_quiet(market).await;
    assert_none_payable(market).await;
    for stored in orders(&market.db).await {
        let state = market.provider.state(&stored.order.internal_id);
        let is_paid = state.is_some_and(|state| state.progress == Progress::Paid && state.refunded < state.amount);
        let costs = stored.order.price > Money::ZERO;
        assert_eq!(costs && stored.order.status.as_str() == "PAID", is_paid, "{note}: {stored:?}");
    }
}

/// The operations that a flow sends to the database, and how often it calls the provider.
async fn calls(flow: Flow) -> (Vec<String>, usize) {
    let market = Market::open().await;
    prepare(&market, flow).await;
    let (recorder, sent) = market.recording();
    walk(&market, &Instance::new(recorder), flow).await.unwrap();
    (sent(), market.provider.calls())
}

/// Fails the database call at `place`.
async fn fail_at(flow: Flow, place: usize, fault: Database, again: bool) {
    let market = Market::open().await;
    prepare(&market, flow).await;
    let fired = Arc::new(AtomicBool::new(false));
    let instance = market.failing(fault.rule(place, &fired));
    if matches!(fault, Database::Killed | Database::KilledAfter) {
        let dead = Arc::clone(&fired);
        market.provider.fail(move |_, _| dead.load(Ordering::SeqCst).then_some(Fault::Away));
    }
    walk(&market, &instance, flow).await;
    market.provider.recover();
    if again {
        come_again(&market).await;
    }
    let note = format!("{flow:?} {fault:?} at {place}, again: {again}");
    assert!(fired.load(Ordering::SeqCst), "no such call: {note}");
    assert_finished(&market, &note).await;
}

/// Fails each call to the database, and each to the provider, after those that begin another flow, in whose test they fail.
/// `FAULTS=all` fails them here too.
async fn fail_each_call(flow: Flow, after: Option<Flow>) {
    let (sent, of_provider) = calls(flow).await;
    let (known, known_to_provider) = match after.filter(|_| !with_all_faults()) {
        Some(other) => calls(other).await,
        None => Default::default(),
    };
    assert!(sent.len() >= known.len() + 4 && sent.len() >= 8, "{sent:?}");
    for (place, operation) in sent.iter().enumerate().skip(known.len()) {
        for (number, fault) in Database::of(operation).into_iter().enumerate() {
            // Both are tried with each call by one fault or another.
            fail_at(flow, place, fault, (place + number).is_multiple_of(2)).await;
        }
    }
    for place in known_to_provider..of_provider {
        for fault in [Fault::Away, Fault::Lost, Fault::Refused] {
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

#[tokio::test]
async fn a_payment_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Flow::Pay, None).await;
}

#[tokio::test]
async fn a_free_order_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Flow::Free, None).await;
}

#[tokio::test]
async fn a_changed_cart_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Flow::Change, Some(Flow::Begin)).await;
}

#[tokio::test]
async fn an_expired_checkout_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Flow::Expire, Some(Flow::Begin)).await;
}

#[tokio::test]
async fn a_refund_completes_whichever_call_fails_and_whenever_the_process_is_killed() {
    fail_each_call(Flow::Refund, Some(Flow::Pay)).await;
}

/// The units are counted already: taking them back would sell them twice.
#[tokio::test]
async fn a_checkout_that_was_written_although_its_response_was_lost_keeps_what_it_holds() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    // The first transaction opens the row of the units, the second one writes the order.
    let db = market.failing_transactions(|nth| (nth == 2).then_some(DatabaseFault::CancelledByItself));
    let instance = Instance::new(db);
    let order = create(&market, &instance).await.unwrap();
    assert_eq!(market.sold(FIVE).await, 2);
    assert_eq!(orders(&market.db).await.len(), 1);
    market.provider.pay(&order);
    look(&market, &instance, &order).await.unwrap();
    assert_eq!(market.sold(FIVE).await, 2);
}

#[tokio::test]
async fn a_checkout_whose_transactions_are_throttled_for_a_moment_succeeds() {
    for throttled in [1, 3] {
        let market = Market::open().await;
        market.fill(1, &[(FIVE, 2)], None).await;
        let db = market.failing_transactions(move |nth| {
            (throttled..throttled + 5).contains(&nth).then_some(DatabaseFault::CancelledByThrottling)
        });
        let order = create(&market, &Instance::new(db)).await.unwrap();
        assert_eq!((market.sold(FIVE).await, market.status(&order).await), (2, OrderStatus::Pending));
    }
}

#[tokio::test]
async fn a_checkout_whose_transaction_is_still_carried_out_after_the_last_attempt_waits_for_it() {
    let market = Market::open().await;
    market.fill(1, &[(FIVE, 2)], None).await;
    let carried_out = DatabaseFault::Refused("TransactionInProgressException", "injected");
    // More than the SDK's three attempts.
    let db = market.failing_transactions(move |nth| (3..7).contains(&nth).then_some(carried_out));
    let order = create(&market, &Instance::new(db)).await.unwrap();
    assert_eq!((market.sold(FIVE).await, market.status(&order).await), (2, OrderStatus::Pending));
}

#[tokio::test]
async fn a_sweep_that_is_interrupted_is_finished_by_the_next() {
    for place in 0..14 {
        let market = Market::open().await;
        prepare(&market, Flow::Pay).await;
        // Nothing after the session is known to the table.
        let killed =
            market.failing(|at, operation| (at >= 8 && operation != "BatchGetItem").then_some(DatabaseFault::Internal));
        walk(&market, &killed, Flow::Pay).await;
        market.clock.advance(std::time::Duration::from_hours(1));
        let failing = market.failing(move |at, _| (at >= place).then_some(DatabaseFault::Internal));
        _ = Desk::new(&failing.db, &market.clock, Some(&market.provider)).sweep().await;
        assert_finished(&market, &format!("sweep interrupted at {place}")).await;
    }
}
