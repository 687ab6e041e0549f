//! Doctor, repair and sweep after processes that were killed: what waits is neither bad nor repaired, and counters are
//! what is paid and held.

use crate::shop::{
    BOTH, FIVE, FREE, GIFT, Instance, PLAIN, PRICE, Refused, Shop, TWENTY, TWO_EACH, VIRTUAL, gift, line, paid,
};
use crate::sums::{assert_books, assert_quiet};
use futures_util::future::join_all;
use proptest::prelude::*;
use shared::model::{InternalId, ItemId, Line, OrderStatus, UserId};
use shared::rules::payment::Progress;
use shared::shop::statistics;
use shared::shop::upkeep::{Audit, audit, repair_table};
use shared::table::keys;
use std::collections::BTreeMap;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Fault as DatabaseFault, count};

/// An instance whose process is killed at its `place`th call, which arrives if `after`.
fn killed(shop: &Shop, place: usize, after: bool) -> Instance {
    shop.killed(move |at, _| {
        (at >= place).then_some(if after && at == place {
            DatabaseFault::ResponseLost
        } else {
            DatabaseFault::Internal
        })
    })
}

/// Buyers whose process is killed once their units are counted.
async fn break_off(shop: &Shop, buyers: std::ops::Range<u64>, item: u64) {
    join_all(buyers.map(|buyer| async move {
        shop.fill(buyer, &[(item, 1)], None).await;
        let created = shop.create_by(&shop.killed_at_transaction(2, false), buyer).await;
        assert!(matches!(created, Err(Refused::Store(_))), "{created:?}");
    }))
    .await;
}

#[tokio::test]
async fn units_on_their_way_are_neither_bad_nor_repaired_and_come_back_once() {
    let shop = Shop::open().await;
    break_off(&shop, 1..4, FIVE).await;
    assert_eq!(shop.sold(FIVE).await, 3);
    let found = audit(&shop.db, &|_| {}).await.unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.waiting.units, BTreeMap::from([(ItemId::new(FIVE), 3)]));
    assert_eq!(repair_table(&shop.db, &found).await.unwrap(), 0);
    assert_eq!(shop.sold(FIVE).await, 3);
    shop.sweep_later().await;
    assert_eq!(shop.sold(FIVE).await, 0);
    let buyers: Vec<u64> = (4..24).collect();
    for buyer in &buyers {
        shop.fill(*buyer, &[(FIVE, 1)], None).await;
    }
    let created = join_all(buyers.iter().map(|buyer| shop.create(*buyer))).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 5);
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_counter_that_was_set_by_hand_never_goes_below_zero() {
    let shop = Shop::open().await;
    break_off(&shop, 1..4, FIVE).await;
    let order = shop.checkout(4, &[(FIVE, 2)], None).await;
    shop.set_sold(FIVE, 1).await;
    shop.sweep_later().await;
    assert_eq!(shop.status(&order).await, OrderStatus::Cancelled);
    assert_eq!(shop.sold(FIVE).await, 0);
    let found = audit(&shop.db, &|_| {}).await.unwrap();
    assert!(found.is_clean() && found.waiting.units.is_empty(), "{found:?}");
    // Nor by the refund of a paid order.
    for sold in [1, -3] {
        let order = format!("o{sold}");
        shop.record(paid(&order, Some(5), &[(FIVE, 2, 200)])).await.unwrap();
        shop.set_sold(FIVE, sold).await;
        shop.set_status(&order, OrderStatus::Refunded).await.unwrap();
        assert_eq!(shop.sold(FIVE).await, 0);
    }
}

/// A repair by the doctor of the version before: the units were set to what the orders add up to, and then given back again.
#[tokio::test]
async fn units_that_were_repaired_away_are_not_given_back_again() {
    let shop = Shop::open().await;
    break_off(&shop, 1..4, FIVE).await;
    shop.set_sold(FIVE, 0).await;
    shop.sweep_later().await;
    assert_eq!(shop.sold(FIVE).await, 0);
    assert_quiet(&shop).await;
}

