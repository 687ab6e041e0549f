//! A running game server: its start, its loop of polls, and what is done to it at the console.

use super::SHOWN;
use super::plugin::{Calls, Place, Plugin, QueueRow};
use super::rcon::Switch;
use archive::running::write_whole;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::clock::{Clock, SystemClock};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// The pauses of the plugin after an answer with rows, an empty one, and an error.
const AFTER_ROWS: Duration = Duration::from_millis(500);
const AFTER_NONE: Duration = Duration::from_millis(9_500);
const AFTER_ERROR: Duration = Duration::from_secs(10);
/// The pause between two commands for players who are online.
const BETWEEN: Duration = Duration::from_millis(500);
/// The pauses after a start that failed. After the last one the plugin stays off until it is started by hand.
const RETRIES: [u64; 6] = [16, 32, 64, 128, 256, 512];
/// How often the goals are asked for, and after how many of these the packages and the settings are.
const GOALS: Duration = Duration::from_secs(20);
const PACKAGES: u32 = 15;
const SETTINGS: u32 = 3;
/// How many seconds a login can be confirmed.
const LOGIN: i64 = 300;

#[derive(Debug)]
pub(super) struct GameServer {
    /// The file of what waits for players; `None` for memory only.
    disk: Option<PathBuf>,
    calls: Calls,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    plugin: Plugin,
    power: Power,
    loses_next: bool,
    note: String,
    /// By the player's name in small letters.
    logins: BTreeMap<String, Login>,
    /// The running work of the server; a crash ends it.
    tasks: JoinSet<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Power {
    Starting,
    Running,
    /// The start failed too often.
    Stopped,
    Crashed,
}

/// A login that a player is asked to confirm.
#[derive(Debug, Clone)]
struct Login {
    player: String,
    auth_id: String,
    until: i64,
}

/// An action at the console.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum Action {
    Join {
        player: String,
    },
    Leave {
        player: String,
    },
    /// The next answer that has commands does not arrive.
    Lose {
        on: bool,
    },
    Silence {
        on: bool,
    },
    Crash,
    Start,
    /// A fault of RCON.
    Switch {
        to: Switch,
    },
    /// A player types `/ms auth`.
    Confirm {
        player: String,
    },
}

