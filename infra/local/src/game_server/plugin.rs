//! The vendor's plugin, as far as a store can see it: what it does with the rows of a poll, what it remembers, what it
//! has on its disk, and what a crash loses. It calls nothing itself. The console of the demo has one with its calls by HTTP: a new connection
//! for each, a slash at the end of every path, no retries. The tests of delivery have others by the use cases.

use bytes::Bytes;
use http::{Method, Request};
use rustls::RootCertStore;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::model::{Command, CommandId};
use shared::shop::delivery::Answer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::take;
use tokio::sync::watch;

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

#[derive(Debug)]
pub(super) struct Calls {
    http: outgoing::Client,
    base: String,
    key: String,
    /// Whether the server is silent: the plugin sets no timeouts, so that its calls wait.
    silent: watch::Sender<bool>,
}

/// A row of the queue: a command, or a login if it has an `auth_id`.
#[derive(Debug, Deserialize)]
pub(super) struct QueueRow {
    pub id: CommandId,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    is_online_required: bool,
    pub auth_id: Option<String>,
}

impl From<QueueRow> for Row {
    fn from(row: QueueRow) -> Self {
        Self { id: row.id, player: row.username, text: row.command, online: row.is_online_required }
    }
}

#[derive(Debug, Deserialize)]
struct Results {
    #[serde(default)]
    results: Vec<CommandResult>,
}

#[derive(Debug, Deserialize)]
struct CommandResult {
    cmd_id: CommandId,
    status: bool,
}

impl Calls {
    pub(super) fn new(api: &str, key: &str) -> Self {
        let base = format!("{}/plugin/api/", api.trim_end_matches('/'));
        // The API is on this machine, so no certificate is trusted.
        let http = outgoing::Client::new(RootCertStore::empty());
        Self { http, base, key: key.to_owned(), silent: watch::Sender::new(false) }
    }

    pub(super) fn be_silent(&self, is_silent: bool) {
        self.silent.send_replace(is_silent);
    }

    pub(super) fn is_silent(&self) -> bool {
        *self.silent.borrow()
    }

    /// GET of a call that any server may make.
    pub(super) async fn get(&self, call: &str) -> Result<String, String> {
        self.send(Method::GET, call, Bytes::new()).await
    }

    /// GET of a call with the key in the first place.
    pub(super) async fn content(&self, call: &str) -> Result<String, String> {
        self.get(&format!("{}/{call}", self.key)).await
    }

    pub(super) async fn paynow(&self) -> Result<String, String> {
        self.get(&format!("servers/{}/commands/paynow", self.key)).await
    }

    /// The rows of the queue. An answer with a row that cannot be read counts as empty.
    pub(super) async fn queue(&self) -> Result<Vec<QueueRow>, String> {
        let text = self.get(&format!("servers/{}/commands/queue", self.key)).await?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) async fn delivered(&self, ids: &[CommandId]) -> Result<(), String> {
        self.words("delivered", ids).await.map(drop)
    }

    pub(super) async fn executed(&self, ids: &[CommandId]) -> Result<(), String> {
        self.words("executed", ids).await.map(drop)
    }

    /// Whether each command may run; `None` without an answer.
    pub(super) async fn validated(&self, ids: &[CommandId]) -> Option<Vec<Answer>> {
        let text = self.words("validated", ids).await.ok()?;
        let Results { results } = serde_json::from_str(&text).ok()?;
        Some(results.into_iter().map(|result| (result.cmd_id, result.status)).collect())
    }

    /// Confirms a login: the body is one zero byte.
    pub(super) async fn confirm(&self, auth_id: &str) -> Result<(), String> {
        let call = format!("game_auth/confirm/{auth_id}");
        self.send(Method::POST, &call, Bytes::from_static(&[0])).await.map(drop)
    }

    async fn words(&self, call: &str, ids: &[CommandId]) -> Result<String, String> {
        let ids: Vec<u32> = ids.iter().map(|id| id.get()).collect();
        let body = Bytes::from(json!({ "ids": ids }).to_string());
        self.send(Method::POST, &format!("servers/{}/commands/{call}", self.key), body).await
    }

    async fn send(&self, method: Method, call: &str, body: Bytes) -> Result<String, String> {
        // The sender is in `self`, so that this ends only when the server speaks again.
        _ = self.silent.subscribe().wait_for(|is_silent| !is_silent).await;
        let request = Request::builder().method(method).uri(format!("{}{call}/", self.base));
        let request = request.header("content-type", "application/json").header("user-agent", "Java/17.0.12");
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.http.send(request).await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("the store responded with status {}", response.status().as_u16()));
        }
        Ok(String::from_utf8_lossy(response.body()).into_owned())
    }
}
