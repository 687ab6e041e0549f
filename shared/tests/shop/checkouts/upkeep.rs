//! Doctor, repair and sweep after processes that were killed: what waits is neither bad nor repaired, and counters are
//! what is paid and held.

use crate::books::{assert_books, assert_quiet};
use crate::market::{FREE, GIFT, Instance, Market, PRICE, Refused, TWENTY, VIRTUAL, gift, line};
use crate::provider::Fault;
use crate::shop::{BOTH, FIVE, PLAIN, TWO_EACH, paid};
use crate::sums::orders;
use futures_util::future::join_all;
use proptest::prelude::*;
use shared::model::{InternalId, ItemId, Line, Money, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::shop::payments::Desk;
use shared::shop::statistics;
use shared::shop::upkeep::{Audit, audit, repair_table};
use shared::table::keys;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tests::{Fault as DatabaseFault, count};

/// An instance whose process is killed at its `place`th call, which arrives if `after`. Nor does
/// any later call to the provider arrive.
fn killed(market: &Market, place: usize, after: bool) -> Instance {
    let dead = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&dead);
    market.provider.fail(move |_, _| seen.load(Ordering::SeqCst).then_some(Fault::Away));
    market.failing(move |at, _| {
        dead.store(at >= place, Ordering::SeqCst);
        (at >= place).then_some(if after && at == place {
            DatabaseFault::ResponseLost
        } else {
            DatabaseFault::Internal
        })
    })
}

/// Buyers whose process is killed once their units are counted.
async fn break_off(market: &Market, buyers: std::ops::Range<u64>, item: u64) {
    join_all(buyers.map(|buyer| async move {
        market.fill(buyer, &[(item, 1)], None).await;
        let created = market.create_by(&market.killed_at_transaction(2, false), buyer).await;
        assert!(matches!(created, Err(Refused::Store(_))), "{created:?}");
    }))
    .await;
}

#[tokio::test]
async fn units_on_their_way_are_neither_bad_nor_repaired_and_come_back_once() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    assert_eq!(market.sold(FIVE).await, 3);
    let found = audit(&market.db, &|_| {}).await.unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.waiting.units, BTreeMap::from([(ItemId::new(FIVE), 3)]));
    assert_eq!(repair_table(&market.db, &found).await.unwrap(), 0);
    assert_eq!(market.sold(FIVE).await, 3);
    market.sweep_later().await;
    assert_eq!(market.sold(FIVE).await, 0);
    let buyers: Vec<u64> = (4..24).collect();
    for buyer in &buyers {
        market.fill(*buyer, &[(FIVE, 1)], None).await;
    }
    let created = join_all(buyers.iter().map(|buyer| market.create(*buyer))).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 5);
    assert_books(&market).await;
}

#[tokio::test]
async fn a_counter_that_was_set_by_hand_never_goes_below_zero() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    let order = market.checkout(4, &[(FIVE, 2)], None).await;
    market.set_sold(FIVE, 1).await;
    market.sweep_later().await;
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
    assert_eq!(market.sold(FIVE).await, 0);
    let found = audit(&market.db, &|_| {}).await.unwrap();
    assert!(found.is_clean() && found.waiting.units.is_empty(), "{found:?}");
    // Nor by the refund of a paid order.
    for sold in [1, -3] {
        let order = format!("o{sold}");
        market.record(paid(&order, Some(5), &[(FIVE, 2, 200)])).await.unwrap();
        market.set_sold(FIVE, sold).await;
        market.set_status(&order, OrderStatus::Refunded).await.unwrap();
        assert_eq!(market.sold(FIVE).await, 0);
    }
}

/// A repair by the doctor of the version before: the units were set to what the orders add up to, and then given back again.
#[tokio::test]
async fn units_that_were_repaired_away_are_not_given_back_again() {
    let market = Market::open().await;
    break_off(&market, 1..4, FIVE).await;
    market.set_sold(FIVE, 0).await;
    market.sweep_later().await;
    assert_eq!(market.sold(FIVE).await, 0);
    assert_quiet(&market).await;
}

#[tokio::test]
async fn units_that_nothing_knows_any_more_are_repaired() {
    let market = Market::open().await;
    break_off(&market, 1..3, FIVE).await;
    // A backup that was made meanwhile may have the counter with the mark, and not the row.
    for row in market.db.query(&keys::unfinished()).await.unwrap() {
        market.delete(&row.key().unwrap()).await;
    }
    let found = audit(&market.db, &|_| {}).await.unwrap();
    assert_eq!((found.differences.len(), found.waiting.units.len()), (1, 0), "{found:?}");
    assert_eq!(repair_table(&market.db, &found).await.unwrap(), 0);
    assert_quiet(&market).await;
    assert!(audit(&market.db, &|_| {}).await.unwrap().is_clean());
}

