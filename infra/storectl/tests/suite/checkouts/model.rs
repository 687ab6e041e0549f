//! Any sequence of what buyers, the provider and the sweep do.

use super::books::{assert_books, assert_quiet};
use super::support::{FREE, GIFT, Market, Refused, TWENTY, VIRTUAL, gift, line};
use crate::orders_sums::orders;
use crate::orders_support::{BOTH, FIVE, PLAIN, TWO_EACH};
use proptest::prelude::*;
use shared::model::{InternalId, Line, Money, OrderStatus};
use shared::rules::payment::Progress;
use shared::usecases::orders::set_status;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    Fill(u64, Vec<(u64, u32)>, Option<&'static str>, Option<u64>),
    Create(u64),
    Pay(usize),
    End(usize, Progress),
    Look(usize),
    Refund(usize, i64),
    Set(usize, OrderStatus),
    Wait(u64),
}

const ITEMS: [u64; 7] = [PLAIN, FIVE, TWO_EACH, BOTH, VIRTUAL, TWENTY, FREE];

fn some_step() -> impl Strategy<Value = Step> {
    let lines = prop::collection::vec((prop::sample::select(ITEMS.to_vec()), 1_u32..3), 1..4);
    let code = prop::option::of(prop::sample::select(vec!["once", "each", "few", "card"]));
    let ends = vec![Progress::Expired, Progress::Failed, Progress::Processing];
    let to = vec![OrderStatus::Paid, OrderStatus::Cancelled, OrderStatus::Refunded];
    prop_oneof![
        4 => (1_u64..5, lines, code, prop::option::of(1_u64..7)).prop_map(|(user, lines, code, to)| Step::Fill(user, lines, code, to)),
        6 => (1_u64..5).prop_map(Step::Create),
        4 => (0_usize..9).prop_map(Step::Pay),
        1 => (0_usize..9, prop::sample::select(ends)).prop_map(|(order, progress)| Step::End(order, progress)),
        4 => (0_usize..9).prop_map(Step::Look),
        1 => (0_usize..9, 1_i64..400).prop_map(|(order, amount)| Step::Refund(order, amount)),
        1 => (0_usize..9, prop::sample::select(to)).prop_map(|(order, to)| Step::Set(order, to)),
        2 => (1_u64..50).prop_map(Step::Wait),
    ]
}

/// The orders by number.
async fn all(market: &Market) -> Vec<InternalId> {
    let mut all = orders(&market.shop.db).await;
    all.sort_by_key(|stored| stored.order.id.get());
    all.into_iter().map(|stored| stored.order.internal_id).collect()
}

async fn take(market: &Market, step: Step) {
    let orders = all(market).await;
    let at = |place: usize| (!orders.is_empty()).then(|| orders[place % orders.len()].clone());
    let opened = |place: usize| at(place).filter(|order| market.provider.state(order).is_some());
    match step {
        Step::Fill(user, lines, code, to) => {
            let mut lines: Vec<Line> = (1..).zip(lines).map(|(id, (item, count))| line(id, item, count)).collect();
            lines.extend(to.map(|to| gift(9, GIFT, &format!("Player{to}"))));
            market.fill_with(user, lines, code).await;
        }
        Step::Create(user) => match market.create(user).await {
            Ok(_) | Err(Refused::Refused(_) | Refused::CodeRemoved { .. } | Refused::Processing) => {}
            Err(error) => panic!("{error:?}"),
        },
        Step::Pay(order) => _ = at(order).map(|order| market.provider.pay(&order)),
        Step::End(order, progress) => _ = opened(order).map(|order| market.provider.end(&order, progress)),
        Step::Look(order) => {
            if let Some(order) = at(order) {
                market.settle(&order).await;
            }
        }
        Step::Refund(order, amount) => {
            if let Some(order) = opened(order) {
                market.provider.set(&order, |state| {
                    if state.progress == Progress::Paid {
                        state.refunded = (state.refunded + Money::from_minor(amount)).min(state.amount);
                    }
                });
            }
        }
        Step::Set(order, to) => {
            if let Some(order) = at(order) {
                // Refused where the order cannot change so.
                _ = set_status(&market.shop.db, market.clock(), &order, to).await;
            }
        }
        Step::Wait(minutes) => {
            market.clock().advance(Duration::from_mins(minutes));
            market.sweep().await;
        }
    }
}

async fn play(steps: Vec<Step>) {
    let market = Market::open().await;
    let balances: BTreeMap<u64, i64> = (1..5).map(|user| (user, 130)).collect();
    for (user, balance) in &balances {
        market.set_virtual_balance(*user, *balance).await;
    }
    for step in steps {
        take(&market, step).await;
        assert_books(&market, &balances).await;
    }
    for order in market.provider.in_state(Progress::Processing) {
        market.provider.set(&order, |state| state.progress = Progress::Failed);
    }
    market.sweep_later().await;
    for order in all(&market).await {
        market.settle(&order).await;
    }
    market.sweep_later().await;
    assert_quiet(&market, &balances).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn counters_uses_and_balances_are_what_is_paid_or_held(steps in prop::collection::vec(some_step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(play(steps));
    }
}
