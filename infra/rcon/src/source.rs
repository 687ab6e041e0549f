//! Source RCON. A packet is a length, an id, a type, and a text that ends with two zero bytes. A response may have
//! several packets, and nothing says which is the last. After a packet that may be followed by another one, a marker is
//! sent: what comes before its response belongs to the command. A marker that is sent at once, as some clients do,
//! makes Minecraft close the connection (MC-72390), because it takes what one read returns for one packet.
//!
//! Servers differ from the documentation ([`Dialect`]): some respond with the id 0 to everything, some ignore or end
//! the connection at a marker. Their responses end when nothing comes any more.

use crate::{LONGEST_RESPONSE, Protocol, RconError};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LOGIN: i32 = 3;
const LOGIN_RESPONSE: i32 = 2;
const COMMAND: i32 = 2;
/// A response; as a request Source mirrors it.
const RESPONSE: i32 = 0;
/// Minecraft responds to a type that it does not know.
const UNKNOWN: i32 = 100;
/// The least bytes of a packet that may be followed by another one.
const FULL: usize = 4_000;
/// How long a server has to respond to its first marker.
const FIRST_MARKER: Duration = Duration::from_secs(1);
/// How long nothing comes after the end of a response that no marker ends.
const QUIET: Duration = Duration::from_millis(250);

/// What a server does unlike others. Every connection learns it anew: the server may be another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Its responses have the id 0 and not that of the request, as those of Palworld and Conan Exiles have.
    pub has_zero_ids: bool,
    /// It does not respond to a marker.
    pub ignores_markers: bool,
}

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    marker: i32,
    /// The last id that was used. Packets with an older one belong to a response that was read.
    last: i32,
    pub(crate) dialect: Dialect,
    /// Whether a response to a command had the id of the command: one with the id 0 is then none.
    knows_ids: bool,
    /// Whether it has responded to a marker.
    knows_markers: bool,
}

impl Connection {
    pub(crate) async fn open(protocol: Protocol, address: &str, password: &str) -> Result<Self, RconError> {
        let stream = TcpStream::connect(address).await.map_err(RconError::Connect)?;
        stream.set_nodelay(true).map_err(RconError::Connect)?;
        let marker = if protocol == Protocol::Minecraft { UNKNOWN } else { RESPONSE };
        let (received, dialect) = (Vec::new(), Dialect::default());
        let (knows_ids, knows_markers) = (false, false);
        let mut connection = Self { stream, received, marker, last: 0, dialect, knows_ids, knows_markers };
        let id = connection.send(LOGIN, password).await?;
        loop {
            let packet = connection.packet().await?;
            if packet.id == -1 {
                return Err(RconError::Password);
            }
            // Source sends an empty response before that of the login.
            if packet.kind == LOGIN_RESPONSE {
                connection.dialect.has_zero_ids = packet.id == 0;
                return if [0, id].contains(&packet.id) { Ok(connection) } else { Err(RconError::Password) };
            }
        }
    }

    pub(crate) async fn run(&mut self, command: &str, is_whole: bool) -> Result<String, RconError> {
        self.forget_late()?;
        let id = self.send(COMMAND, command).await?;
        let first = loop {
            if let Some(packet) = self.response(id).await? {
                break packet;
            }
        };
        self.dialect.has_zero_ids = first.id == 0;
        self.knows_ids |= first.id == id;
        let mut response = first.body;
        // Without an id, what is left over would be taken for the response to the next command.
        if is_whole || self.dialect.has_zero_ids || response.len() >= FULL {
            self.rest(id, &mut response).await?;
        }
        Ok(String::from_utf8_lossy(&response).into_owned())
    }

    /// The next packet, if it is of the response to the request with an id.
    async fn response(&mut self, id: i32) -> Result<Option<Packet>, RconError> {
        let packet = self.packet().await?;
        match packet.id {
            -1 => Err(RconError::Password),
            0 if self.knows_ids => Ok(None),
            0 => Ok(Some(packet)),
            // Source sends a second packet for a marker.
            older if (1..id).contains(&older) => Ok(None),
            // The command's own, or that of the marker after it.
            own if (id..=self.last).contains(&own) => Ok(Some(packet)),
            other => Err(Malformed::Id(other).into()),
        }
    }

