//! Game servers for the demo, in a process of their own: each speaks the protocol of the vendor's plugin with the API, but one
//! has RCON and an agent beside it. The page `/console` of the demo shows them. No deployment has any of this.
//!
//! `local game-server` reads its [`Settings`] as a line of JSON, prints the address of its console, and ends when its standard
//! input does, which is with the process that started it.

mod calls;
mod console;
mod live;
pub mod plugin;
mod process;
pub mod rcon;
mod with_agent;

pub use console::run;
pub use process::GameServers;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The argument of `local` for this process.
pub const COMMAND: &str = "game-server";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// The URL of the API.
    pub api: String,
    /// The origin of the page that may look at the console.
    pub page: String,
    pub servers: Vec<Server>,
}

/// A game server with its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    pub id: u64,
    pub name: String,
    pub key: String,
    /// The file of what waits for players; `None` for memory only.
    pub disk: Option<PathBuf>,
    /// The folder of its agent; `None` if it has the plugin.
    pub agent: Option<PathBuf>,
}
