//! Anything that can happen to three orders and two game servers, one with the plugin and one with an agent, in any order.
//!
//! At the end every command of an order that is still paid ran, or is visible as one that has not; nothing ran again after
//! the server had said a word about it; and what ran of an order that is taken back is followed by the commands that take
//! it back, after it. In a new season of the first server that is so of what was given in it. What a game server repeats
//! from its own disk is excepted. No command of an order gets a second id after a restore, and runs again under it.

use super::agent::{Agent, agent_id};
use super::game_server::{GameServer, Run, Trouble};
use super::holders::audited;
use super::shop::{BUYER, Shop, bought, on, online};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use shared::model::{
    Command, CommandEvent, CommandId, CommandState, CommandTemplate, DeliveryRun, Entitlement, InternalId,
    ItemDelivery, OrderStatus, RunName, ServerId, UserName,
};
use shared::shop::accounts::bans;
use shared::shop::delivery::{HoldersAudit, StopReason, commands_of, give_season, poll, restored, season_orders, stop};
use shared::shop::orders;
use shared::table::restoring::ids_after_restore;
use shared::table::{StoreError, single};
use std::collections::BTreeSet;
use tests::{Dump, Fault, count};

#[derive(Debug, Clone, Copy)]
enum Op {
    Pay(usize),
    Refund(usize),
    Dispute(usize),
    Round(usize, Trouble),
    Join(usize),
    Leave(usize),
    Restart(usize, bool),
    /// A second agent polls with the first one's key.
    SecondAgent,
    Ban,
    /// A new season of the first server, under one of two names.
    Season(usize),
    Backup,
    Restore,
    Sweep,
    Wait(u64),
}

/// A fault of one call to the database during an operation.
type Broken = Option<(usize, Fault)>;

fn troubles() -> impl Strategy<Value = Trouble> {
    let rarely = || prop::bool::weighted(0.1);
    (rarely(), any::<bool>(), rarely(), prop::bool::weighted(0.3))
        .prop_map(|(lost, asks_first, crashes, is_slow)| Trouble { lost, asks_first, crashes, is_slow })
}

fn ops() -> impl Strategy<Value = (Op, Broken)> {
    let op = prop_oneof![
        16 => (0_usize..3).prop_map(Op::Pay),
        8 => (0_usize..3).prop_map(Op::Refund),
        4 => (0_usize..3).prop_map(Op::Dispute),
        32 => (0_usize..2, troubles()).prop_map(|(server, trouble)| Op::Round(server, trouble)),
        12 => (0_usize..2).prop_map(Op::Join),
        4 => (0_usize..2).prop_map(Op::Leave),
        4 => (0_usize..2, any::<bool>()).prop_map(|(server, disk)| Op::Restart(server, disk)),
        2 => Just(Op::SecondAgent),
        1 => Just(Op::Ban),
        4 => (0_usize..2).prop_map(Op::Season),
        3 => Just(Op::Backup),
        2 => Just(Op::Restore),
        8 => Just(Op::Sweep),
        16 => prop_oneof![Just(1_u64), Just(10), Just(61), Just(400)].prop_map(Op::Wait),
    ];
    let fault = prop_oneof![Just(Fault::Away), Just(Fault::ResponseLost), Just(Fault::TransactionConflict)];
    (op, prop::option::weighted(0.15, (0_usize..8, fault)))
}

/// An order that is refunded while its commands run.
fn refunded_meanwhile() -> impl Strategy<Value = Vec<(Op, Broken)>> {
    (0_usize..3, 0_usize..2).prop_map(|(order, server)| {
        let slow = Trouble { is_slow: true, ..Trouble::default() };
        let round = Op::Round(server, slow);
        let ops = [Op::Join(server), Op::Pay(order), round, Op::Refund(order), round];
        ops.map(|op| (op, None)).to_vec()
    })
}

fn histories() -> impl Strategy<Value = Vec<(Op, Broken)>> {
    let part = prop_oneof![9 => ops().prop_map(|op| vec![op]), 1 => refunded_meanwhile()];
    prop::collection::vec(part, 5..60).prop_map(|parts| parts.concat())
}

fn commands() -> Vec<CommandTemplate> {
    let once = |template| CommandTemplate { once: true, ..template };
    vec![
        bought("give-offline {order}"),
        online(bought("give-online {order}")),
        once(online(bought("give-once {order}"))),
        once(bought("give-once-offline {order}")),
        on(CommandEvent::Refunded, "take {order}"),
    ]
}

