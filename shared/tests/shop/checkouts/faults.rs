//! Every call that fails, and the process killed at every call: a repeated request completes, the sweep finishes the
//! rest, and nothing happens twice.

use crate::at_provider::{AWAY, LOST, REFUSED};
use crate::notices::{assert_notices, tell};
use crate::shop::{FIVE, FREE, Instance, PLAIN, Refused, Shop, TWENTY, TWO_EACH, VIRTUAL, gift, line};
use crate::sums::{assert_none_payable, assert_quiet};
use shared::model::{InternalId, Money, OrderStatus};
use shared::rules::checkout::CheckoutRefusal;
use shared::rules::payment::Progress;
use shared::shop::orders as stored_orders;
use shared::shop::payments::SettleError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stripe_stand_in::Action;
use tests::{Fault as DatabaseFault, by_turns, with_all_faults, writes};

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

async fn prepare(shop: &Shop, flow: Flow) {
    tell(&shop.db).await;
    shop.set_virtual_balance(1, 60).await;
    let lines = match flow {
        Flow::Free => vec![line(1, FIVE, 2), line(2, VIRTUAL, 1), line(3, FREE, 1)],
        _ => vec![line(1, FIVE, 2), line(2, TWO_EACH, 1), gift(3, TWENTY, "Newcomer")],
    };
    let on_cart = if flow == Flow::Free { "card" } else { "once" };
    shop.fill_with(1, lines, Some(on_cart)).await;
}

/// Takes the buyer's steps through an instance; stops at the first that fails.
async fn walk(shop: &Shop, by: &Instance, flow: Flow) -> Option<()> {
    let first = create(shop, by).await?;
    match flow {
        Flow::Begin | Flow::Free => return Some(()),
        Flow::Change => {
            shop.fill_with(1, vec![line(1, FIVE, 3), line(2, PLAIN, 1)], None).await;
            create(shop, by).await?;
            return Some(());
        }
        Flow::Expire => {
            shop.end(&first, Progress::Expired);
        }
        Flow::Pay | Flow::Refund => {
            shop.act(&first, Action::Pay);
        }
    }
    look(shop, by, &first).await?;
    if flow == Flow::Refund {
        for refunded in [Some(100), None] {
            shop.act(&first, Action::Refund(refunded));
            look(shop, by, &first).await?;
        }
    }
    Some(())
}

async fn create(shop: &Shop, by: &Instance) -> Option<InternalId> {
    match shop.create_by(by, 1).await {
        Ok(checkout) => Some(checkout.order),
        // What was in it is paid, the checkout before could not be ended, or units that a killed process counted come back by
        // the sweep.
        Err(
            Refused::Load(_)
            | Refused::Store(_)
            | Refused::Provider(_)
            | Refused::Refused(
                CheckoutRefusal::Empty
                | CheckoutRefusal::Processing
                | CheckoutRefusal::Left { .. }
                | CheckoutRefusal::SoldOut { .. },
            ),
        ) => None,
        Err(error) => panic!("{error:?}"),
    }
}

async fn look(shop: &Shop, by: &Instance, id: &InternalId) -> Option<()> {
    let stored = stored_orders::get(&by.db, id).await.ok()??;
    match shop.desk_of(&by.db).settle(&stored).await {
        Ok(_) => Some(()),
        Err(SettleError::Store(_) | SettleError::Provider(_)) => None,
    }
}

/// The buyer tries again, and pays what can be paid.
async fn come_again(shop: &Shop) {
    let instance = shop.instance();
    if !shop.cart(1).await.lines.is_empty()
        && let Some(order) = create(shop, &instance).await
    {
        // It may be paid already, or cost nothing.
        _ = shop.try_act(&order, Action::Pay);
        look(shop, &instance, &order).await.unwrap();
    }
}

async fn assert_finished(shop: &Shop, note: &str) {
    shop.sweep_later().await;
    assert_quiet(shop).await;
    // What the provider says is said again.
    for stored in shop.orders().await {
        shop.settle(&stored.order.internal_id).await;
    }
    assert_quiet(shop).await;
    assert_none_payable(shop).await;
    assert_notices(&shop.db, note).await;
    let payments = shop.payments().await;
    for stored in shop.orders().await {
        let state = payments.iter().find(|state| state.order.as_ref() == Some(&stored.order.internal_id));
        let is_paid = state.is_some_and(|state| state.progress == Progress::Paid && state.refunded < state.amount);
        let costs = stored.order.price > Money::ZERO;
        assert_eq!(costs && stored.order.status.as_str() == "PAID", is_paid, "{note}: {stored:?}");
    }
}

