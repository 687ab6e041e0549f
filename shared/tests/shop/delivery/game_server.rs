//! A game server for the tests: the plugin of the local server's console, which says its words to the use cases. And these
//! words, the answers to them, and what commands are filled with.

use super::agent::Agent;
use super::shop::{BUYER, Shop, bought, online};
pub use local::game_server::plugin::Run;
use local::game_server::plugin::{Place, Plugin, Row};
use shared::model::{CommandId, ItemDelivery, OrderStatus, ServerId, User};
use shared::shop::delivery::{
    OwnerOutcome, Report, ServerKey, StopReason, cancel, delivered, executed, paynow, poll, retry, stop, validated,
};
use shared::table::{codec, keys, read_live};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use tests::configure;

/// The part of a poll that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trouble {
    /// The response is lost: nothing runs.
    pub lost: bool,
    /// The server asks about players before it says what it has.
    pub asks_first: bool,
    /// The server crashes before it says what it has.
    pub crashes: bool,
    /// Commands that may run for players who are online runs later, see [`GameServer::run_slow`].
    pub is_slow: bool,
}

impl Trouble {
    pub const NONE: Self = Self { lost: false, asks_first: false, crashes: false, is_slow: false };
}

pub struct GameServer {
    pub key: ServerKey,
    plugin: Plugin,
    /// The ids about which a word was said, and the response came.
    pub told: BTreeSet<CommandId>,
    /// Ids that were served after that.
    pub served_again: Vec<CommandId>,
}

impl Deref for GameServer {
    type Target = Plugin;

    fn deref(&self) -> &Plugin {
        &self.plugin
    }
}

impl DerefMut for GameServer {
    fn deref_mut(&mut self) -> &mut Plugin {
        &mut self.plugin
    }
}

impl GameServer {
    pub fn new(key: ServerKey) -> Self {
        Self { key, plugin: Plugin::default(), told: BTreeSet::new(), served_again: Vec::new() }
    }

    /// One round of its loop: what ran is said, what is due is polled, run, and said.
    pub async fn round(&mut self, shop: &Shop, trouble: Trouble) -> usize {
        let ids = self.plugin.take_untold();
        let reports: Vec<Report> = ids.iter().copied().map(Report::done).collect();
        if !ids.is_empty() && executed(shop.db(), shop.clock(), &self.key, &reports).await.is_ok() {
            self.told.extend(ids);
        }
        // Errors look like an empty response.
        let rows = poll(shop.db(), shop.clock(), &self.key, None).await.unwrap_or_default();
        if trouble.lost {
            return 0;
        }
        self.work(shop, rows.into_iter().map(Row::from).collect(), trouble).await
    }

    /// The commands that ran since the last call.
    pub fn take_ran(&mut self) -> Vec<String> {
        let texts = self.texts().into_iter().map(ToOwned::to_owned).collect();
        self.ran.clear();
        texts
    }

    async fn work(&mut self, shop: &Shop, rows: Vec<Row>, trouble: Trouble) -> usize {
        let all: Vec<CommandId> = rows.iter().map(|row| row.id).collect();
        self.served_again.extend(all.iter().filter(|id| self.told.contains(id)));
        let now = self.plugin.work(rows);
        if trouble.crashes {
            let online = self.plugin.online().clone();
            self.plugin.crash(false);
            for player in online {
                self.plugin.join(&player);
            }
        } else if trouble.asks_first {
            self.ask_now(shop, now, trouble.is_slow).await;
            self.say_delivered(shop, &all).await;
        } else {
            self.say_delivered(shop, &all).await;
            self.ask_now(shop, now, trouble.is_slow).await;
        }
        all.len()
    }

    async fn say_delivered(&mut self, shop: &Shop, ids: &[CommandId]) {
        if !ids.is_empty() && delivered(shop.db(), shop.clock(), &self.key, ids).await.is_ok() {
            self.told.extend(ids);
        }
    }

    async fn ask_now(&mut self, shop: &Shop, now: Vec<Place>, is_slow: bool) {
        let ids = self.plugin.ids(&now);
        if ids.is_empty() {
            return;
        }
        let answers = validated(shop.db(), shop.clock(), &self.key, &ids).await.ok();
        self.told.extend(ids.iter().filter(|_| answers.is_some()));
        let may = self.plugin.answered(now, answers.as_deref());
        self.plugin.running.extend(may);
        if !is_slow {
            self.run_slow();
        }
    }

    /// Runs what may run and has not yet.
    pub fn run_slow(&mut self) {
        while let Some(place) = self.plugin.running.pop_front() {
            self.plugin.run(place);
        }
    }

    /// A player joins: what is on the disk is asked for, and runs or is forgotten. Without a response it stays.
    pub async fn join(&mut self, shop: &Shop, player: &str) {
        let kept = self.plugin.join(player);
        let ids = self.plugin.ids(&kept);
        if ids.is_empty() {
            return;
        }
        let answers = validated(shop.db(), shop.clock(), &self.key, &ids).await.ok();
        self.told.extend(ids.iter().filter(|_| answers.is_some()));
        for place in self.plugin.answered_at_join(kept, answers.as_deref()) {
            self.plugin.run(place);
        }
    }

