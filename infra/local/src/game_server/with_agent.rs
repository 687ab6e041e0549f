//! A game server with RCON, and its agent.

use super::SHOWN;
use super::live::Action;
use super::rcon::{Options, RconServer, Switch};
use crate::error::StartError;
use agent::clock::SystemClock;
use agent::config::Config;
use agent::run::Agent;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

/// The password of the stand-in, which listens on this machine only.
const PASSWORD: &str = "ember";

#[derive(Debug)]
pub(super) struct WithAgent {
    rcon: RconServer,
    /// The reason why the agent has ended, if it has.
    ended: Arc<OnceLock<String>>,
}

impl WithAgent {
    /// Starts a game server, and an agent with its files in a folder.
    pub(super) async fn start(api: &str, key: String, folder: &Path) -> Result<Self, StartError> {
        let rcon = RconServer::start(Options::new(0, PASSWORD)).await?;
        let mut agent = agent(api, &key, rcon.address, folder).map_err(StartError::GameServers)?;
        let ended: Arc<OnceLock<String>> = Arc::default();
        let note = Arc::clone(&ended);
        let work = async move {
            if let Err(error) = agent.run().await {
                _ = note.set(format!("The agent has ended: {error}."));
            }
        };
        // What goes wrong is asked for at the console: it is not an error of the local server.
        tokio::spawn(work.with_subscriber(NoSubscriber::new()));
        Ok(Self { rcon, ended })
    }

    /// The server as the console shows it: as one with the plugin, and the responses of its console.
    pub(super) fn shown(&self) -> Value {
        let ran = self.rcon.console().ran();
        let commands = (1..).zip(&ran).map(|(id, ran)| json!({ "id": id, "text": ran.text, "response": ran.response }));
        let commands: Vec<Value> = commands.collect();
        json!({
            "power": "running", "is_silent": false, "logins": [],
            "note": self.ended.get().map_or("", String::as_str),
            "switch": self.rcon.switch(),
            "players": self.rcon.console().players(),
            "commands": commands.iter().rev().take(SHOWN).collect::<Vec<_>>(),
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

/// An agent that is never asked to end. Its journal is free once it is dropped.
fn agent(api: &str, key: &str, rcon: SocketAddr, folder: &Path) -> io::Result<Agent> {
    let file = folder.join("agent.yaml");
    let text = format!(
        "store: {api}/plugin/\nrcon: {{address: \"{rcon}\", protocol: source}}\nplayers: minecraft\njournal: ./journal\n"
    );
    fs::create_dir_all(folder)?;
    fs::write(&file, text)?;
    let secret = |name: &str| Some(if name == "AGENT_KEY" { key } else { PASSWORD }.to_owned());
    let config = Config::read(&file, secret).map_err(io::Error::other)?;
    let (_, stop) = watch::channel(false);
    Agent::new(config, Arc::new(SystemClock::default()), stop).map_err(io::Error::other)
}
