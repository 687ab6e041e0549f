//! Clients of RCON, the remote console of game servers: Source RCON ([`Protocol::Source`], [`Protocol::Minecraft`]) and the
//! WebSocket RCON of Rust ([`Protocol::WebSocket`]).
//!
//! A [`Connection`] runs one command at a time and waits for the response. After an error other than
//! [`RconError::Refused`] it is not known whether the command ran, and the connection must be dropped: a late response must not be
//! taken for that of another command. RCON is plain text: use it on this machine, or through a tunnel.

mod source;
mod web;

pub use source::{Dialect, Malformed, Packet, decode};

use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// The longest command in bytes. Minecraft reads a request at once, into 1,460 bytes.
pub const LONGEST_COMMAND: usize = 1_413;
/// The longest response in bytes.
const LONGEST_RESPONSE: usize = 1024 * 1024;

/// How a game server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Source RCON as documented by Valve.
    Source,
    /// Source RCON as Minecraft speaks it.
    Minecraft,
    /// JSON over a WebSocket, as Rust speaks it.
    WebSocket,
}

#[derive(Debug, thiserror::Error)]
pub enum RconError {
    #[error("the command was not sent: {0}")]
    Refused(String),
    #[error("the password is wrong")]
    Password,
    #[error("no connection to the game server could be opened")]
    Connect(#[source] io::Error),
    #[error("the connection to the game server broke")]
    Broken(#[source] io::Error),
    #[error("the game server did not respond within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("the game server's response is not RCON: {0}")]
    Malformed(#[from] Malformed),
}

/// A connection whose password was accepted.
#[derive(Debug)]
pub struct Connection {
    kind: Kind,
    limit: Duration,
}

#[derive(Debug)]
enum Kind {
    Source(source::Connection),
    Web(web::Connection),
}

impl Connection {
    /// Connects to `HOST:PORT` and sends the password. Everything has `limit` to respond.
    pub async fn open(protocol: Protocol, address: &str, password: &str, limit: Duration) -> Result<Self, RconError> {
        let opening = async {
            Ok(match protocol {
                Protocol::WebSocket => Kind::Web(web::Connection::open(address, password).await?),
                _ => Kind::Source(source::Connection::open(protocol, address, password).await?),
            })
        };
        let kind = timeout(limit, opening).await.unwrap_or(Err(RconError::Timeout(limit)))?;
        Ok(Self { kind, limit })
    }

    /// Runs a command, and returns the response, of which a server that divides it early is only heard the first part. Fails
    /// with [`RconError::Refused`] if the command was not sent; after any other error, drop the connection.
    pub async fn run(&mut self, command: &str) -> Result<String, RconError> {
        self.hear(command, false).await
    }

    /// Runs a command as [`run`](Self::run) does, and returns the whole response, however the server divides it.
    pub async fn run_whole(&mut self, command: &str) -> Result<String, RconError> {
        self.hear(command, true).await
    }

    async fn hear(&mut self, command: &str, is_whole: bool) -> Result<String, RconError> {
        check(command).map_err(RconError::Refused)?;
        let limit = self.limit;
        let running = async {
            match &mut self.kind {
                Kind::Source(connection) => connection.run(command, is_whole).await,
                Kind::Web(connection) => connection.run(command).await,
            }
        };
        timeout(limit, running).await.unwrap_or(Err(RconError::Timeout(limit)))
    }

    /// What the server was seen to do unlike others.
    pub const fn dialect(&self) -> Dialect {
        match &self.kind {
            Kind::Source(connection) => connection.dialect,
            Kind::Web(_) => Dialect { has_zero_ids: false, ignores_markers: false },
        }
    }

    /// Whether the other side has closed the connection, as far as this side was notified.
    pub fn is_closed(&mut self) -> bool {
        match &mut self.kind {
            Kind::Source(connection) => connection.is_closed(),
            Kind::Web(connection) => connection.is_closed(),
        }
    }
}

/// Whether a command can be sent.
pub fn check(command: &str) -> Result<(), String> {
    if command.len() > LONGEST_COMMAND {
        return Err(format!("it has {} bytes, and RCON takes at most {LONGEST_COMMAND}", command.len()));
    }
    if command.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    match command.chars().find(|character| character.is_control()) {
        Some(_) => Err("it must be one line without control characters".to_owned()),
        None => Ok(()),
    }
}
