//! A game server with the vendor's plugin, as far as delivery can see it: what it does with the rows of a poll, what it
//! remembers, what it has on its disk, and what a crash loses.

use crate::shop::Shop;
use shared::model::CommandId;
use shared::usecases::delivery::{Row, ServerKey, delivered, executed, paynow, poll, validated};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: CommandId,
    pub text: String,
}

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

pub struct GameServer {
    pub key: ServerKey,
    pub online: BTreeSet<String>,
    /// Commands that wait for players, on the disk.
    pub disk: BTreeMap<String, Vec<(CommandId, String)>>,
    /// Commands that ran and were not reported yet; in memory.
    ran_untold: Vec<CommandId>,
    /// Commands that may run and have not yet; in memory.
    running: Vec<(CommandId, String)>,
    /// All that ever ran, in its order.
    pub ran: Vec<Run>,
    /// The ids about which a word was said, and the response came.
    pub told: BTreeSet<CommandId>,
    /// Ids that were served after that.
    pub served_again: Vec<CommandId>,
}

impl GameServer {
    pub fn new(key: ServerKey) -> Self {
        Self {
            key,
            online: BTreeSet::new(),
            disk: BTreeMap::new(),
            ran_untold: Vec::new(),
            running: Vec::new(),
            ran: Vec::new(),
            told: BTreeSet::new(),
            served_again: Vec::new(),
        }
    }

    /// One round of its loop: what ran is said, what is due is polled, run, and said.
    pub async fn round(&mut self, shop: &Shop, trouble: Trouble) -> usize {
        self.tell(shop).await;
        // Errors look like an empty response.
        let rows = poll(shop.db(), shop.clock(), &self.key).await.unwrap_or_default();
        if trouble.lost {
            return 0;
        }
        self.work(shop, rows, trouble).await
    }

    /// The set is emptied before the call: a call that fails is not repeated.
    async fn tell(&mut self, shop: &Shop) {
        let ids = take(&mut self.ran_untold);
        if !ids.is_empty() && executed(shop.db(), shop.clock(), &self.key, &ids).await.is_ok() {
            self.told.extend(ids);
        }
    }

    async fn work(&mut self, shop: &Shop, rows: Vec<Row>, trouble: Trouble) -> usize {
        let (mut all, mut now) = (Vec::new(), Vec::new());
        for row in rows {
            let Row { id, player, text, online } = row;
            if self.told.contains(&id) {
                self.served_again.push(id);
            }
            all.push(id);
            if !online {
                self.run(id, text);
            } else if self.online.contains(&player) {
                now.push((id, text));
            } else {
                self.disk.entry(player.to_lowercase()).or_default().push((id, text));
            }
        }
        if trouble.crashes {
            self.ran_untold.clear();
            self.running.clear();
            return all.len();
        }
        if trouble.asks_first {
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

    /// For players who are online: one refusal, or no response, loses all of them.
    async fn ask_now(&mut self, shop: &Shop, batch: Vec<(CommandId, String)>, is_slow: bool) {
        let ids: Vec<CommandId> = batch.iter().map(|(id, _)| *id).collect();
        if ids.is_empty() {
            return;
        }
        let Ok(answers) = validated(shop.db(), shop.clock(), &self.key, &ids).await else { return };
        self.told.extend(&ids);
        if answers.iter().all(|(_, may)| *may) {
            self.running.extend(batch);
        }
        if !is_slow {
            self.run_slow();
        }
    }

    /// Runs what may run and has not yet.
    pub fn run_slow(&mut self) {
        for (id, text) in take(&mut self.running) {
            self.run(id, text);
        }
    }

    /// A player joins: what is on the disk is asked for, and runs or is forgotten. Without a response it stays.
    pub async fn join(&mut self, shop: &Shop, player: &str) {
        self.online.insert(player.to_owned());
        let kept = self.disk.get(&player.to_lowercase()).cloned().unwrap_or_default();
        let ids: Vec<CommandId> = kept.iter().map(|(id, _)| *id).collect();
        if ids.is_empty() {
            return;
        }
        let Ok(answers) = validated(shop.db(), shop.clock(), &self.key, &ids).await else { return };
        self.disk.remove(&player.to_lowercase());
        for (id, text) in kept {
            // What is not answered runs.
            if answers.iter().all(|(answered, may)| *answered != id || *may) {
                self.run(id, text);
            }
        }
        self.told.extend(ids);
    }

    pub fn leave(&mut self, player: &str) {
        self.online.remove(player);
    }

    /// A crash and a start: the memory is lost, or the disk too. The first response is thrown away, and given back.
    pub async fn restart(&mut self, shop: &Shop, loses_disk: bool) {
        self.ran_untold.clear();
        self.running.clear();
        self.online.clear();
        if loses_disk {
            self.disk.clear();
        }
        shop.wait(20);
        drop(poll(shop.db(), shop.clock(), &self.key).await);
        drop(paynow(shop.db(), shop.clock(), &self.key).await);
    }

    fn run(&mut self, id: CommandId, text: String) {
        self.ran.push(Run { id, text });
        self.ran_untold.push(id);
    }

    /// The texts that ran.
    pub fn texts(&self) -> Vec<&str> {
        self.ran.iter().map(|run| run.text.as_str()).collect()
    }
}