    /// A crash and a start: the memory is lost, or the disk too. The first response is thrown away, and given back.
    pub async fn restart(&mut self, shop: &Shop, loses_disk: bool) {
        self.plugin.crash(loses_disk);
        shop.wait(20);
        drop(poll(shop.db(), shop.clock(), &self.key, None).await);
        drop(paynow(shop.db(), shop.clock(), &self.key, None).await);
    }

    /// The texts that ran.
    pub fn texts(&self) -> Vec<&str> {
        self.plugin.ran.iter().map(|run| run.text.as_str()).collect()
    }
}

#[tokio::test]
async fn what_waits_for_a_player_runs_when_the_player_joins() {
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player} {count} {price} {currency}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy_many("a", 3).await;
    assert_eq!(shop.states(&order).await, ["ready", "ready"]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!((server.texts(), shop.states(&order).await), (vec!["a Thornwick"], vec!["delivered", "kept"]));
    server.join(&shop, BUYER.1).await;
    assert_eq!(shop.states(&order).await, ["delivered", "validated"]);
    server.round(&shop, Trouble::default()).await;
    assert_eq!(server.texts(), ["a Thornwick", "b Thornwick 3 1.00 EUR"]);
    assert_eq!(shop.states(&order).await, ["executed", "executed"]);
}

#[tokio::test]
async fn a_refund_recalls_what_is_kept_and_the_server_forgets_it() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    server.round(&shop, Trouble::default()).await;
    shop.refund(&order).await;
    assert_eq!(shop.states(&order).await, ["recalled"]);
    shop.wait(60);
    server.join(&shop, BUYER.1).await;
    assert!(server.ran.is_empty() && server.disk().is_empty());
}

#[tokio::test]
async fn a_fresh_batch_is_never_refused_and_a_later_one_is() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    assert!(shop.set(&order, OrderStatus::Refunded).await);
    let id = shop.commands(&order).await[0].id;
    let foreign = CommandId::new(CommandId::LARGEST).unwrap();
    let answers = validated(shop.db(), shop.clock(), &server.key, &[foreign, id, id]).await.unwrap();
    assert_eq!(answers, [(foreign, true), (id, true)], "each once, in the order of the call");
    assert_eq!(shop.states(&order).await, ["validated"]);
    shop.wait(60);
    let answers = validated(shop.db(), shop.clock(), &server.key, &[id, foreign]).await.unwrap();
    assert_eq!(answers, [(id, false), (foreign, true)]);
}

