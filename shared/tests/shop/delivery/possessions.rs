//! Anything that two players buy, are given and pay back, and the owner publishes, moves to the other player and gives again in
//! a new season meanwhile: at the end each player has what their paid, lasting orders give, and nothing else.

use super::game_server::{GameServer, Trouble};
use super::holders::audited;
use super::shop::{BUYER, ITEM, OTHER, STRANGER, Shop, bought, on};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use shared::model::{
    CommandEvent, CommandTemplate, DeliveryRun, InternalId, ItemDelivery, LineId, OrderStatus, PlayerName, RunName,
};
use shared::shop::delivery::{HoldersAudit, give_season, season_orders};
use shared::shop::orders::{NewPlayer, move_order};
use std::collections::{BTreeMap, BTreeSet};
use tests::{Fault, count};

const DAY: i64 = 86_400;
const PERIOD: i64 = 30 * DAY;
/// The player of gifts beside the buyer.
const FRIEND: &str = "Moss";

#[derive(Debug, Clone, Copy)]
enum Op {
    Buy {
        for_friend: bool,
        is_gift: bool,
        item: Sold,
        count: u32,
        fox: bool,
    },
    Refund(usize),
    Dispute(usize),
    /// The owner moves an order to the other player.
    Move(usize),
    /// The game server is wiped.
    Season,
    /// What is published of the item becomes richer, and at last permanent.
    Publish,
    Round,
    Wait(u64),
}

/// The item whose commands change, or one that is permanent and gives a part of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sold {
    Changing,
    Permanent,
}

fn ops() -> impl Strategy<Value = (Op, Option<(usize, Fault)>)> {
    let item = prop_oneof![3 => Just(Sold::Changing), 1 => Just(Sold::Permanent)];
    let buy = (any::<bool>(), any::<bool>(), item, 1_u32..4, any::<bool>());
    let op = prop_oneof![
        8 => buy.prop_map(|(for_friend, is_gift, item, count, fox)| Op::Buy { for_friend, is_gift, item, count, fox }),
        4 => (0_usize..6).prop_map(Op::Refund),
        2 => (0_usize..6).prop_map(Op::Dispute),
        3 => (0_usize..6).prop_map(Op::Move),
        1 => Just(Op::Publish),
        2 => Just(Op::Season),
        6 => Just(Op::Round),
        6 => prop_oneof![Just(1_u64), Just(10), Just(25)].prop_map(Op::Wait),
    ];
    let fault = prop_oneof![Just(Fault::Away), Just(Fault::ResponseLost), Just(Fault::TransactionConflict)];
    (op, prop::option::weighted(0.15, (0_usize..12, fault)))
}

/// What the item's commands are at a stage.
fn delivery(stage: usize) -> ItemDelivery {
    let mut things = vec!["vip {var:1}", "claims {count}"];
    things.extend((stage > 0).then_some("kit"));
    let take = |thing: &&str, event| on(event, &format!("take {{player}} {thing}"));
    let given = things.iter().map(|thing| bought(&format!("give {{player}} {thing}")));
    let taken = things.iter().map(|thing| take(thing, CommandEvent::Refunded));
    let is_timed = stage < 2;
    let ended = things.iter().filter(|_| is_timed).map(|thing| take(thing, CommandEvent::Expired));
    let commands: Vec<CommandTemplate> = given.chain(ended).chain(taken).collect();
    ItemDelivery { commands, expires_after: is_timed.then_some(30 * 86_400) }
}

/// An order of the model.
struct Bought {
    id: InternalId,
    player: &'static str,
    at: i64,
    count: i64,
    is_timed: bool,
    counts_claims: bool,
    is_gift: bool,
    fox: bool,
    things: Vec<String>,
    is_paid: bool,
}

/// Who holds a thing of a player: orders with the time that they add, and when it is over.
#[derive(Default)]
struct Holders {
    timed: Vec<(usize, i64)>,
    permanent: BTreeSet<usize>,
    ends_at: i64,
}

