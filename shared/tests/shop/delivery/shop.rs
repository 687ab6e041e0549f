//! A shop with commands, and what happens to its orders.

use super::game_server::GameServer;
use crate::shop::paid;
use shared::clock::Clock;
use shared::model::{
    Chosen, Command, CommandEvent, CommandId, CommandTemplate, InternalId, ItemDelivery, ItemId, ItemType, Lasting,
    LineId, LineVariable, OrderLine, OrderStatus, PaymentType, PlayerName, PublishedItem, Server, ServerId,
    StoreDelivery, UserId,
};
use shared::providers::Stripe;
use shared::shop::delivery::{add_key, commands_of, deliveries, trying};
use shared::shop::orders::{self, NewOrder, StoredOrder, record, set_status};
use shared::shop::payments::{Desk, DisputeState, OperatorError, SettleError, note_dispute};
use shared::table::published::read_active_version;
use shared::table::{Db, codec, keys, read_published};
use std::time::Duration;
use tests::{TestStore, configure};

/// The item that the shop sells.
pub const ITEM: ItemId = ItemId::new(302);
/// Another item.
pub const OTHER: ItemId = ItemId::new(201);
/// A buyer of gifts.
pub const STRANGER: UserId = UserId::new(2);
pub const BUYER: (UserId, &str) = (UserId::new(1), "Thornwick");

/// A shop in a fresh table.
pub struct Shop {
    pub store: TestStore,
}

/// Seconds.
pub const DAY: u64 = 86_400;

pub fn expired(run: &str) -> CommandTemplate {
    on(CommandEvent::Expired, run)
}

pub fn refunded(run: &str) -> CommandTemplate {
    on(CommandEvent::Refunded, run)
}

pub fn permanent(commands: Vec<CommandTemplate>) -> ItemDelivery {
    ItemDelivery { commands, expires_after: None }
}

pub fn for_thirty_days(commands: Vec<CommandTemplate>) -> ItemDelivery {
    ItemDelivery { commands, expires_after: Some(30 * 86_400) }
}

pub fn hat() -> ItemDelivery {
    permanent(vec![bought("unlock {player}"), refunded("lock {player}")])
}

/// A shop that delivers the item so to one game server.
pub async fn sells(delivery: ItemDelivery) -> (Shop, GameServer) {
    let shop = Shop::selling(delivery).await;
    let server = shop.game_server(1).await;
    (shop, server)
}

/// A command that is run when the item is bought.
pub fn bought(run: &str) -> CommandTemplate {
    CommandTemplate { run: run.to_owned(), ..CommandTemplate::default() }
}

/// A command that is run at another event.
pub fn on(event: CommandEvent, run: &str) -> CommandTemplate {
    CommandTemplate { on: event, ..bought(run) }
}

pub fn online(template: CommandTemplate) -> CommandTemplate {
    CommandTemplate { online: true, ..template }
}

/// A line as its buyer chose it.
fn chosen(line: u64, name: &str, value: Option<&str>, gift_to: Option<&str>) -> Chosen {
    let variables = value.map(|value| LineVariable { id: 1, value: value.to_owned() }).into_iter().collect();
    let gift_to = gift_to.map(|name| PlayerName::parse(name).unwrap());
    Chosen { line: LineId::new(line), name: name.to_owned(), variables, server: None, gift_to }
}

impl Shop {
    /// A shop that runs these commands on one server.
    pub async fn open(commands: Vec<CommandTemplate>) -> Self {
        Self::selling(permanent(commands)).await
    }

    /// A shop that delivers the item so to one server.
    pub async fn selling(delivery: ItemDelivery) -> Self {
        let shop = Self { store: TestStore::open().await };
        shop.publish(&[1], delivery).await;
        shop
    }

    /// Publishes the item with these commands on these servers.
    pub async fn publish(&self, servers: &[u64], delivery: ItemDelivery) {
        self.publish_item(ITEM, servers, delivery).await;
    }

