//! Game servers for the demo: each speaks the protocol of the vendor's plugin with the API, but the last one has RCON
//! and an agent beside it. The page `/console` of the demo shows them. No deployment has any of this.

mod live;
pub mod plugin;
pub mod rcon;

use crate::data;
use crate::options::StartError;
use agent::clock::SystemClock;
use agent::config::Config;
use agent::run::Agent;
use live::{Action, GameServer};
use rcon::{Options, RconServer, Switch};
use serde::Deserialize;
use serde_json::{Value, json};
use shared::clock::Clock;
use shared::model::{Server, ServerId};
use shared::shop::delivery::{ServerKey, add_key, server_of};
use shared::table::Db;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::{fs, io};
use tempfile::TempDir;
use tokio::sync::watch;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

/// The most commands of a server that the console shows.
const SHOWN: usize = 100;

/// The running game servers of a store. They end with the runtime.
#[derive(Debug)]
pub struct GameServers {
    servers: Vec<(Server, Running)>,
    /// The folder of the agent, without a data directory.
    _folder: Option<TempDir>,
}

#[derive(Debug)]
enum Running {
    Plugin(Arc<GameServer>),
    Agent(WithAgent),
}

/// An action on one of the servers.
#[derive(Debug, Deserialize)]
struct Act {
    server: ServerId,
    act: Action,
}

impl GameServers {
    /// Starts a game server for each of these, with a key for the API at a URL; the last one has an agent. With a data directory,
    /// keys, disks and the agent's journal are kept there.
    pub async fn start(
        db: &Db,
        clock: &dyn Clock,
        servers: &[Server],
        dir: Option<&Path>,
        api: &str,
    ) -> Result<Self, StartError> {
        let folder = dir.is_none().then(tempfile::tempdir).transpose().map_err(StartError::GameServers)?;
        let agents = dir.or(folder.as_ref().map(TempDir::path)).map(|dir| dir.join("agents"));
        let agents = agents.unwrap_or_default();
        let mut keys = dir.map(data::game_server_keys).transpose()?.unwrap_or_default();
        let mut running = Vec::new();
        for server in servers {
            let key = valid_key(db, clock, server.id, keys.remove(&server.id.get())).await?;
            keys.insert(server.id.get(), key.clone());
            if let Some(dir) = dir {
                data::keep_game_server_keys(dir, &keys)?;
            }
            let runs = if servers.last() == Some(server) {
                Running::Agent(WithAgent::start(api, key, &agents.join(server.id.to_string())).await?)
            } else {
                Running::Plugin(GameServer::start(api, &key, dir.map(|dir| data::game_server_disk(dir, server.id))))
            };
            running.push((server.clone(), runs));
        }
        Ok(Self { servers: running, _folder: folder })
    }

    /// The servers as the console shows them.
    #[must_use]
    pub fn shown(&self) -> Value {
        let shown = |(server, runs): &(Server, Running)| {
            let mut shown = match runs {
                Running::Plugin(server) => server.shown(),
                Running::Agent(server) => server.shown(),
            };
            (shown["id"], shown["name"]) = (json!(server.id), json!(server.name));
            shown
        };
        json!({ "servers": self.servers.iter().map(shown).collect::<Vec<_>>() })
    }

    /// Does what the console asks for in a body of JSON. Returns whether that is an action on one of the servers.
    pub fn act(&self, body: &[u8]) -> bool {
        let Ok(Act { server, act }) = serde_json::from_slice(body) else { return false };
        match self.servers.iter().find(|(known, _)| known.id == server) {
            Some((_, Running::Plugin(server))) => server.act(act),
            Some((_, Running::Agent(server))) => server.act(act),
            None => return false,
        }
        true
    }
}

/// The known key of a server if it is valid, else a new one.
async fn valid_key(db: &Db, clock: &dyn Clock, id: ServerId, known: Option<String>) -> Result<String, StartError> {
    let failed = |error| StartError::Publish(publish::PublishError::Store(error));
    if let Some(key) = known.as_deref().and_then(ServerKey::parse)
        && server_of(db, &key).await.map_err(failed)? == Some(id)
    {
        return Ok(known.unwrap_or_default());
    }
    Ok(add_key(db, clock, id).await.map_err(failed)?.0)
}

/// The password of the stand-in, which listens on this machine only.
const PASSWORD: &str = "ember";

#[derive(Debug)]
struct WithAgent {
    rcon: RconServer,
    /// The reason why the agent has ended, if it has.
    ended: Arc<OnceLock<String>>,
}

impl WithAgent {
    /// Starts a game server, and an agent with its files in a folder.
    async fn start(api: &str, key: String, folder: &Path) -> Result<Self, StartError> {
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
    fn shown(&self) -> Value {
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
    fn act(&self, action: Action) {
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
