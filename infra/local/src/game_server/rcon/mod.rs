//! A game server with Source RCON, as Minecraft speaks it. It also misbehaves on request: see [`Switch`].

mod console;
mod packet;
mod server;

pub use console::{Console, Ran};
pub use server::{Moment, Options, RconServer};

use serde::{Deserialize, Serialize};
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
}

impl Switch {
    /// The words of the console: `none`, `drop`, `refuse`, `hang`, `late MILLISECONDS`, `pieces`, `crash`, `down`.
    pub fn parse(words: &[&str]) -> Option<Self> {
        Some(match words {
            ["none"] => Self::None,
            ["drop"] => Self::Drop,
            ["refuse"] => Self::Refuse,
            ["hang"] => Self::Hang,
            ["late", milliseconds] => Self::Late(milliseconds.parse().ok()?),
            ["pieces"] => Self::Pieces,
            ["crash"] => Self::Crash,
            ["down"] => Self::Down,
            _ => return None,
        })
    }

    const fn delay(self) -> Duration {
        match self {
            Self::Late(milliseconds) => Duration::from_millis(milliseconds),
            _ => Duration::ZERO,
        }
    }
}
