//! A game server with RCON, and its agent.

use super::Server;
use super::live::Action;
use super::rcon::{Options, RconServer, Switch};
use agent::clock::SystemClock;
use agent::config::Config;
use agent::run::Agent;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// The password of the stand-in, which listens on this machine only.
const PASSWORD: &str = "ember";
/// The most commands that the console shows.
const SHOWN: usize = 100;

pub(super) struct WithAgent {
    id: u64,
    name: String,
    rcon: RconServer,
    /// The reason why the agent has ended; empty while it runs.
    note: Arc<Mutex<String>>,
}

impl WithAgent {
    /// Starts a game server, and an agent with its files in a folder.
    pub(super) async fn start(api: &str, server: Server, folder: &Path) -> Result<Self, String> {
        let rcon = RconServer::start(Options::new(0, PASSWORD)).await.map_err(|error| error.to_string())?;
        let file = folder.join("agent.yaml");
        let text = format!(
            "store: {api}/plugin/\nrcon: {{address: \"{}\", protocol: source}}\nplayers: minecraft\njournal: ./journal\n",
            rcon.address
        );
        fs::create_dir_all(folder).and_then(|()| fs::write(&file, text)).map_err(|error| error.to_string())?;
        let secrets = |name: &str| match name {
            "AGENT_KEY" => Some(server.key.clone()),
            _ => Some(PASSWORD.to_owned()),
        };
        let config = Config::read(&file, secrets).map_err(|error| error.to_string())?;
        let (stays, stop) = watch::channel(false);
        let mut agent =
            Agent::new(config, Arc::new(SystemClock::default()), stop).map_err(|error| error.to_string())?;
        let note: Arc<Mutex<String>> = Arc::default();
        let ended = Arc::clone(&note);
        tokio::spawn(async move {
            let _stays = stays;
            if let Err(error) = agent.run().await {
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = format!("The agent has ended: {error}.");
            }
        });
        Ok(Self { id: server.id, name: server.name, rcon, note })
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    /// The server as the console shows it: as one with the plugin, and the responses of its console.
    pub(super) fn shown(&self) -> Value {
        let ran = self.rcon.console().ran();
        let commands: Vec<Value> =
            (1..).zip(&ran).map(|(id, ran)| json!({ "id": id, "text": ran.text, "response": ran.response })).collect();
        json!({
            "id": self.id, "name": self.name, "power": "running", "is_silent": false, "logins": [],
            "note": *self.note.lock().unwrap_or_else(PoisonError::into_inner),
            "switch": self.rcon.switch(),
            "players": self.rcon.console().players(),
            "commands": commands.into_iter().rev().take(SHOWN).collect::<Vec<_>>(),
        })
    }

    /// Does what was asked for at the console; what only a server with the plugin can do is left out.
    pub(super) fn act(&self, action: Action) {
        match action {
            Action::Join { player } => self.rcon.console().join(player.trim()),
            Action::Leave { player } => self.rcon.console().leave(&player),
            Action::Switch { to } => {
                self.rcon.turn(to);
                if to == Switch::Refuse {
                    self.rcon.hang_up();
                }
            }
            _ => {}
        }
    }
}