struct World {
    shop: Shop,
    server: GameServer,
    stage: usize,
    orders: Vec<Bought>,
    things: BTreeMap<(&'static str, String), Holders>,
    /// The things whose ends wait for a player's item and choice.
    waiting: BTreeMap<(&'static str, bool), Vec<String>>,
    seasons: usize,
}

impl World {
    fn now(&self) -> i64 {
        self.shop.clock().seconds()
    }

    async fn buy(&mut self, (for_friend, is_gift): (bool, bool), item: Sold, count: u32, fox: bool) {
        let id = InternalId::new(&format!("order{}", self.orders.len()));
        let player = if for_friend { FRIEND } else { BUYER.1 };
        let value = if fox { "fox" } else { "toad" };
        let sold = if item == Sold::Changing { ITEM } else { OTHER };
        let owner = if is_gift || for_friend { STRANGER } else { BUYER.0 };
        let gift_to = (is_gift || for_friend).then_some(player);
        let order = self.shop.order_of(id.as_str(), owner, (sold, count, value), gift_to).await;
        if !self.shop.set(&order, OrderStatus::Paid).await {
            self.shop.store.faults.clear();
            assert!(self.shop.set(&order, OrderStatus::Paid).await);
        }
        self.shop.store.faults.clear();
        self.shop.sweep_for(2).await;
        self.note(order, player, (item, count, fox), gift_to.is_some());
    }

    /// What the order gives, as the model has it.
    fn note(&mut self, id: InternalId, player: &'static str, (item, count, fox): (Sold, u32, bool), is_gift: bool) {
        let (now, place) = (self.now(), self.orders.len());
        let is_changing = item == Sold::Changing;
        let is_timed = is_changing && self.stage < 2;
        let mut things = vec![format!("vip {}", if fox || !is_changing { "fox" } else { "toad" })];
        things.extend((is_changing && self.stage > 0).then(|| "kit".to_owned()));
        let (count, counts_claims) = (i64::from(count), is_changing);
        let bought =
            Bought { id, player, at: now, count, is_timed, counts_claims, is_gift, fox, things, is_paid: true };
        self.hold(place, &bought, false);
        if is_changing {
            self.waiting.insert((player, fox), if is_timed { bought.things.clone() } else { Vec::new() });
        }
        self.orders.push(bought);
    }

    /// Lets an order hold what it gives its player. One that is moved has done so since it was paid.
    fn hold(&mut self, place: usize, order: &Bought, is_moved: bool) {
        let known = self.waiting.get(&(order.player, order.fox)).cloned().unwrap_or_default();
        let last = known.iter().filter_map(|thing| self.things.get(&(order.player, thing.clone())));
        let last = last.filter(|holders| !holders.timed.is_empty()).map(|holders| holders.ends_at).max();
        let seconds = order.count * PERIOD;
        for thing in &order.things {
            let holders = self.things.entry((order.player, thing.clone())).or_default();
            if order.is_timed {
                if holders.ends_at <= order.at {
                    holders.timed.clear();
                }
                let own = if holders.timed.is_empty() { order.at } else { holders.ends_at };
                let after = last.filter(|_| is_moved || !known.contains(thing)).unwrap_or(order.at);
                holders.ends_at = own.max(after).max(order.at) + seconds;
                holders.timed.push((place, seconds));
            } else {
                holders.permanent.insert(place);
            }
        }
    }

    /// Takes what an order holds from its player.
    fn release(&mut self, place: usize) {
        let now = self.now();
        let order = &self.orders[place];
        for thing in &order.things {
            let Some(holders) = self.things.get_mut(&(order.player, thing.clone())) else { continue };
            holders.permanent.remove(&place);
            if let Some(own) = holders.timed.iter().position(|(other, _)| *other == place) {
                holders.ends_at -= holders.timed.remove(own).1;
            }
            if holders.permanent.is_empty() && holders.ends_at <= now {
                holders.timed.clear();
            }
        }
    }

    async fn move_to_other(&mut self, place: usize) {
        let Some(order) = self.orders.get(place).filter(|order| order.is_paid) else { return };
        let to = if order.player == FRIEND { BUYER.1 } else { FRIEND };
        let name = NewPlayer { user: None, name: Some(PlayerName::parse(to).unwrap()) };
        let (id, line) = (order.id.clone(), order.is_gift.then_some(LineId::new(1)));
        _ = move_order(self.shop.db(), self.shop.clock(), &id, line, &name, false).await;
        self.shop.store.faults.clear();
        self.shop.sweep_for(7).await;
        move_order(self.shop.db(), self.shop.clock(), &id, line, &name, false).await.unwrap();
        self.shop.sweep_for(3).await;
        self.release(place);
        let mut order = self.orders.remove(place);
        order.player = to;
        self.hold(place, &order, true);
        if order.is_timed {
            let waiting = self.waiting.entry((to, order.fox)).or_default();
            waiting.extend(order.things.iter().filter(|thing| !waiting.contains(thing)).cloned().collect::<Vec<_>>());
        }
        self.orders.insert(place, order);
    }

    /// All that waits runs, and the game server is wiped. What is permanent has no command that would end what was timed.
    async fn begin_season(&mut self) {
        if self.stage == 2 {
            return;
        }
        let (shop, now) = (&self.shop, self.now());
        let name = RunName::parse(&format!("season{}", self.seasons)).unwrap();
        let run = DeliveryRun { server: self.server.key.server(), since: 0, until: now + 1, item: None, today: true };
        for is_again in [false, true] {
            for order in season_orders(&shop.store.db, &name, &run).await.unwrap() {
                let given = give_season(shop.db(), shop.clock(), (&name, &run), &order).await;
                assert!(given.is_ok() || !is_again);
            }
            shop.store.faults.clear();
            shop.sweep_for(7).await;
        }
        self.server.ran.clear();
        for place in 0..self.orders.len() {
            let order = &self.orders[place];
            let old = || order.things.iter().filter_map(|thing| self.things.get(&(order.player, thing.clone())));
            let own = old().filter(|holders| holders.timed.iter().any(|(other, _)| *other == place));
            let end = own.map(|holders| holders.ends_at).max();
            if order.is_paid && order.is_timed && end.is_some_and(|end| now < end) {
                self.begin_anew(place, end.unwrap_or_default(), now);
            }
        }
        self.seasons += 1;
    }

    /// An order gives what is published now, until it would have ended.
    fn begin_anew(&mut self, place: usize, end: i64, now: i64) {
        let order = &mut self.orders[place];
        for thing in &order.things {
            if let Some(holders) = self.things.get_mut(&(order.player, thing.clone())) {
                holders.timed.retain(|(other, _)| *other != place);
            }
        }
        order.things.truncate(1);
        order.things.extend((self.stage > 0).then(|| "kit".to_owned()));
        let waiting = self.waiting.entry((order.player, order.fox)).or_default();
        for thing in &order.things {
            let holders = self.things.entry((order.player, thing.clone())).or_default();
            if holders.ends_at <= now {
                holders.timed.clear();
            }
            holders.ends_at = if holders.timed.is_empty() { end } else { holders.ends_at.max(end) };
            holders.timed.push((place, order.count * PERIOD));
            if !waiting.contains(thing) {
                waiting.push(thing.clone());
            }
        }
    }

    async fn settle(&mut self) {
        for _ in 0..4 {
            self.shop.sweep_for(3).await;
            self.server.round(&self.shop, Trouble::NONE).await;
        }
    }

    async fn pay_back(&mut self, place: usize, is_dispute: bool) {
        let Some(order) = self.orders.get_mut(place) else { return };
        let id = order.id.clone();
        for _ in 0..2 {
            if is_dispute {
                drop(self.shop.dispute(&id).await);
            } else {
                self.shop.set(&id, OrderStatus::Refunded).await;
            }
            self.shop.store.faults.clear();
        }
        if std::mem::take(&mut order.is_paid) {
            self.release(place);
        }
        self.shop.sweep_for(7).await;
    }

    async fn run(&mut self, op: Op, broken: Option<(usize, Fault)>) {
        if matches!(op, Op::Season) {
            self.settle().await;
        }
        if let Some((place, fault)) = broken {
            self.shop.store.faults.fail_at(place, fault);
        }
        match op {
            Op::Buy { for_friend, is_gift, item, count, fox } => {
                self.buy((for_friend, is_gift), item, count, fox).await;
            }
            Op::Refund(place) => self.pay_back(place, false).await,
            Op::Dispute(place) => self.pay_back(place, true).await,
            Op::Move(place) => self.move_to_other(place).await,
            Op::Season => self.begin_season().await,
            Op::Publish => {
                self.shop.store.faults.clear();
                self.stage = (self.stage + 1).min(2);
                self.shop.publish(&[1], delivery(self.stage)).await;
            }
            // What a game server is served again after a word that was lost, it runs again.
            Op::Round => {
                self.shop.store.faults.clear();
                _ = self.server.round(&self.shop, Trouble::NONE).await;
            }
            Op::Wait(days) => self.shop.wait(days * 86_400),
        }
        self.shop.store.faults.clear();
    }

    /// What the players have, by what ran.
    fn found(&self) -> (BTreeSet<(&str, &str)>, BTreeMap<&str, i64>) {
        let (mut things, mut claims): (BTreeSet<_>, BTreeMap<&str, i64>) = Default::default();
        for run in &self.server.ran {
            let (word, rest) = run.text.split_once(' ').unwrap();
            let (player, thing) = rest.split_once(' ').unwrap();
            let is_given = word == "give";
            if let Some(count) = thing.strip_prefix("claims ") {
                let count: i64 = count.parse().unwrap();
                *claims.entry(player).or_default() += if is_given { count } else { -count };
            } else if is_given {
                things.insert((player, thing));
            } else {
                things.remove(&(player, thing));
            }
        }
        (things, claims)
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let (now, (found, claims)) = (self.now(), self.found());
        for ((player, thing), holders) in &self.things {
            // A payment that was cut off is finished some minutes later.
            if (holders.ends_at - now).abs() < 3_600 {
                continue;
            }
            let lasts = !holders.timed.is_empty() && now < holders.ends_at;
            let expected = lasts || !holders.permanent.is_empty();
            let ran = self.server.texts();
            prop_assert_eq!(found.contains(&(*player, thing.as_str())), expected, "{} {}: {:?}", player, thing, ran);
        }
        for player in [BUYER.1, FRIEND] {
            let own = || self.orders.iter().filter(|order| order.player == player && order.counts_claims);
            if own().any(|order| order.is_timed && (order.at + PERIOD - now).abs() < 3_600) {
                continue;
            }
            let lasting = own().filter(|order| order.is_paid && (!order.is_timed || now < order.at + PERIOD));
            let expected: i64 = lasting.map(|order| order.count).sum();
            let ran = self.server.texts();
            prop_assert_eq!(claims.get(player).copied().unwrap_or_default(), expected, "{}: {:?}", player, ran);
        }
        Ok(())
    }
}

#[test]
fn each_player_has_what_their_paid_lasting_orders_give() {
    let cases = count("PROPTEST_CASES", 24);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let histories = prop::collection::vec(ops(), 5..30);
    TestRunner::new(config).run(&histories, |history| crate::block_on(try_history(history))).unwrap();
}

/// A part of what the last order gives ends with the first one, before the server asks.
#[test]
fn what_an_order_still_gives_is_given_although_a_refund_has_ended_another_part_of_it() {
    let buy = |fox| Op::Buy { for_friend: false, is_gift: false, item: Sold::Changing, count: 1, fox };
    for history in [
        [buy(false), Op::Publish, Op::Wait(25), buy(false), Op::Dispute(0), Op::Wait(10)],
        [Op::Publish, buy(false), Op::Wait(25), buy(true), Op::Refund(0), Op::Wait(10)],
    ] {
        crate::block_on(try_history(history.map(|op| (op, None)).into())).unwrap();
    }
}

async fn try_history(history: Vec<(Op, Option<(usize, Fault)>)>) -> Result<(), TestCaseError> {
    let shop = Shop::selling(delivery(0)).await;
    let permanent = vec![bought("give {player} vip fox"), on(CommandEvent::Refunded, "take {player} vip fox")];
    shop.publish_item(OTHER, &[1], ItemDelivery { commands: permanent, expires_after: None }).await;
    let server = shop.game_server(1).await;
    let (orders, things, waiting) = Default::default();
    let mut world = World { shop, server, stage: 0, orders, things, waiting, seasons: 0 };
    for (op, broken) in history {
        world.run(op, broken).await;
    }
    world.settle().await;
    prop_assert_eq!(audited(&world.shop).await, HoldersAudit::default(), "who holds what takes back");
    world.check()
}