struct World {
    shop: Shop,
    plugin: GameServer,
    agent: Agent,
    orders: Vec<InternalId>,
    backup: Option<Dump>,
    is_restored: bool,
    seasons: usize,
}

impl World {
    /// As `storectl ban`.
    async fn ban(&self) -> Result<(), StoreError> {
        let (shop, name) = (&self.shop, UserName::parse(BUYER.1).unwrap());
        bans::ban(shop.db(), &name, None, &[], shop.clock().seconds()).await?;
        for id in &self.orders {
            let Some(stored) = orders::get(shop.db(), id).await? else { continue };
            let ids: Vec<CommandId> =
                commands_of(shop.db(), &stored).await?.into_iter().map(|command| command.id).collect();
            stop(shop.db(), shop.clock(), &ids, StopReason::Banned).await?;
        }
        Ok(())
    }

    /// As `storectl delivery retry --today`.
    async fn season(&mut self, name: usize) {
        let name = RunName::parse(&format!("season{name}")).unwrap();
        let (shop, server) = (&self.shop, self.plugin.key.server());
        let until = shop.clock().seconds() + 1;
        let run = DeliveryRun { server, since: 0, until, item: None, today: true };
        for order in season_orders(shop.db(), &name, &run).await.unwrap_or_default() {
            drop(give_season(shop.db(), shop.clock(), (&name, &run), &order).await);
        }
        self.seasons += 1;
    }

    /// As `storectl restore`, of the last backup. No one restores it twice within a minute.
    async fn restore(&mut self) {
        let Some(backup) = self.backup.clone() else { return };
        self.shop.wait(60);
        let (store, at) = (&self.shop.store, self.shop.clock().seconds());
        backup.flat_map(|item| restored(item, at).unwrap().items).restore(store).await;
        single::reserve(&store.db, single::COMMANDS, ids_after_restore(at)).await.unwrap();
        self.is_restored = true;
    }

    async fn run(&mut self, op: Op, broken: Broken) {
        if let Some((place, fault)) = broken {
            self.shop.store.faults.fail_at(place, fault);
        }
        let shop = &self.shop;
        match op {
            Op::Pay(order) => drop(shop.set(&self.orders[order], OrderStatus::Paid).await),
            Op::Refund(order) => drop(shop.set(&self.orders[order], OrderStatus::Refunded).await),
            Op::Dispute(order) => drop(shop.dispute(&self.orders[order]).await),
            Op::Round(0, trouble) => drop(self.plugin.round(shop, trouble).await),
            Op::Round(_, trouble) => self.agent.round(shop, trouble).await,
            Op::Join(0) => self.plugin.join(shop, BUYER.1).await,
            Op::Join(_) => self.agent.join(),
            Op::Leave(0) => self.plugin.leave(BUYER.1),
            Op::Leave(_) => self.agent.leave(),
            Op::Restart(0, loses_disk) => self.plugin.restart(shop, loses_disk).await,
            Op::Restart(_, loses_journal) => self.agent.restart(loses_journal),
            // If the first one was away for two minutes, it is the second one's.
            Op::SecondAgent => drop(poll(shop.db(), shop.clock(), &self.agent.key, Some(&agent_id(99))).await),
            Op::Ban => drop(self.ban().await),
            Op::Season(name) => self.season(name).await,
            Op::Backup => self.backup = Some(Dump::read(&shop.store).await),
            Op::Restore => {
                shop.store.faults.clear();
                self.restore().await;
            }
            Op::Sweep => shop.sweep().await,
            Op::Wait(seconds) => {
                // What runs slowly does so within a minute.
                if seconds > 10 {
                    self.plugin.run_slow();
                }
                shop.wait(seconds);
            }
        }
        self.shop.store.faults.clear();
    }

    /// Nothing fails any more, the servers poll, and the player joins everywhere.
    async fn settle(&mut self) {
        for _ in 0..5 {
            self.shop.wait(200);
            self.shop.sweep().await;
            self.plugin.run_slow();
            self.plugin.round(&self.shop, Trouble::default()).await;
            self.plugin.leave(BUYER.1);
            self.plugin.join(&self.shop, BUYER.1).await;
            self.agent.join();
            self.agent.round(&self.shop, Trouble::default()).await;
        }
    }

