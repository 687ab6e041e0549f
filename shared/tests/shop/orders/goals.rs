//! Goals: whatever is bought and refunded, and wherever a sweep is killed, each is reported as often as it was reached, and its
//! commands and notices are there once for each time.

use crate::notices::{ids, tell_of};
use crate::shop::{Instance, PLAIN, Shop, id, money, paid};
use crate::sums::shown;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shared::model::{CommandTemplate, Goal, ItemId, NoticeEvent, OrderStatus, Server, ServerId, Settings};
use shared::shop::delivery::{Filter, matching};
use shared::shop::orders::NewOrder;
use shared::shop::statistics::{catch_up, tell_reached};
use shared::table::codec;
use shared::table::keys;
use shared::table::published::read_active_version;
use std::collections::{BTreeMap, BTreeSet};
use tests::{NOW, count};

/// Another item without a limit.
const OTHER: u64 = 5;

#[derive(Debug, Clone)]
enum Op {
    /// Lines of both items.
    Buy(i64, i64),
    /// A part of an order with one line, in percent.
    RefundPart(usize, i64),
    Refund(usize),
    /// The sweep, first killed at a transaction, which was written or not.
    Sweep(Option<(usize, bool)>),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let amount = || prop_oneof![2 => Just(0_i64), 5 => 1_i64..9_000, 1 => 20_000_i64..40_000];
    let op = prop_oneof![
        5 => (amount(), amount()).prop_map(|(one, other)| Op::Buy(one, other)),
        1 => (0_usize..12, 1_i64..100).prop_map(|(order, share)| Op::RefundPart(order, share)),
        2 => (0_usize..12).prop_map(Op::Refund),
        3 => prop::option::of((1_usize..4, any::<bool>())).prop_map(Op::Sweep),
    ];
    prop::collection::vec(op, 3..20)
}

fn goals() -> Vec<Goal> {
    let run = |text: &str| CommandTemplate { run: text.to_owned(), ..CommandTemplate::default() };
    let goal =
        |id: u64, amount: i64| Goal { id, name: format!("goal {id}"), goal_amount: money(amount), ..Goal::default() };
    let plain = Some([ItemId::new(PLAIN)].into());
    vec![
        Goal { repeat: true, commands: vec![run("all on {server}"), run("all again")], ..goal(1, 10_000) },
        Goal { items: plain, commands: vec![run("plain")], ..goal(2, 6_000) },
        Goal { items: Some([ItemId::new(OTHER)].into()), repeat: true, ..goal(3, 2_500) },
        // Too late for all of them.
        Goal { until: Some(NOW), repeat: true, ..goal(4, 1) },
    ]
}

/// What an order has left of each item.
type Left = [i64; 2];

struct Model {
    shop: Shop,
    orders: Vec<Left>,
    /// How often each goal was reached.
    times: BTreeMap<u64, u64>,
}

impl Model {
    async fn open() -> Self {
        let shop = Shop::open().await;
        let servers = [1, 2].map(|id| Server { id: ServerId::new(id), name: format!("S{id}") });
        tests::configure(&shop.db, |config| config.delivery.servers = servers.into()).await;
        tell_of(&shop.db, &[NoticeEvent::Goal]).await;
        let version = read_active_version(&shop.db).await.unwrap().unwrap().version;
        let settings = Settings { goals: goals(), ..Settings::default() };
        shop.write_item(codec::encode_published(&keys::settings(&version), &settings).unwrap()).await;
        Self { shop, orders: Vec::new(), times: BTreeMap::new() }
    }

    async fn sweep(&self, by: &Instance) -> bool {
        let active = read_active_version(&self.shop.db).await.unwrap().unwrap();
        let settings = Settings { goals: goals(), ..Settings::default() };
        tell_reached(&by.db, &self.shop.clock, (&active, &settings)).await.is_ok()
    }

    /// The sums that count for the goals.
    fn sums(&self) -> [(u64, i64, i64); 3] {
        let sum = |of: fn(&Left) -> i64| self.orders.iter().map(of).sum::<i64>();
        let plain = sum(|left| left[0]);
        [(1, sum(|left| left[0] + left[1]), 10_000), (2, plain, 6_000), (3, sum(|left| left[1]), 2_500)]
    }

    async fn does(&mut self, op: &Op) {
        match *op {
            Op::Buy(one, other) => {
                let name = format!("o{}", self.orders.len());
                let lines: Vec<(u64, u32, i64)> =
                    [(PLAIN, 1, one), (OTHER, 1, other)].into_iter().filter(|(.., total)| *total > 0).collect();
                if !lines.is_empty() {
                    self.shop.record(paid(&name, Some(1), &lines)).await.unwrap();
                    self.orders.push([one, other]);
                }
            }
            Op::RefundPart(order, share) => {
                let Some(left) = self.orders.get_mut(order) else { return };
                let part = left[0] * share / 100;
                if left[1] == 0 && part > 0 {
                    let name = id(&format!("o{order}"));
                    self.shop
                        .rewrite(&name, |stored| stored.effects.refunded = stored.effects.refunded + money(part))
                        .await;
                    catch_up(&self.shop.db, &name).await.unwrap();
                    left[0] -= part;
                }
            }
            Op::Refund(order) => {
                if let Some(left) = self.orders.get_mut(order) {
                    self.shop.set_status(&format!("o{order}"), OrderStatus::Refunded).await.unwrap();
                    *left = [0, 0];
                }
            }
            Op::Sweep(killed) => {
                if let Some((nth, is_written)) = killed {
                    self.sweep(&self.shop.killed_at_transaction(nth, is_written)).await;
                }
                // One sweep tells of 50 times at most.
                for _ in 0..10 {
                    assert!(self.sweep(&self.shop.instance()).await);
                }
                for (goal, sum, amount) in self.sums() {
                    let most = if goal == 2 { 1 } else { u64::MAX };
                    let reached = u64::try_from(sum / amount).unwrap().min(most);
                    let times = self.times.entry(goal).or_default();
                    *times = (*times).max(reached);
                }
            }
        }
    }

