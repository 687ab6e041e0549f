//! A game server with Source RCON, as Minecraft speaks it: its players, and the responses that Minecraft gives. On
//! request it misbehaves, or speaks another dialect: see [`Switch`].

mod server;

pub use server::{Moment, Options, RconServer};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use shared::fault::capital;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The command at the console that turns a switch, for example `stand-in hang`.
const SWITCHES: &str = "stand-in";

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
            _ => server::LARGEST_TEXT,
        }
    }

    const fn delay(self) -> Duration {
        match self {
            Self::Late(milliseconds) => Duration::from_millis(milliseconds),
            _ => Duration::ZERO,
        }
    }
}

/// The commands of plugins that the sample store and `first-shop.md` sell.
const PLUGINS: [&str; 15] = [
    "boost", "bridges", "claims", "crate", "crates", "drums", "embers", "guild", "hearth", "lantern", "ledger",
    "mount", "pet", "plates", "wardrobe",
];

/// The most players.
const SLOTS: usize = 5_000;

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ran {
    pub text: String,
    pub response: String,
}

/// A console, and who is on the server.
#[derive(Debug, Default)]
pub struct Console(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By their names in small letters.
    online: BTreeMap<String, String>,
    ran: Vec<Ran>,
    has_no_plugins: bool,
    is_offline: bool,
}

impl Console {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn join(&self, player: &str) {
        self.inner().online.insert(player.to_lowercase(), player.to_owned());
    }

    pub fn leave(&self, player: &str) {
        self.inner().online.remove(&player.to_lowercase());
    }

    pub fn all_leave(&self) {
        self.inner().online.clear();
    }

    /// From now on it is a server without plugins, on which no command has the name of who brought it.
    pub fn lose_plugins(&self) {
        self.inner().has_no_plugins = true;
    }

    /// From now on it is a server in offline mode, which does not ask who its players are.
    pub fn go_offline(&self) {
        self.inner().is_offline = true;
    }

    #[must_use]
    pub fn players(&self) -> Vec<String> {
        self.inner().online.values().cloned().collect()
    }

    /// Commands that ran, oldest first, without requests for the list of players.
    #[must_use]
    pub fn ran(&self) -> Vec<Ran> {
        self.inner().ran.clone()
    }

    /// Runs a command and returns the response.
    pub fn run(&self, text: &str) -> String {
        let command = bare(text);
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut inner = self.inner();
        if inner.has_no_plugins && text.starts_with("minecraft:") {
            return "Unknown or incomplete command, see below for error".to_owned() + text + "<--[HERE]";
        }
        if is_question(text) {
            return inner.list(words.get(1) == Some(&"uuids"));
        }
        let response = inner.respond(command, &words);
        inner.ran.push(Ran { text: text.to_owned(), response: response.clone() });
        response
    }
}

fn bare(text: &str) -> &str {
    let command = text.strip_prefix('/').unwrap_or(text);
    command.strip_prefix("minecraft:").unwrap_or(command)
}

/// Whether a command asks for the list of players.
fn is_question(text: &str) -> bool {
    bare(text).split_whitespace().next() == Some("list")
}

impl Inner {
    fn list(&self, uuids: bool) -> String {
        let version = if self.is_offline { 0x30 } else { 0x40 };
        let shown = |name: &String| if uuids { format!("{name} ({})", uuid(name, version)) } else { name.clone() };
        let names: Vec<String> = self.online.values().map(shown).collect();
        format!("There are {} of a max of {SLOTS} players online: {}", names.len(), names.join(", "))
    }

    fn respond(&mut self, command: &str, words: &[&str]) -> String {
        if let ["kick", player] = words {
            let kicked = self.online.remove(&player.to_lowercase());
            return kicked.map_or_else(|| "No player was found".to_owned(), |player| format!("Kicked {player}"));
        }
        let known = |name: &str| self.online.get(&name.to_lowercase());
        match words {
            ["give", player, item, rest @ ..] => match known(player) {
                Some(player) => format!("Gave {} [{}] to {player}", rest.first().unwrap_or(&"1"), title(item)),
                None => "No player was found".to_owned(),
            },
            ["clear", player, item, ..] => match known(player) {
                Some(player) => format!("Removed 1 item(s) [{}] from player {player}", title(item)),
                None => "No player was found".to_owned(),
            },
            ["lp", "user", player, "parent", "add", group] => {
                format!("[LP] {} now inherits permissions from {group} in context global.", player.to_lowercase())
            }
            ["lp", "user", player, "parent", "remove", group] => {
                format!("[LP] {} no longer inherits permissions from {group} in context global.", player.to_lowercase())
            }
            ["lp", "user", player, "permission", "set", permission, rest @ ..] => {
                let value = rest.first().unwrap_or(&"true");
                format!("[LP] Set {permission} to {value} for {} in context global.", player.to_lowercase())
            }
            ["lp", "user", player, "permission", "unset", permission] => {
                format!("[LP] Unset {permission} for {} in context global.", player.to_lowercase())
            }
            [plugin, rest @ ..] if PLUGINS.contains(plugin) => format!("[{plugin}] Done: {}", rest.join(" ")),
            ["say", ..] => String::new(),
            ["echo", ..] => command.strip_prefix("echo ").unwrap_or_default().to_owned(),
            // Minecraft joins the lines of a response without a separator.
            ["help", ..] => {
                (1..=400).map(|number| format!("/command{number} (<targets>|<ä>)")).collect::<Vec<_>>().concat()
            }
            _ => format!("Unknown or incomplete command, see below for error{command}<--[HERE]"),
        }
    }
}

/// `firework_rocket` as `Firework Rocket`.
fn title(item: &str) -> String {
    let words = item.rsplit(':').next().unwrap_or(item).split('_').map(capital);
    words.collect::<Vec<_>>().join(" ")
}

/// A UUID, always the same for a name. Accounts have those of version 4, names alone those of version 3.
fn uuid(name: &str, version: u8) -> String {
    let mut bytes: [u8; 16] = std::array::from_fn(|_| 0);
    bytes.copy_from_slice(&Sha256::digest(name.to_lowercase())[..16]);
    bytes[6] = bytes[6] & 0x0f | version;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{read_dir, read_to_string};
    use std::path::Path;

    #[test]
    fn the_console_knows_every_command_of_the_sample_store_and_of_the_first_shop() {
        let infra = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let categories = read_dir(infra.join("sample-store/categories")).unwrap().map(|entry| entry.unwrap().path());
        let files = categories.chain(["sample-store/store.yaml", "docs/first-shop.md"].map(|file| infra.join(file)));
        let text: String = files.map(|file| read_to_string(file).unwrap()).collect();
        let commands = text.split("run: \"").skip(1).filter_map(|rest| rest.split('"').next());
        let console = Console::default();
        console.join("Newt");
        let unknown: Vec<&str> = commands
            .filter(|command| {
                let command = command.replace("{player}", "Newt").replace("{count}", "2");
                console.run(&command).starts_with("Unknown")
            })
            .collect();
        assert_eq!(unknown, Vec::<&str>::new());
        assert!(console.ran().len() > 80, "{}", console.ran().len());
        assert!(console.run("crtae key give Newt ember 2").starts_with("Unknown"));
    }
}
