//! A game server for the tests: the plugin of the local server's console, which says its words to the use cases, and with
//! troubles.

use super::shop::Shop;
pub use local::game_server::plugin::Run;
use local::game_server::plugin::{Place, Plugin, Row};
use shared::model::CommandId;
use shared::shop::delivery::{Report, ServerKey, delivered, executed, paynow, poll, validated};
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

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

    /// A round without trouble, and the texts of all that has run.
    pub async fn works(&mut self, shop: &Shop) -> Vec<&str> {
        self.round(shop, Trouble::default()).await;
        self.texts()
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