/// The operations that a flow sends to the database, and how often it calls the provider.
async fn calls(flow: Flow) -> (Vec<String>, usize) {
    let shop = Shop::open().await;
    prepare(&shop, flow).await;
    let (recorder, sent) = shop.recording();
    walk(&shop, &Instance::new(recorder), flow).await.unwrap();
    (sent(), shop.received(""))
}

/// Fails the database call at `place`.
async fn fail_at(flow: Flow, place: usize, fault: Database, again: bool) {
    let shop = Shop::open().await;
    prepare(&shop, flow).await;
    let fired = Arc::new(AtomicBool::new(false));
    let (rule, is_killed) = (fault.rule(place, &fired), matches!(fault, Database::Killed | Database::KilledAfter));
    let instance = if is_killed { shop.killed(rule) } else { shop.failing(rule) };
    walk(&shop, &instance, flow).await;
    shop.stand_in.clear_faults();
    if again {
        come_again(&shop).await;
    }
    let note = format!("{flow:?} {fault:?} at {place}, again: {again}");
    assert!(fired.load(Ordering::SeqCst), "no such call: {note}");
    assert_finished(&shop, &note).await;
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
        let faults = Database::of(operation);
        // A read leaves the table as it was: that it fails, and that the process is killed there, take turns.
        let count = if writes(operation) { faults.len() } else { 1 };
        for (number, fault) in by_turns(&faults, place / 2, count).into_iter().enumerate() {
            // Both are tried with each call by one fault or another.
            fail_at(flow, place, fault, (place + number).is_multiple_of(2)).await;
        }
    }
    for place in known_to_provider..of_provider {
        for fault in [AWAY, LOST, REFUSED] {
            let shop = Shop::open().await;
            prepare(&shop, flow).await;
            shop.fail_request(place, fault.clone());
            walk(&shop, &shop.instance(), flow).await;
            shop.stand_in.clear_faults();
            if place % 2 == 0 {
                come_again(&shop).await;
            }
            assert_finished(&shop, &format!("{flow:?} {fault:?} at {place}")).await;
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
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], None).await;
    // The first transaction opens the row of the units, the second one writes the order.
    let db = shop.failing_transactions(|nth| (nth == 2).then_some(DatabaseFault::CancelledByItself));
    let instance = Instance::new(db);
    let order = create(&shop, &instance).await.unwrap();
    assert_eq!(shop.sold(FIVE).await, 2);
    assert_eq!(shop.orders().await.len(), 1);
    shop.act(&order, Action::Pay);
    look(&shop, &instance, &order).await.unwrap();
    assert_eq!(shop.sold(FIVE).await, 2);
}

#[tokio::test]
async fn a_checkout_whose_transactions_are_throttled_for_a_moment_succeeds() {
    for throttled in [1, 3] {
        let shop = Shop::open().await;
        shop.fill(1, &[(FIVE, 2)], None).await;
        let db = shop.failing_transactions(move |nth| {
            (throttled..throttled + 5).contains(&nth).then_some(DatabaseFault::CancelledByThrottling)
        });
        let order = create(&shop, &Instance::new(db)).await.unwrap();
        assert_eq!((shop.sold(FIVE).await, shop.status(&order).await), (2, OrderStatus::Pending));
    }
}

#[tokio::test]
async fn a_checkout_whose_transaction_is_still_carried_out_after_the_last_attempt_waits_for_it() {
    let shop = Shop::open().await;
    shop.fill(1, &[(FIVE, 2)], None).await;
    let carried_out = DatabaseFault::Refused("TransactionInProgressException", "injected");
    // More than the SDK's three attempts.
    let db = shop.failing_transactions(move |nth| (3..7).contains(&nth).then_some(carried_out));
    let order = create(&shop, &Instance::new(db)).await.unwrap();
    assert_eq!((shop.sold(FIVE).await, shop.status(&order).await), (2, OrderStatus::Pending));
}

#[tokio::test]
async fn a_sweep_that_is_interrupted_is_finished_by_the_next() {
    for place in 0..14 {
        let shop = Shop::open().await;
        prepare(&shop, Flow::Pay).await;
        // Nothing after the session is known to the table.
        let killed =
            shop.failing(|at, operation| (at >= 8 && operation != "BatchGetItem").then_some(DatabaseFault::Internal));
        walk(&shop, &killed, Flow::Pay).await;
        shop.clock.advance(std::time::Duration::from_hours(1));
        let failing = shop.failing(move |at, _| (at >= place).then_some(DatabaseFault::Internal));
        _ = shop.sweep_by(&failing.db).await;
        assert_finished(&shop, &format!("sweep interrupted at {place}")).await;
    }
}
