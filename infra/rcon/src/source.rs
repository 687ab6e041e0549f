//! Source RCON. A response may have several packets, and nothing says which is the last. After a packet that may be followed by
//! another one, a marker is sent: what comes before its response belongs to the command. A marker that is sent at once, as some
//! clients do, makes Minecraft close the connection (MC-72390), because it takes what one read returns for one packet.

use crate::packet::{Malformed, Packet, decode};
use crate::{LONGEST_RESPONSE, Protocol, RconError};
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const LOGIN: i32 = 3;
const LOGIN_RESPONSE: i32 = 2;
const COMMAND: i32 = 2;
/// A response; as a request Source mirrors it.
const RESPONSE: i32 = 0;
/// Minecraft responds to a type that it does not know.
const UNKNOWN: i32 = 100;
/// The least bytes of a packet that may be followed by another one.
const FULL: usize = 4_000;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    marker: i32,
    /// The last id that was used. Packets with an older one belong to a response that was read.
    last: i32,
}

impl Connection {
    pub(crate) async fn open(protocol: Protocol, address: &str, password: &str) -> Result<Self, RconError> {
        let stream = TcpStream::connect(address).await.map_err(RconError::Connect)?;
        stream.set_nodelay(true).map_err(RconError::Connect)?;
        let marker = if protocol == Protocol::Minecraft { UNKNOWN } else { RESPONSE };
        let mut connection = Self { stream, received: Vec::new(), marker, last: 0 };
        let id = connection.send(LOGIN, password).await?;
        loop {
            let packet = connection.packet().await?;
            // Source sends an empty response before that of the login.
            if packet.kind == LOGIN_RESPONSE {
                return if packet.id == id { Ok(connection) } else { Err(RconError::Password) };
            }
        }
    }

    pub(crate) async fn run(&mut self, command: &str) -> Result<String, RconError> {
        let id = self.send(COMMAND, command).await?;
        let (mut response, mut marker) = (Vec::new(), None);
        loop {
            let packet = self.packet().await?;
            if Some(packet.id) == marker {
                break;
            }
            if packet.id == -1 {
                return Err(RconError::Password);
            }
            // Source sends a second packet for a marker.
            if packet.id < id {
                continue;
            }
            if packet.id != id {
                return Err(Malformed::Id(packet.id).into());
            }
            if response.len() + packet.body.len() > LONGEST_RESPONSE {
                return Err(Malformed::TooLong.into());
            }
            let is_full = packet.body.len() >= FULL;
            response.extend(packet.body);
            match marker {
                None if is_full => marker = Some(self.send(self.marker, "").await?),
                None => break,
                Some(_) => {}
            }
        }
        Ok(String::from_utf8_lossy(&response).into_owned())
    }

    async fn send(&mut self, kind: i32, text: &str) -> Result<i32, RconError> {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.stream.write_all(&Packet::encode(self.last, kind, text)).await.map_err(RconError::Broken)?;
        Ok(self.last)
    }

    async fn packet(&mut self) -> Result<Packet, RconError> {
        loop {
            if let Some(packet) = decode(&mut self.received)? {
                return Ok(packet);
            }
            if self.stream.read_buf(&mut self.received).await.map_err(RconError::Broken)? == 0 {
                return Err(RconError::Broken(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.try_read_buf(&mut self.received) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}