    pub async fn publish_item(&self, item: ItemId, servers: &[u64], delivery: ItemDelivery) {
        let db = &self.store.db;
        let servers: Vec<Server> =
            servers.iter().map(|id| Server { id: ServerId::new(*id), name: format!("S{id}") }).collect();
        let all = (1..=3).map(|id| Server { id: ServerId::new(id), name: format!("S{id}") });
        let all = if item == ITEM { servers.clone() } else { all.collect() };
        let all = StoreDelivery { servers: all, ..StoreDelivery::default() };
        configure(db, |config| config.delivery = all).await;
        let version = read_active_version(db).await.unwrap().unwrap().version;
        let key = keys::item(&version, item);
        let mut published: PublishedItem = read_published(db, &key).await.unwrap().unwrap();
        published.item.servers = servers;
        published.item.kind = ItemType::Cmd;
        published.item.allow_select_server = false;
        published.item.global_limit = None;
        published.item.user_limit = None;
        published.delivery = delivery;
        let item = codec::encode_published(&key, &published).unwrap();
        tests::put(db, item).await;
    }

    /// The database as the functions reach it.
    pub fn db(&self) -> &Db {
        self.store.functions_db()
    }

    pub fn clock(&self) -> &dyn Clock {
        self.store.clock.as_ref()
    }

    pub fn wait(&self, seconds: u64) {
        self.store.clock.advance(Duration::from_secs(seconds));
    }

    /// A game server with a key of its own.
    pub async fn game_server(&self, server: u64) -> GameServer {
        let (_, key) = add_key(&self.store.db, self.clock(), ServerId::new(server)).await.unwrap();
        GameServer::new(key)
    }

    fn new_order(id: &str, status: OrderStatus, count: u32) -> NewOrder {
        let paid = paid(id, Some(BUYER.0.get()), &[(ITEM.get(), count, 100)]);
        NewOrder { status, created_at: None, ..paid }
    }