    async fn check(&self) {
        let sums = shown(&self.shop.db).await.goals;
        for (goal, sum, _) in self.sums() {
            assert_eq!(sums.get(&goal.to_string()).map_or(0, |sum| sum.minor()), sum, "goal {goal}");
        }
        assert_eq!(sums.get("4"), None);
        let listed = matching(&self.shop.db, &Filter::default(), self.shop.now()).await.unwrap().unwrap();
        let mut ran: Vec<(String, String)> =
            listed.commands.into_iter().map(|command| (command.order.to_string(), command.text)).collect();
        ran.sort();
        let (mut commands, mut notices) = (Vec::new(), Vec::new());
        for (goal, times) in &self.times {
            let texts: &[&str] = match goal {
                1 => &["all again", "all again", "all on S1", "all on S2"],
                2 => &["plain", "plain"],
                _ => &[],
            };
            let amount = goals()[usize::try_from(*goal).unwrap() - 1].goal_amount.minor();
            for time in 1..=*times {
                commands.extend(texts.iter().map(|text| (format!("goal-{goal}-{time}"), (*text).to_owned())));
                notices.push(format!("goal-{goal}-{}", u64::try_from(amount).unwrap() * time));
            }
        }
        commands.sort();
        assert_eq!(ran, commands);
        let mut told = ids(&self.shop.db, NoticeEvent::Goal).await;
        told.sort();
        notices.sort();
        assert_eq!(told, notices);
    }
}

#[test]
fn a_goal_is_told_of_as_often_as_it_was_reached_wherever_a_sweep_is_killed() {
    let run = |ops: Vec<Op>| {
        crate::block_on(async {
            let mut model = Model::open().await;
            for op in ops.iter().chain([&Op::Sweep(None)]) {
                model.does(op).await;
            }
            model.check().await;
        });
        Ok(())
    };
    TestRunner::new(Config::with_cases(count("PROPTEST_CASES", 24))).run(&ops(), run).unwrap();
}

#[tokio::test]
async fn a_jump_is_as_many_times_as_it_passes_and_a_refund_undoes_none_of_them() {
    let mut model = Model::open().await;
    // 90, and 310; back to 110, and to 310 again; then past the next one.
    for (op, times) in [
        (Op::Buy(9_000, 0), 0),
        (Op::Buy(22_000, 0), 3),
        (Op::Refund(1), 3),
        (Op::Buy(22_000, 0), 3),
        (Op::Buy(9_000, 0), 4),
    ] {
        model.does(&op).await;
        model.does(&Op::Sweep(None)).await;
        assert_eq!(model.times[&1], times, "{op:?}");
        model.check().await;
    }
}

#[tokio::test]
async fn what_is_recorded_late_is_counted_and_told_of_no_goal_and_what_was_due_stays_due() {
    let model = Model::open().await;
    let mut sum = 0;
    // Amounts, whether they are of two days ago, and the sums of goal 1 of which it is told then.
    for (name, amount, is_late, told) in [
        ("first", 9_000, false, &["goal-2-6000"][..]),
        ("late", 22_000, true, &[]),
        ("next", 9_000, false, &["goal-1-40000"]),
        ("due", 10_000, false, &[]),
        ("later", 15_000, true, &["goal-1-60000"]),
    ] {
        let order = paid(name, Some(1), &[(PLAIN, 1, amount)]);
        let created_at = order.created_at.map(|at| if is_late { at - 2 * 86_400 } else { at });
        let before = ids(&model.shop.db, NoticeEvent::Goal).await;
        model.shop.record(NewOrder { created_at, ..order }).await.unwrap();
        sum += amount;
        if name != "due" {
            assert!(model.sweep(&model.shop.instance()).await);
        }
        assert_eq!(shown(&model.shop.db).await.goals["1"], money(sum));
        let after = ids(&model.shop.db, NoticeEvent::Goal).await;
        let new: Vec<&String> = after.iter().filter(|id| !before.contains(id)).collect();
        assert_eq!(new, told, "{name}");
    }
    let list = async |order: Option<&str>| {
        let filter = Filter { order: order.map(id), ..Filter::default() };
        matching(&model.shop.db, &filter, model.shop.now()).await.unwrap()
    };
    assert_eq!(list(Some("goal-2-1")).await.unwrap().commands.len(), 2);
    assert!(list(Some("goal-2-2")).await.is_none());
    let listed = list(None).await.unwrap();
    let orders: BTreeSet<String> = listed.commands.iter().map(|command| command.order.to_string()).collect();
    assert_eq!(orders, ["goal-1-4", "goal-1-6", "goal-2-1"].map(ToOwned::to_owned).into());
}