impl GameServer {
    /// Starts a game server, which finds on its disk what it kept for players.
    pub(super) fn start(api: &str, key: &str, disk: Option<PathBuf>) -> Arc<Self> {
        let found = disk.as_ref().and_then(|file| std::fs::read(file).ok());
        let found = found.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let state = State {
            plugin: Plugin::with_disk(found),
            power: Power::Starting,
            loses_next: false,
            note: String::new(),
            logins: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        let server = Arc::new(Self { disk, calls: Calls::new(api, key), state: Mutex::new(state) });
        server.turn_on();
        server
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server as the console shows it: with the players who are asked to confirm a login, and the newest commands first.
    pub(super) fn shown(&self) -> Value {
        let state = self.state();
        let now = SystemClock.seconds();
        let logins = state.logins.values().filter(|login| now < login.until).map(|login| login.player.as_str());
        json!({
            "power": state.power,
            "note": state.note,
            "loses_next": state.loses_next,
            "is_silent": self.calls.is_silent(),
            "players": state.plugin.online(),
            "logins": logins.collect::<Vec<_>>(),
            "commands": state.plugin.served().iter().rev().take(SHOWN).collect::<Vec<_>>(),
        })
    }

    /// Does what was asked for at the console.
    pub(super) fn act(self: &Arc<Self>, action: Action) {
        match action {
            Action::Join { player } => self.join(player.trim()),
            Action::Leave { player } => self.state().plugin.leave(&player),
            Action::Lose { on } => self.state().loses_next = on,
            Action::Silence { on } => self.calls.be_silent(on),
            Action::Crash => {
                let mut state = self.state();
                state.tasks.abort_all();
                state.plugin.crash(false);
                state.logins.clear();
                (state.power, state.note) = (Power::Crashed, String::new());
            }
            Action::Start if matches!(self.state().power, Power::Crashed | Power::Stopped) => self.turn_on(),
            Action::Start | Action::Switch { .. } => {}
            Action::Confirm { player } => self.confirm(&player),
        }
    }

    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        state.tasks.spawn(task);
    }

    fn turn_on(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.state().power = Power::Starting;
        self.spawn(async move { server.live().await });
    }

    async fn live(self: Arc<Self>) {
        for pause in RETRIES.into_iter().map(Some).chain([None]) {
            match (self.begin().await, pause) {
                (Ok(()), _) => {
                    self.turn(Power::Running, "");
                    tokio::join!(self.polls(), self.runs(), self.content());
                }
                (Err(error), Some(seconds)) => {
                    self.turn(Power::Starting, &format!("{error}; it tries again after {seconds} seconds"));
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
                (Err(error), None) => self.turn(Power::Stopped, &error),
            }
        }
    }

    fn turn(&self, power: Power, note: &str) {
        let mut state = self.state();
        (state.power, state.note) = (power, note.to_owned());
    }

    /// The calls of a start. The first answer of the queue is thrown away, and the next call gives it back.
    async fn begin(&self) -> Result<(), String> {
        self.calls.get("getVersion").await?;
        for call in ["gui/packages_new", "donation_goal", "getTotalPayments", "top_donators"] {
            self.calls.content(call).await?;
        }
        self.calls.queue().await?;
        self.calls.paynow().await.map(drop)
    }

    async fn polls(&self) {
        loop {
            let pause = match self.round().await {
                Ok(0) => AFTER_NONE,
                Ok(_) => AFTER_ROWS,
                Err(error) => {
                    self.state().note = format!("The last poll failed: {error}.");
                    AFTER_ERROR
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Reports what ran, polls what is due, runs it, and reports that.
    async fn round(&self) -> Result<usize, String> {
        let ran = self.state().plugin.take_untold();
        if !ran.is_empty() {
            self.calls.executed(&ran).await?;
        }
        let rows = self.calls.queue().await?;
        if rows.is_empty() {
            self.state().note.clear();
            return Ok(0);
        }
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let now = {
            let mut state = self.state();
            if std::mem::take(&mut state.loses_next) {
                return Err("the answer was lost".to_owned());
            }
            state.note.clear();
            let (logins, commands): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.auth_id.is_some());
            let now = state.plugin.work(commands.into_iter().map(Into::into).collect());
            state.ask_to_confirm(logins);
            now
        };
        self.save();
        let (told, ()) = tokio::join!(self.calls.delivered(&ids), self.ask_now(now));
        told.map(|()| ids.len())
    }

    async fn ask_now(&self, now: Vec<Place>) {
        let ids = self.state().plugin.ids(&now);
        if !ids.is_empty() {
            let answers = self.calls.validated(&ids).await;
            let mut state = self.state();
            let may = state.plugin.answered(now, answers.as_deref());
            state.plugin.running.extend(may);
        }
    }

    /// Runs what may run for players who are online, one after another.
    async fn runs(&self) {
        let mut ticks = tokio::time::interval(BETWEEN);
        loop {
            ticks.tick().await;
            let next = self.state().plugin.running.pop_front();
            if let Some(place) = next {
                self.state().plugin.run(place);
                self.save();
            }
        }
    }

    /// The calls whose answers the plugin shows in the game.
    async fn content(&self) {
        for time in 1_u32.. {
            tokio::time::sleep(GOALS).await;
            // An error costs nothing here but what is shown.
            _ = self.calls.content("donation_goal").await;
            if time % PACKAGES == 0 {
                _ = self.calls.content("gui/packages_new").await;
            }
            if time % SETTINGS == 0 {
                _ = self.calls.get("settings/get").await;
            }
        }
    }

    fn join(self: &Arc<Self>, player: &str) {
        if player.is_empty() || self.state().power == Power::Crashed {
            return;
        }
        let (kept, ids) = {
            let mut state = self.state();
            let kept = state.plugin.join(player);
            let ids = state.plugin.ids(&kept);
            (kept, ids)
        };
        if ids.is_empty() {
            return;
        }
        let server = Arc::clone(self);
        self.spawn(async move {
            let answers = server.calls.validated(&ids).await;
            {
                let mut state = server.state();
                let may = state.plugin.answered_at_join(kept, answers.as_deref());
                state.plugin.running.extend(may);
            }
            server.save();
        });
    }

    fn confirm(self: &Arc<Self>, player: &str) {
        let login = self.state().logins.remove(&player.to_lowercase());
        let Some(login) = login.filter(|login| SystemClock.seconds() < login.until) else { return };
        let server = Arc::clone(self);
        self.spawn(async move {
            if let Err(error) = server.calls.confirm(&login.auth_id).await {
                server.state().note = format!("The login was not confirmed: {error}.");
            }
        });
    }

    /// Writes the disk. A file that cannot be written is like a disk that is lost.
    fn save(&self) {
        if let Some(file) = &self.disk {
            let disk = serde_json::to_vec(&self.state().plugin.disk()).unwrap_or_default();
            _ = write_whole(file, &disk);
        }
    }
}

impl State {
    /// A player who is not online is not asked. The first id of a name stays.
    fn ask_to_confirm(&mut self, rows: Vec<QueueRow>) {
        let now = SystemClock.seconds();
        for QueueRow { username: player, auth_id, .. } in rows {
            let Some(auth_id) = auth_id.filter(|_| self.plugin.is_online(&player)) else { continue };
            let login = Login { player: player.clone(), auth_id, until: now + LOGIN };
            let known = self.logins.entry(player.to_lowercase()).or_insert_with(|| login.clone());
            if known.until <= now {
                *known = login;
            }
            known.until = now + LOGIN;
        }
    }
}
