//! A game server with Source RCON, as Minecraft speaks it. On request it misbehaves, or speaks another dialect: see [`Switch`].

mod console;
mod packet;
mod server;

pub use console::{Console, Ran};
pub use server::{Moment, Options, RconServer};

use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// The command at the console that turns a switch, for example `stand-in hang`.
pub const COMMAND: &str = "stand-in";

/// A fault. A drop and a crash happen once; the others stay until there is another one. Questions for the list of players have
/// only the faults that concern everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    #[default]
    None,
    /// The next command runs; the connection breaks in the middle of its response.
    Drop,
    /// Passwords are refused, and connections end.
    Refuse,
    /// Commands do not run, and have no response.
    Hang,
    /// Commands run; their responses come after this many milliseconds.
    Late(u64),
    /// Responses come in pieces.
    Pieces,
    /// The server ends at the next command, which does not run; then it is down.
    Crash,
    /// Nothing is accepted.
    Down,
    /// All responses have the id 0, as those of Palworld and Conan Exiles have.
    ZeroIds,
    /// A response is one packet, however long.
    OnePacket,
    /// Responses are divided after [`SPLIT`] characters.
    Split,
    /// A request of an unknown type has no response.
    Unmarked,
    /// The connection ends at a request of an unknown type.
    EndsAtMarker,
    /// A question for the players with their ids has no response.
    NoList,
}

/// How many characters a packet has of a server that divides responses early.
pub const SPLIT: usize = 600;

impl Switch {
    /// The words of the console.
    pub const WORDS: &str = "none, drop, refuse, hang, late MS, pieces, crash, down, zero-ids, one-packet, split, unmarked, ends-at-marker or no-list";

    /// A switch by the words of the console: [`WORDS`](Self::WORDS).
    pub fn parse(words: &[&str]) -> Option<Self> {
        let switch = match words {
            ["late", milliseconds] => json!({ "late": milliseconds.parse::<u64>().ok()? }),
            [word] => json!(word.replace('-', "_")),
            _ => return None,
        };
        serde_json::from_value(switch).ok()
    }

    /// The most characters of a packet.
    const fn most(self) -> usize {
        match self {
            Self::OnePacket => usize::MAX,
            Self::Split => SPLIT,
            _ => packet::LARGEST_TEXT,
        }
    }

    const fn delay(self) -> Duration {
        match self {
            Self::Late(milliseconds) => Duration::from_millis(milliseconds),
            _ => Duration::ZERO,
        }
    }
}