    /// An order that is not paid yet.
    pub async fn order(&self, id: &str) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Pending, 1);
        record(&self.store.db, self.clock(), new).await.unwrap().stored.order.internal_id
    }

    /// An order that is paid.
    pub async fn buy(&self, id: &str) -> InternalId {
        self.buy_many(id, 1).await
    }

    pub async fn buy_many(&self, id: &str, count: u32) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Paid, count);
        record(&self.store.db, self.clock(), new).await.unwrap().stored.order.internal_id
    }

    /// A paid order of an item that has this name.
    pub async fn buy_named(&self, id: &str, name: &str) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Paid, 1);
        let lines = vec![OrderLine { chosen: Some(chosen(1, name, None, None)), ..new.lines[0].clone() }];
        record(&self.store.db, self.clock(), NewOrder { lines, ..new }).await.unwrap().stored.order.internal_id
    }

    /// An order, not paid yet, of an item, its units and the value of its variable 1, for the owner or as a gift.
    pub async fn order_of(
        &self,
        id: &str,
        owner: UserId,
        (item, count, value): (ItemId, u32, &str),
        gift_to: Option<&str>,
    ) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Pending, count);
        let payment_type = if gift_to.is_some() { PaymentType::Gift } else { PaymentType::OneOff };
        let chosen = Some(chosen(1, "a thing", Some(value), gift_to));
        let line = OrderLine { item, payment_type, chosen, ..new.lines[0].clone() };
        let new = NewOrder { owner: Some(owner), lines: vec![line], ..new };
        record(&self.store.db, self.clock(), new).await.unwrap().stored.order.internal_id
    }

    /// A paid order of these lines: an item, its units, and the value of its variable 1.
    pub async fn buy_lines(&self, id: &str, lines: &[(ItemId, u32, &str)]) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Paid, 1);
        let lines = (1..).zip(lines).map(|(line, (item, count, value))| {
            let chosen = Some(chosen(line, "a thing", Some(value), None));
            OrderLine { item: *item, count: *count, chosen, ..new.lines[0].clone() }
        });
        let new = NewOrder { lines: lines.collect(), ..new.clone() };
        record(&self.store.db, self.clock(), new).await.unwrap().stored.order.internal_id
    }

    /// A paid order of a stranger with a gift for each of these names.
    pub async fn give(&self, id: &str, names: &[&str]) -> InternalId {
        let new = Self::new_order(id, OrderStatus::Paid, 1);
        let new = NewOrder { owner: Some(STRANGER), ..new };
        let lines = (1..).zip(names).map(|(line, name)| {
            let chosen = Some(chosen(line, "a gift", None, Some(name)));
            OrderLine { payment_type: PaymentType::Gift, chosen, ..new.lines[0].clone() }
        });
        let new = NewOrder { lines: lines.collect(), ..new.clone() };
        record(&self.store.db, self.clock(), new).await.unwrap().stored.order.internal_id
    }

    /// Begins a try of the item, and returns the ids of the commands that give.
    pub async fn begin_try(&self, player: &str) -> Vec<CommandId> {
        let (db, clock) = (&self.store.db, self.clock());
        let active = read_active_version(db).await.unwrap().unwrap();
        let published = read_published(db, &keys::item(&active.version, ITEM)).await.unwrap().unwrap();
        let (chosen, player) = (chosen(1, "", None, None), PlayerName::parse(player).unwrap());
        let plan = trying::plan(db, clock, (&active, "EUR"), (&published, chosen), &player).await;
        let begun = trying::begin(db, &trying::run_of(ITEM).unwrap(), plan.unwrap().unwrap()).await;
        let (given, _) = trying::read(db, &begun.unwrap().unwrap()).await.unwrap();
        given.iter().map(|command| command.id).collect()
    }

    /// Changes the status of an order, through the database as functions reach it. Whether that is known to be done.
    pub async fn set(&self, id: &InternalId, to: OrderStatus) -> bool {
        set_status(self.db(), self.clock(), id, to).await.is_ok()
    }

    pub async fn refund(&self, id: &InternalId) {
        assert!(self.set(id, OrderStatus::Refunded).await);
    }

    /// Refunds units of an order's first line, as its owner does.
    pub async fn refund_units(&self, id: &InternalId, units: u32) -> Result<(), OperatorError> {
        let desk = Desk::new(self.db(), self.clock(), None::<&Stripe>);
        desk.refund_lines(id, &[(LineId::new(1), units)]).await.map(drop)
    }

    /// Refunds an order, and sweeps every minute for so many minutes.
    pub async fn refund_and_sweep(&self, id: &InternalId, minutes: u32) {
        self.refund(id).await;
        self.sweep_for(minutes).await;
    }

    /// A dispute, as the webhook notes it.
    pub async fn dispute(&self, id: &InternalId) -> Result<(), SettleError> {
        self.note_dispute(id, "needs_response").await
    }

    pub async fn note_dispute(&self, id: &InternalId, state: &str) -> Result<(), SettleError> {
        let dispute = DisputeState { id: "du_1".to_owned(), intent: None, state: state.to_owned() };
        note_dispute(self.db(), self.clock(), id, &dispute).await.map(drop)
    }

    pub async fn sweep(&self) {
        // What fails is left to the next one.
        drop(Desk::new(self.db(), self.clock(), None::<&Stripe>).sweep().await);
    }

    /// Sweeps every minute for so many minutes.
    pub async fn sweep_for(&self, minutes: u32) {
        for _ in 0..minutes {
            self.wait(60);
            self.sweep().await;
        }
    }

    pub async fn stored(&self, id: &InternalId) -> StoredOrder {
        orders::get(&self.store.db, id).await.unwrap().unwrap()
    }

    /// The commands of an order, by id.
    pub async fn commands(&self, id: &InternalId) -> Vec<Command> {
        commands_of(&self.store.db, &self.stored(id).await).await.unwrap()
    }

    /// The states of an order's commands, by id.
    pub async fn states(&self, id: &InternalId) -> Vec<&'static str> {
        let now = self.clock().seconds();
        let commands = self.commands(id).await;
        commands.iter().map(|command| shared::rules::delivery::state_at(&command.delivery, now).as_str()).collect()
    }

    /// The buyer's texts on a server, by their keys.
    pub async fn texts(&self, server: u64) -> Vec<(keys::Key, Lasting)> {
        let rows = self.store.db.query(&keys::held_by(BUYER.0)).await.unwrap();
        let keys = rows.iter().map(|row| row.key().unwrap());
        let keys = keys.filter(|key| key.sk.starts_with(&format!("TEXT#{server}#")));
        deliveries::lasting(&self.store.db, keys.collect()).await.unwrap().into_iter().collect()
    }

    /// When the text ends that a command waits for.
    pub async fn ends_at(&self, server: u64) -> i64 {
        let rows = self.texts(server).await;
        rows.iter().find_map(|(_, row)| row.end().filter(|_| row.command.is_some())).unwrap()
    }
}
