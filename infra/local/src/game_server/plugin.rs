//! The vendor's plugin, as far as a store can see it: what it does with the rows of a poll, what it remembers, what it has on
//! its disk, and what a crash loses. It calls nothing: who has one passes on what it says. The console of the demo has one by
//! HTTP, and the tests of delivery have others by the use cases.

use serde::{Deserialize, Serialize};
use shared::model::{Command, CommandId};
use shared::shop::delivery::Answer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;

/// The fate of a row, as the server knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is asked about, or runs in a moment.
    Soon,
    /// It waits for its player, on the disk.
    Kept,
    /// It ran, and the store was not told yet.
    Ran,
    /// It ran, and the store was told, or the call that told it failed.
    Told,
    /// The store said that it must not run any more.
    Refused,
    /// It never ran, and the server no longer knows it.
    Lost,
}

/// A row of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: CommandId,
    pub player: String,
    pub text: String,
    pub online: bool,
}

impl From<Command> for Row {
    fn from(Command { id, player, text, delivery, .. }: Command) -> Self {
        Self { id, player, text, online: delivery.online }
    }
}

/// A row that the server was served. One that is served twice is here twice: the plugin remembers no ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Served {
    pub id: CommandId,
    pub player: String,
    pub text: String,
    pub fate: Fate,
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: CommandId,
    pub text: String,
}

/// A command on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    pub command: String,
    pub request_id: CommandId,
}

/// A row's place among those that were served.
pub type Place = usize;

#[derive(Debug, Default)]
pub struct Plugin {
    online: BTreeSet<String>,
    served: Vec<Served>,
    /// By the player's name in small letters.
    disk: BTreeMap<String, Vec<Place>>,
    untold: Vec<Place>,
    /// Commands that may run and have not yet; in memory.
    pub running: VecDeque<Place>,
    /// All that ever ran, in its order.
    pub ran: Vec<Run>,
}

impl Plugin {
    /// A plugin that finds commands on its disk.
    pub fn with_disk(disk: BTreeMap<String, Vec<Saved>>) -> Self {
        let mut plugin = Self::default();
        for (player, saved) in disk {
            for Saved { command, request_id } in saved {
                let row = Row { id: request_id, player: player.clone(), text: command, online: true };
                let place = plugin.add(row, Fate::Kept);
                plugin.disk.entry(player.clone()).or_default().push(place);
            }
        }
        plugin
    }

    #[must_use]
    pub fn disk(&self) -> BTreeMap<String, Vec<Saved>> {
        let saved = |place: &Place| self.served.get(*place);
        let saved = |place| saved(place).map(|row| Saved { command: row.text.clone(), request_id: row.id });
        self.disk.iter().map(|(player, kept)| (player.clone(), kept.iter().filter_map(saved).collect())).collect()
    }

    /// Every row that was served, oldest first.
    #[must_use]
    pub fn served(&self) -> &[Served] {
        &self.served
    }

    #[must_use]
    pub const fn online(&self) -> &BTreeSet<String> {
        &self.online
    }

    #[must_use]
    pub fn is_online(&self, player: &str) -> bool {
        self.online.iter().any(|online| online.eq_ignore_ascii_case(player))
    }

    /// Works through the rows of a poll: runs what needs no player, keeps what waits for one, and returns what it asks about
    /// because the player is online.
    pub fn work(&mut self, rows: Vec<Row>) -> Vec<Place> {
        let mut now = Vec::new();
        for row in rows {
            if !row.online {
                let place = self.add(row, Fate::Soon);
                self.run(place);
            } else if self.is_online(&row.player) {
                now.push(self.add(row, Fate::Soon));
            } else {
                let player = row.player.to_lowercase();
                let place = self.add(row, Fate::Kept);
                self.disk.entry(player).or_default().push(place);
            }
        }
        now
    }

    fn add(&mut self, Row { id, player, text, .. }: Row, fate: Fate) -> Place {
        self.served.push(Served { id, player, text, fate });
        self.served.len() - 1
    }

    #[must_use]
    pub fn ids(&self, places: &[Place]) -> Vec<CommandId> {
        places.iter().filter_map(|place| self.served.get(*place)).map(|row| row.id).collect()
    }

    /// The answers for players who are online: one refusal, or none, loses all of them. Returns what may run.
    pub fn answered(&mut self, now: Vec<Place>, answers: Option<&[Answer]>) -> Vec<Place> {
        if answers.is_some_and(|answers| answers.iter().all(|(_, may)| *may)) {
            return now;
        }
        self.become_all(&now, Fate::Lost);
        Vec::new()
    }

    /// A player joins. Returns what the server asks about.
    pub fn join(&mut self, player: &str) -> Vec<Place> {
        self.online.insert(player.to_owned());
        self.disk.get(&player.to_lowercase()).cloned().unwrap_or_default()
    }

    /// The answers for a player who has joined; without any, all of it stays. Returns what may run: what is not answered does.
    pub fn answered_at_join(&mut self, kept: Vec<Place>, answers: Option<&[Answer]>) -> Vec<Place> {
        let Some(answers) = answers else { return Vec::new() };
        let is_refused = |id: CommandId| answers.iter().any(|(answered, may)| *answered == id && !*may);
        let refused = |place: &Place| self.served.get(*place).is_some_and(|row| is_refused(row.id));
        let (refused, may): (Vec<Place>, Vec<Place>) = kept.into_iter().partition(refused);
        for place in &refused {
            self.forget(*place);
        }
        self.become_all(&refused, Fate::Refused);
        self.become_all(&may, Fate::Soon);
        may
    }

    pub fn leave(&mut self, player: &str) {
        self.online.retain(|online| !online.eq_ignore_ascii_case(player));
    }

    pub fn run(&mut self, place: Place) {
        self.forget(place);
        let Some(row) = self.served.get_mut(place) else { return };
        row.fate = Fate::Ran;
        self.ran.push(Run { id: row.id, text: row.text.clone() });
        self.untold.push(place);
    }

    /// Takes what ran since the last report. A report that fails is not repeated.
    pub fn take_untold(&mut self) -> Vec<CommandId> {
        let told = take(&mut self.untold);
        self.become_all(&told, Fate::Told);
        self.ids(&told)
    }

    /// Loses what is in memory, and the disk if `loses_disk`.
    pub fn crash(&mut self, loses_disk: bool) {
        self.online.clear();
        self.untold.clear();
        self.running.clear();
        if loses_disk {
            self.disk.clear();
        }
        let kept: BTreeSet<Place> = self.disk.values().flatten().copied().collect();
        for (place, row) in self.served.iter_mut().enumerate() {
            if matches!(row.fate, Fate::Soon | Fate::Kept) {
                row.fate = if kept.contains(&place) { Fate::Kept } else { Fate::Lost };
            }
        }
    }

    fn forget(&mut self, place: Place) {
        self.disk.values_mut().for_each(|kept| kept.retain(|other| *other != place));
        self.disk.retain(|_, kept| !kept.is_empty());
    }

    fn become_all(&mut self, places: &[Place], fate: Fate) {
        for place in places {
            if let Some(row) = self.served.get_mut(*place) {
                row.fate = fate;
            }
        }
    }
}