    /// Reads what follows the first packet of a response.
    async fn rest(&mut self, id: i32, response: &mut Vec<u8>) -> Result<(), RconError> {
        let is_marked = !self.dialect.has_zero_ids && !self.dialect.ignores_markers;
        // A server that has ended meanwhile has responded all the same.
        let marker = if is_marked { self.send(self.marker, "").await.ok() } else { None };
        loop {
            let next = match marker {
                Some(_) if self.knows_markers => Ok(self.response(id).await),
                Some(_) => timeout(FIRST_MARKER, self.response(id)).await,
                None => timeout(QUIET, self.response(id)).await,
            };
            let packet = match next {
                Ok(Ok(Some(packet))) => packet,
                Ok(Ok(None)) => continue,
                // It ends the connection at a marker: what it sent before is the response.
                Ok(Err(RconError::Broken(_))) => return Ok(()),
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    self.dialect.ignores_markers |= marker.is_some();
                    return Ok(());
                }
            };
            if marker == Some(packet.id) {
                self.knows_markers = true;
                return Ok(());
            }
            if response.len() + packet.body.len() > LONGEST_RESPONSE {
                return Err(Malformed::TooLong.into());
            }
            response.extend(packet.body);
        }
    }

    /// Forgets what came after the end of a response without an id.
    fn forget_late(&mut self) -> Result<(), RconError> {
        if self.dialect.has_zero_ids {
            while matches!(self.stream.try_read_buf(&mut self.received), Ok(1..)) {}
            while decode(&mut self.received)?.is_some() {}
        }
        Ok(())
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

/// The least and the greatest length of a packet. Source and Minecraft divide a response; some servers send all of it in one.
const SHORTEST_PACKET: usize = 10;
const LONGEST_PACKET: usize = LONGEST_RESPONSE + SHORTEST_PACKET;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub id: i32,
    pub kind: i32,
    /// Without the two zero bytes.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a packet has the length {0}")]
    Length(i32),
    #[error("a packet has the id {0}, which was not asked for")]
    Id(i32),
    #[error("the response is longer than {} MiB", crate::LONGEST_RESPONSE / 1024 / 1024)]
    TooLong,
}

impl Packet {
    /// The bytes on the wire. A text is at most [`crate::LONGEST_COMMAND`] bytes, so that its length fits.
    pub fn encode(id: i32, kind: i32, text: &str) -> Vec<u8> {
        let length = i32::try_from(text.len() + SHORTEST_PACKET).unwrap_or(i32::MAX);
        let head = [length, id, kind].map(i32::to_le_bytes).concat();
        [&head, text.as_bytes(), &[0, 0]].concat()
    }
}

/// Takes the first packet out of what was received; `None` if it is not complete yet.
pub fn decode(received: &mut Vec<u8>) -> Result<Option<Packet>, Malformed> {
    let number = |at: usize| -> Option<i32> { Some(i32::from_le_bytes(received.get(at..at + 4)?.try_into().ok()?)) };
    let Some(length) = number(0) else { return Ok(None) };
    let whole = usize::try_from(length).ok().filter(|length| (SHORTEST_PACKET..=LONGEST_PACKET).contains(length));
    let end = 4 + whole.ok_or(Malformed::Length(length))?;
    let (Some(id), Some(kind)) = (number(4), number(8)) else { return Ok(None) };
    // Some servers forget one of the two zero bytes.
    let Some(body) = received.get(12..end) else { return Ok(None) };
    let length = body.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let packet = Packet { id, kind, body: body[..length].to_vec() };
    received.drain(..end);
    Ok(Some(packet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_are_read_however_they_are_cut(
            packets in proptest::collection::vec((any::<i32>(), any::<i32>(), "[a-zä✓]{0,400}"), 1..5),
            cuts in proptest::collection::vec(1..40_usize, 1..20),
        ) {
            let bytes: Vec<u8> = packets.iter().flat_map(|(id, kind, text)| Packet::encode(*id, *kind, text)).collect();
            let (mut received, mut read, mut cuts, mut rest) = (Vec::new(), Vec::new(), cuts.iter().cycle(), bytes.as_slice());
            while !rest.is_empty() {
                let (part, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                received.extend_from_slice(part);
                rest = after;
                while let Some(Packet { id, kind, body }) = decode(&mut received).unwrap() {
                    read.push((id, kind, String::from_utf8(body).unwrap()));
                }
            }
            prop_assert_eq!(read, packets);
            prop_assert!(received.is_empty());
        }

        #[test]
        fn no_bytes_make_a_client_panic_or_wait_for_more_than_a_packet(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut received = bytes.clone();
            while let Ok(Some(packet)) = decode(&mut received) {
                prop_assert!(packet.body.len() <= LONGEST_PACKET);
            }
            let length = bytes.get(..4).map(|length| i32::from_le_bytes(length.try_into().unwrap()));
            let is_refused = decode(&mut bytes.clone()).is_err();
            prop_assert_eq!(is_refused, length.is_some_and(|length| !(10..=1_048_586).contains(&length)));
        }
    }
}
