//! The game servers as a child of the local server.

use super::{COMMAND, Server, Settings};
use crate::data;
use crate::error::StartError;
use shared::clock::Clock;
use shared::model::ActiveVersion;
use shared::shop::delivery::{ServerKey, add_key, server_of};
use shared::table::Db;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The running process. It ends when this is dropped, and with this process.
#[derive(Debug)]
pub struct GameServers {
    child: Child,
    /// The folder of the agent, without a data directory.
    _folder: Option<TempDir>,
    /// The address of their console.
    pub url: String,
}

impl GameServers {
    /// Starts a game server for each server of the store, with a key; the last one has an agent. With a data directory, keys,
    /// disks and the agent's journal are kept there.
    pub async fn start(
        db: &Db,
        clock: &dyn Clock,
        active: &ActiveVersion,
        dir: Option<&Path>,
        (api, page): (&str, &str),
    ) -> Result<Self, StartError> {
        let keys = keys(db, clock, active, dir).await?;
        let folder = dir.is_none().then(tempfile::tempdir).transpose().map_err(StartError::GameServers)?;
        let of_agent = dir.or_else(|| folder.as_ref().map(TempDir::path)).map(|dir| dir.join("agents"));
        let last = active.config.delivery.servers.last().map(|server| server.id);
        let servers = active.config.delivery.servers.iter().zip(keys).map(|(server, key)| Server {
            id: server.id.get(),
            name: server.name.clone(),
            disk: dir.map(|dir| data::game_server_disk(dir, server.id)),
            agent: of_agent
                .as_ref()
                .filter(|_| Some(server.id) == last)
                .map(|agents| agents.join(server.id.to_string())),
            key,
        });
        let settings = Settings { api: api.to_owned(), page: page.to_owned(), servers: servers.collect() };
        Self::spawn(&settings, folder).map_err(StartError::GameServers)
    }

    fn spawn(settings: &Settings, folder: Option<TempDir>) -> std::io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(input) = &mut child.stdin {
            writeln!(input, "{}", serde_json::to_string(settings)?)?;
        }
        let mut url = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut url)?;
        }
        Ok(Self { child, _folder: folder, url: url.trim().to_owned() })
    }
}

impl Drop for GameServers {
    fn drop(&mut self) {
        // Fails if it has already ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A valid key of each server of the store, in their order.
async fn keys(
    db: &Db,
    clock: &dyn Clock,
    active: &ActiveVersion,
    dir: Option<&Path>,
) -> Result<Vec<String>, StartError> {
    let mut kept = dir.map(data::game_server_keys).transpose()?.unwrap_or_default();
    let mut keys = BTreeMap::new();
    let mut own = Vec::new();
    let failed = |error| StartError::Publish(publish::PublishError::Store(error));
    for server in &active.config.delivery.servers {
        let known = kept.remove(&server.id.get());
        let is_valid = match known.as_deref().and_then(ServerKey::parse) {
            Some(key) => server_of(db, &key).await.map_err(failed)? == Some(server.id),
            None => false,
        };
        let key = match known.filter(|_| is_valid) {
            Some(key) => key,
            None => add_key(db, clock, server.id).await.map_err(failed)?.0,
        };
        keys.insert(server.id.get(), key.clone());
        own.push(key);
    }
    if let Some(dir) = dir {
        data::keep_game_server_keys(dir, &keys)?;
    }
    Ok(own)
}