#[tokio::test]
async fn units_that_nothing_knows_any_more_are_repaired() {
    let shop = Shop::open().await;
    break_off(&shop, 1..3, FIVE).await;
    // A backup that was made meanwhile may have the counter with the mark, and not the row.
    for row in shop.db.query(&keys::unfinished()).await.unwrap() {
        shop.delete(&row.key().unwrap()).await;
    }
    let found = audit(&shop.db, &|_| {}).await.unwrap();
    assert_eq!((found.differences.len(), found.waiting.units.len()), (1, 0), "{found:?}");
    assert_eq!(repair_table(&shop.db, &found).await.unwrap(), 0);
    assert_quiet(&shop).await;
    assert!(audit(&shop.db, &|_| {}).await.unwrap().is_clean());
}

#[tokio::test]
async fn statistics_that_wait_for_the_sweep_are_neither_bad_nor_repaired() {
    for place in 0..8 {
        let shop = Shop::open().await;
        let order = shop.checkout(1, &[(FIVE, 2)], None).await;
        shop.act(&order, Action::Pay);
        let stored = shop.order(&order).await;
        let by = killed(&shop, place, place % 2 == 0);
        _ = shop.desk_of(&by.db).settle(&stored).await;
        shop.stand_in.clear_faults();
        let found = audit(&shop.db, &|_| {}).await.unwrap();
        assert!(found.is_clean(), "killed at {place}: {found:?}");
        let is_paid = shop.status(&order).await == OrderStatus::Paid;
        let is_due = shop.order(&order).await.effects.due.is_some();
        let named: Vec<InternalId> = found.waiting.overdue(tests::NOW).into_iter().cloned().collect();
        assert_eq!(named.contains(&order), is_paid && is_due, "killed at {place}: {named:?}");
        assert_eq!(repair_table(&shop.db, &found).await.unwrap(), 0);
        shop.sweep_later().await;
        let patrons = statistics::patrons(&shop.db).await.unwrap();
        assert_eq!(patrons.iter().map(|donor| donor.amount.minor()).collect::<Vec<_>>(), [2 * PRICE]);
        assert_quiet(&shop).await;
    }
}

#[tokio::test]
async fn a_repair_changes_no_row_that_was_written_since_it_was_read() {
    let shop = Shop::open().await;
    let db = &shop.db;
    shop.record(paid("a", Some(1), &[(FIVE, 2, 200)])).await.unwrap();
    shop.set_sold(FIVE, 3).await;
    shop.set_number(&keys::ledger(UserId::new(1)), "u2", 9).await;
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(found.differences.len(), 2, "{found:?}");
    // The numbers are the same again, and the rows are not.
    shop.record(paid("b", Some(1), &[(FIVE, 1, 100)])).await.unwrap();
    shop.set_status("b", OrderStatus::Refunded).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 2);
    assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (3, 9));
    let found = audit(db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(db, &found).await.unwrap(), 0);
    assert_eq!((shop.sold(FIVE).await, shop.held(1, FIVE).await), (2, 2));
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
    Refund(usize, Option<i64>),
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
        1 => (0_usize..9, prop::option::of(1_i64..200)).prop_map(|(order, amount)| Step::Refund(order, amount)),
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
fn instance(shop: &Shop, kill: Kill) -> Instance {
    kill.map_or_else(|| shop.instance(), |(place, after)| killed(shop, place, after))
}