#[tokio::test]
async fn the_owner_cancels_and_sends_again_and_a_refund_reaches_what_was_sent_again() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let id = shop.commands(&order).await[0].id;
    server.round(&shop, Trouble::default()).await;
    let OwnerOutcome::SentAgain(again) = retry(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    assert_eq!(shop.states(&order).await, ["retried", "ready"]);
    assert!(matches!(retry(&shop.store.db, shop.clock(), id).await.unwrap(), OwnerOutcome::Refused(_)));
    server.round(&shop, Trouble::default()).await;
    shop.wait(60);
    server.join(&shop, BUYER.1).await;
    assert_eq!(server.ran.len(), 1, "the old one is forgotten");
    let other = shop.buy("b").await;
    let id = shop.commands(&other).await[0].id;
    let OwnerOutcome::Done(_) = cancel(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    assert_eq!(shop.states(&other).await, ["cancelled"]);
    let OwnerOutcome::SentAgain(last) = retry(&shop.store.db, shop.clock(), id).await.unwrap() else { panic!() };
    shop.refund(&other).await;
    assert_eq!(shop.states(&other).await, ["retried", "recalled"]);
    assert!(again.id < last.id);
}

#[tokio::test]
async fn a_stop_leaves_nothing_of_the_player() {
    let shop = Shop::open(vec![bought("a {player}"), online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let order = shop.buy("a").await;
    let ids: Vec<CommandId> = shop.commands(&order).await.iter().map(|command| command.id).collect();
    assert_eq!(stop(&shop.store.db, shop.clock(), &ids, StopReason::Banned).await.unwrap(), 2);
    assert_eq!(stop(&shop.store.db, shop.clock(), &ids, StopReason::Erased).await.unwrap(), 0);
    assert_eq!(shop.states(&order).await, ["stopped", "stopped"]);
    assert!(shop.commands(&order).await.iter().all(|command| command.text.is_empty() && command.player.is_empty()));
    assert_eq!(server.round(&shop, Trouble::default()).await, 0);
}

#[tokio::test]
async fn what_the_server_lost_while_the_store_was_away_is_unknown_when_its_player_joins_and_the_owner_sends_it_again() {
    let shop = Shop::open(vec![online(bought("b {player}"))]).await;
    let mut server = shop.game_server(1).await;
    let first = shop.buy("a").await;
    server.round(&shop, Trouble::default()).await;
    let lost = shop.buy("b").await;
    // Served to a player who is online: the plugin says that it has it, its question has no answer, and it forgets it.
    let rows = poll(shop.db(), shop.clock(), &server.key, None).await.unwrap();
    let ids: Vec<CommandId> = rows.iter().map(|command| command.id).collect();
    delivered(shop.db(), shop.clock(), &server.key, &ids).await.unwrap();
    assert_eq!(shop.states(&lost).await, ["kept"]);
    shop.wait(59);
    let foreign = CommandId::new(CommandId::LARGEST).unwrap();
    validated(shop.db(), shop.clock(), &server.key, &[foreign]).await.unwrap();
    assert_eq!(shop.states(&lost).await, ["kept"], "this is no join of the player");
    shop.wait(1);
    server.join(&shop, BUYER.1).await;
    assert_eq!((shop.states(&first).await, shop.states(&lost).await), (vec!["validated"], vec!["unknown"]));
    let OwnerOutcome::SentAgain(_) = retry(&shop.store.db, shop.clock(), ids[0]).await.unwrap() else { panic!() };
    server.round(&shop, Trouble::default()).await;
    server.run_slow();
    assert_eq!(server.texts(), ["b Thornwick", "b Thornwick"]);
    // An agent's questions leave out what it need not ask about.
    let mut agent = Agent::new(shop.game_server(1).await.key);
    let kept = shop.buy("c").await;
    shop.wait(300);
    agent.round(&shop, Trouble::default()).await;
    assert_eq!(shop.states(&kept).await, ["kept"]);
    shop.wait(120);
    let later = shop.buy("d").await;
    agent.round(&shop, Trouble::default()).await;
    shop.wait(120);
    let asked = shop.commands(&later).await[0].id;
    validated(shop.db(), shop.clock(), &agent.key, &[asked]).await.unwrap();
    assert_eq!((shop.states(&kept).await, shop.states(&later).await), (vec!["kept"], vec!["validated"]));
}

/// Gives the buyer another name, which no login would accept.
async fn rename_buyer(shop: &Shop, name: &str) {
    let key = keys::user(BUYER.0);
    let user = User { username: name.to_owned(), ..read_live(&shop.store.db, &key).await.unwrap().unwrap() };
    tests::put(&shop.store.db, codec::encode_live(&key, &user).unwrap()).await;
}

#[tokio::test]
async fn a_name_that_a_console_would_read_as_a_command_reaches_none() {
    let shop = Shop::open(vec![bought("say Thanks {player}"), bought("thank {buyer}"), bought("give {item}")]).await;
    for (place, (name, expected)) in [
        ("x; quit", "cancelled"),
        ("@a", "cancelled"),
        ("a\"b", "cancelled"),
        ("*", "cancelled"),
        ("._-", "cancelled"),
        ("Notch 99999", "cancelled"),
        ("Alex parent add admin", "cancelled"),
        ("Mr.X", "ready"),
        ("Straße", "ready"),
        (".Psychic_Clover", "ready"),
        ("+Alex", "ready"),
        ("!Alex", "ready"),
    ]
    .into_iter()
    .enumerate()
    {
        rename_buyer(&shop, name).await;
        let order = shop.buy(&format!("order-{place}")).await;
        assert_eq!(shop.states(&order).await, [expected, expected, "ready"], "{name}");
    }
}

#[tokio::test]
async fn a_name_with_a_space_runs_in_quotes_where_the_server_reads_them() {
    let commands = vec![bought("eco give \"{player}\" 100"), bought("eco give {player} 100")];
    let shop = Shop::open(Vec::new()).await;
    shop.publish(&[1, 2], ItemDelivery { commands, expires_after: None }).await;
    configure(&shop.store.db, |config| config.delivery.quotes = vec![ServerId::new(2)]).await;
    rename_buyer(&shop, "Notch 99999").await;
    let order = shop.buy("a").await;
    let commands = shop.commands(&order).await;
    let texts = commands.iter().map(|command| (command.server.get(), command.text.as_str()));
    let states = shop.states(&order).await;
    assert_eq!(
        texts.zip(states).collect::<Vec<_>>(),
        [
            ((1, ""), "cancelled"),
            ((2, "eco give \"Notch 99999\" 100"), "ready"),
            ((1, ""), "cancelled"),
            ((2, ""), "cancelled"),
        ]
    );
}

#[tokio::test]
async fn an_items_name_with_quotes_reaches_the_chat_of_the_game_as_it_is() {
    let shop =
        Shop::open(vec![bought("tellraw @a {{\"text\":\"{player} bought {item}\"}"), bought("say {item}")]).await;
    let order = shop.buy_named("a", "The \"Big\" \\ Pack").await;
    let texts: Vec<String> = shop.commands(&order).await.into_iter().map(|command| command.text).collect();
    assert_eq!(
        texts,
        ["tellraw @a {\"text\":\"Thornwick bought The \\\"Big\\\" \\\\ Pack\"}", "say The \"Big\" \\ Pack"]
    );
}
