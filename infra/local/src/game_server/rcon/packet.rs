//! Packets of Source RCON as a server reads and writes them. Independent of the crate `rcon`, so that neither hides a mistake of
//! the other.

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