async fn take(shop: &Shop, step: Step, found: &mut Option<Audit>) {
    let mut known = shop.orders().await;
    known.sort_by_key(|stored| stored.order.id.get());
    let at = |place: usize| (!known.is_empty()).then(|| known[place % known.len()].clone());
    let id = |place: usize| at(place).map(|stored| stored.order.internal_id);
    match step {
        Step::Fill(user, lines, code, to) => {
            let mut lines: Vec<Line> = (1..).zip(lines).map(|(id, (item, count))| line(id, item, count)).collect();
            lines.extend(to.map(|to| gift(9, GIFT, &format!("Player{to}"))));
            shop.fill_with(user, lines, code).await;
        }
        Step::Create(user, kill) => match shop.create_by(&instance(shop, kill), user).await {
            Ok(_) | Err(Refused::Refused(_)) => {}
            Err(error) => assert!(kill.is_some(), "{error:?}"),
        },
        // What is not possible now does not happen.
        Step::Pay(order) => _ = id(order).map(|order| shop.try_act(&order, Action::Pay)),
        Step::End(order, progress) => _ = id(order).map(|order| shop.end(&order, progress)),
        Step::Refund(order, amount) => _ = id(order).map(|order| shop.try_act(&order, Action::Refund(amount))),
        Step::Look(order, kill) => {
            if let Some(stored) = at(order) {
                let by = instance(shop, kill);
                let settled = shop.desk_of(&by.db).settle(&stored).await;
                assert!(kill.is_some() || settled.is_ok(), "{settled:?}");
            }
        }
        Step::Set(order, to) => {
            if let Some(order) = id(order) {
                // Refused if the order cannot change so.
                _ = shop.set_status(order.as_str(), to).await;
            }
        }
        Step::Sweep(kill) => {
            let swept = shop.sweep_by(&instance(shop, kill).db).await;
            assert!(kill.is_some() || swept.is_ok(), "{swept:?}");
        }
        Step::Doctor => *found = Some(audit(&shop.db, &|_| {}).await.unwrap()),
        Step::Repair => {
            if let Some(found) = found.take() {
                repair_table(&shop.db, &found).await.unwrap();
            }
        }
        Step::SetSold(item, sold) => shop.set_sold(item, sold).await,
        Step::Wait(minutes) => shop.clock.advance(Duration::from_mins(minutes)),
    }
    shop.stand_in.clear_faults();
}

async fn play(steps: Vec<Step>, is_undisturbed: bool) {
    let shop = Shop::open_with(|payments| payments.delayed = true).await;
    for user in 1..5 {
        shop.set_virtual_balance(user, VIRTUAL_CURRENCY).await;
    }
    let steps: Vec<Step> =
        if is_undisturbed { steps.into_iter().filter_map(Step::undisturbed).collect() } else { steps };
    let (mut found, mut is_touched) = (None, false);
    for step in steps {
        is_touched |= matches!(step, Step::SetSold(..));
        let said = format!("{step:?}");
        take(&shop, step, &mut found).await;
        for item in [FIVE, TWENTY, PLAIN] {
            assert!(shop.sold(item).await >= 0, "{item} after {said}");
        }
        if is_undisturbed {
            assert_books(&shop).await;
        } else if !is_touched {
            assert!(shop.sold(FIVE).await <= 5, "after {said}");
            let audit = audit(&shop.db, &|_| {}).await.unwrap();
            assert!(audit.is_clean(), "after {said}: {audit:?}");
        }
    }
    let found = audit(&shop.db, &|_| {}).await.unwrap();
    assert_eq!(repair_table(&shop.db, &found).await.unwrap(), 0);
    for payment in shop.payments().await {
        // It fails if it is being processed.
        _ = shop.try_act(&payment.session, Action::Fail);
    }
    shop.sweep_later().await;
    for stored in shop.orders().await {
        shop.settle(&stored.order.internal_id).await;
    }
    shop.sweep_later().await;
    assert_quiet(&shop).await;
    assert!(audit(&shop.db, &|_| {}).await.unwrap().is_clean());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("PROPTEST_CASES", 32)))]

    #[test]
    fn whatever_is_killed_checked_repaired_and_swept_counters_are_what_is_paid_and_held(
        steps in prop::collection::vec(some_step(), 1..20), is_undisturbed in any::<bool>(),
    ) {
        crate::block_on(play(steps, is_undisturbed));
    }
}
