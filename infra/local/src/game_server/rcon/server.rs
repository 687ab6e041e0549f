//! The listener, its connections, and packets of Source RCON as a server reads and writes them. Independent of the
//! crate `rcon`, so that neither hides a mistake of the other.

use super::{Console, SWITCHES, Switch};
use crate::game_server::rcon;
use crate::gateway::listen;
use crate::options::StartError;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};
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
        let (mut buffer, mut is_admitted) = ([0; LARGEST_REQUEST], false);
        loop {
            let length = stream.read(&mut buffer).await?;
            let Some(Request { id, kind, text }) = Request::read(&buffer[..length]) else { return Ok(()) };
            match kind {
                LOGIN => {
                    is_admitted = self.switch() != Switch::Refuse && text == self.options.password;
                    let id = if is_admitted { id } else { -1 };
                    self.send(stream, id, COMMAND, "").await?;
                }
                COMMAND if !is_admitted => self.send(stream, -1, COMMAND, "").await?,
                COMMAND => self.command(stream, id, &text).await?,
                _ if self.switch() == Switch::Unmarked => {}
                _ if self.switch() == Switch::EndsAtMarker => return Ok(()),
                _ => self.send(stream, id, RESPONSE, &format!("Unknown request {kind:x}")).await?,
            }
        }
    }

    async fn command(&self, stream: &mut TcpStream, id: i32, text: &str) -> io::Result<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [SWITCHES, words @ ..] = words.as_slice() {
            return self.send(stream, id, RESPONSE, &self.own(words)).await;
        }
        (self.options.watch)(Moment::Received, text);
        let switch = match self.switch() {
            Switch::Drop | Switch::Crash | Switch::Late(_) if rcon::is_question(text) => Switch::None,
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
            let packets = responses(id, RESPONSE, &response, switch.most()).concat();
            stream.write_all(&packets[..packets.len() / 2]).await?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.send(stream, id, RESPONSE, &response).await?;
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
        for packet in responses(id, kind, text, switch.most()) {
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

/// The type of a login.
pub const LOGIN: i32 = 3;
/// The type of a command, and of the response to a login.
pub const COMMAND: i32 = 2;
/// The type of a response to a command.
pub const RESPONSE: i32 = 0;
/// The most bytes that Minecraft reads at once; a request is one read.
pub const LARGEST_REQUEST: usize = 1_460;
/// The most characters of a response.
pub const LARGEST_TEXT: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub id: i32,
    pub kind: i32,
    pub text: String,
}

impl Request {
    /// The request that one read returned. Like Minecraft, this takes nothing but exactly one packet.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let rest = bytes.get(12..)?;
        if usize::try_from(number(0)?).ok()? != bytes.len() - 4 || rest.len() < 2 {
            return None;
        }
        let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(Self { id: number(4)?, kind: number(8)?, text: String::from_utf8_lossy(text).into_owned() })
    }
}

/// The packets of a response, of at most `most` characters each: a text has at least one.
pub fn responses(id: i32, kind: i32, text: &str, most: usize) -> Vec<Vec<u8>> {
    let mut rest = text;
    let mut packets = Vec::new();
    loop {
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at(end);
        let length = i32::try_from(part.len() + 10).unwrap_or_default();
        let head = [length, id, kind].map(i32::to_le_bytes).concat();
        packets.push([&head, part.as_bytes(), &[0, 0]].concat());
        rest = after;
        if rest.is_empty() {
            return packets;
        }
    }
}
