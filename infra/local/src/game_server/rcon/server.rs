//! The listener and its connections.

use super::console::{self, Console};
use super::packet::{self, Request};
use super::{COMMAND, Switch};
use crate::error::StartError;
use crate::server::listen;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A moment in the life of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Received,
    /// It ran, and has no response yet.
    Ran,
    /// Its response was sent.
    Responded,
}

type Watch = Arc<dyn Fn(Moment, &str) + Send + Sync>;

/// The settings of a stand-in.
pub struct Options {
    /// The port on 127.0.0.1; 0 picks a free one.
    pub port: u16,
    pub password: String,
    /// Called at every moment of every command.
    pub watch: Watch,
}

impl Options {
    pub fn new(port: u16, password: &str) -> Self {
        Self { port, password: password.to_owned(), watch: Arc::new(|_, _| ()) }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Options").field("port", &self.port).finish_non_exhaustive()
    }
}

/// A running stand-in. It ends when this is dropped.
#[derive(Debug)]
pub struct RconServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    console: Console,
    switch: Mutex<Switch>,
    /// How often all connections have ended.
    crashes: watch::Sender<u32>,
}

impl RconServer {
    /// Starts a stand-in without players.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let listener = listen(options.port, "").await?;
        let address = listener.local_addr().map_err(|source| StartError::Listen { port: options.port, source })?;
        let (console, switch, crashes) = (Console::default(), Mutex::default(), watch::Sender::new(0));
        let shared = Arc::new(Shared { options, console, switch, crashes });
        let for_connections = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            loop {
                // Out of file descriptors, or the caller has gone: the next connection may succeed.
                let Ok((stream, _)) = listener.accept().await else { continue };
                if for_connections.switch() == Switch::Down {
                    continue;
                }
                let shared = Arc::clone(&for_connections);
                tokio::spawn(async move { _ = shared.serve(stream).await });
            }
        });
        Ok(Self { address, shared, accepting: accepting.abort_handle() })
    }

    #[must_use]
    pub fn console(&self) -> &Console {
        &self.shared.console
    }

    pub fn turn(&self, switch: Switch) {
        self.shared.turn(switch);
    }

    #[must_use]
    pub fn switch(&self) -> Switch {
        self.shared.switch()
    }

    /// Ends every connection, as when the server restarts.
    pub fn hang_up(&self) {
        self.shared.crashes.send_modify(|crashes| *crashes += 1);
    }
}

impl Drop for RconServer {
    fn drop(&mut self) {
        self.accepting.abort();
        self.hang_up();
    }
}

impl Shared {
    fn switch(&self) -> Switch {
        *self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, switch: Switch) {
        *self.switch.lock().unwrap_or_else(PoisonError::into_inner) = switch;
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut crashes = self.crashes.subscribe();
        tokio::select! {
            ended = self.talk(&mut stream) => ended,
            _ = crashes.changed() => Ok(()),
        }
    }

    async fn talk(&self, stream: &mut TcpStream) -> io::Result<()> {
        let (mut buffer, mut is_admitted) = ([0; packet::LARGEST_REQUEST], false);
        loop {
            let length = stream.read(&mut buffer).await?;
            let Some(Request { id, kind, text }) = Request::read(&buffer[..length]) else { return Ok(()) };
            match kind {
                packet::LOGIN => {
                    is_admitted = self.switch() != Switch::Refuse && text == self.options.password;
                    let id = if is_admitted { id } else { -1 };
                    self.send(stream, id, packet::COMMAND, "").await?;
                }
                packet::COMMAND if !is_admitted => self.send(stream, -1, packet::COMMAND, "").await?,
                packet::COMMAND => self.command(stream, id, &text).await?,
                _ if self.switch() == Switch::Unmarked => {}
                _ if self.switch() == Switch::EndsAtMarker => return Ok(()),
                _ => self.send(stream, id, packet::RESPONSE, &format!("Unknown request {kind:x}")).await?,
            }
        }
    }

    async fn command(&self, stream: &mut TcpStream, id: i32, text: &str) -> io::Result<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [COMMAND, words @ ..] = words.as_slice() {
            return self.send(stream, id, packet::RESPONSE, &self.own(words)).await;
        }
        (self.options.watch)(Moment::Received, text);
        let switch = match self.switch() {
            Switch::Drop | Switch::Crash | Switch::Late(_) if console::is_question(text) => Switch::None,
            switch => switch,
        };
        match switch {
            Switch::Hang => std::future::pending().await,
            Switch::NoList if words.last() == Some(&"uuids") => return Ok(()),
            Switch::Crash => {
                self.console.all_leave();
                self.turn(Switch::Down);
                self.crashes.send_modify(|crashes| *crashes += 1);
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            _ => {}
        }
        let response = self.console.run(text);
        (self.options.watch)(Moment::Ran, text);
        tokio::time::sleep(switch.delay()).await;
        if switch == Switch::Drop {
            self.turn(Switch::None);
            let packets = packet::responses(id, packet::RESPONSE, &response, switch.most()).concat();
            stream.write_all(&packets[..packets.len() / 2]).await?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.send(stream, id, packet::RESPONSE, &response).await?;
        (self.options.watch)(Moment::Responded, text);
        Ok(())
    }

    /// A command for the stand-in: `join NAME`, `leave NAME`, or a switch.
    fn own(&self, words: &[&str]) -> String {
        match words {
            ["join", player] => self.console.join(player),
            ["leave", player] => self.console.leave(player),
            _ => match Switch::parse(words) {
                Some(switch) => self.turn(switch),
                None => return format!("join NAME, leave NAME, {}", Switch::WORDS),
            },
        }
        "ok".to_owned()
    }

    async fn send(&self, stream: &mut TcpStream, id: i32, kind: i32, text: &str) -> io::Result<()> {
        let switch = self.switch();
        let id = if switch == Switch::ZeroIds && id > 0 { 0 } else { id };
        for packet in packet::responses(id, kind, text, switch.most()) {
            if switch == Switch::Pieces {
                for piece in packet.chunks(packet.len().div_ceil(4).max(3)) {
                    stream.write_all(piece).await?;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            } else {
                stream.write_all(&packet).await?;
            }
        }
        Ok(())
    }
}