    /// The commands that ran on each server, and those that were served there after a report of them.
    fn seen(&self) -> [(ServerId, &[Run], &[CommandId]); 2] {
        [
            (self.plugin.key.server(), &self.plugin.ran, &self.plugin.served_again),
            (self.agent.key.server(), &self.agent.ran, &self.agent.served_again),
        ]
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        for (server, ran, served_again) in self.seen() {
            prop_assert!(served_again.is_empty(), "served after a word: {served_again:?}");
            for run in ran {
                let times = ran.iter().filter(|other| other.id == run.id).count();
                let has_journal = server == self.agent.key.server() && !self.agent.has_lost_journal;
                prop_assert!(!(has_journal || run.text.contains("once")) || times <= 1, "twice: {run:?}");
                let is_again =
                    |other: &&Run| run.text.starts_with("give") && other.text == run.text && other.id != run.id;
                let ids: BTreeSet<CommandId> = ran.iter().filter(is_again).map(|other| other.id).collect();
                let seasons = if server == self.plugin.key.server() { self.seasons } else { 0 };
                prop_assert!(ids.len() <= seasons, "by more ids: {run:?}");
            }
        }
        for id in &self.orders {
            self.check_order(id).await?;
        }
        prop_assert_eq!(audited(&self.shop).await, HoldersAudit::default(), "who holds what takes back");
        Ok(())
    }

    async fn check_order(&self, id: &InternalId) -> Result<(), TestCaseError> {
        let stored = self.shop.stored(id).await;
        let commands = self.shop.commands(id).await;
        let delivery = stored.effects.delivery.clone().unwrap();
        let is_standing = stored.order.status == OrderStatus::Paid && delivery.entitlement == Entitlement::Good;
        // Without what was given in a season before.
        let own = delivery.first.map(|first| first.get()..first.get() + delivery.made).unwrap_or_default();
        let is_present = |id: &CommandId| own.contains(&id.get()) || delivery.further.contains(id);
        let is_given = |command: &&Command| command.event == CommandEvent::Bought && is_present(&command.id);
        let given = || commands.iter().filter(is_given);
        if is_standing {
            prop_assert_eq!(given().count(), 8, "all of it is queued");
            for command in given() {
                let has_run = self.seen().iter().any(|(_, ran, _)| ran.iter().any(|run| run.id == command.id));
                let state = command.delivery.state;
                let is_visible = matches!(
                    state,
                    CommandState::Waiting
                        | CommandState::Ready
                        | CommandState::Served
                        | CommandState::Kept
                        | CommandState::Unknown
                        | CommandState::Stopped
                );
                prop_assert!(has_run || is_visible, "{command:?} neither ran nor is visible");
            }
        } else if stored.order.status != OrderStatus::Pending {
            let present = given().map(|command| command.id).collect();
            for (server, ran, _) in self.seen() {
                self.check_taken_back(id, server, ran, (&commands, &present))?;
            }
        }
        Ok(())
    }

    fn check_taken_back(
        &self,
        id: &InternalId,
        server: ServerId,
        all: &[Run],
        (commands, given): (&[Command], &BTreeSet<CommandId>),
    ) -> Result<(), TestCaseError> {
        let ran = |word: &str| {
            let is_of = move |run: &Run| {
                let is_known = word != "give" || given.contains(&run.id);
                is_known && run.text.starts_with(word) && run.text.ends_with(id.as_str())
            };
            all.iter().enumerate().filter(move |(_, run)| is_of(run)).map(|(place, _)| place).collect::<Vec<_>>()
        };
        let (given, taken) = (ran("give"), ran("take"));
        // What was taken back before a restore is paid again after it.
        if let (Some(last), Some(first), false) = (given.last(), taken.first(), self.is_restored) {
            prop_assert!(last < first, "{id}: taken back before it ran: {all:?}");
        }
        let is_back = |command: &&Command| command.event == CommandEvent::Refunded && command.server == server;
        prop_assert!(
            given.is_empty() || commands.iter().any(|command| is_back(&command)),
            "{id}: nothing takes it back"
        );
        Ok(())
    }
}

#[test]
fn nothing_is_lost_repeated_or_left_whatever_happens() {
    let cases = count("PROPTEST_CASES", 32);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    TestRunner::new(config).run(&histories(), |history| crate::block_on(try_history(history))).unwrap();
}

async fn try_history(history: Vec<(Op, Broken)>) -> Result<(), TestCaseError> {
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1, 2], ItemDelivery { commands: commands(), expires_after: None }).await;
    let plugin = shop.game_server(1).await;
    let agent = Agent::new(shop.game_server(2).await.key);
    let mut orders = Vec::new();
    for name in ["first", "second", "third"] {
        orders.push(shop.order(name).await);
    }
    let mut world = World { shop, plugin, agent, orders, backup: None, is_restored: false, seasons: 0 };
    for (op, broken) in history {
        world.run(op, broken).await;
    }
    world.settle().await;
    world.check().await
}