#[tokio::test]
async fn statistics_that_wait_for_the_sweep_are_neither_bad_nor_repaired() {
    for place in 0..8 {
        let market = Market::open().await;
        let order = market.checkout(1, &[(FIVE, 2)], None).await;
        market.provider.pay(&order);
        let stored = market.order(&order).await;
        let by = killed(&market, place, place % 2 == 0);
        _ = Desk::new(&by.db, &market.clock, &market.provider).settle(&stored).await;
        market.provider.recover();
        let found = audit(&market.db, &|_| {}).await.unwrap();
        assert!(found.is_clean(), "killed at {place}: {found:?}");
        let is_paid = market.status(&order).await == OrderStatus::Paid;
        let is_due = market.order(&order).await.effects.due.is_some();
        let named: Vec<InternalId> = found.waiting.overdue(tests::NOW).into_iter().cloned().collect();
        assert_eq!(named.contains(&order), is_paid && is_due, "killed at {place}: {named:?}");
        assert_eq!(repair_table(&market.db, &found).await.unwrap(), 0);
        market.sweep_later().await;
        let patrons = statistics::patrons(&market.db).await.unwrap();
        assert_eq!(patrons.iter().map(|donor| donor.amount.minor()).collect::<Vec<_>>(), [2 * PRICE]);
        assert_quiet(&market).await;
    }
}

#[tokio::test]
async fn a_repair_changes_no_row_that_was_written_since_it_was_read() {
    let market = Market::open().await;
    let db = &market.db;
    market.record(paid("a", Some(1), &[(FIVE, 2, 200)])).await.unwrap();
    market.set_sold(FIVE, 3).await;
    market.set_number(&keys::ledger(UserId::new(1)), "u2", 9).await;
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(found.differences.len(), 2, "{found:?}");
    // The numbers are the same again, and the rows are not.
    market.record(paid("b", Some(1), &[(FIVE, 1, 100)])).await.unwrap();
    market.set_status("b", OrderStatus::Refunded).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 2);
    assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (3, 9));
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 0);
    assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (2, 2));
    assert!(audit(db, &|_| {}).await.unwrap().is_clean());
}

/// The call of a process at which it is killed, and whether that call still arrives.
type Kill = Option<(usize, bool)>;

#[derive(Debug, Clone)]
enum Step {
    /// A buyer's cart: items and units, a code, and a player who gets a gift.
    Fill(u64, Vec<(u64, u32)>, Option<&'static str>, Option<u64>),
    Create(u64, Kill),
    Pay(usize),
    End(usize, Progress),
    Refund(usize, i64),
    /// A function asks the provider about an order.
    Look(usize, Kill),
    /// An operator sets a status.
    Set(usize, OrderStatus),
    Sweep(Kill),
    /// The doctor reads the table.
    Doctor,
    /// The last finding of the doctor is repaired, perhaps much later.
    Repair,
    /// An operator sets a counter.
    SetSold(u64, i64),
    Wait(u64),
}

const ITEMS: [u64; 7] = [PLAIN, FIVE, TWO_EACH, BOTH, VIRTUAL, TWENTY, FREE];
/// The virtual currency of the buyers 1 to 4.
const VIRTUAL_CURRENCY: i64 = 130;

fn some_step() -> impl Strategy<Value = Step> {
    let lines = prop::collection::vec((prop::sample::select(ITEMS.to_vec()), 1_u32..3), 1..4);
    let code = prop::option::of(prop::sample::select(vec!["once", "each", "few", "card"]));
    let fill = (1_u64..5, lines, code, prop::option::of(1_u64..7));
    let kill = |most: usize| prop::option::of((0..most, any::<bool>()));
    let ends = prop::sample::select(vec![Progress::Expired, Progress::Failed, Progress::Processing]);
    let to = prop::sample::select(vec![OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Refunded]);
    let limited = prop::sample::select(vec![FIVE, TWENTY, PLAIN]);
    prop_oneof![
        4 => fill.prop_map(|(user, lines, code, to)| Step::Fill(user, lines, code, to)),
        8 => (1_u64..5, kill(16)).prop_map(|(user, kill)| Step::Create(user, kill)),
        3 => (0_usize..9).prop_map(Step::Pay),
        1 => (0_usize..9, ends).prop_map(|(order, progress)| Step::End(order, progress)),
        1 => (0_usize..9, 1_i64..400).prop_map(|(order, amount)| Step::Refund(order, amount)),
        3 => (0_usize..9, kill(12)).prop_map(|(order, kill)| Step::Look(order, kill)),
        1 => (0_usize..9, to).prop_map(|(order, to)| Step::Set(order, to)),
        3 => kill(30).prop_map(Step::Sweep),
        2 => Just(Step::Doctor),
        2 => Just(Step::Repair),
        1 => (limited, 0_i64..6).prop_map(|(item, sold)| Step::SetSold(item, sold)),
        3 => prop::sample::select(vec![1_u64, 2, 5, 50]).prop_map(Step::Wait),
    ]
}

impl Step {
    /// The same step of a process that is not killed; `None` for what damages the table.
    fn undisturbed(self) -> Option<Self> {
        match self {
            Self::Create(user, _) => Some(Self::Create(user, None)),
            Self::Look(order, _) => Some(Self::Look(order, None)),
            Self::Sweep(_) => Some(Self::Sweep(None)),
            Self::SetSold(..) => None,
            other => Some(other),
        }
    }
}

/// An instance whose process is killed at a call, if it is.
fn instance(market: &Market, kill: Kill) -> Instance {
    kill.map_or_else(|| market.instance(), |(place, after)| killed(market, place, after))
}

async fn take(market: &Market, step: Step, found: &mut Option<Audit>) {
    let mut known = orders(&market.db).await;
    known.sort_by_key(|stored| stored.order.id.get());
    let at = |place: usize| (!known.is_empty()).then(|| known[place % known.len()].clone());
    let id = |place: usize| at(place).map(|stored| stored.order.internal_id);
    let opened = |place: usize| id(place).filter(|id| market.provider.state(id).is_some());
    match step {
        Step::Fill(user, lines, code, to) => {
            let mut lines: Vec<Line> = (1..).zip(lines).map(|(id, (item, count))| line(id, item, count)).collect();
            lines.extend(to.map(|to| gift(9, GIFT, &format!("Player{to}"))));
            market.fill_with(user, lines, code).await;
        }
        Step::Create(user, kill) => match market.create_by(&instance(market, kill), user).await {
            Ok(_) | Err(Refused::Refused(_)) => {}
            Err(error) => assert!(kill.is_some(), "{error:?}"),
        },
        Step::Pay(order) => _ = opened(order).map(|order| market.provider.pay(&order)),
        Step::End(order, progress) => _ = opened(order).map(|order| market.provider.end(&order, progress)),
        Step::Refund(order, amount) => {
            if let Some(order) = opened(order) {
                market.provider.set(&order, |state| {
                    if state.progress == Progress::Paid {
                        state.refunded = (state.refunded + Money::from_minor(amount)).min(state.amount);
                    }
                });
            }
        }
        Step::Look(order, kill) => {
            if let Some(stored) = at(order) {
                let by = instance(market, kill);
                let settled = Desk::new(&by.db, &market.clock, &market.provider).settle(&stored).await;
                assert!(kill.is_some() || settled.is_ok(), "{settled:?}");
            }
        }
        Step::Set(order, to) => {
            if let Some(order) = id(order) {
                // Refused if the order cannot change so.
                _ = market.set_status(order.as_str(), to).await;
            }
        }
        Step::Sweep(kill) => {
            let swept = Desk::new(&instance(market, kill).db, &market.clock, Some(&market.provider)).sweep().await;
            assert!(kill.is_some() || swept.is_ok(), "{swept:?}");
        }
        Step::Doctor => *found = Some(audit(&market.db, &|_| {}).await.unwrap()),
        Step::Repair => {
            if let Some(found) = found.take() {
                repair_table(&market.db, &found).await.unwrap();
            }
        }
        Step::SetSold(item, sold) => market.set_sold(item, sold).await,
        Step::Wait(minutes) => market.clock.advance(Duration::from_mins(minutes)),
    }
    market.provider.recover();
}

async fn play(steps: Vec<Step>, is_undisturbed: bool) {
    let market = Market::open().await;
    for user in 1..5 {
        market.set_virtual_balance(user, VIRTUAL_CURRENCY).await;
    }
    let steps: Vec<Step> =
        if is_undisturbed { steps.into_iter().filter_map(Step::undisturbed).collect() } else { steps };
    let (mut found, mut is_touched) = (None, false);
    for step in steps {
        is_touched |= matches!(step, Step::SetSold(..));
        let said = format!("{step:?}");
        take(&market, step, &mut found).await;
        for item in [FIVE, TWENTY, PLAIN] {
            assert!(market.sold(item).await >= 0, "{item} after {said}");
        }
        if is_undisturbed {
            assert_books(&market).await;
        } else if !is_touched {
            assert!(market.sold(FIVE).await <= 5, "after {said}");
            let audit = audit(&market.db, &|_| {}).await.unwrap();
            assert!(audit.is_clean(), "after {said}: {audit:?}");
        }
    }
    let found = audit(&market.db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(&market.db, &found).await.unwrap(), 0);
    for order in market.provider.in_state(Progress::Processing) {
        market.provider.set(&order, |state| state.progress = Progress::Failed);
    }
    market.sweep_later().await;
    for stored in orders(&market.db).await {
        market.settle(&stored.order.internal_id).await;
    }
    market.sweep_later().await;
    assert_quiet(&market).await;
    assert!(audit(&market.db, &|_| {}).await.unwrap().is_clean());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 64)))]

    #[test]
    fn whatever_is_killed_checked_repaired_and_swept_counters_are_what_is_paid_and_held(
        steps in prop::collection::vec(some_step(), 1..20), is_undisturbed in any::<bool>(),
    ) {
        crate::block_on(play(steps, is_undisturbed));
    }
}
